"""Many values into one, over some axes or all.

Halves add up in f32 and are rounded once; integers and bool add up in i64 (u64). Sums of floats
are pairwise along every axis, running sums of f32 are carried in f64. NaN wins in
``max`` and ``min``. What has no value over nothing (``max``) raises ShapeError there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ruda.errors import OperationError, ShapeError
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.layout import widened
from ruda.tensor.operations.elementwise import absolute
from ruda.tensor.operations.operands import (
    Array,
    Axes,
    dtype_of,
    filled_axes,
    normalise_axes,
    normalise_axis,
    recast,
)
from ruda.tensor.operations.products import product as matrix_product
from ruda.tensor.operations.sums import added
from ruda.tensor.promotion import (
    DEFAULT_FLOAT,
    accumulator,
    require_computable,
    require_float,
    require_real,
)
from ruda.tensor.sizes import number, switch

Reduction = Callable[..., Any]


def _folded(
    name: str, fold: Reduction, values: Array, axis: Axes, keepdims: bool, dtype: DType | None
) -> Array:
    source = dtype_of(values)
    require_computable(name, source)
    axes, keepdims = normalise_axes(name, values, axis), switch(name, "keepdims", keepdims)
    if dtype is not None:
        require_computable(name, dtype)
    result = dtype or (accumulator(source) if source.kind in _WHOLE else source)
    wide = accumulator(result) if result.is_float else result
    taken = _taken_in(values, wide)
    with np.errstate(all="ignore"):
        if fold is np.sum:
            found = added(taken, axes, keepdims=keepdims)
        else:
            found = fold(taken, axis=axes, keepdims=keepdims, dtype=wide.numpy)
    return recast(np.asarray(found), result)


_WHOLE = (DType.I32.kind, DType.U32.kind, DType.BOOL.kind)


def _taken_in(values: Array, wide: DType) -> Array:
    """The values in the dtype to fold in.

    Integers of a wider dtype go in modulo 2ⁿ, as the fold itself counts, so that what comes out is
    right wherever it fits. Pulling each of them to the end of the range would spoil the result.
    """
    if wide.is_integer and dtype_of(values).is_integer:
        return values.astype(wide.numpy, copy=False)
    return recast(values, wide)


def total(
    values: Array, axis: Axes = None, *, keepdims: bool = False, dtype: DType | None = None
) -> Array:
    """Sum; over nothing it is 0. ``dtype`` asks for another one to add up in."""
    return _folded("sum", np.sum, values, axis, keepdims, dtype)


def product(
    values: Array, axis: Axes = None, *, keepdims: bool = False, dtype: DType | None = None
) -> Array:
    """Product; over nothing it is 1. ``dtype`` asks for another one to multiply in."""
    return _folded("prod", np.prod, values, axis, keepdims, dtype)


def mean(values: Array, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Mean: in the dtype of floats, f32 for integers and bool; NaN over nothing."""
    dtype = dtype_of(values)
    require_computable("mean", dtype)
    axes = normalise_axes("mean", values, axis)
    keepdims = switch("mean", "keepdims", keepdims)
    inexact = dtype.is_float or values.dtype.kind == "c"
    working = accumulator(dtype) if inexact else DType.F64
    wide = recast(values, working)
    count = _count(wide, axes)
    with np.errstate(all="ignore"):
        # Over nothing this is 0 / 0, as the standard has it; np.mean would warn as well.
        found = added(wide, axes, keepdims=keepdims) / wide.dtype.type(count)
    return recast(np.asarray(found), dtype if inexact else DEFAULT_FLOAT)


def _count(values: Array, axes: tuple[int, ...] | None) -> int:
    """How many elements go into one result."""
    sizes = values.shape if axes is None else [values.shape[one] for one in axes]
    return math.prod(sizes)


def variance(
    values: Array, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Σ (x - mean)² / (n - correction), floats only; NaN where n - correction is not positive."""
    return _spread("var", values, axis, correction, keepdims)


def deviation(
    values: Array, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Square root of the variance."""
    return _spread("std", values, axis, correction, keepdims)


def _spread(name: str, values: Array, axis: Axes, correction: float, keepdims: bool) -> Array:
    dtype = dtype_of(values)
    require_float(name, dtype)
    axes, keepdims = normalise_axes(name, values, axis), switch(name, "keepdims", keepdims)
    wide = recast(values, accumulator(dtype))
    count = _count(wide, axes)
    with np.errstate(all="ignore"):
        # Over nothing the centre is 0 / 0 here, which is the NaN that comes out in the end.
        centre = added(wide, axes, keepdims=True) / wide.dtype.type(count)
        squares = added(np.square(wide - centre), axes, keepdims=keepdims)
        divisor = count - number(name, "a correction", correction)
        found = squares / wide.dtype.type(divisor if divisor > 0 else np.nan)
        found = np.sqrt(found) if name == "std" else found
    return recast(np.asarray(found), dtype)


def covariance(values: Array, correction: float) -> Array:
    """Covariances of [variables, observations]; a scalar for one variable."""
    dtype = dtype_of(values)
    require_float("cov", dtype)
    if values.ndim > 2:
        raise ShapeError(f"cov: shape {list(values.shape)} is not [variables, observations]")
    rows = recast(values, accumulator(dtype)).reshape(1, -1) if values.ndim < 2 else values
    rows = recast(rows, accumulator(dtype))
    divisor = rows.shape[1] - number("cov", "a correction", correction)
    with np.errstate(all="ignore"):
        centred = rows - added(rows, (1,), keepdims=True) / rows.dtype.type(rows.shape[1])
        found = matrix_product(centred, centred.T) / rows.dtype.type(max(divisor, 0))
    return recast(found if rows.shape[0] != 1 else found.reshape(()), dtype)


def maximum(values: Array, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Largest value; NaN wins. Raises ShapeError over nothing."""
    require_real("max", dtype_of(values))
    axes = filled_axes("max", values, axis)
    keepdims = switch("max", "keepdims", keepdims)
    with np.errstate(all="ignore"):
        return np.asarray(np.max(values, axis=axes, keepdims=keepdims))


def minimum(values: Array, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Smallest value; NaN wins. Raises ShapeError over nothing."""
    require_real("min", dtype_of(values))
    axes = filled_axes("min", values, axis)
    keepdims = switch("min", "keepdims", keepdims)
    with np.errstate(all="ignore"):
        return np.asarray(np.min(values, axis=axes, keepdims=keepdims))


def largest_magnitude(values: Array, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Largest magnitude; NaN wins. Raises ShapeError over nothing.

    Raises OperationError where the least integer is among the values: its dtype has no number for
    the magnitude.
    """
    dtype = dtype_of(values)
    sizes = absolute(values)
    if dtype.kind is Kind.INT and sizes.min(initial=0) < 0:
        least = np.iinfo(values.dtype).min
        raise OperationError(
            f"max_abs: {dtype} has no number for the magnitude of {least}; cast to a wider dtype "
            f"first"
        )
    return maximum(sizes, axis, keepdims=keepdims)


def argmax(values: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Position of the first largest value, as i64; of all values in row-major order by default."""
    return _position("argmax", np.argmax, values, axis, keepdims)


def argmin(values: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Position of the first smallest value, as i64; of all values in row-major order by default."""
    return _position("argmin", np.argmin, values, axis, keepdims)


def _position(name: str, find: Reduction, values: Array, axis: int | None, keepdims: bool) -> Array:
    require_real(name, dtype_of(values))
    one = None if axis is None else normalise_axis(name, values, axis)
    filled_axes(name, values, one)
    keepdims = switch(name, "keepdims", keepdims)
    return np.asarray(find(widened(values), axis=one, keepdims=keepdims)).astype(np.int64)


def every(values: Array, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """True where all values are other than 0; over nothing True. NaN counts as other than 0."""
    axes = normalise_axes("all", values, axis)
    keepdims = switch("all", "keepdims", keepdims)
    return np.asarray(np.all(values != 0, axis=axes, keepdims=keepdims))


def some(values: Array, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """True where any value is other than 0; over nothing False."""
    axes = normalise_axes("any", values, axis)
    keepdims = switch("any", "keepdims", keepdims)
    return np.asarray(np.any(values != 0, axis=axes, keepdims=keepdims))


def count_nonzero(values: Array, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """How many values are other than 0, as i64."""
    axes = normalise_axes("count_nonzero", values, axis)
    keepdims = switch("count_nonzero", "keepdims", keepdims)
    return np.asarray(np.count_nonzero(values != 0, axis=axes, keepdims=keepdims)).astype(np.int64)


def running_total(
    values: Array, axis: int | None = None, *, dtype: DType | None = None, start: bool = False
) -> Array:
    """Sums of the values up to each place; ``start`` puts the sum of none in front."""
    return _running("cumulative_sum", np.cumsum, 0, values, axis, dtype, start)


def running_product(
    values: Array, axis: int | None = None, *, dtype: DType | None = None, start: bool = False
) -> Array:
    """Products of the values up to each place; ``start`` puts the product of none in front."""
    return _running("cumulative_prod", np.cumprod, 1, values, axis, dtype, start)


def _running(
    name: str,
    fold: Reduction,
    neutral: int,
    values: Array,
    axis: int | None,
    dtype: DType | None,
    start: bool,
) -> Array:
    source = dtype_of(values)
    require_computable(name, source)
    if axis is None and values.ndim != 1:
        raise ShapeError(f"{name}: shape {list(values.shape)} has not one axis; say which one")
    one = normalise_axis(name, values, 0 if axis is None else axis)
    if dtype is not None:
        require_computable(name, dtype)
    result = dtype or (accumulator(source) if source.kind in _WHOLE else source)
    wide = accumulator(result) if result.is_float else result
    taken = _taken_in(values, wide)
    with np.errstate(all="ignore"):
        if fold is np.cumsum and wide in _CARRIED:
            found = _carried(taken, one, _CARRIED[wide])
        else:
            found = fold(taken, axis=one, dtype=wide.numpy)
    if start:
        shape = (*found.shape[:one], 1, *found.shape[one + 1 :])
        found = np.concatenate([np.full(shape, neutral, found.dtype), found], axis=one)
    return recast(found, result)


_CARRIED = {DType.F32: np.float64, DType.C64: np.complex128}
_CARRIED_AT_ONCE = 1 << 16


def _carried(values: Array, axis: int, wide: type[np.generic]) -> Array:
    """Running sums of f32, added in f64 block by block: in f32 they stand still in the end."""
    front = np.moveaxis(values, axis, 0)
    made = np.empty(values.shape, values.dtype)
    target = np.moveaxis(made, axis, 0)
    carry = np.zeros(front.shape[1:], wide)
    rows = max(16, _CARRIED_AT_ONCE // max(1, carry.size))
    for at in range(0, len(front), rows):
        sums = np.cumsum(front[at : at + rows], axis=0, dtype=wide)
        sums += carry
        target[at : at + rows] = sums
        carry = sums[-1]
    return made


def running_maximum(values: Array, axis: int) -> Array:
    """Largest value up to each place; from a NaN on it is NaN."""
    require_real("cummax", dtype_of(values))
    one = normalise_axis("cummax", values, axis)
    with np.errstate(all="ignore"):
        return np.asarray(np.maximum.accumulate(values, axis=one))


def running_minimum(values: Array, axis: int) -> Array:
    """Smallest value up to each place; from a NaN on it is NaN."""
    require_real("cummin", dtype_of(values))
    one = normalise_axis("cummin", values, axis)
    with np.errstate(all="ignore"):
        return np.asarray(np.minimum.accumulate(values, axis=one))
