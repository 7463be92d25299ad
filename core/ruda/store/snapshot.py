"""TensorSnapshot: what is known of one tensor before any of its bytes is read."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from ruda.errors import DTypeError, ShapeError
from ruda.nn import ParamId
from ruda.store.uri import Place
from ruda.tensor import DType, Kind

CHUNK_BYTES = 8 << 20
"""Bytes per piece of ``TensorSnapshot.chunks``: large enough for full disk speed."""

TOGETHER = (Kind.PACKED, Kind.QUANTIZED)
"""Kinds whose values share bytes or scales: they are handed out as raw bytes on one axis, and none
of them can be moved without the others."""

EITHER = "Either:"
"""Prefix of a container entry that names several possible kinds: ``Either:Embedding|Linear``."""


@lru_cache(maxsize=4096)
def kind_of(containers: tuple[str, ...]) -> str | None:
    """Name of the innermost ``Struct:`` or ``Enum:`` container, or None where it is open."""
    for entry in reversed(containers):
        if entry.startswith(EITHER):
            return None
        if entry.startswith(("Struct:", "Enum:")):
            return entry.partition(":")[2]
    return None


class TensorSource(Protocol):
    """Where the values of a snapshot come from. ``read`` may be called from any thread.

    A source that can hand out its bytes piece by piece also has ``stream(size)``, which yields
    memoryviews that are valid until the next one is asked for.
    """

    def read(self) -> np.ndarray[Any, Any]:
        """All values: the snapshot's shape, carrier dtype, C-contiguous, little-endian.

        May view a memory map; the caller treats it as read-only.
        """


def stream_of(source: TensorSource, size: int) -> Iterator[memoryview]:
    """The bytes of a source in pieces of at most ``size``, of one that cannot stream as well."""
    stream = getattr(source, "stream", None)
    if stream is not None:
        yield from stream(size)
        return
    yield from _pieces(source.read(), size)


def _pieces(values: np.ndarray[Any, Any], size: int) -> Iterator[memoryview]:
    flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    for start in range(0, flat.size, size):
        yield flat[start : start + size].data


@dataclass(frozen=True, slots=True)
class ArraySource:
    """Values that are in memory already."""

    array: np.ndarray[Any, Any]

    def read(self) -> np.ndarray[Any, Any]:
        """The array itself, made contiguous and little-endian if it is not; a view where it is."""
        little = self.array.dtype.newbyteorder("<")
        return np.ascontiguousarray(self.array, dtype=little).reshape(self.array.shape)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the bytes of a snapshot lie: a file, and the range where they lie in it plainly."""

    path: Place
    offset: int | None = None
    nbytes: int | None = None


@dataclass(frozen=True, slots=True)
class TensorSnapshot:
    """Key, dtype, shape and origin of one tensor; the bytes are read by ``read`` only.

    ``shape`` is the logical shape. For packed and quantized dtypes ``read`` returns the raw bytes
    as one axis of u8; ``nbytes`` is always the number of bytes that ``read`` returns.
    """

    key: str
    dtype: DType
    shape: tuple[int, ...]
    nbytes: int
    source: TensorSource = field(compare=False, repr=False)
    origin: Origin | None = None
    containers: tuple[str, ...] = ()
    """Kinds of the modules that own it, outermost first, in Burn's spelling: ``Struct:Linear``."""
    param_id: ParamId | None = None
    shared_with: str | None = None
    """Key of an earlier tensor that this one shares memory with, wholly or in part.

    The values need not be equal: a transposed view or a slice shares memory, too.
    """
    trail: tuple[str, ...] = ()
    """What the steps of a recipe did to it: ``rename``, ``transpose 1,0``, ``cast f16``."""
    scheme: Any = None
    """For quantized dtypes: the scheme as the file spells it, carried over untouched."""

    @property
    def numel(self) -> int:
        """Number of logical elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def dtype_label(self) -> str:
        """Name of the element type: the scheme's own where it has one (``q4_0``)."""
        label: str = getattr(self.scheme, "label", self.dtype.label)
        return label

    @property
    def container(self) -> str | None:
        """Kind of the module that owns it, as ``kind_of`` says."""
        return kind_of(self.containers)

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype, C-contiguous, little-endian; treat as read-only.

        Raises the StoreError of the underlying file, and DTypeError or ShapeError for a source
        that gives other values than the snapshot says. Nothing is cached.
        """
        values = self._typed()
        if values.nbytes != self.nbytes or (
            self.dtype.kind not in TOGETHER and values.shape != self.shape
        ):
            raise ShapeError(
                f"{self.key!r}: its source gave the shape {values.shape} ({values.nbytes} bytes), "
                f"expected {self.shape} ({self.nbytes} bytes)"
            )
        return values

    def _typed(self) -> np.ndarray[Any, Any]:
        """What the source gives; its bytes mean something in the carrier's type and order only."""
        values = self.source.read()
        if values.dtype != self.dtype.carrier:
            raise DTypeError(
                f"{self.key!r}: its source gave NumPy's {values.dtype.str} ({values.dtype}), "
                f"expected {self.dtype.carrier.str} for {self.dtype}"
            )
        return values

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[memoryview]:
        """The row-major little-endian bytes in pieces of at most ``size``; none for empty tensors.

        A piece is valid until the next is asked for: sources that stream reuse one buffer, so
        that a tensor larger than memory can be hashed or copied. Whoever takes them counts them: a
        source may give more or fewer than ``nbytes``.
        """
        if hasattr(self.source, "stream"):
            yield from stream_of(self.source, size)
        else:
            yield from _pieces(self._typed(), size)

    def sha256(self) -> str:
        """Hex digest of the row-major little-endian bytes.

        Raises as ``read``, ShapeError for a source that gives more or fewer of them.
        """
        digest, given = hashlib.sha256(), 0
        for chunk in self.chunks():
            digest.update(chunk)
            given += len(chunk)
        if given != self.nbytes:
            raise ShapeError(f"{self.key!r}: its source gave {given} bytes, expected {self.nbytes}")
        return digest.hexdigest()

    def renamed(self, key: str, *, step: str = "rename") -> TensorSnapshot:
        """The same tensor under another key, with the step on its trail; itself if unchanged."""
        if key == self.key:
            return self
        return replace(self, key=key, trail=(*self.trail, step))

    @classmethod
    def from_array(
        cls,
        key: str,
        array: np.ndarray[Any, Any],
        *,
        dtype: DType | None = None,
        containers: tuple[str, ...] = (),
        param_id: ParamId | None = None,
    ) -> TensorSnapshot:
        """Snapshot of values in memory; keeps a reference, does not copy.

        Raises DTypeError if the NumPy dtype has no Ruda dtype.
        """
        found = DType.from_numpy(array.dtype) if dtype is None else dtype
        return cls(
            key=key,
            dtype=found,
            shape=tuple(array.shape),
            nbytes=array.size * array.dtype.itemsize,
            source=ArraySource(array),
            containers=containers,
            param_id=param_id,
        )
