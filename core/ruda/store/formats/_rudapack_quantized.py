"""The values of Burn's quantized tensors: number x scale, in f32."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import HeaderError
from ruda.store.formats._rudapack_schemes import SCALE_BYTES, BurnLayout
from ruda.tensor import DType

if TYPE_CHECKING:
    from ruda.store.snapshot import TensorSource

Array = np.ndarray[Any, Any]
Numbers = Callable[[int, int], Array]
"""The numbers from one place to another, in row-major order, as f32."""

RUN_VALUES = 1 << 20
"""Most values that are made at a time; a whole number of bytes and words of any kind."""
_FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_SCALES = {"F32": DType.F32, "F16": DType.F16, "BF16": DType.BF16, "UE8M0": DType.F8_E8M0,
           "UE4M3": DType.F8_E4M3FN}  # fmt: skip
_FLOATS = {"E4M3": DType.F8_E4M3FN, "E5M2": DType.F8_E5M2}


@dataclass(frozen=True, slots=True)
class BurnValues:
    """The f32 values of a quantized tensor of Rudapack; nothing is cached.

    A value is the exact product of number and scale, rounded once. With a scale over the scales
    of blocks the product of all three is taken in f64.
    """

    packed: TensorSource
    layout: BurnLayout

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs: packed bytes, numbers in order, values and one run."""
        count = math.prod(self.layout.shape)
        ordered = count if self.layout.by_lines else 0
        return self.layout.nbytes + ordered + 4 * count + 24 * min(count, RUN_VALUES)

    def read(self) -> Array:
        """All values in f32. Raises HeaderError for a number that its kind cannot have."""
        out = np.empty(math.prod(self.layout.shape), "<f4")
        at = 0
        for values in self._runs(RUN_VALUES):
            out[at : at + values.size] = values
            at += values.size
        return out.reshape(self.layout.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The row-major bytes of the values in pieces of at most ``size``."""
        for values in self._runs(RUN_VALUES):
            raw = values.view(np.uint8)
            for start in range(0, raw.size, size):
                yield raw[start : start + size].data

    def _runs(self, most: int) -> Iterator[Array]:
        count = math.prod(self.layout.shape)
        if not count:
            return
        raw = np.ascontiguousarray(self.packed.read()).reshape(-1)
        numbers, scales = _numbers(raw, self.layout), _Scales(raw, self.layout)
        row = self.layout.shape[-1] if self.layout.shape else 1
        start = 0
        while start < count:
            # Whole rows, or a piece of one, so that scales are rows and columns of their grid.
            left = row - start % row
            end = start + (max(most // row, 1) * row if left == row and row <= most else left)
            end = min(end, start + most if row > most else end, count)
            # A damaged scale may be Inf or NaN; the values are what it makes of them.
            with np.errstate(all="ignore"):
                yield scales.times(numbers(start, end), start)
            start = end


class _Scales:
    """The scales of a tensor, and what they make of runs of numbers."""

    def __init__(self, raw: Array, layout: BurnLayout) -> None:
        kind = _SCALES[layout.scheme.scale]
        size = math.prod(layout.grid) * SCALE_BYTES[layout.scheme.scale]
        found = raw[layout.scales_at : layout.scales_at + size].copy().view(kind.numpy)
        values: Array = found.astype(np.float32)
        if layout.scheme.has_global:
            top = raw[layout.nbytes - 4 :].copy().view("<f4")
            values = values.astype(np.float64) * top.astype(np.float64)
        self._grid = values.reshape(-1, layout.grid[-1])
        self._shape = layout.shape
        axes = len(layout.shape)
        block = layout.scheme.block or ()
        self._block = (1,) * (axes - len(block)) + block
        self._sizes = layout.grid
        self._single = layout.scheme.block is None or not layout.shape

    def times(self, numbers: Array, start: int) -> Array:
        """Values out of numbers that begin at a place of the tensor: one row's part, or rows."""
        if self._single:
            return np.ascontiguousarray(numbers * self._grid[0, 0], "<f4")
        row = self._shape[-1]
        first, offset = divmod(start, row)
        rows = max(numbers.size // row, 1)
        width = min(row, numbers.size)
        columns = np.arange(offset, offset + width) // self._block[-1]
        scales = self._grid[self._rows(first, rows)[:, None], columns]
        return np.ascontiguousarray(numbers.reshape(rows, width) * scales, "<f4").reshape(-1)

    def _rows(self, first: int, count: int) -> Array:
        """Which row of the grid each row of the tensor takes its scales from."""
        left = np.arange(first, first + count)
        found = np.zeros(count, np.int64)
        step = 1
        for axis in reversed(range(len(self._shape) - 1)):
            left, place = np.divmod(left, self._shape[axis])
            found += place // self._block[axis] * step
            step *= self._sizes[axis]
        return found


def _numbers(raw: Array, layout: BurnLayout) -> Numbers:
    scheme = layout.scheme
    packed = raw[: layout.units * scheme.unit_bytes]
    table = _table(scheme.value, 8 if scheme.store == "Native" else scheme.bits)
    per_byte = table.shape[1]
    if layout.by_lines:
        packed = _in_order(packed, layout)
        table, per_byte = _table(scheme.value, 8), 1
    if scheme.store == "Native" and scheme.bits < 8:
        _check_range(packed, scheme.bits, scheme.label)

    def numbers(start: int, end: int) -> Array:
        skip = start % per_byte
        found = table[packed[start // per_byte : -(-end // per_byte)]].reshape(-1)
        return found[skip : skip + end - start]

    return numbers


def _table(value: str, bits: int) -> Array:
    """f32 of every byte: ``(256, numbers in a byte)``, the low bits first."""
    bytes_ = np.arange(256, dtype=np.uint8)
    if value in _FLOATS:
        return bytes_.view(_FLOATS[value].numpy).astype(np.float32).reshape(256, 1)
    if bits == 8 and value != "E2M1":
        return bytes_.view(np.int8).astype(np.float32).reshape(256, 1)
    shifts = np.arange(0, 8, min(bits, 4))
    parts = bytes_[:, None] >> shifts & ((1 << min(bits, 4)) - 1)
    if value == "E2M1":
        values = np.array((*_FP4, *(-x for x in _FP4)), np.float32)
        chosen: Array = values[parts if bits == 4 else parts[:, :1]]
        return chosen
    signs = np.where(parts >= 1 << (bits - 1), 1 << bits, 0)
    return (parts.astype(np.int16) - signs).astype(np.float32)


def _in_order(packed: Array, layout: BurnLayout) -> Array:
    """Numbers that lie in lines along the packed axis, as one byte each in row-major order.

    The lines are those of the tensor with that axis and the last one exchanged.
    """
    scheme = layout.scheme
    shape = layout.shape or (1,)
    axis = len(shape) - 1 - scheme.packed_axis
    swapped = list(shape)
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    mask = (1 << scheme.bits) - 1
    shifts = np.arange(0, 8, scheme.bits)
    if scheme.bits == 8:
        parts = packed
    else:
        parts = (packed[:, None] >> shifts & mask).astype(np.uint8).reshape(-1)
        if scheme.value != "E2M1":
            sign = np.uint8(1 << (scheme.bits - 1))
            parts = (parts ^ sign) - sign  # of two's complement to a whole byte, wrapping
    lines = math.prod(swapped[:-1])
    whole = parts.reshape(lines, parts.size // lines if lines else 0)[:, : swapped[-1]]
    ordered = whole.reshape(swapped).swapaxes(axis, -1)
    return np.ascontiguousarray(ordered).reshape(-1)


def _check_range(packed: Array, bits: int, label: str) -> None:
    signed = packed.view(np.int8)
    limit = 1 << (bits - 1)
    if signed.size and not (signed.min() >= -limit and signed.max() < limit):
        raise HeaderError(
            f"{label} values are stored one per byte, but one is none of {bits} bits; the scheme "
            "does not say what the bytes are"
        )
