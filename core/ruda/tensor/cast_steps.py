"""What a cast does to one block of values, and which values it does not give back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.layout import widened

Array = np.ndarray[Any, Any]
Losses = tuple[int, int, int]
"""Overflow, underflow and subnormal results, as in CastCounts."""
Step = Callable[[Array, Array], Losses]
"""From values with one axis to such an array of the target, which it fills."""

NARROW = {
    DType.F16: _kernels.narrow_f16,
    DType.BF16: _kernels.narrow_bf16,
    DType.F8_E4M3FN: _kernels.narrow_e4m3,
    DType.F8_E5M2: _kernels.narrow_e5m2,
}
WIDEN = {
    DType.F16: _kernels.widen_f16,
    DType.BF16: _kernels.widen_bf16,
    DType.F8_E4M3FN: _kernels.widen_e4m3,
    DType.F8_E5M2: _kernels.widen_e5m2,
}
_BY_NUMPY = {dtype.numpy: widen for dtype, widen in WIDEN.items()}
_NONE: Losses = (0, 0, 0)


def step_between(source: DType, target: DType) -> Step:
    """The step for plain numbers of these dtypes; warnings of NumPy mean nothing inside."""
    if source is DType.BOOL_U32:
        inner = step_between(DType.BOOL, target)
        return lambda values, out: inner(values != 0, out)
    if target.kind is Kind.BOOL:
        return _to_bool
    if target.is_integer:
        return partial(_to_integer, target)
    if target in NARROW:
        return partial(_narrow, target)
    if target.bits < 32:
        return partial(_to_small, target)
    if source is DType.BF16 and target in (DType.F32, DType.FLEX32):
        return _widen_bf16
    return partial(_to_float, target)


def block_bytes(source: DType, target: DType) -> int:
    """Bytes to read and write at a time; what a step makes on the way should stay in the cache."""
    few = source is DType.BF16 and target in (DType.F32, DType.FLEX32)
    return (4 if few else 1) << 19


def _to_bool(values: Array, out: Array) -> Losses:
    out[...] = values != 0
    return _NONE


def _narrow(target: DType, values: Array, out: Array) -> Losses:
    _, lost = NARROW[target](_single(values), out)
    return lost.overflow, lost.underflow, lost.subnormal


def _to_small(target: DType, values: Array, out: Array) -> Losses:
    out[...] = _single(values).astype(target.numpy)
    return _losses(values, out, target)


def _widen_bf16(values: Array, out: Array) -> Losses:
    _kernels.widen_bf16(values, out)
    words = values.view(np.uint16)
    sizes = words + words  # without the sign
    # float32 has the exponents of bfloat16, and its subnormals are those of the exponent 0.
    least = sizes.min()
    if least and least < _NORMAL:
        return 0, 0, int(np.count_nonzero(sizes < _NORMAL))
    if least:
        return _NONE
    sizes -= np.uint16(1)  # 0 turns into the largest
    return 0, 0, int(np.count_nonzero(sizes < _NORMAL - 1)) if sizes.min() < _NORMAL - 1 else 0


_NORMAL = np.uint16(0x100)
"""Twice the word of the smallest normal bfloat16."""


def _to_float(target: DType, values: Array, out: Array) -> Losses:
    widen = _BY_NUMPY.get(values.dtype)
    out[...] = values if widen is None else widen(values)
    if target.kind is Kind.COMPLEX:
        finite, held = np.isfinite(values), np.isfinite(out)
        vanished = (values != 0) & (out == 0)
        return int(np.count_nonzero(finite & ~held)), int(np.count_nonzero(vanished)), 0
    if values.dtype.kind in "iub" or (target is DType.F64 and values.dtype != np.float64):
        return _NONE  # all these are 0 or normal, and far from the largest
    return _losses(values, out, target)


def _losses(values: Array, out: Array, target: DType) -> Losses:
    got = np.abs(widened(out))
    tiny = target.smallest_normal
    overflow = 0
    if not got.max() < np.inf:  # NaN, too
        seen = widened(values)
        unheld = (np.isfinite(seen) & ~np.isfinite(got)) | (np.isinf(seen) & np.isnan(got))
        overflow = int(np.count_nonzero(unheld))
    elif got.min() >= tiny:
        return _NONE
    # f8_e8m0 has no zero and no sign: ml_dtypes gives NaN for both, which counts as overflow.
    zeros = int(np.count_nonzero(got == 0))
    vanished = zeros - int(np.count_nonzero(widened(values) == 0)) if zeros else 0
    return overflow, vanished, int(np.count_nonzero(got < tiny)) - zeros


def _to_integer(target: DType, values: Array, out: Array) -> Losses:
    info = np.iinfo(target.numpy)
    if values.dtype.kind in "iub":
        return _integer_to_integer(values, info, out)
    wide = values if values.dtype == np.float64 else _single(values)
    low, end = float(info.min), 2.0 ** (target.bits - (target.kind is Kind.INT))
    # Both limits are floats of any width; NaN is not within them.
    if float(wide.min()) >= low and float(wide.max()) < end:
        out[...] = wide.astype(target.numpy)
        vanished = np.count_nonzero(wide) - np.count_nonzero(out)
        return 0, int(vanished), 0
    whole = np.trunc(wide)
    below, above, absent = whole < low, whole >= end, np.isnan(wide)
    lost = below | above | absent
    whole[lost] = 0
    out[...] = whole.astype(target.numpy)
    out[below] = info.min
    out[above] = info.max
    vanished = np.count_nonzero((wide != 0) & (whole == 0) & ~lost)
    return int(np.count_nonzero(lost)), int(vanished), 0


def _integer_to_integer(values: Array, info: np.iinfo[Any], out: Array) -> Losses:
    if values.dtype.kind == "b":
        out[...] = values
        return _NONE
    held = np.iinfo(values.dtype)
    low, high = max(info.min, held.min), min(info.max, held.max)
    if low == held.min and high == held.max:
        out[...] = values
        return _NONE
    inside = np.clip(values, values.dtype.type(low), values.dtype.type(high))
    out[...] = inside.astype(out.dtype)
    return int(np.count_nonzero(inside != values)), 0, 0


def _single(values: Array) -> Array:
    """As float32 where that is exact, else as what rounds onward as the values would directly."""
    widen = _BY_NUMPY.get(values.dtype)
    return round_to_odd(values) if widen is None else widen(values)


def round_to_odd(values: Array) -> Array:
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
        if values.dtype == np.float32:
            return values
        if values.dtype.kind not in "iub" or values.dtype.itemsize < 4:
            return values.astype(np.float32)
        values = values.astype(np.float64)
    near = values.astype(np.float32)
    size, exact = np.abs(values), np.abs(near).astype(np.float64)
    outward = exact > size
    inexact = exact < size
    inexact |= outward  # neither for NaN
    bits = near.view(np.uint32)
    bits -= outward  # the float before it, in magnitude: the largest one for Inf
    bits |= inexact
    return near


def unequal(values: Array, out: Array) -> int:
    """How many values of ``out``, made of these, are other numbers; NaN is the same as NaN.

    Compares as numbers, not through a common type that would round.
    """
    if values.dtype.kind in "iub" and out.dtype.kind in "iub":
        return int(np.count_nonzero(values != out))
    for whole, other in ((values, out), (out, values)):
        if whole.dtype.kind in "iu" and whole.dtype.itemsize == 8:
            return whole.size - int(np.count_nonzero(_same_whole(whole, other)))
    left, right = _comparable(values), _comparable(out)
    found = int(np.count_nonzero(left != right))
    return found and found - int(np.count_nonzero((left != left) & (right != right)))


def _comparable(values: Array) -> Array:
    """In a type of NumPy that has these values: floats, or complex numbers."""
    if values.dtype.kind == "c" or values.dtype == np.float64:
        return values
    if values.dtype.kind in "iu" and values.dtype.itemsize == 4:
        return values.astype(np.float64)
    return _single(values)


def _same_whole(whole: Array, other: Array) -> Array:
    """Where integers of 64 bits equal floats, or complex numbers that were made of them."""
    floats, info = _comparable(other).real, np.iinfo(whole.dtype)
    # Both ends are floats; outside, a conversion to integers would be no one's value.
    inside = (floats >= float(info.min)) & (floats < float(info.max))
    back = np.where(inside, floats, 0).astype(whole.dtype)
    same: Array = inside & (back == whole) & (whole.astype(np.float64) == floats)
    return same
