"""Scales multiplied in: of a whole tensor, of its channels, or of blocks of 128 × 128.

The layouts and their product are those of the programs that write such files: DeepSeek's
``weight_scale_inv`` (one f32 per block of 128 × 128, multiplied in spite of its name), one scale
per row (``[rows, 1]``), one per tensor, and one per group along the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ruda.errors import ShapeError
from ruda.store.moving import peak_of
from ruda.store.piecewise import Array, source_blocks
from ruda.store.snapshot import Origin, TensorSnapshot
from ruda.tensor import DType, cast

BLOCK = 128
"""Side of the blocks of DeepSeek's scales."""
_RUN = 1 << 20


def block_sizes(shape: tuple[int, ...], scales: tuple[int, ...]) -> tuple[int, ...] | None:
    """How many indices of each axis share a scale; None for scales of no known layout.

    One number for all axes, or per axis: one scale for each index, one for all, one for every 128
    (the last block may be shorter), or along the last axis one per group of equal size.
    """
    if math.prod(scales) == 1:
        return shape
    if len(scales) != len(shape):
        return None
    sizes: list[int] = []
    for at, (size, count) in enumerate(zip(shape, scales, strict=True)):
        if count == size:
            sizes.append(1)
        elif count == 1:
            sizes.append(max(size, 1))
        elif count == -(-size // BLOCK):
            sizes.append(BLOCK)
        elif count and size % count == 0 and at == len(shape) - 1:
            sizes.append(size // count)
        else:
            return None
    return tuple(sizes)


@dataclass(slots=True, eq=False)
class ScaledSource:
    """f32 values: those of a short type times the scale of their block."""

    whole: TensorSnapshot
    scale: TensorSnapshot
    sizes: tuple[int, ...]
    """Indices of each axis that share a scale."""
    peak_bytes: int
    remark: str | None = field(default=None, init=False)
    """What the last read found in what it read; None where every product of a number is one."""

    @property
    def computed_from(self) -> tuple[TensorSnapshot, ...]:
        """The tensors that it is computed out of."""
        return self.whole, self.scale

    def read(self) -> Array:
        """All values."""
        out = np.empty(self.whole.numel, "<f4")
        at = 0
        for values in self._runs():
            out[at : at + values.size] = values
            at += values.size
        if at != out.size:
            raise ShapeError(f"the source gave {at} values, expected {out.size}")
        return out.reshape(self.whole.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes of the values in pieces of at most ``size``."""
        for values in self._runs():
            raw = values.view(np.uint8)
            for start in range(0, raw.size, size):
                yield raw[start : start + size].data

    def _runs(self) -> Iterator[Array]:
        """Whole rows of the last axis, flat, about ``_RUN`` values at a time."""
        shape = self.whole.shape
        width = shape[-1] if shape else 1
        if not self.whole.numel:
            return
        factors = self._factors()
        row, lost = 0, 0
        try:
            for rows in self._rows(width):
                where = self._blocks_of(row, len(rows), shape[:-1])
                row += len(rows)
                # A damaged scale may be Inf or NaN; the values are what it makes of them.
                with np.errstate(all="ignore"):
                    found = rows * (factors[where] if where else factors[None])
                lost += int(np.isfinite(rows).sum()) - int(np.isfinite(found).sum())
                yield np.ascontiguousarray(found, "<f4").reshape(-1)
        finally:  # also where only the first values are wanted
            self.remark = scale_remark(self.whole.key, self.scale.key, lost, row * width)

    def _rows(self, width: int) -> Iterator[Array]:
        """Whole rows of the last axis in f32, before they are scaled."""
        dtype = self.whole.dtype
        for block in source_blocks(self.whole.source, dtype.carrier, max(1, _RUN // width) * width):
            wide, _ = cast(block, dtype, DType.F32)
            yield wide.reshape(-1, width)

    def _blocks_of(self, row: int, count: int, leading: tuple[int, ...]) -> tuple[Any, ...]:
        """Where the scales of rows stand, along every axis but the last."""
        if not leading:
            return ()
        spots = np.unravel_index(np.arange(row, row + count), leading)
        return tuple(spot // size for spot, size in zip(spots, self.sizes[:-1], strict=True))

    def _factors(self) -> Array:
        """The scales in f32, one per value along the last axis."""
        values, _ = cast(self.scale.read(), self.scale.dtype, DType.F32)
        shape = self.whole.shape
        rank = len(shape)
        values = values.reshape((1,) * rank) if values.size == 1 else values
        if not rank:
            return values.reshape(1)
        return np.repeat(values, self.sizes[-1], axis=-1)[..., : shape[-1]]


def scale_remark(key: str, scale: str, lost: int, count: int) -> str | None:
    """What is said of values that a scale made infinite or NaN; None where there is none."""
    if not lost:
        return None
    return f"{key!r}: {lost} of {count} values became infinite or NaN by the scale {scale!r}"


def scaled_product(whole: TensorSnapshot, scale: TensorSnapshot) -> TensorSnapshot | str:
    """The tensor times its scale, in f32, lazy; the trail says ``scale w_scale``.

    A text says why not: the end of a sentence.
    """
    if whole.dtype.is_raw:
        return f"{whole.dtype_label} values share a byte, and their layout is not known"
    sizes = block_sizes(whole.shape, scale.shape)
    if sizes is None:
        return (
            f"the scale {scale.key!r} {list(scale.shape)} fits no known layout for "
            f"{list(whole.shape)}"
        )
    nbytes = DType.F32.nbytes(whole.numel)
    inner = peak_of(whole.source, 0)
    peak = nbytes + 12 * _RUN + inner
    source = ScaledSource(whole, scale, sizes, peak)
    return replace(
        whole,
        dtype=DType.F32,
        nbytes=nbytes,
        source=source,
        origin=None if whole.origin is None else Origin(whole.origin.path),
        shared_with=None,
        trail=(*whole.trail, f"scale {scale.key}"),
        scheme=None,
    )
