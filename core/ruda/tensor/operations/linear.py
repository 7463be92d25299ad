"""Products of vectors and matrices on the last axes, and the decompositions of NumPy.

Halves are multiplied in f32 and rounded once, integers wrap around in their dtype; linear systems
take f32, f64 and complex.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ruda.errors import DTypeError, OperationError, ShapeError
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import (
    Array,
    check_broadcast,
    common_shape,
    dtype_of,
    normalise_axes,
    normalise_axis,
    pair,
    recast,
)
from ruda.tensor.operations.products import product
from ruda.tensor.operations.reductions import total
from ruda.tensor.operations.sums import added
from ruda.tensor.promotion import accumulator, promote, require_float, require_inexact
from ruda.tensor.sizes import number, reach, require_room, sizes_of, switch


def matmul(left: Array, right: Array) -> Array:
    """Matrix product on the last two axes: (…, n, k) @ (…, k, m) → (…, n, m); vectors as NumPy.

    Batch axes broadcast. Raises ShapeError naming both inner sizes.
    """
    result = _no_bool("matmul", promote("matmul", dtype_of(left), dtype_of(right)))
    a, b = left, right
    if not a.ndim or not b.ndim:
        raise ShapeError("matmul: a scalar has no axes to multiply over; use multiply")
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ShapeError(
            f"matmul: shapes {list(a.shape)} and {list(b.shape)} do not fit: the last axis of the "
            f"first is {a.shape[-1]}, that of the second to multiply with is {inner}"
        )
    check_broadcast("matmul", a.shape[:-2], b.shape[:-2])
    wide = accumulator(result) if result.is_float else result
    with np.errstate(all="ignore"):
        return recast(product(recast(a, wide), recast(b, wide)), result)


def matvec(matrices: Array, vectors: Array) -> Array:
    """Matrices times vectors: (…, n, k) and (…, k) → (…, n); the axes in front broadcast.

    Raises ShapeError naming both shapes where they do not fit.
    """
    if matrices.ndim < 2 or not vectors.ndim or matrices.shape[-1] != vectors.shape[-1]:
        raise ShapeError(
            f"matvec: shapes {list(matrices.shape)} and {list(vectors.shape)} do not fit: needs "
            f"(…, n, k) and (…, k)"
        )
    check_broadcast("matvec", matrices.shape[:-2], vectors.shape[:-1])
    return matmul(matrices, vectors[..., None])[..., 0]


def _no_bool(name: str, dtype: DType) -> DType:
    if dtype is DType.BOOL:
        raise DTypeError(f"{name}: bool tensors have no arithmetic; cast one to i32 first")
    return dtype


def tensordot(left: Array, right: Array, axes: int | tuple[Sequence[int], Sequence[int]]) -> Array:
    """Sum of products over pairs of axes.

    ``axes`` is a count (so many last axes with so many first ones) or two lists.
    """
    result = _no_bool("tensordot", promote("tensordot", dtype_of(left), dtype_of(right)))
    if isinstance(axes, int):
        if not 0 <= axes <= min(left.ndim, right.ndim):
            raise ShapeError(f"tensordot: {axes} axes are not there in both tensors")
        first = tuple(range(left.ndim - axes, left.ndim))
        second = tuple(range(axes))
    else:
        one, other = _two_lists(axes)
        first = normalise_axes("tensordot", left, one) or ()
        second = normalise_axes("tensordot", right, other) or ()
    sizes = [left.shape[one] for one in first], [right.shape[one] for one in second]
    if sizes[0] != sizes[1]:
        raise ShapeError(f"tensordot: axes of sizes {sizes[0]} and {sizes[1]} do not pair")
    wide = accumulator(result) if result.is_float else result
    kept = [one for one in range(left.ndim) if one not in first]
    others = [one for one in range(right.ndim) if one not in second]
    rows, columns = [left.shape[one] for one in kept], [right.shape[one] for one in others]
    require_room("tensordot", (*rows, *columns), result)
    inner = math.prod(sizes[0])
    a = recast(left, wide).transpose(*kept, *first).reshape(math.prod(rows), inner)
    b = recast(right, wide).transpose(*second, *others).reshape(inner, math.prod(columns))
    with np.errstate(all="ignore"):
        return recast(product(a, b).reshape((*rows, *columns)), result)


def _two_lists(axes: Any) -> list[tuple[int, ...]]:
    if not isinstance(axes, Sequence) or len(axes) != 2:
        raise DTypeError(f"tensordot: axes are a count or two lists, got {axes!r}")
    return [sizes_of("tensordot", part, "an axis") for part in axes]


def vecdot(left: Array, right: Array, axis: int = -1) -> Array:
    """Σ conj(x)·y along an axis that both have; the other axes broadcast."""
    _no_bool("vecdot", promote("vecdot", dtype_of(left), dtype_of(right)))
    if not left.ndim or not right.ndim:
        raise ShapeError("vecdot: a scalar has no axis to multiply over")
    first, second = _both_axes("vecdot", left, right, axis)
    a, b = np.moveaxis(left, first, -1), np.moveaxis(right, second, -1)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"vecdot: axes of sizes {a.shape[-1]} and {b.shape[-1]} do not pair")
    x, y, result = pair("vecdot", a, b)
    require_room("vecdot", (*common_shape("vecdot", x.shape, y.shape), 1), result)
    wide = accumulator(result) if result.is_float else result
    with np.errstate(all="ignore"):
        x, y = recast(x, wide), recast(y, wide)
        x = np.conj(x) if x.dtype.kind == "c" else x
        return recast(product(x[..., None, :], y[..., :, None])[..., 0, 0], result)


def _both_axes(name: str, left: Array, right: Array, axis: int) -> tuple[int, int]:
    """The axis in both. Raises ShapeError where, counted from the front, it means two."""
    found = normalise_axis(name, left, axis), normalise_axis(name, right, axis)
    if axis >= 0 and left.ndim != right.ndim:
        raise ShapeError(
            f"{name}: shapes {list(left.shape)} and {list(right.shape)} have different ranks; "
            f"count the axis from the back"
        )
    return found


def outer(left: Array, right: Array) -> Array:
    """All products of two vectors: (n,) and (m,) → (n, m)."""
    if left.ndim != 1 or right.ndim != 1:
        raise ShapeError(f"outer: shapes {list(left.shape)} and {list(right.shape)} are no vectors")
    _no_bool("outer", promote("outer", dtype_of(left), dtype_of(right)))
    a, b, _ = pair("outer", left[:, None], right[None, :])
    with np.errstate(all="ignore"):
        return np.asarray(a * b)


def cross(left: Array, right: Array, axis: int = -1) -> Array:
    """Cross product of vectors of three along an axis; the other axes broadcast."""
    _no_bool("cross", promote("cross", dtype_of(left), dtype_of(right)))
    one = _both_axes("cross", left, right, axis)
    for array, place in ((left, one[0]), (right, one[1])):
        if array.shape[place] != 3:
            raise ShapeError(f"cross: axis {axis} of shape {list(array.shape)} has not size 3")
    a, b, dtype = pair("cross", np.moveaxis(left, one[0], -1), np.moveaxis(right, one[1], -1))
    wide = accumulator(dtype) if dtype.is_float else dtype
    with np.errstate(all="ignore"):
        found = np.cross(recast(a, wide), recast(b, wide))
    return recast(np.moveaxis(found, -1, axis), dtype)


def diagonal(values: Array, offset: int = 0) -> Array:
    """The diagonal of the last two axes as the last axis; a view."""
    require_matrices("diagonal", values)
    return np.diagonal(values, reach("diagonal", "an offset", offset, values.shape), -2, -1)


def trace(values: Array, offset: int = 0, *, dtype: DType | None = None) -> Array:
    """Sum of the diagonal of the last two axes."""
    return total(diagonal(values, offset), -1, dtype=dtype)


def require_matrices(name: str, values: Array, *, square: bool = False) -> None:
    """Raise ShapeError unless the last two axes are matrices, square ones where asked."""
    if values.ndim < 2:
        raise ShapeError(f"{name}: shape {list(values.shape)} has no matrices on its last axes")
    if square and values.shape[-1] != values.shape[-2]:
        raise ShapeError(
            f"{name}: needs square matrices, got {values.shape[-2]} rows and "
            f"{values.shape[-1]} columns"
        )


def solved(
    name: str,
    compute: Callable[..., Any],
    *arrays: Array,
    square: bool = True,
    finite: bool = False,
) -> Any:
    """``compute`` on matrices of f32, f64 or complex; a singular one is an OperationError.

    ``finite`` refuses NaN and Inf, as iterations need: some builds of LAPACK never end with them.
    """
    for array in arrays:
        dtype = dtype_of(array)
        require_inexact(name, dtype)
        if dtype in (DType.F16, DType.BF16):
            raise DTypeError(f"{name}: {dtype} is too coarse to solve in; cast it to f32 first")
    require_matrices(name, arrays[0], square=square)
    if finite and not np.isfinite(arrays[0]).all():
        absent = arrays[0].size - np.count_nonzero(np.isfinite(arrays[0]))
        raise OperationError(
            f"{name}: {absent} of {arrays[0].size} values are NaN or infinite; matrices of finite "
            f"numbers have a decomposition"
        )
    try:
        with np.errstate(all="ignore"):
            return compute(*arrays)
    except np.linalg.LinAlgError as error:
        raise OperationError(f"{name}: {error}") from None
    except ValueError as error:
        raise ShapeError(f"{name}: shape {list(arrays[0].shape)}: {error}") from None


def vector_norm(
    values: Array, axis: int | tuple[int, ...] | None, order: float, *, keepdims: bool
) -> Array:
    """(Σ |x|^order)^(1/order); the largest or smallest |x| for ±inf, 0 counts what is not 0."""
    dtype = dtype_of(values)
    require_inexact("vector_norm", dtype)
    axes = normalise_axes("vector_norm", values, axis)
    order = number("vector_norm", "an order", order)
    keepdims = switch("vector_norm", "keepdims", keepdims)
    wide = recast(values, accumulator(dtype))
    if axes is None:
        # NumPy flattens here and then has lost the axes to keep.
        axes = tuple(range(values.ndim))
    front = np.moveaxis(wide, axes, range(len(axes)))
    rest = front.shape[len(axes) :]
    flat = front.reshape((int(np.prod(front.shape[: len(axes)], dtype=np.int64)), *rest))
    with np.errstate(all="ignore"):
        found = _vector_norm(np.abs(flat), order)
    if keepdims:
        found = np.expand_dims(found, axes)
    return recast(found, dtype) if dtype.is_float else found


def _vector_norm(sizes: Array, order: float) -> Array:
    if sizes.shape[0] == 0 and order < 0:
        raise ShapeError(f"vector_norm: order {order} over nothing has no value")
    if order == np.inf:
        return np.asarray(sizes.max(axis=0, initial=0))
    if order == -np.inf:
        return np.asarray(sizes.min(axis=0))
    if order == 0:
        return np.asarray(np.count_nonzero(sizes, axis=0)).astype(sizes.dtype)
    if order == 1:
        return added(sizes, (0,))
    sums = _powers(sizes, order)
    least = np.finfo(sums.dtype).smallest_normal * max(1, sizes.shape[0])
    lost = ~((sums >= least) & (sums < np.inf)) & (sizes.shape[0] > 0)
    found = _root(sums, order)
    if not lost.any():
        return found
    # The powers leave the range where the norm itself does not: they are those of shares of the
    # largest magnitude then (as nrm2 of LAPACK), or of the smallest for a negative order.
    measure = np.asarray(sizes.max(axis=0) if order > 0 else sizes.min(axis=0))
    lost &= (measure > 0) & (measure < np.inf)
    shares = sizes / np.where(lost, measure, 1)
    return np.asarray(np.where(lost, measure * _root(_powers(shares, order), order), found))


def _powers(sizes: Array, order: float) -> Array:
    return added(np.square(sizes) if order == 2 else sizes**order, (0,))


def _root(sums: Array, order: float) -> Array:
    return np.asarray(np.sqrt(sums) if order == 2 else sums ** (1.0 / order))


def cosine(left: Array, right: Array, axis: int, floor: float) -> Array:
    """x·y / (|x|·|y|) along an axis of two shapes that broadcast, each norm at least ``floor``."""
    first, second, dtype = pair("cosine_similarity", left, right)
    require_float("cosine_similarity", dtype)
    shape = common_shape("cosine_similarity", first.shape, second.shape)
    # Halves stay f32 until the end: rounding each quotient would leave three digits of the sum.
    wide = accumulator(dtype)
    a, b = (
        normalised(np.broadcast_to(recast(one, wide), shape), 2.0, axis, floor)
        for one in (first, second)
    )
    return recast(vecdot(a, b, axis), dtype)


def normalised(values: Array, order: float, axis: int, floor: float) -> Array:
    """Vectors along an axis divided by their norm, or by ``floor`` where that is larger."""
    dtype = dtype_of(values)
    require_float("vector_normalize", dtype)
    one, least = (
        normalise_axis("vector_normalize", values, axis),
        number("vector_normalize", "eps", floor),
    )
    wide = recast(values, accumulator(dtype))
    size = vector_norm(wide, one, order, keepdims=True)
    with np.errstate(all="ignore"):
        if np.isinf(size).any():
            # Numbers of which no number holds the norm have shares of it all the same.
            largest = np.abs(wide).max(axis=one, keepdims=True)
            beyond = np.isinf(size) & np.isfinite(largest)
            wide = wide / np.where(beyond, largest, 1)
            size = np.where(beyond, vector_norm(wide, one, order, keepdims=True), size)
        return recast(wide / np.maximum(size, size.dtype.type(least)), dtype)
