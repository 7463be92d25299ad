"""cast: from any numeric dtype to any other, and how much is lost on the way.

Floats round to nearest even, once. Floats become integers by truncation towards zero; what lies
outside the range of an integer becomes the nearest end of it, NaN becomes 0. Every such value is
counted, so that no loss goes unseen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import DTypeError
from ruda.progress import SILENT, Monitor, Progress
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.layout import plain, widened
from ruda.tensor.promotion import Scalar, require_dtype

Array = np.ndarray[Any, Any]

_NARROW = {
    DType.F16: _kernels.narrow_f16,
    DType.BF16: _kernels.narrow_bf16,
    DType.F8_E4M3FN: _kernels.narrow_e4m3,
    DType.F8_E5M2: _kernels.narrow_e5m2,
}
_WIDEN = {
    DType.F16: _kernels.widen_f16,
    DType.BF16: _kernels.widen_bf16,
    DType.F8_E4M3FN: _kernels.widen_e4m3,
    DType.F8_E5M2: _kernels.widen_e5m2,
}

BLOCK_ELEMENTS = 1 << 20
"""Elements between two stop points, where no kernel does the cast."""
_CACHED = 1 << 16
"""Elements whose words stay in the second-level cache."""


@dataclass(frozen=True, slots=True)
class CastCounts:
    """What a cast did to ``numel`` values; add the counts of several tensors with ``+``.

    ``overflow``: values the target cannot hold (finite became Inf or NaN, Inf became NaN, or an
    integer was pulled to the end of its range). ``underflow``: nonzero became zero.
    ``subnormal``: results below the smallest normal number, where precision fades.
    """

    numel: int = 0
    overflow: int = 0
    underflow: int = 0
    subnormal: int = 0

    def __add__(self, other: CastCounts) -> CastCounts:
        return CastCounts(
            self.numel + other.numel,
            self.overflow + other.overflow,
            self.underflow + other.underflow,
            self.subnormal + other.subnormal,
        )

    @property
    def clean(self) -> bool:
        """True when no value overflowed or underflowed."""
        return not (self.overflow or self.underflow)


def cast(
    array: Array, source: DType, target: DType, *, monitor: Monitor = SILENT
) -> tuple[Array, CastCounts]:
    """Values of dtype ``source`` as ``target.carrier``, same shape, with what was lost.

    ``array`` is in the carrier of ``source``. Returns it unchanged (no copy) when both dtypes
    store the same values alike and it is in native byte order. Raises DTypeError for packed and
    quantized dtypes, for complex to real, and when the array is not of the source dtype.
    """
    array = plain(array)
    _check(array, source, target)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if target is source or {source, target} == {DType.F32, DType.FLEX32}:
        return array, CastCounts(array.size)
    flat = array.reshape(-1)
    out: Array = np.empty(flat.size, target.carrier)
    counts = _by_kernel(flat, source, target, out, monitor)
    if counts is None:
        counts = CastCounts()
        for start in range(0, flat.size, BLOCK_ELEMENTS):
            monitor.check()
            block = slice(start, start + BLOCK_ELEMENTS)
            with np.errstate(all="ignore"):  # what is lost is counted, not warned about
                counts += _cast_block(flat[block], source, target, out[block])
            done = min(start + BLOCK_ELEMENTS, flat.size)
            monitor.report(Progress(done, flat.size, "values"))
    return out.reshape(array.shape), counts


def scalar(value: Scalar, dtype: DType) -> Array:
    """A Python number as a 0-d array, rounded once; that it fits, ``promote_scalar`` has seen."""
    if dtype.kind is Kind.BOOL or dtype.is_integer:
        return np.array(value, dtype.numpy)
    if isinstance(value, int) and dtype is not DType.F64:
        value = nearest_odd(value)
    if dtype is DType.BF16:  # ml_dtypes rounds to float32 on the way
        with np.errstate(all="ignore"):
            return _round_to_odd(np.array(value, np.float64)).astype(dtype.numpy)
    return np.array(value, dtype.numpy)


_EXACT = 1 << 53
"""From here on float64 does not hold every integer."""


def nearest_odd(value: float) -> float:
    """A number as float64, from which rounding onward to a narrower float gives what it should.

    Of integers the first 53 bits, with the last one set if any behind them are (``_round_to_odd``).
    Raises OverflowError beyond float64.
    """
    size = abs(value)
    if not isinstance(size, int) or size < _EXACT:
        return float(value)
    behind = size.bit_length() - 53
    kept = size >> behind | (size & ((1 << behind) - 1) != 0)
    return math.ldexp(kept if value > 0 else -kept, behind)


def _by_kernel(
    values: Array, source: DType, target: DType, out: Array, monitor: Monitor
) -> CastCounts | None:
    """The cast in pieces that threads share, if one kernel does it; else None."""
    if target in _NARROW and source in (DType.F32, DType.FLEX32):
        _, lost = _NARROW[target](values, out, monitor=monitor)
        counts = CastCounts(values.size, lost.overflow, lost.underflow, lost.subnormal)
    elif source in _WIDEN and target in (DType.F32, DType.FLEX32):
        _WIDEN[source](values, out, monitor=monitor)
        # float32 has all values of the others as normal numbers.
        tiny = _subnormal_bf16(values) if source is DType.BF16 else 0
        counts = CastCounts(values.size, subnormal=tiny)
    else:
        return None
    monitor.report(Progress(values.size, values.size, "values"))
    return counts


def _subnormal_bf16(values: Array) -> int:
    """Values that are not 0 and have no bit of the exponent set: subnormal in float32, too."""
    count = 0
    for start in range(0, values.size, _CACHED):
        words = values[start : start + _CACHED].view(np.uint16) & np.uint16(0x7FFF)
        words -= np.uint16(1)  # 0 turns into the largest
        count += int(np.count_nonzero(words < np.uint16(0x7F)))
    return count


def _check(array: Array, source: DType, target: DType) -> None:
    for dtype in (source, target):
        require_dtype("cast", dtype)
        if dtype.is_raw and source is not target:
            raise DTypeError(
                f"cannot cast {source} to {target}: {dtype} is stored as raw bits only"
            )
    if array.dtype.newbyteorder("<") != source.carrier:
        raise DTypeError(f"cannot cast: expected {source} as {source.carrier}, got {array.dtype}")
    if source.kind is Kind.COMPLEX and target.kind not in (Kind.COMPLEX, Kind.BOOL):
        raise DTypeError(f"cannot cast {source} to {target}: the imaginary part would be lost")


def _cast_block(values: Array, source: DType, target: DType, out: Array) -> CastCounts:
    if target.kind is Kind.BOOL or target is DType.BOOL_U32:
        out[...] = values != 0
        return CastCounts(values.size)
    if source is DType.BOOL_U32:
        values = values != 0
    if target.is_integer:
        return _to_integer(values, target, out)
    return _to_float(values, target, out)


def _to_integer(values: Array, target: DType, out: Array) -> CastCounts:
    info = np.iinfo(target.numpy)
    if values.dtype.kind in "iub":
        return _integer_to_integer(values, info, out)
    wide = values.astype(np.float64)
    whole = np.trunc(wide)
    limit = float(info.max) if target.bits <= 32 else 2.0 ** (64 - (target.kind is Kind.INT))
    below = whole < info.min
    above = whole > limit if target.bits <= 32 else whole >= limit
    absent = np.isnan(wide)
    lost = below | above | absent
    out[...] = np.where(lost, 0.0, whole).astype(target.numpy)
    out[below] = info.min
    out[above] = info.max
    vanished = (wide != 0) & (whole == 0) & ~absent
    return CastCounts(
        values.size, overflow=int(lost.sum()), underflow=int(np.count_nonzero(vanished))
    )


def _integer_to_integer(values: Array, info: np.iinfo[Any], out: Array) -> CastCounts:
    if values.dtype.kind == "b":
        out[...] = values
        return CastCounts(values.size)
    held = np.iinfo(values.dtype)
    low, high = max(info.min, held.min), min(info.max, held.max)
    inside = np.clip(values, values.dtype.type(low), values.dtype.type(high))
    out[...] = inside.astype(out.dtype)
    return CastCounts(values.size, overflow=int(np.count_nonzero(inside != values)))


def _to_float(values: Array, target: DType, out: Array) -> CastCounts:
    exact = values if target.bits >= 32 or target is DType.F16 else _round_to_odd(values)
    out[...] = exact.astype(target.numpy)
    if target.kind is Kind.COMPLEX:
        finite, held = np.isfinite(values), np.isfinite(out)
        return CastCounts(
            values.size,
            overflow=int(np.count_nonzero(finite & ~held)),
            underflow=int(np.count_nonzero((values != 0) & (out == 0))),
        )
    return _losses(values, out, target)


def _losses(values: Array, out: Array, target: DType) -> CastCounts:
    seen = widened(values)
    got = widened(out)
    unheld = (np.isfinite(seen) & ~np.isfinite(got)) | (np.isinf(seen) & np.isnan(got))
    # f8_e8m0 has no zero and no sign: ml_dtypes gives NaN for both, which counts as overflow.
    vanished = (seen != 0) & (got == 0)
    return CastCounts(
        values.size,
        overflow=int(np.count_nonzero(unheld)),
        underflow=int(np.count_nonzero(vanished)),
        subnormal=_subnormals(out, target),
    )


def _subnormals(out: Array, target: DType) -> int:
    got = np.abs(widened(out))
    return int(np.count_nonzero((got > 0) & (got < target.smallest_normal)))


def _round_to_odd(values: Array) -> Array:
    """f32 values that round onward to a narrower float as the given ones would directly.

    Rounding twice to nearest can miss by one step. Rounding to odd first (truncate, then set the
    last bit if anything was lost) cannot, because it never makes or hides a tie.
    """
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        # 53 bits hold the high part; a sticky last bit stands for the 11 that are dropped.
        large = (values >> 53 != 0) & (
            values >> 53 != values.dtype.type(-1 if values.dtype.kind == "i" else 0)
        )
        jammed = ((values >> 11) | ((values & 0x7FF) != 0)).astype(np.float64) * 2048.0
        values = np.where(large, jammed, values.astype(np.float64))
    if values.dtype != np.float64:
        if values.dtype.kind in "iub" and values.dtype.itemsize >= 4:
            values = values.astype(np.float64)
        else:
            return values.astype(np.float32)
    near = values.astype(np.float32)
    exact = near.astype(np.float64)
    inexact = np.isfinite(values) & (exact != values)
    outward = inexact & (np.abs(exact) > np.abs(values))
    near[outward] = np.nextafter(near[outward], np.float32(0))
    bits = near.view(np.uint32)
    bits[inexact] |= 1
    return near
