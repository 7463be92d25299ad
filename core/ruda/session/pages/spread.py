"""How the values of a tensor are spread: percentiles, and the subnormal ones among them.

A percentile is a value of the tensor: as many of the finite ones are no larger. Small tensors are
sorted as far as it takes. Of large ones the values are counted by the first half of their f32 bits,
which takes 512 kB however many there are: exact for values with no more than 8 significant bits
(bf16, fp8, small integers), to 0.4 % for others, and said to be near then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import DTypeError
from ruda.progress import SILENT, Monitor, Progress
from ruda.tensor import DType, Kind

if TYPE_CHECKING:
    from ruda.store import TensorSnapshot

Array = np.ndarray[Any, Any]

THOUSANDTHS = (1, 10, 500, 990, 999)
"""Of a thousand values, those that are no larger than each percentile."""
SORTED_BYTES = 8 << 20
"""Tensors up to here are read once and sorted; larger ones never lie in memory whole."""
RUN = 1 << 20
"""Values that are counted between two points where the work can be stopped."""
_SIGN, _INF = 1 << 15, 0x7F80
"""The sign and the infinity in the first 16 bits of f32; NaN are beyond the infinity."""
_WHOLE = 1 << 24
"""Integers up to here are exact in f32."""
_MOST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class ValueSpread:
    """Percentiles of the finite values; none where there is no such value, and none of bools."""

    percentiles: tuple[float, ...]
    """One for each of ``THOUSANDTHS``, or none at all."""
    exact: bool
    subnormals: int | None
    """Values so near to zero that they have fewer digits than the dtype; None for integers."""


def scan_spread(snapshot: TensorSnapshot, *, monitor: Monitor = SILENT) -> ValueSpread:
    """Read a tensor and see how its values are spread, a large one run by run.

    Raises DTypeError where the dtype has no order, the StoreError of the file, Cancelled.
    """
    from ruda.store import blocks

    dtype = snapshot.dtype
    if not dtype.is_ordered:
        raise DTypeError(f"{snapshot.key}: {dtype} has no order to take percentiles of")
    monitor.check()
    if dtype.kind is Kind.BOOL:
        return ValueSpread((), exact=True, subnormals=None)
    if snapshot.nbytes <= SORTED_BYTES:
        return _sorted(snapshot.read().reshape(-1), dtype)
    return _counted(blocks(snapshot), snapshot.numel, dtype, monitor)


def _sorted(values: Array, dtype: DType) -> ValueSpread:
    wide = _wide(values, dtype)
    found = wide[np.isfinite(wide)] if dtype.is_float else wide
    ranks = _ranks(found.size)
    if ranks:
        found = np.sort(found)
    percentiles = tuple(float(found[rank]) for rank in ranks)
    return ValueSpread(percentiles, exact=True, subnormals=_subnormals(wide, dtype))


def _counted(pieces: Iterable[Array], count: int, dtype: DType, monitor: Monitor) -> ValueSpread:
    counts = np.zeros(1 << 16, np.int64)
    exact, tiny, zeros, done = True, 0, 0, 0
    for piece in pieces:
        flat = piece.reshape(-1)
        for start in range(0, flat.size, RUN):
            monitor.check()
            wide = _wide(flat[start : start + RUN], dtype)
            near = _near(wide)
            bits = near.view(np.uint32)
            counts += np.bincount(bits >> 16, minlength=counts.size)
            exact = exact and _is_whole(wide, near, bits)
            zeros += wide.size - int(np.count_nonzero(wide))
            if dtype is DType.F64:
                tiny += _subnormals(wide, dtype) or 0
            done += wide.size
            monitor.report(Progress(done, count, "values"))
    if dtype.is_float and dtype is not DType.F64:
        first = int(np.float32(dtype.smallest_normal).view(np.uint32) >> 16)
        tiny = sum(int(counts[sign : sign + first].sum()) for sign in (0, _SIGN)) - zeros
    ends = np.cumsum(np.concatenate([counts[_INF - 1 + _SIGN : _SIGN - 1 : -1], counts[:_INF]]))
    places = (int(np.searchsorted(ends, rank, side="right")) for rank in _ranks(int(ends[-1])))
    percentiles = tuple(_value(place, exact=exact) for place in places)
    return ValueSpread(percentiles, exact, tiny if dtype.is_float else None)


def _wide(values: Array, dtype: DType) -> Array:
    """The values in a type that NumPy can sort, without a change."""
    if not dtype.is_float or values.dtype.itemsize > 2:
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    with np.errstate(invalid="ignore"):
        return values.astype(np.float32)


def _subnormals(wide: Array, dtype: DType) -> int | None:
    if not dtype.is_float:
        return None
    with np.errstate(invalid="ignore"):
        size = np.abs(wide)
        return int(np.count_nonzero((size > 0) & (size < dtype.smallest_normal)))


def _ranks(count: int) -> tuple[int, ...]:
    """Places in ascending order of the percentiles of so many values; none of no values."""
    return tuple(-(-part * count // 1000) - 1 for part in THOUSANDTHS) if count else ()


def _near(wide: Array) -> Array:
    """The values in f32; those beyond it are its largest."""
    if wide.dtype != np.float64:
        return np.ascontiguousarray(wide, np.float32)
    good = np.clip(wide, -_MOST, _MOST)
    return np.where(np.isinf(wide), wide, good).astype(np.float32)


def _is_whole(wide: Array, near: Array, bits: Array) -> bool:
    """True if nothing of any value is lost by taking the first 16 bits of it in f32."""
    if (bits & 0xFFFF).any():
        return False
    if wide.dtype.kind == "f":
        return bool(((near == wide) | np.isnan(wide)).all())
    # The comparison itself may round larger integers.
    return not wide.size or float(np.abs(near).max()) <= _WHOLE


def _value(place: int, *, exact: bool) -> float:
    """The value at a place among all of 16 bits, in ascending order; or the middle of its kind."""
    half = _SIGN + _INF - 1 - place if place < _INF else place - _INF
    bits = (half << 16) | (0 if exact else 0x8000)
    return float(np.uint32(bits).view(np.float32))
