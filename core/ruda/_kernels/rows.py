"""Softmax, log-softmax and the norms of float32 over the last axis."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ruda._kernels.checks import Array, as_rows, take_array, take_out, take_plain, take_rows
from ruda._kernels.narrowing import F32
from ruda._kernels.numbers import take_number, take_single
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda._kernels.workspace import line_scratch
from ruda.errors import LayoutError, ShapeError

_rows = kernel("rows")

_I32 = np.dtype(np.int32)
_JUST_F32 = (F32,)
_NOTHING = np.empty((0, 0), F32)
_NOWHERE = np.empty(0, np.int64)


def softmax(
    values: Array, *, scale: float = 1.0, mask: Array | None = None, out: Array | None = None
) -> Array:
    """exp(s) / Σ exp(s) over the last axis of s = scale · values + mask: float32 of any rank ≥ 1.

    ``mask`` is float32 that broadcasts to values; -Inf hides a place. A row with nothing but -Inf,
    with +Inf or NaN is NaN. A share is within 4 + d ulp, where d is how far s lies below the
    largest of its row, and 4e-38; with a scale or a mask, s is rounded too, which adds at most
    2·|scale · value| + |mask| ulp of the largest in the row.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    return _soft(_rows.softmax, values, scale, mask, out)


def log_softmax(
    values: Array, *, scale: float = 1.0, mask: Array | None = None, out: Array | None = None
) -> Array:
    """Logarithm of ``softmax`` over the last axis, without underflow; arguments are the same.

    Within 2 ulp of the larger of the result and d, the distance to the largest of the row, plus
    1e-6. Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    return _soft(_rows.log_softmax, values, scale, mask, out)


def _soft(call: Any, values: Array, scale: float, mask: Array | None, out: Array | None) -> Array:
    given = _take_rows(values, "values")
    factor = take_single(scale, "scale")
    hidden, places = _take_mask(mask, given)
    result = take_out(out, given.shape, _JUST_F32, given, hidden)
    source = as_rows(given)
    target = as_rows(result)

    def piece(cut: slice) -> None:
        part, where = target[cut], places[cut] if places.size else places
        call(
            take_plain(take_rows(source, cut)),
            hidden,
            where,
            factor,
            part,
            part.view(_I32),
            *line_scratch(),
        )

    _by_rows(piece, target, 8)
    return result


def _take_mask(mask: Array | None, given: Array) -> tuple[Array, Array]:
    """Rows of the mask, and which of them belongs to each row of the values."""
    if mask is None:
        return _NOTHING, _NOWHERE
    found = take_array(mask, "mask", _JUST_F32)
    try:
        np.broadcast_to(found, given.shape)
    except ValueError:
        raise ShapeError(
            f"mask has shape {found.shape}; expected one that broadcasts to {given.shape}"
        ) from None
    if not given.size:
        return _NOTHING, _NOWHERE
    upper = found.shape[:-1]
    rows = take_plain(np.broadcast_to(found, (*upper, given.shape[-1]))).reshape(
        -1, given.shape[-1]
    )
    order = np.arange(rows.shape[0], dtype=np.int64).reshape(upper)
    return rows, np.ascontiguousarray(np.broadcast_to(order, given.shape[:-1])).reshape(-1)


def layer_norm(
    values: Array,
    gamma: Array | None = None,
    beta: Array | None = None,
    *,
    epsilon: float = 1e-5,
    out: Array | None = None,
) -> Array:
    """(x - mean) / √(variance + epsilon) · gamma + beta over the last axis of float32 (…, width).

    ``gamma`` and ``beta`` are float32 (width), ones and zeros where None; the variance is the
    biased one, and sums are in float64. Within 4 ulp of the larger of product and sum; a row with
    NaN or Inf is NaN. Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    given = _take_rows(values, "values")
    weight, shift = _take_line(gamma, "gamma", given, 1), _take_line(beta, "beta", given, 0)
    result = take_out(out, given.shape, _JUST_F32, given, weight, shift)
    source, small = as_rows(given), take_number(epsilon, "epsilon")
    target = as_rows(result)

    def piece(cut: slice) -> None:
        _rows.layer_norm(take_plain(take_rows(source, cut)), weight, shift, small, target[cut])

    _by_rows(piece, target, 8)
    return result


def add_layer_norm(
    values: Array,
    other: Array,
    gamma: Array | None = None,
    beta: Array | None = None,
    *,
    epsilon: float = 1e-5,
    added: Array | None = None,
    out: Array | None = None,
) -> tuple[Array, Array]:
    """``layer_norm`` of values + other, both float32 of one shape, and that sum: (norm, sum).

    ``added`` takes the sum, rounded as NumPy's, and ``out`` the norm, within the bound of
    ``layer_norm`` for that sum.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    given, second = _take_rows(values, "values"), _take_rows(other, "other")
    if second.shape != given.shape:
        raise ShapeError(f"other has shape {second.shape}; expected that of values, {given.shape}")
    weight, shift = _take_line(gamma, "gamma", given, 1), _take_line(beta, "beta", given, 0)
    total = take_out(added, given.shape, _JUST_F32, given, second, weight, shift)
    result = take_out(out, given.shape, _JUST_F32, given, second, weight, shift)
    if np.may_share_memory(total, result):
        raise LayoutError("out shares memory with added; pass a separate array")
    left, right = as_rows(given), as_rows(second)
    small = take_number(epsilon, "epsilon")
    sums, target = as_rows(total), as_rows(result)

    def piece(cut: slice) -> None:
        first, last = take_plain(take_rows(left, cut)), take_plain(take_rows(right, cut))
        _rows.add_layer_norm(first, last, weight, shift, small, sums[cut], target[cut])

    _by_rows(piece, target, 16)
    return result, total


def rms_norm(
    values: Array,
    gamma: Array | None = None,
    *,
    epsilon: float = 1e-5,
    out: Array | None = None,
) -> Array:
    """Value x / √(mean(x²) + epsilon) · gamma over the last axis of float32 (…, width).

    ``gamma`` is float32 (width), ones where None; the mean is in float64. Within 3 ulp.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    given = _take_rows(values, "values")
    weight = _take_line(gamma, "gamma", given, 1)
    result = take_out(out, given.shape, _JUST_F32, given, weight)
    source, small = as_rows(given), take_number(epsilon, "epsilon")
    target = as_rows(result)

    def piece(cut: slice) -> None:
        _rows.rms_norm(take_plain(take_rows(source, cut)), weight, small, target[cut])

    _by_rows(piece, target, 8)
    return result


def _take_rows(values: object, name: str) -> Array:
    given = take_array(values, name, _JUST_F32)
    if not given.ndim:
        raise ShapeError(f"{name} has no axis; expected a last axis to work along")
    return given


def _take_line(values: Array | None, name: str, given: Array, default: int) -> Array:
    width = given.shape[-1]
    if values is None:
        return _constant(width, default)
    line = take_array(values, name, _JUST_F32)
    if line.shape != (width,):
        raise ShapeError(f"{name} has shape {line.shape}; expected ({width},), one per column")
    return take_plain(line)


@lru_cache(maxsize=64)
def _constant(width: int, value: int) -> Array:
    line = np.full(width, value, F32)
    line.flags.writeable = False  # all callers share it
    return line


def _by_rows(piece: Any, target: Array, item_bytes: int) -> None:
    if target.size:
        in_pieces(piece, target.shape[0], item_bytes=item_bytes * target.shape[1])
