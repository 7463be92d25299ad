"""Activations: floats in, floats of the same dtype out; halves are computed in f32."""

from __future__ import annotations

import numpy as np

from ruda.tensor.operations.operands import Array, dtype_of, normalise_axis, recast, working
from ruda.tensor.promotion import require_float


def relu(values: Array) -> Array:
    """Negative values become 0; NaN stays NaN."""
    require_float("relu", dtype_of(values))
    return np.asarray(np.maximum(values, values.dtype.type(0)))


def softmax(values: Array, axis: int) -> Array:
    """exp(x) / Σ exp(x) along an axis, safe for large values."""
    dtype, wide = working("softmax", values)
    axis = normalise_axis("softmax", values, axis)
    with np.errstate(all="ignore"):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))
        result = powers / powers.sum(axis=axis, keepdims=True)
    return recast(result, dtype)


def log_softmax(values: Array, axis: int) -> Array:
    """Logarithm of ``softmax``, computed without underflow."""
    dtype, wide = working("log_softmax", values)
    axis = normalise_axis("log_softmax", values, axis)
    with np.errstate(all="ignore"):
        centred = wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)
        result = centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))
    return recast(result, dtype)
