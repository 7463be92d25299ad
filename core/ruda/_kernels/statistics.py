"""Statistics of any array in one pass, and its histogram."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from ruda._kernels.checks import Array, native, take_array, take_flat, take_plain, take_run
from ruda._kernels.narrowing import BF16, F16, F32, widen_bf16, widen_f16
from ruda._kernels.numbers import take_number, take_whole
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda._kernels.workspace import BLOCK, block_scratch, place_scratch
from ruda.errors import DTypeError, SettingError

_moments = kernel("moments")
_histogram = kernel("histogram")

F64 = np.dtype(np.float64)
_SMALL_FLOATS = tuple(
    np.dtype(t)
    for t in (
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float8_e8m0fnu,
    )
)


@dataclass(frozen=True, slots=True)
class Moments:
    """Statistics of a set of numbers, made in one pass; add two to get those of both sets.

    ``count`` counts every item; the figures from ``minimum`` to ``total_squares`` are of the finite
    ones only, and the first three are NaN when there is none. Integers keep exact extremes.
    ``total`` and ``total_squares`` are added up in float64; their last digits depend on the
    variant and on how the items were cut.
    """

    count: int = 0
    minimum: float = math.nan
    maximum: float = math.nan
    absmax: float = math.nan
    total: float = 0.0
    total_squares: float = 0.0
    zeros: int = 0
    nans: int = 0
    pos_infs: int = 0
    neg_infs: int = 0

    @property
    def finite(self) -> int:
        """Number of items that are neither NaN nor infinite."""
        return self.count - self.nans - self.pos_infs - self.neg_infs

    def __add__(self, other: Moments) -> Moments:
        """Statistics of both sets together."""
        with_values = [m for m in (self, other) if m.finite]
        return Moments(
            count=self.count + other.count,
            minimum=min((m.minimum for m in with_values), default=math.nan),
            maximum=max((m.maximum for m in with_values), default=math.nan),
            absmax=max((m.absmax for m in with_values), default=math.nan),
            total=self.total + other.total,
            total_squares=self.total_squares + other.total_squares,
            zeros=self.zeros + other.zeros,
            nans=self.nans + other.nans,
            pos_infs=self.pos_infs + other.pos_infs,
            neg_infs=self.neg_infs + other.neg_infs,
        )


def moments(values: Array) -> Moments:
    """Statistics of an array of floats, integers or booleans of any shape and layout.

    Raises DTypeError for complex numbers and anything that is not a number.
    """
    given = _take_numbers(values)
    source = take_flat(given)
    kind = given.dtype.newbyteorder("=")
    if kind in (F32, F64):
        whole = _of_f32 if kind == F32 else _of_f64
        parts = in_pieces(
            lambda cut: whole(take_plain(take_run(source, cut))),
            source.size,
            item_bytes=kind.itemsize,
        )
    else:
        # Each item is written and read again as a float.
        parts = in_pieces(
            lambda cut: _in_blocks(take_run(source, cut)),
            source.size,
            item_bytes=given.dtype.itemsize + 8,
        )
    return sum(parts[1:], parts[0]) if parts else Moments()


def histogram(values: Array, low: float, high: float, bins: int) -> Array:
    """Counts of the finite values from low to high in bins of equal width: int64[bins].

    Bin i starts at low + i × (high − low) / bins; the last one includes high. A value within 4 ulp
    of an edge may be counted in the bin on its other side, where the edge is no float64 or the
    quotient is rounded. Values outside are not counted. When low equals high, every value equal to
    it is counted in the last bin.
    Integers of 64 bits beyond 2⁵³ are counted at the float64 nearest to them.
    Raises DTypeError as ``moments`` does, SettingError for a range or bins that cannot be.
    """
    low, high = take_number(low, "low"), take_number(high, "high")
    bins = take_whole(bins, "bins", 1)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise SettingError(f"a histogram from {low} to {high}: expected finite low ≤ high")
    given = _take_numbers(values)
    source = take_flat(given)

    def piece(cut: slice) -> Array:
        # Four tables with a column more: what the kernel asks for, summed at the end.
        tables = np.zeros((4, bins + 1), np.int64)
        places, room = place_scratch(), block_scratch()
        for block in _blocks(take_run(source, cut)):
            _count_block(block, low, high, room, places, tables)
        return tables

    total = np.zeros(bins, np.int64)
    for tables in in_pieces(piece, source.size, item_bytes=given.dtype.itemsize + 4):
        total += tables[:, :bins].sum(axis=0)
    return total


def _blocks(flat: Array) -> Iterator[Array]:
    for at in range(0, flat.size, BLOCK):
        yield flat[at : at + BLOCK]


def _take_numbers(values: object) -> Array:
    given = take_array(values, "values")
    kind = native(given.dtype)
    if kind.kind in "iub" or kind in (F16, F32, F64, BF16) or kind in _SMALL_FLOATS:
        return given
    raise DTypeError(f"values has dtype {given.dtype}; expected floats, integers or booleans")


def _as_f32(block: Array, room: Array) -> Array | None:
    """The block as float32 where that is exact, perhaps in ``room``; None for other dtypes."""
    kind = block.dtype.newbyteorder("=")
    if kind == F32:
        return take_plain(block)
    if kind == F16:
        return widen_f16(block, room[: block.size])
    if kind == BF16:
        return widen_bf16(block, room[: block.size])
    return block.astype(F32) if kind in _SMALL_FLOATS else None


def _in_blocks(flat: Array) -> Moments:
    found = []
    whole = flat.dtype.kind in "iub"
    room = np.empty(min(BLOCK, flat.size), F64) if whole else block_scratch()
    for block in _blocks(flat):
        single = _as_f32(block, room)
        found.append(_of_integers(block, room) if single is None else _of_f32(single))
    return sum(found[1:], found[0])


def _of_f32(values: Array) -> Moments:
    low_key, high_key, total, squares, zeros, nans, pos_infs, neg_infs = _moments.moments_f32(
        values.view(np.int32), values
    )
    some = values.size > nans + pos_infs + neg_infs
    low = _from_key(low_key) if some else math.nan
    high = _from_key(high_key) if some else math.nan
    absmax = max(abs(low), abs(high))
    return Moments(values.size, low, high, absmax, total, squares, zeros, nans, pos_infs, neg_infs)


def _from_key(key: int) -> float:
    """The float32 whose bits give this order-preserving key: negative numbers have them flipped."""
    word = key if key >= 0 else key ^ 0x7FFFFFFF
    return float(np.int32(word).view(np.float32))


def _of_f64(values: Array) -> Moments:
    low, high, total, squares, zeros, nans, pos_infs, neg_infs = _moments.moments_f64(values)
    if values.size == nans + pos_infs + neg_infs:
        low = high = math.nan
    absmax = max(abs(low), abs(high))
    return Moments(values.size, low, high, absmax, total, squares, zeros, nans, pos_infs, neg_infs)


def _of_integers(block: Array, room: Array) -> Moments:
    """float64 is exact up to 32 bits; beyond, the extremes are taken from the integers."""
    doubles = room[: block.size]
    doubles[...] = block
    found = _of_f64(doubles)
    wide = block.dtype.itemsize == 8
    low = int(block.min() if wide else found.minimum)
    high = int(block.max() if wide else found.maximum)
    return replace(found, minimum=low, maximum=high, absmax=max(abs(low), abs(high)))


def _count_block(
    block: Array, low: float, high: float, room: Array, places: Array, tables: Array
) -> None:
    """Add the block to the tables, through the kernel where the values are float32 inside."""
    single = _as_f32(block, room)
    bins = tables.shape[1] - 1
    span = high - low
    scale = bins / span if span > 0 else math.inf
    plain = math.isfinite(scale) and math.isfinite(span)
    if single is not None and plain:
        _histogram.histogram_f32(single, low, high, scale, places, tables)
        return
    doubles = (block if single is None else single).astype(F64)
    if plain:
        _histogram.histogram_f64(doubles, low, high, scale, places, tables)
        return
    inside = doubles[(doubles >= low) & (doubles <= high)]
    # A range may be wider than float64 reaches, and its inverse too: halve it then, and divide.
    unit = 1.0 if math.isfinite(span) else 2.0
    width = high / unit - low / unit
    share = (inside / unit - low / unit) / width if width > 0 else np.ones(inside.size)
    index = np.minimum((share * bins).astype(np.int64), bins - 1)
    tables[0, :bins] += np.bincount(index, minlength=bins)
