"""What every operation asks first: dtypes that promote, shapes that broadcast, axes that exist."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from operator import index
from typing import Any, TypeAlias

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import DTypeError, IndexRangeError, ShapeError
from ruda.tensor.casting import cast, scalar
from ruda.tensor.dtype import DType
from ruda.tensor.promotion import Scalar, accumulator, promote, promote_scalar, require_float
from ruda.tensor.sizes import require_room

Array = np.ndarray[Any, Any]

_COUNTED = 2**59
"""Shapes of fewer elements are within reach of every dtype."""

Operand: TypeAlias = Array | Scalar
Axes: TypeAlias = int | tuple[int, ...] | None
"""One axis, several, or None for all."""


def dtype_of(array: Array) -> DType:
    """Ruda's dtype of an array that a tensor holds."""
    return DType.from_numpy(array.dtype)


def recast(array: Array, target: DType) -> Array:
    """The array in another dtype, rounded; itself if it is of that dtype."""
    source = dtype_of(array)
    return array if source is target else cast(array, source, target)[0]


def pair(name: str, left: Operand, right: Operand) -> tuple[Array, Array, DType]:
    """Both operands in the dtype of the result, which is returned too."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        if left.shape != right.shape:
            check_broadcast(name, left.shape, right.shape)
        first = dtype_of(left)
        if left.dtype == right.dtype:
            return left, right, promote(name, first, first)
        result = promote(name, first, dtype_of(right))
        return recast(left, result), recast(right, result), result
    if isinstance(left, np.ndarray):
        result = promote_scalar(name, dtype_of(left), right)  # type: ignore[arg-type]
        return recast(left, result), scalar(right, result), result  # type: ignore[arg-type]
    if isinstance(right, np.ndarray):
        result = promote_scalar(name, dtype_of(right), left)
        return scalar(left, result), recast(right, result), result
    raise DTypeError(f"{name}: needs a tensor")


def promoted(name: str, parts: Sequence[Array]) -> list[Array]:
    """All arrays in the dtype that they promote to together."""
    result = dtype_of(parts[0])
    for part in parts[1:]:
        result = promote(name, result, dtype_of(part))
    return [recast(part, result) for part in parts]


def check_broadcast(name: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Raise ShapeError naming the first axis, from the back, on which two shapes do not fit.

    Also where both together are more than an array can have, as views without memory may be.
    """
    for back in range(1, min(len(left), len(right)) + 1):
        a, b = left[-back], right[-back]
        if a != b and 1 not in (a, b):
            raise ShapeError(
                f"{name}: shapes {list(left)} and {list(right)} do not broadcast: {a} and {b} "
                f"on axis -{back}; make them equal or one of them 1"
            )
    if math.prod(left) * math.prod(right) > _COUNTED:
        together = zip_longest(reversed(left), reversed(right), fillvalue=1)
        require_room(name, tuple(b if a == 1 else a for a, b in together)[::-1], DType.C128)


def common_shape(name: str, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to; NumPy has it for 32 axes. Raises ShapeError."""
    check_broadcast(name, left, right)
    together = zip_longest(reversed(left), reversed(right), fillvalue=1)
    return tuple(b if a == 1 else a for a, b in together)[::-1]


def working(name: str, values: Array) -> tuple[DType, Array]:
    """The float dtype of the values, and the values in the dtype to compute in (f32 for halves)."""
    dtype = dtype_of(values)
    require_float(name, dtype)
    return dtype, recast(values, accumulator(dtype))


def normalise_axis(name: str, values: Array, axis: int, *, extra: int = 0) -> int:
    """The axis counted from the front. Raises IndexRangeError outside the rank."""
    rank = values.ndim + extra
    if type(axis) is not int:
        axis = _one_axis(name, axis)
    if not rank:
        raise IndexRangeError(f"{name}: a scalar has no axes, not even {shown_number(axis)}")
    if not -rank <= axis < rank:
        raise IndexRangeError(
            f"{name}: axis {shown_number(axis)} is outside shape {list(values.shape)} "
            f"(axes {-rank} to {rank - 1})"
        )
    return axis % rank


def _one_axis(name: str, axis: Any) -> int:
    """An integer of another type; True and False are no axes, though Python counts with them."""
    try:
        if not isinstance(axis, bool | np.bool_):
            return index(axis)
    except TypeError:
        pass
    raise DTypeError(f"{name}: an axis is one integer, got {axis!r}")


def normalise_axes(name: str, values: Array, axis: Axes) -> tuple[int, ...] | None:
    """Axes counted from the front, None for all. Raises ShapeError if outside or doubled."""
    if axis is None:
        return None
    asked = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    axes = tuple(normalise_axis(name, values, one) for one in asked)
    if len(set(axes)) < len(axes):
        raise ShapeError(f"{name}: axes {list(asked)} name one axis twice")
    return axes


def filled_axes(name: str, values: Array, axis: Axes) -> tuple[int, ...] | None:
    """``normalise_axes``; raises ShapeError where there is no element to choose from."""
    axes = normalise_axes(name, values, axis)
    sizes = values.shape if axes is None else [values.shape[one] for one in axes]
    if 0 in sizes:
        raise ShapeError(f"{name}: shape {list(values.shape)} has no elements to choose from")
    return axes
