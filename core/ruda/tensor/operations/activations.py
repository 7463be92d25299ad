"""Activations: floats in, floats of the same dtype out; halves are computed in f32.

Formulas are PyTorch's, whose defaults are meant where RUDA's documents give none.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ruda import _kernels
from ruda.errors import SettingError, ShapeError
from ruda.tensor.operations import special
from ruda.tensor.operations.operands import (
    Array,
    dtype_of,
    normalise_axis,
    recast,
    working,
)
from ruda.tensor.operations.sums import added
from ruda.tensor.promotion import require_float
from ruda.tensor.sizes import number

_BLOCK = 1 << 14
"""Values at a time where many passes are made: those of one block stay in the cache."""


def _of_each(name: str, values: Array, compute: Callable[[Array], Array]) -> Array:
    dtype, wide = working(name, values)
    with np.errstate(all="ignore"):
        return recast(np.asarray(compute(wide)).astype(wide.dtype, copy=False), dtype)


def relu(values: Array) -> Array:
    """Negative values become 0; NaN stays NaN."""
    require_float("relu", dtype_of(values))
    return np.asarray(np.maximum(values, values.dtype.type(0)))


def hard_tanh(values: Array, low: float, high: float) -> Array:
    """Values below ``low`` become it, those above ``high`` that; NaN stays NaN."""
    low, high = number("hard_tanh", "low", low), number("hard_tanh", "high", high)
    if low > high:
        raise SettingError(f"hard_tanh: the low end {low:g} is above the high end {high:g}")
    return _of_each(
        "hard_tanh", values, lambda x: np.clip(x, x.dtype.type(low), x.dtype.type(high))
    )


def leaky_relu(values: Array, slope: float) -> Array:
    """x, or ``slope`` · x below 0."""
    slope = number("leaky_relu", "slope", slope)
    return _of_each("leaky_relu", values, lambda x: np.where(x > 0, x, x * x.dtype.type(slope)))


def prelu(values: Array, slopes: Array) -> Array:
    """x, or slope · x below 0, with one slope for all or one for each channel (axis 1)."""
    if slopes.ndim > 1:
        raise ShapeError(f"prelu: slopes of shape {list(slopes.shape)} are no vector")
    channels = values.shape[1] if values.ndim > 1 else 1
    if slopes.size not in (1, channels):
        raise ShapeError(f"prelu: {slopes.size} slopes for {channels} channels")
    shape = (channels, *(1,) * (values.ndim - 2)) if slopes.size != 1 else ()
    along = slopes.reshape(shape)
    dtype, wide = working("prelu", values)
    factor = recast(along, dtype_of(wide))
    with np.errstate(all="ignore"):
        return recast(np.where(wide > 0, wide, wide * factor), dtype)


def sigmoid(values: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow on either side."""
    return _of_each("sigmoid", values, _sigmoid)


def _sigmoid(x: Array) -> Array:
    power = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, power, 1) / (1 + power))


def silu(values: Array) -> Array:
    """Value x · sigmoid(x); 0 at -Inf, which is the limit. f32 within 4 ulp, or 1e-36."""

    def compute(x: Array) -> Array:
        if x.dtype == np.float32:
            return _kernels.silu(x)
        return np.where(np.isneginf(x), 0, x * _sigmoid(x))

    return _of_each("silu", values, compute)


def gelu(values: Array) -> Array:
    """Value x · Φ(x) with the exact error function; 0 at -Inf, which is the limit.

    f32 within 10 ulp; what is below 1e-36 may be off by 1e-38.
    """

    def compute(x: Array) -> Array:
        if x.dtype == np.float32:
            return _kernels.gelu(x)
        flat = np.ascontiguousarray(x).reshape(-1)
        out = np.empty_like(flat)
        for start in range(0, flat.size, _BLOCK):
            part = flat[start : start + _BLOCK]
            wide = part.astype(np.float64)
            share = special.erfc(wide * -math.sqrt(0.5)) * 0.5
            out[start : start + _BLOCK] = np.where(np.isneginf(part), -0.0, wide * share)
        return out.reshape(x.shape)

    return _of_each("gelu", values, compute)


def gelu_approximate(values: Array) -> Array:
    """½ · x · (1 + tanh(√(2 / π) · (x + 0.044715 · x³))), as GPT-2 has it.

    f32 within 4 ulp for x from 0; at -3 within 25 ulp, at -9 within 210.
    """

    def compute(x: Array) -> Array:
        if x.dtype == np.float32:
            return _kernels.gelu_tanh(x)
        one = x.dtype.type
        inner = one(math.sqrt(2 / math.pi)) * (x + one(0.044715) * (x * x * x))
        # ½ (1 + tanh u) is sigmoid(2u), which does not end in 0 where tanh is -1.
        return np.asarray(np.where(np.isneginf(x), -one(0), x * _sigmoid(2 * inner)))

    return _of_each("gelu_approximate", values, compute)


def elu(values: Array, alpha: float) -> Array:
    """x, or ``alpha`` · (exp(x) - 1) below 0."""
    alpha = number("elu", "alpha", alpha)
    return _of_each(
        "elu",
        values,
        lambda x: np.where(x > 0, x, x.dtype.type(alpha) * np.expm1(np.minimum(x, 0))),
    )


def celu(values: Array, alpha: float) -> Array:
    """x, or ``alpha`` · (exp(x / ``alpha``) - 1) below 0. Raises SettingError if ``alpha`` is 0."""
    alpha = number("celu", "alpha", alpha)
    if alpha == 0:
        raise SettingError("celu: alpha is 0, by which it divides")

    def compute(x: Array) -> Array:
        one = x.dtype.type(alpha)
        return np.asarray(np.maximum(x, 0) + np.minimum(one * np.expm1(x / one), 0))

    return _of_each("celu", values, compute)


# Klambauer et al. 2017: fixed point of mean 0 and variance 1.
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def selu(values: Array) -> Array:
    """1.0507 · elu(x, 1.6733): activations keep mean 0 and variance 1."""

    def compute(x: Array) -> Array:
        low = x.dtype.type(_SELU_ALPHA) * np.expm1(np.minimum(x, 0))
        return np.asarray(x.dtype.type(_SELU_SCALE) * np.where(x > 0, x, low))

    return _of_each("selu", values, compute)


def softplus(values: Array, beta: float, threshold: float) -> Array:
    """log(1 + exp(``beta`` · x)) / ``beta``; x itself where ``beta`` · x is above ``threshold``."""
    beta, threshold = number("softplus", "beta", beta), number("softplus", "threshold", threshold)
    if beta == 0:
        raise SettingError("softplus: beta is 0, by which it divides")

    def compute(x: Array) -> Array:
        scaled = x * x.dtype.type(beta)
        return np.where(scaled > threshold, x, _softplus(scaled) / x.dtype.type(beta))

    return _of_each("softplus", values, compute)


def _softplus(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def mish(values: Array) -> Array:
    """Value x · tanh(log(1 + exp(x))); 0 at -Inf, which is the limit."""
    return _of_each(
        "mish", values, lambda x: np.where(np.isneginf(x), 0, x * np.tanh(_softplus(x)))
    )


def log_sigmoid(values: Array) -> Array:
    """log(sigmoid(x)), without underflow."""
    return _of_each("log_sigmoid", values, lambda x: -_softplus(-x))


def hard_sigmoid(values: Array, alpha: float, beta: float) -> Array:
    """``alpha`` · x + ``beta``, kept between 0 and 1."""
    alpha, beta = number("hard_sigmoid", "alpha", alpha), number("hard_sigmoid", "beta", beta)
    return _of_each(
        "hard_sigmoid",
        values,
        lambda x: np.clip(x * x.dtype.type(alpha) + x.dtype.type(beta), 0, 1),
    )


def hard_swish(values: Array) -> Array:
    """Value x · clip(x + 3, 0, 6) / 6; 0 at -Inf, which is the limit."""
    return _of_each(
        "hard_swish",
        values,
        lambda x: np.where(np.isneginf(x), 0, x * np.clip(x + 3, 0, 6) / x.dtype.type(6)),
    )


def tanh_shrink(values: Array) -> Array:
    """Value x - tanh(x), computed in f64: near 0 both are almost alike, and x³ / 3 is left."""
    return _of_each("tanh_shrink", values, _tanh_shrink)


def _tanh_shrink(x: Array) -> Array:
    wide = x.astype(np.float64)
    square = np.square(wide)
    # The Taylor series of tanh without its first term, exact to f64 below 0.02.
    series = 1 / 3 + square * (-2 / 15 + square * (17 / 315 - square * (62 / 2835)))
    return np.where(np.abs(wide) < 0.02, wide * square * series, wide - np.tanh(wide))


def soft_sign(values: Array) -> Array:
    """Value x / (1 + |x|); ±1 at ±Inf, which is the limit."""
    return _of_each(
        "soft_sign", values, lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x)))
    )


def hard_shrink(values: Array, width: float) -> Array:
    """0 between -``width`` and ``width``, x elsewhere; NaN stays NaN."""
    width = number("hard_shrink", "width", width)
    return _of_each("hard_shrink", values, lambda x: np.where((x >= -width) & (x <= width), 0, x))


def soft_shrink(values: Array, width: float) -> Array:
    """0 between -``width`` and ``width``, x moved towards 0 by ``width`` elsewhere."""
    return shrink(values, width, width)


def shrink(values: Array, width: float, bias: float) -> Array:
    """0 between -``width`` and ``width``, x moved towards 0 by ``bias`` elsewhere; keeps NaN."""
    width, bias = number("shrink", "width", width), number("shrink", "bias", bias)

    def compute(x: Array) -> Array:
        moved = np.where(x > 0, x - x.dtype.type(bias), x + x.dtype.type(bias))
        return np.where((x >= -width) & (x <= width), 0, moved)

    return _of_each("shrink", values, compute)


def thresholded(values: Array, threshold: float, value: float) -> Array:
    """Keeps x where it is above ``threshold``, ``value`` elsewhere; NaN stays NaN."""
    threshold = number("threshold", "threshold", threshold)
    value = number("threshold", "value", value)
    return _of_each("threshold", values, lambda x: np.where(x <= threshold, x.dtype.type(value), x))


def glu(values: Array, axis: int) -> Array:
    """First half of an axis times the sigmoid of the second. Raises ShapeError for an odd size."""
    dtype, wide = working("glu", values)
    axis = normalise_axis("glu", values, axis)
    if values.shape[axis] % 2:
        raise ShapeError(f"glu: axis {axis} of shape {list(values.shape)} has no two halves")
    first, second = np.split(wide, 2, axis=axis)
    with np.errstate(all="ignore"):
        return recast(first * _sigmoid(second), dtype)


def softmax(values: Array, axis: int) -> Array:
    """exp(x) / Σ exp(x) along an axis, safe for large values.

    f32 within 4 ulp and one for each unit that x lies below the largest; 4e-38 may become 0.
    """
    dtype, wide = working("softmax", values)
    axis = normalise_axis("softmax", values, axis)
    if wide.dtype == np.float32 and axis == wide.ndim - 1:
        return recast(_kernels.softmax(wide), dtype)
    with np.errstate(all="ignore"):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))
        result = powers / added(powers, (axis,), keepdims=True)
    return recast(result, dtype)


def softmin(values: Array, axis: int) -> Array:
    """``softmax`` of -x."""
    require_float("softmin", dtype_of(values))
    return softmax(-values, axis)


def quiet_softmax(values: Array, axis: int) -> Array:
    """exp(x) / (1 + Σ exp(x)) along an axis: attention that may look at nothing."""
    dtype, wide = working("quiet_softmax", values)
    axis = normalise_axis("quiet_softmax", values, axis)
    with np.errstate(all="ignore"):
        largest = wide.max(axis=axis, keepdims=True, initial=0)
        powers = np.exp(wide - largest)
        result = powers / (np.exp(-largest) + added(powers, (axis,), keepdims=True))
    return recast(result, dtype)


def log_softmax(values: Array, axis: int) -> Array:
    """Logarithm of ``softmax``, computed without underflow."""
    dtype, wide = working("log_softmax", values)
    axis = normalise_axis("log_softmax", values, axis)
    if wide.dtype == np.float32 and axis == wide.ndim - 1:
        return recast(_kernels.log_softmax(wide), dtype)
    with np.errstate(all="ignore"):
        centred = wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)
        result = centred - np.log(added(np.exp(centred), (axis,), keepdims=True))
    return recast(result, dtype)


def log_sum_exp(values: Array, axis: int, *, keepdims: bool) -> Array:
    """Logarithm of Σ exp(x) along an axis, safe for large values; -Inf over nothing."""
    dtype, wide = working("logsumexp", values)
    axis = normalise_axis("logsumexp", values, axis)
    with np.errstate(all="ignore"):
        largest = wide.max(axis=axis, keepdims=True, initial=-np.inf)
        finite = np.where(np.isfinite(largest), largest, 0)
        found = np.log(added(np.exp(wide - finite), (axis,), keepdims=True)) + finite
    return recast(found if keepdims else found.squeeze(axis), dtype)
