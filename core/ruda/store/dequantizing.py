"""Turning quantised tensors into f32: on request and lazily, blocks of GGML run by run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import DTypeError, MissingExtraError
from ruda.store.formats._ggml import GgmlBlocks, GgmlType
from ruda.store.formats._ggml_order import SWAPPED, turned
from ruda.store.formats._rudapack_quantized import BurnValues
from ruda.store.formats._rudapack_schemes import layout_of, scheme_of
from ruda.store.formats._torch_quantized import TorchQuantized
from ruda.store.snapshot import Origin, TensorSnapshot, TensorSource, stream_of
from ruda.tensor import DType, Kind

BLOCK_BYTES = 1 << 20
"""About how many packed bytes are turned at a time."""

Array = np.ndarray[Any, Any]
Unpack = Callable[[Array], Array]
"""Makes f32 of whole blocks: u8 ``(blocks, bytes)`` → f32 ``(blocks, values)``."""


@dataclass(frozen=True, slots=True)
class DequantizedSource:
    """The f32 values of a packed tensor; nothing is cached."""

    packed: TensorSource
    kind: GgmlType
    unpack: Unpack
    shape: tuple[int, ...]
    nbytes: int
    swapped: tuple[int, ...] = ()
    """Where 16-bit fields of a block begin that lie big-endian; they are turned."""

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs: the values, and one run of blocks on its way."""
        per_block = self.kind.block_bytes + 8 * self.kind.block
        return self.nbytes + (BLOCK_BYTES // self.kind.block_bytes + 1) * per_block

    def read(self) -> Array:
        """All values in f32."""
        out = np.empty(self.nbytes // 4, "<f4")
        at = 0
        for values in self._runs(BLOCK_BYTES):
            out[at : at + values.size] = values
            at += values.size
        return out.reshape(self.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The row-major bytes of the values in pieces of at most ``size``."""
        for values in self._runs(min(BLOCK_BYTES, size)):
            raw = values.view(np.uint8)
            for start in range(0, raw.size, size):
                yield raw[start : start + size].data

    def _runs(self, size: int) -> Iterator[Array]:
        """One axis of f32 after the other, out of about ``size`` packed bytes each."""
        step = max(1, size // self.kind.block_bytes) * self.kind.block_bytes
        rest = b""
        for piece in stream_of(self.packed, step):
            raw = np.frombuffer(rest + bytes(piece) if rest else piece, np.uint8)
            whole = raw.size - raw.size % self.kind.block_bytes
            rest = raw[whole:].tobytes()
            if whole:
                blocks = raw[:whole].reshape(-1, self.kind.block_bytes)
                if self.swapped:
                    blocks = turned(blocks, self.swapped, self.kind.label)
                # A damaged scale may be Inf or NaN; the values are what it makes of them.
                with np.errstate(all="ignore"):
                    values = self.unpack(blocks)
                yield np.ascontiguousarray(values, "<f4").reshape(-1)


def dequantize(snapshot: TensorSnapshot) -> TensorSnapshot:
    """The tensor in f32; the trail says ``dequantize q4_0``. Itself if it is not quantised.

    Reads nothing. Raises MissingExtraError where the package that knows the blocks is not
    installed, DTypeError where none does, or where a scheme of Burn's leaves something open.
    """
    if snapshot.dtype.kind is not Kind.QUANTIZED:
        return snapshot
    scheme = snapshot.scheme
    if isinstance(scheme, TorchQuantized):
        return _in_f32(snapshot, scheme.dequantized(snapshot.source, snapshot.shape), scheme.label)
    if snapshot.dtype is DType.QFLOAT and isinstance(scheme, Mapping):
        layout = layout_of(scheme_of(scheme), snapshot.shape, snapshot.nbytes)
        return _in_f32(snapshot, BurnValues(snapshot.source, layout), layout.scheme.label)
    if not isinstance(scheme, GgmlBlocks):
        raise DTypeError(f"{snapshot.dtype_label} values cannot be dequantised by Ruda")
    swapped = SWAPPED.get(scheme.label) if scheme.big_endian else ()
    if swapped is None:
        raise DTypeError(
            f"{scheme.label} blocks of a big-endian file cannot be dequantised: the byte order of "
            "their parts is not settled; convert the file to little-endian first"
        )
    unpack = _unpack(scheme.type)
    nbytes = DType.F32.nbytes(snapshot.numel)
    shape = snapshot.shape
    source = DequantizedSource(snapshot.source, scheme.type, unpack, shape, nbytes, swapped)
    return _in_f32(snapshot, source, scheme.label)


def _in_f32(snapshot: TensorSnapshot, source: TensorSource, label: str) -> TensorSnapshot:
    return replace(
        snapshot,
        dtype=DType.F32,
        nbytes=DType.F32.nbytes(snapshot.numel),
        source=source,
        origin=None if snapshot.origin is None else Origin(snapshot.origin.path),
        trail=(*snapshot.trail, f"dequantize {label}"),
        scheme=None,
    )


_COMPILED: Mapping[str, Unpack] = {"q4_0": _kernels.unpack_q4_0, "q8_0": _kernels.unpack_q8_0}
"""Blocks that need no other package: the same bits as gguf's, in one pass."""


def _unpack(kind: GgmlType) -> Unpack:
    if kind.label in _COMPILED:
        return _COMPILED[kind.label]
    try:
        import gguf
        from gguf import quants
    except ImportError as error:
        raise MissingExtraError("gguf", "gguf", f"dequantising {kind.label}") from error
    number = gguf.GGMLQuantizationType(kind.number)
    try:
        quants.dequantize(np.zeros((1, kind.block_bytes), np.uint8), number)
    except NotImplementedError:
        raise DTypeError(f"the package gguf does not know how to dequantise {kind.label}") from None

    def unpack(blocks: Array) -> Array:
        found: Array = quants.dequantize(blocks, number)
        return found

    return unpack
