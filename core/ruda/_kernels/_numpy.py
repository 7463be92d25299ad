"""NumPy twins of the compiled kernels: the same names, the same arguments, the same results.

They serve where nothing is compiled, and they are what the compiled kernels are tested against.
Words are int32 or uint16 views of the values, made by the gate; results go into ``out``.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ruda._kernels.checks import Array

_MAGNITUDE = np.int32(0x7FFFFFFF)
_INFINITE = np.int32(0x7F800000)


def _losses(words: Array, to_zero: int, to_normal: int, to_infinity: int) -> tuple[int, int, int]:
    """Counts of (overflow, underflow, subnormal) from the magnitudes where rounding changes kind.

    Up to ``to_zero`` a value becomes 0, from ``to_normal`` normal, from ``to_infinity`` infinite.
    """
    size = words & _MAGNITUDE
    nonzero = int(np.count_nonzero(size))
    above_zero = int(np.count_nonzero(size > to_zero))
    normal = int(np.count_nonzero(size >= to_normal))
    infinite = int(np.count_nonzero(size >= to_infinity))
    already = int(np.count_nonzero(size >= _INFINITE))
    return infinite - already, nonzero - above_zero, above_zero - normal


def narrow_f16(words: Array, values: Array, out: Array, lead: int) -> tuple[int, int, int]:
    """float32 → float16 words, and the losses; ``lead`` is for the compiled kernel only."""
    with np.errstate(all="ignore"):
        out.view(np.float16)[...] = values
    nan = (words & _MAGNITUDE) > _INFINITE
    if nan.any():
        # NumPy leaves a NaN to the processor where that converts; this is what it does elsewhere.
        bits = words[nan].view(np.uint32)
        rest = np.maximum((bits >> np.uint32(13)) & np.uint32(0x3FF), np.uint32(1))
        out[nan] = ((bits >> np.uint32(16)) & np.uint32(0x8000)) | np.uint32(0x7C00) | rest
    return _losses(words, to_zero=0x33000000, to_normal=0x387FE000, to_infinity=0x477FF000)


def narrow_bf16(words: Array, out: Array, lead: int) -> tuple[int, int, int]:
    """float32 words → bfloat16 words, and the losses."""
    bits = words.view(np.uint32)
    top = bits >> np.uint32(16)
    rounded = (bits + (np.uint32(0x7FFF) + (top & np.uint32(1)))) >> np.uint32(16)
    nan = (words & _MAGNITUDE) > _INFINITE
    # A quiet NaN of the same sign: cutting the payload off could leave an infinity.
    out[...] = np.where(nan, top | np.uint32(0x40), rounded)
    return _losses(words, to_zero=0x8000, to_normal=0x007F8000, to_infinity=0x7F7F8000)


def widen_f16(halves: Array, out_words: Array, out_values: Array, lead: int) -> None:
    """float16 words → float32; ``out_words`` and ``out_values`` are the same memory."""
    with np.errstate(all="ignore"):
        out_values[...] = halves.view(np.float16)
    nan = (halves & np.uint16(0x7FFF)) > np.uint16(0x7C00)
    if nan.any():  # as in narrow_f16
        bits = halves[nan].astype(np.uint32)
        low = (bits & np.uint32(0x3FF)) << np.uint32(13)
        out_words[nan] = ((bits & np.uint32(0x8000)) << np.uint32(16)) | np.uint32(_INFINITE) | low


def widen_bf16(halves: Array, out_words: Array, lead: int) -> None:
    """bfloat16 words → float32 words."""
    np.left_shift(halves, 16, out=out_words, dtype=np.uint32)


def narrow_e4m3(words: Array, values: Array, out: Array, lead: int) -> tuple[int, int, int]:
    """float32 → float8_e4m3fn codes, and the losses; infinities become NaN, which is one."""
    with np.errstate(all="ignore"):
        out.view(ml_dtypes.float8_e4m3fn)[...] = values.astype(ml_dtypes.float8_e4m3fn)
    # Too large are magnitudes above the middle between 448 and 480, and infinities; NaN is kept.
    overflow, underflow, subnormal = _losses(words, 0x3A800000, 0x3C700000, 0x43E80001)
    return overflow + int(np.count_nonzero((words & _MAGNITUDE) == _INFINITE)), underflow, subnormal


def narrow_e5m2(words: Array, values: Array, out: Array, lead: int) -> tuple[int, int, int]:
    """float32 → float8_e5m2 codes, and the losses."""
    with np.errstate(all="ignore"):
        out.view(ml_dtypes.float8_e5m2)[...] = values.astype(ml_dtypes.float8_e5m2)
    return _losses(words, to_zero=0x37000000, to_normal=0x38600000, to_infinity=0x47700000)


def widen_e4m3(codes: Array, table: Array, out_words: Array, out_values: Array, lead: int) -> None:
    """The value that the table has for each code; ``out_words`` is the memory of the values."""
    np.take(table, codes, out=out_values)


widen_e5m2 = widen_e4m3


def moments_f32(words: Array, values: Array) -> tuple[int, int, float, float, int, int, int, int]:
    """Keys of the least and greatest finite value, sum, sum of squares, zeros, NaNs, ±infinities.

    A key is the word with the magnitude bits of negative numbers flipped: int32 in value order.
    """
    size = words & _MAGNITUDE
    beyond = int(np.count_nonzero(size >= _INFINITE))
    nans = int(np.count_nonzero(size > _INFINITE))
    pos_infs = int(np.count_nonzero(words == _INFINITE))
    zeros = words.size - int(np.count_nonzero(size))
    if beyond:
        finite = size < _INFINITE
        words, values = words[finite], values[finite]
    keys = words ^ ((words >> np.int32(31)) & _MAGNITUDE)
    low = int(keys.min(initial=2**31 - 1))
    high = int(keys.max(initial=-(2**31)))
    doubles = values.astype(np.float64)
    total = float(doubles.sum())
    squares = float(np.square(doubles, out=doubles).sum())
    return low, high, total, squares, zeros, nans, pos_infs, beyond - nans - pos_infs


def moments_f64(values: Array) -> tuple[float, float, float, float, int, int, int, int]:
    """Least and largest finite value, sum, sum of squares, and counts, in order."""
    zeros = values.size - int(np.count_nonzero(values))
    finite = np.isfinite(values)
    nans = pos_infs = beyond = 0
    if not finite.all():
        beyond = values.size - int(np.count_nonzero(finite))
        nans = int(np.count_nonzero(np.isnan(values)))
        pos_infs = int(np.count_nonzero(values == np.inf))
        values = values[finite]
    low = float(values.min(initial=np.inf))
    high = float(values.max(initial=-np.inf))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        total, squares = float(values.sum()), float(np.square(values).sum())
    return low, high, total, squares, zeros, nans, pos_infs, beyond - nans - pos_infs


def histogram_f32(
    values: Array, low: float, high: float, scale: float, places: Array, out: Array
) -> None:
    """Add to a row of ``out`` how many values fall in each bin; its last column is for no bin.

    ``scale`` is the number of bins per unit; ``places`` is scratch for the compiled kernel.
    """
    doubles = values.astype(np.float64)
    doubles = doubles[(doubles >= low) & (doubles <= high)]
    bins = out.shape[1] - 1
    index = np.minimum(((doubles - low) * scale).astype(np.int64), bins - 1)
    out[0, :bins] += np.bincount(index, minlength=bins)


histogram_f64 = histogram_f32


def transpose(words: Array, out: Array, first: int, last: int) -> None:
    """Columns first … last of ``words`` become the same rows of ``out``."""
    out[first:last] = words[:, first:last].T


_GAMMA = 0x9E3779B97F4A7C15


def _mix(words: Array) -> Array:
    """SplitMix64's finaliser, modulo 2⁶⁴."""
    z: Array = words ^ (words >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def permute(out: Array, key: Array) -> None:
    """``fy64-v1``: out becomes the permutation of 0 … n-1 that belongs to the one word in key."""
    n = out.size
    order = list(range(n))
    state = int(key[0])
    top = n - 1
    while top > 0:
        # Draw for many places at once; a rejected draw (about n in 2³²) starts a new run there.
        span = min(top, 1 << 16)
        ranges = np.arange(top + 1, top + 1 - span, -1, dtype=np.uint64)
        states = np.arange(1, span + 1, dtype=np.uint64) * np.uint64(_GAMMA) + np.uint64(state)
        scaled = (_mix(states) >> np.uint64(32)) * ranges
        least = (np.uint64(2**32) - ranges) % ranges
        rejected = np.flatnonzero((scaled & np.uint64(0xFFFFFFFF)) < least)
        good = int(rejected[0]) if rejected.size else span
        for place, other in enumerate((scaled[:good] >> np.uint64(32)).tolist()):
            at = top - place
            order[at], order[other] = order[other], order[at]
        used = good + (1 if rejected.size else 0)
        state = (state + used * _GAMMA) % 2**64
        top -= good
    out[...] = order
