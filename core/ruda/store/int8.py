"""int8 with one scale per channel: written beside the tensor, and multiplied in again when read.

A channel is one index of axis 0. ``value ≈ scale × whole number``, with the scale such that the
largest of the channel becomes 127. The scale of ``w`` is the tensor ``w_scale`` in f32, of shape
``[channels, 1, …]``, so that a plain product gives the values back.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import AdapterError
from ruda.store.block_scales import scale_remark
from ruda.store.piecewise import Array, source_blocks
from ruda.store.snapshot import Origin, TensorSnapshot, TensorSource
from ruda.tensor import DType, cast

LARGEST = 127
SUFFIX = "_scale"
_RUN = 1 << 20


class ChannelScales:
    """The scales of one tensor, found in one pass over its values when they are first asked for."""

    def __init__(self, snapshot: TensorSnapshot) -> None:
        self.key = snapshot.key
        self.source = snapshot.source
        self.dtype = snapshot.dtype
        self.channels = snapshot.shape[0]
        self.width = snapshot.numel // max(self.channels, 1)
        self._found: Array | None = None
        self._lock = threading.Lock()

    def get(self) -> Array:
        """One f32 per channel; 1.0 for a channel of zeros. Raises AdapterError for NaN and Inf."""
        with self._lock:
            if self._found is None:
                self._found = self._search()
            return self._found

    def values(self) -> Iterator[tuple[int, Array]]:
        """Runs of values in f32 with the offset of the first, as long as whole channels allow."""
        run = max(1, _RUN // self.width) * self.width if self.width <= _RUN else _RUN
        at = 0
        for block in source_blocks(self.source, self.dtype.carrier, run):
            wide, _ = cast(block, self.dtype, DType.F32)
            yield at, wide
            at += wide.size

    def _search(self) -> Array:
        largest = np.zeros(self.channels, np.float32)
        for at, values in self.values():
            for rows, channels in rows_of(values, at, self.width):
                found = _kernels.largest_in_rows(rows)
                if not np.isfinite(found).all():
                    raise AdapterError(
                        "holds NaN or infinite values, which int8 cannot", key=self.key
                    )
                np.maximum(largest[channels], found, out=largest[channels])
        scales = largest / np.float32(LARGEST)
        # A channel so small that its scale would vanish keeps the smallest scale there is.
        tiny = np.float32(np.finfo(np.float32).tiny)
        scales = np.where(largest == 0, np.float32(1), np.maximum(scales, tiny))
        return scales.astype("<f4")


def rows_of(run: Array, at: int, width: int) -> Iterator[tuple[Array, slice]]:
    """A run of values as rows (channels, columns) without a copy, and which channels they are.

    ``at`` is the place of the first value. At most three: the rest of a channel that began
    before, whole channels, and the beginning of one.
    """
    start = 0
    while start < run.size:
        channel, column = divmod(at + start, width)
        left = run.size - start
        whole = left // width if not column else 0
        size = whole * width if whole else min(width - column, left)
        rows = run[start : start + size].reshape(max(whole, 1), -1)
        yield rows, slice(channel, channel + rows.shape[0])
        start += size


class Int8Source:
    """Whole numbers of a tensor in the scale of their channel."""

    def __init__(self, scales: ChannelScales, shape: tuple[int, ...]) -> None:
        self.scales = scales
        self.shape = shape
        self.peak_bytes = 16 * _RUN
        """Memory that streaming needs."""

    @property
    def source(self) -> TensorSource:
        """The values that are quantized."""
        return self.scales.source

    def read(self) -> Array:
        """All whole numbers."""
        parts = [np.frombuffer(bytes(piece), np.int8) for piece in self.stream(_RUN)]
        return (np.concatenate(parts) if parts else np.zeros(0, np.int8)).reshape(self.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """Whole numbers in pieces of at most ``size``."""
        found = self.scales.get()
        for at, values in self.scales.values():
            whole = np.empty(values.size, np.int8)
            # Runs of both are cut alike: the scales exist, so every value is finite.
            targets = rows_of(whole, at, self.scales.width)
            for (rows, channels), (target, _) in zip(
                rows_of(values, at, self.scales.width), targets, strict=True
            ):
                _kernels.quantize_int8(rows, found[channels], target)
            for start in range(0, whole.size, size):
                yield whole[start : start + size].view(np.uint8).data


@dataclass(frozen=True, slots=True)
class _ScaleSource:
    scales: ChannelScales
    shape: tuple[int, ...]

    def read(self) -> Array:
        return self.scales.get().reshape(self.shape)


class _ProductSource:
    """f32 values of whole numbers times the scales of their channels."""

    def __init__(self, whole: TensorSnapshot, scale: TensorSnapshot) -> None:
        self.whole = whole
        self.scale = scale
        self.shape = whole.shape
        self.width = math.prod(self.shape[1:])
        self.remark: str | None = None
        """What the last read found in what it read; None where every product is a number."""

    @property
    def computed_from(self) -> tuple[TensorSnapshot, ...]:
        """The tensors that it is computed out of."""
        return self.whole, self.scale

    def read(self) -> Array:
        parts = [np.frombuffer(bytes(piece), "<f4") for piece in self.stream(4 * _RUN)]
        return (np.concatenate(parts) if parts else np.zeros(0, "<f4")).reshape(self.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        scales, _ = cast(self.scale.read().reshape(-1), self.scale.dtype, DType.F32)
        at, lost = 0, 0
        with np.errstate(all="ignore"):  # a damaged scale may be Inf or NaN
            may_lose = not np.isfinite(scales * np.float32(-128)).all()
        try:
            for block in source_blocks(self.whole.source, np.dtype(np.int8), max(1, size // 4)):
                values = np.empty(block.size, np.float32)
                for (rows, channels), (target, _) in zip(
                    rows_of(block, at, self.width), rows_of(values, at, self.width), strict=True
                ):
                    _kernels.dequantize_int8(rows, scales[channels], target)
                at += block.size
                lost += int(np.count_nonzero(~np.isfinite(values))) if may_lose else 0
                yield np.ascontiguousarray(values, "<f4").view(np.uint8).data
        finally:  # also where only the first values are wanted
            self.remark = scale_remark(self.whole.key, self.scale.key, lost, at)


def int8_per_channel(snapshot: TensorSnapshot) -> TensorSnapshot:
    """A float tensor of two or more axes in int8; any other is left as it is."""
    if not snapshot.dtype.is_float or len(snapshot.shape) < 2 or not snapshot.numel:
        return snapshot
    return replace(
        snapshot,
        dtype=DType.I8,
        nbytes=snapshot.numel,
        source=Int8Source(ChannelScales(snapshot), snapshot.shape),
        origin=None if snapshot.origin is None else Origin(snapshot.origin.path),
        trail=(*snapshot.trail, "cast int8 per channel"),
        scheme=None,
    )


def scale_beside(snapshot: TensorSnapshot) -> TensorSnapshot | None:
    """The scale that belongs to a tensor made by ``int8_per_channel``; None for any other."""
    source: Any = snapshot.source
    if not isinstance(source, Int8Source):
        return None
    shape = scale_shape(snapshot.shape)
    return TensorSnapshot(
        key=snapshot.key + SUFFIX,
        dtype=DType.F32,
        shape=shape,
        nbytes=4 * shape[0],
        source=_ScaleSource(source.scales, shape),
        origin=snapshot.origin,
        trail=("scale of int8",),
    )


def scale_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the scale of a tensor: its channels, and 1 along every other axis."""
    return (*shape[:1], *(1 for _ in shape[1:]))


def with_scale(snapshot: TensorSnapshot, scale: TensorSnapshot) -> TensorSnapshot:
    """The f32 values of an int8 tensor and its scale; the trail says ``scale w_scale``."""
    return replace(
        snapshot,
        dtype=DType.F32,
        nbytes=4 * snapshot.numel,
        source=_ProductSource(snapshot, scale),
        origin=None if snapshot.origin is None else Origin(snapshot.origin.path),
        trail=(*snapshot.trail, f"scale {scale.key}"),
    )
