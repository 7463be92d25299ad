"""Attention without parameters: every query takes a mixture of values, weighed by its keys."""

from __future__ import annotations

import math

import numpy as np

from ruda import _kernels
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import Array, check_broadcast, common_shape, dtype_of, recast
from ruda.tensor.promotion import accumulator, promote, require_float
from ruda.tensor.sizes import number, switch


def attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    bias: Array | None,
    *,
    scale: float | None,
    softcap: float | None,
    is_causal: bool,
) -> Array:
    """softmax(Q·Kᵀ · scale + bias) · V; see ``Tensor.attention``.

    The order of steps is that of Burn's ``attention``: scale, softcap, what is hidden, bias.
    """
    dtype = dtype_of(query)
    for part in (query, key, value, bias):
        if part is not None:
            require_float("attention", dtype_of(part))
            dtype = promote("attention", dtype, dtype_of(part))
    _check_shapes(query, key, value)
    factor, cap = _settings(query.shape[-1], scale, softcap)
    wide = accumulator(dtype)
    q, k, v = (recast(part, wide) for part in (query, key, value))
    with np.errstate(all="ignore"):  # NaN and Inf in the input are results, not news
        scores = np.matmul(q, np.swapaxes(k, -1, -2))
        scores *= scores.dtype.type(factor)
        if cap is not None:
            scores = np.tanh(scores / scores.dtype.type(cap)) * scores.dtype.type(cap)
        hidden = _hidden(scores.shape, mask, is_causal=switch("attention", "is_causal", is_causal))
        if hidden is not None:
            scores = np.where(hidden, scores.dtype.type(-np.inf), scores)
        if bias is not None:
            _check_within("bias", bias.shape, scores.shape)
            scores += recast(bias, wide)
        return recast(np.matmul(_weights(scores), v), dtype)


def _weights(scores: Array) -> Array:
    """Softmax along the last axis; 0 throughout where there is nothing to see."""
    if not scores.size:
        return scores
    top = scores.max(axis=-1, keepdims=True)
    blind = top == -np.inf
    if scores.dtype == np.float32:
        weights = _kernels.softmax(np.ascontiguousarray(scores))
    else:
        weights = np.exp(scores - top)
        weights /= weights.sum(axis=-1, keepdims=True)
    return np.where(blind, weights.dtype.type(0), weights) if blind.any() else weights


def _hidden(shape: tuple[int, ...], mask: Array | None, *, is_causal: bool) -> Array | None:
    """Where queries do not look: in the mask, and with ``is_causal`` at later keys.

    The last query sees the last key, as when keys of earlier steps were kept.
    """
    if mask is not None:
        if dtype_of(mask) is not DType.BOOL:
            raise DTypeError(
                f"attention: a mask is bool, True where it hides, got {dtype_of(mask)}; numbers "
                f"that are added are a bias"
            )
        _check_within("mask", mask.shape, shape)
    if not is_causal:
        return mask
    queries, keys = shape[-2:]
    later = np.arange(keys) > np.arange(queries)[:, None] + (keys - queries)
    return later if mask is None else later | mask


def _settings(width: int, scale: float | None, softcap: float | None) -> tuple[float, float | None]:
    if not width:
        raise ShapeError("attention: queries and keys have no elements to compare")
    factor = 1 / math.sqrt(width) if scale is None else number("attention", "scale", scale)
    if softcap is None:
        return factor, None
    cap = number("attention", "softcap", softcap)
    if not 0 < cap < math.inf:
        raise SettingError(f"attention: softcap is above 0 and finite, got {softcap!r}")
    return factor, cap


def _check_shapes(query: Array, key: Array, value: Array) -> None:
    shapes = [list(part.shape) for part in (query, key, value)]
    fits = min(map(len, shapes)) >= 2
    if not fits or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"attention: shapes {shapes[0]}, {shapes[1]} and {shapes[2]}; expected (…, time, d), "
            f"(…, key time, d) and (…, key time, width)"
        )
    both = common_shape("attention", query.shape[:-2], key.shape[:-2])
    check_broadcast("attention", both, value.shape[:-2])


def _check_within(name: str, found: tuple[int, ...], scores: tuple[int, ...]) -> None:
    if common_shape("attention", found, scores) != scores:
        raise ShapeError(
            f"attention: a {name} of shape {list(found)} does not fit scores of {list(scores)}"
        )
