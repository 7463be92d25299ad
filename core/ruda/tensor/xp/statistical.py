"""Many values into one."""

from __future__ import annotations

import builtins

from ruda.tensor.dtype import DType
from ruda.tensor.operations import reductions
from ruda.tensor.operations.operands import Axes
from ruda.tensor.tensor import Tensor
from ruda.tensor.xp._given import array, wrap

Flag = builtins.bool


def sum(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: Flag = False
) -> Tensor:
    """Sum; integers add up in int64 or uint64, halves in float32."""
    return wrap(reductions.total(array("sum", x), axis, keepdims=keepdims, dtype=dtype))


def prod(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: Flag = False
) -> Tensor:
    """Product; integers multiply in int64 or uint64, halves in float32."""
    return wrap(reductions.product(array("prod", x), axis, keepdims=keepdims, dtype=dtype))


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: Flag = False) -> Tensor:
    """Mean; of integers as float32."""
    return wrap(reductions.mean(array("mean", x), axis, keepdims=keepdims))


def max(x: Tensor, /, *, axis: Axes = None, keepdims: Flag = False) -> Tensor:
    """Largest value; NaN wins."""
    return wrap(reductions.maximum(array("max", x), axis, keepdims=keepdims))


def min(x: Tensor, /, *, axis: Axes = None, keepdims: Flag = False) -> Tensor:
    """Smallest value; NaN wins."""
    return wrap(reductions.minimum(array("min", x), axis, keepdims=keepdims))


def std(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: Flag = False
) -> Tensor:
    """Standard deviation of floats, with n - correction as the divisor."""
    values = array("std", x)
    return wrap(reductions.deviation(values, axis, correction=correction, keepdims=keepdims))


def var(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: Flag = False
) -> Tensor:
    """Variance of floats, with n - correction as the divisor."""
    values = array("var", x)
    return wrap(reductions.variance(values, axis, correction=correction, keepdims=keepdims))


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: Flag = False,
) -> Tensor:
    """Sums up to each place of an axis, with a 0 in front if asked."""
    values = array("cumulative_sum", x)
    return wrap(reductions.running_total(values, axis, dtype=dtype, start=include_initial))


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: Flag = False,
) -> Tensor:
    """Products up to each place of an axis, with a 1 in front if asked."""
    values = array("cumulative_prod", x)
    return wrap(reductions.running_product(values, axis, dtype=dtype, start=include_initial))


def all(x: Tensor, /, *, axis: Axes = None, keepdims: Flag = False) -> Tensor:
    """True where all values are other than 0."""
    return wrap(reductions.every(array("all", x), axis, keepdims=keepdims))


def any(x: Tensor, /, *, axis: Axes = None, keepdims: Flag = False) -> Tensor:
    """True where any value is other than 0."""
    return wrap(reductions.some(array("any", x), axis, keepdims=keepdims))
