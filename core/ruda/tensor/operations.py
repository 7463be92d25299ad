"""What tensors compute, on arrays: promotion and shapes are checked here, NumPy does the work.

Results follow IEEE arithmetic: an overflow is Inf and an invalid operation NaN, without warnings.
Integers wrap around. Halves are added up, multiplied as matrices and exponentiated in f32 and
rounded once at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ruda.errors import DTypeError, ShapeError
from ruda.tensor.casting import cast
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.layout import widened
from ruda.tensor.promotion import (
    DEFAULT_FLOAT,
    Scalar,
    accumulator,
    promote,
    promote_scalar,
    require_computable,
    require_float,
)

Array = np.ndarray[Any, Any]


def dtype_of(array: Array) -> DType:
    """Ruda's dtype of an array that a tensor holds."""
    return DType.from_numpy(array.dtype)


def recast(array: Array, target: DType) -> Array:
    """The array in another dtype, rounded; itself if it is of that dtype."""
    source = dtype_of(array)
    return array if source is target else cast(array, source, target)[0]


def _pair(name: str, left: Array | Scalar, right: Array | Scalar) -> tuple[Array, Array, DType]:
    """Both operands in the dtype of the result."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        if left.shape != right.shape:
            _check_broadcast(name, left.shape, right.shape)
        first = dtype_of(left)
        if left.dtype == right.dtype:
            return left, right, promote(name, first, first)
        result = promote(name, first, dtype_of(right))
        return recast(left, result), recast(right, result), result
    if isinstance(left, np.ndarray):
        result = promote_scalar(name, dtype_of(left), right)  # type: ignore[arg-type]
        return recast(left, result), np.asarray(right).astype(result.numpy), result
    if isinstance(right, np.ndarray):
        result = promote_scalar(name, dtype_of(right), left)
        return np.asarray(left).astype(result.numpy), recast(right, result), result
    raise DTypeError(f"{name}: needs a tensor")


def _check_broadcast(name: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    for back in range(1, min(len(left), len(right)) + 1):
        a, b = left[-back], right[-back]
        if a != b and 1 not in (a, b):
            raise ShapeError(
                f"{name}: shapes {list(left)} and {list(right)} do not broadcast: {a} and {b} "
                f"on axis -{back}; make them equal or one of them 1"
            )


def _arithmetic(
    name: str, compute: Callable[[Array, Array], Array]
) -> Callable[[Array | Scalar, Array | Scalar], Array]:
    def run(left: Array | Scalar, right: Array | Scalar) -> Array:
        a, b, result = _pair(name, left, right)
        if result is DType.BOOL:
            raise DTypeError(f"{name}: bool tensors have no arithmetic; cast one to i32 first")
        with np.errstate(all="ignore"):
            return np.asarray(compute(a, b))

    return run


add = _arithmetic("add", np.add)
subtract = _arithmetic("subtract", np.subtract)
multiply = _arithmetic("multiply", np.multiply)


def divide(left: Array | Scalar, right: Array | Scalar) -> Array:
    """Quotient of floats. Raises DTypeError for integers, whose result type would be a guess."""
    a, b, result = _pair("divide", left, right)
    require_float("divide", result)
    with np.errstate(all="ignore"):
        return np.asarray(np.divide(a, b))


def equal(left: Array | Scalar, right: Array | Scalar) -> Array:
    """Element by element, as bool. NaN equals nothing."""
    a, b, _ = _pair("equal", left, right)
    return np.asarray(a == b)


def negative(values: Array) -> Array:
    """Opposite sign. Raises DTypeError for bool and unsigned tensors."""
    dtype = dtype_of(values)
    require_computable("negative", dtype)
    if dtype is DType.BOOL or dtype.kind is Kind.UINT:
        raise DTypeError(f"negative: {dtype} has no negative values; cast it to i32 or f32 first")
    return np.asarray(np.negative(values))


def matmul(left: Array, right: Array) -> Array:
    """Matrix product on the last two axes: (…, n, k) @ (…, k, m) → (…, n, m); vectors as NumPy.

    Batch axes broadcast. Raises ShapeError naming both inner sizes.
    """
    a, b, result = left, right, promote("matmul", dtype_of(left), dtype_of(right))
    if result is DType.BOOL:
        raise DTypeError("matmul: bool tensors have no arithmetic; cast one to i32 first")
    if not a.ndim or not b.ndim:
        raise ShapeError("matmul: a scalar has no axes to multiply over; use multiply")
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ShapeError(
            f"matmul: shapes {list(a.shape)} and {list(b.shape)} do not fit: the last axis of the "
            f"first is {a.shape[-1]}, that of the second to multiply with is {inner}"
        )
    _check_broadcast("matmul", a.shape[:-2], b.shape[:-2])
    working = accumulator(result) if result.is_float else result
    with np.errstate(all="ignore"):
        product = np.asarray(np.matmul(recast(a, working), recast(b, working)))
    return recast(product, result)


def relu(values: Array) -> Array:
    """Negative values become 0; NaN stays NaN."""
    require_float("relu", dtype_of(values))
    return np.asarray(np.maximum(values, values.dtype.type(0)))


def softmax(values: Array, axis: int) -> Array:
    """exp(x) / Σ exp(x) along an axis, safe for large values."""
    dtype, working = _working("softmax", values)
    axis = normalise_axis("softmax", values, axis)
    with np.errstate(all="ignore"):
        powers = np.exp(working - working.max(axis=axis, keepdims=True, initial=-np.inf))
        result = powers / powers.sum(axis=axis, keepdims=True)
    return recast(result, dtype)


def log_softmax(values: Array, axis: int) -> Array:
    """Logarithm of ``softmax``, computed without underflow."""
    dtype, working = _working("log_softmax", values)
    axis = normalise_axis("log_softmax", values, axis)
    with np.errstate(all="ignore"):
        centred = working - working.max(axis=axis, keepdims=True, initial=-np.inf)
        result = centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))
    return recast(result, dtype)


def _working(name: str, values: Array) -> tuple[DType, Array]:
    dtype = dtype_of(values)
    require_float(name, dtype)
    return dtype, recast(values, accumulator(dtype))


def normalise_axis(name: str, values: Array, axis: int, *, extra: int = 0) -> int:
    """The axis counted from the front. Raises ShapeError outside the rank."""
    rank = values.ndim + extra
    if not -rank <= axis < rank:
        raise ShapeError(
            f"{name}: axis {axis} is outside shape {list(values.shape)} "
            f"(axes {-rank} to {rank - 1})"
        )
    return axis % rank


def total(values: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Sum over one axis or all. Halves add up in f32; integers and bool give i64 (u64)."""
    dtype = dtype_of(values)
    require_computable("sum", dtype)
    axis = None if axis is None else normalise_axis("sum", values, axis)
    wide = accumulator(dtype)
    with np.errstate(all="ignore"):
        result = np.sum(recast(values, wide), axis=axis, keepdims=keepdims, dtype=wide.numpy)
    return recast(np.asarray(result), dtype if dtype.is_float else wide)


def mean(values: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Mean over one axis or all: the float's dtype, f32 for integers and bool.

    Raises ShapeError over an axis of size 0, which has no mean.
    """
    dtype = dtype_of(values)
    require_computable("mean", dtype)
    axis = _filled_axis("mean", values, axis)
    working = accumulator(dtype) if dtype.is_float else DType.F64
    with np.errstate(all="ignore"):
        result = np.mean(recast(values, working), axis=axis, keepdims=keepdims)
    return recast(np.asarray(result), dtype if dtype.is_float else DEFAULT_FLOAT)


def maximum(values: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Largest value over one axis or all; NaN wins. Raises ShapeError over nothing."""
    require_computable("max", dtype_of(values))
    axis = _filled_axis("max", values, axis)
    return np.asarray(np.max(values, axis=axis, keepdims=keepdims))


def minimum(values: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Smallest value over one axis or all; NaN wins. Raises ShapeError over nothing."""
    require_computable("min", dtype_of(values))
    axis = _filled_axis("min", values, axis)
    return np.asarray(np.min(values, axis=axis, keepdims=keepdims))


def argmax(values: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Position of the first largest value, as i64; of all values in row-major order by default."""
    require_computable("argmax", dtype_of(values))
    axis = _filled_axis("argmax", values, axis)
    return np.asarray(np.argmax(widened(values), axis=axis, keepdims=keepdims)).astype(np.int64)


def _filled_axis(name: str, values: Array, axis: int | None) -> int | None:
    if axis is not None:
        axis = normalise_axis(name, values, axis)
    if (values.size if axis is None else values.shape[axis]) == 0:
        raise ShapeError(f"{name}: shape {list(values.shape)} has no elements to choose from")
    return axis


def reshape(values: Array, shape: Sequence[int]) -> Array:
    """The same values in row-major order under another shape; one axis may be -1. A view."""
    wanted = tuple(int(size) for size in shape)
    known = math.prod(size for size in wanted if size != -1)
    free = wanted.count(-1)
    fits = free <= 1 and all(size >= -1 for size in wanted)
    fits = fits and (values.size == known if not free else known > 0 and values.size % known == 0)
    if not fits:
        raise ShapeError(
            f"reshape: {values.size} elements of shape {list(values.shape)} do not fill "
            f"{list(wanted)}"
        )
    return values.reshape(wanted)


def flatten(values: Array, start: int = 0, end: int = -1) -> Array:
    """Join the axes from ``start`` to ``end``, both included, into one."""
    if not values.ndim:
        return values.reshape(1)
    first = normalise_axis("flatten", values, start)
    last = normalise_axis("flatten", values, end)
    if first > last:
        raise ShapeError(f"flatten: axis {start} comes after axis {end}")
    shape = values.shape
    return values.reshape(*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


def swap_axes(values: Array, first: int, second: int) -> Array:
    """Two axes exchanged; a view."""
    a = normalise_axis("swap_dims", values, first)
    b = normalise_axis("swap_dims", values, second)
    return values.swapaxes(a, b)


def unsqueeze(values: Array, axis: int) -> Array:
    """A new axis of size 1 at this position of the result; a view."""
    return np.expand_dims(values, normalise_axis("unsqueeze", values, axis, extra=1))


def concatenate(parts: Sequence[Array], axis: int) -> Array:
    """Join along an axis; dtypes promote. Raises ShapeError naming the first part that differs."""
    if not parts:
        raise ShapeError("cat: needs at least one tensor")
    axis = normalise_axis("cat", parts[0], axis)
    first = parts[0].shape
    for number, part in enumerate(parts):
        rest = part.shape[:axis] + part.shape[axis + 1 :]
        if part.ndim != len(first) or rest != first[:axis] + first[axis + 1 :]:
            raise ShapeError(
                f"cat: tensor {number} has shape {list(part.shape)}, which differs from "
                f"{list(first)} outside axis {axis}"
            )
    return np.concatenate(_promoted("cat", parts), axis=axis)


def stack(parts: Sequence[Array], axis: int) -> Array:
    """Join tensors of one shape along a new axis; dtypes promote."""
    if not parts:
        raise ShapeError("stack: needs at least one tensor")
    for number, part in enumerate(parts):
        if part.shape != parts[0].shape:
            raise ShapeError(
                f"stack: tensor {number} has shape {list(part.shape)}, the first one "
                f"{list(parts[0].shape)}"
            )
    return np.stack(_promoted("stack", parts), normalise_axis("stack", parts[0], axis, extra=1))


def _promoted(name: str, parts: Sequence[Array]) -> list[Array]:
    result = dtype_of(parts[0])
    for part in parts[1:]:
        result = promote(name, result, dtype_of(part))
    return [recast(part, result) for part in parts]
