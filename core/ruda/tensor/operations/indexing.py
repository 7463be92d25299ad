"""Reading and replacing elements by index. Everything is checked: outside an axis is an error."""

from __future__ import annotations

from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from ruda import _kernels
from ruda._kernels import shown_number
from ruda.errors import DTypeError, IndexRangeError, SettingError, ShapeError
from ruda.tensor.casting import scalar
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import Array, Operand, dtype_of, normalise_axis, recast
from ruda.tensor.promotion import Scalar, promote, promote_scalar, require_integer
from ruda.tensor.sizes import require_room, whole

Part: TypeAlias = int | slice | EllipsisType | Array | None


def pick(values: Array, parts: tuple[Part, ...]) -> Array:
    """The elements that the parts of an index name: a view for basic parts, a copy for arrays."""
    places = known_parts(parts)
    try:
        return np.asarray(values[places])
    except (IndexError, ValueError) as error:  # a step of 0 is a ValueError
        raise IndexRangeError(f"index: shape {list(values.shape)}: {error}") from None


def replace(values: Array, parts: tuple[Part, ...], new: Operand) -> Array:
    """A copy in which the elements that the index names are ``new``, which broadcasts.

    Raises DTypeError where ``new`` would change the dtype, ShapeError where its shape does not fit.
    """
    places = known_parts(parts)
    dtype = dtype_of(values)
    if isinstance(new, np.ndarray):
        fitted = _fitted("index", values, new)
    elif promote_scalar("index", dtype, new) is dtype:
        fitted = scalar(new, dtype)
    else:
        raise DTypeError(f"index: {type(new).__name__} cannot go into {dtype}; cast one of them")
    made = values.copy()
    try:
        made[places] = fitted
    except IndexError as error:
        raise IndexRangeError(f"index: shape {list(values.shape)}: {error}") from None
    except (TypeError, ValueError) as error:
        raise ShapeError(f"index: shape {list(values.shape)}: {error}") from None
    return made


def known_parts(parts: tuple[Part, ...]) -> tuple[Any, ...]:
    """The parts of an index as NumPy takes them.

    Raises DTypeError for a part that is no index, IndexRangeError for one beyond 64 bits.
    """
    return tuple(_known(part) for part in parts)


def _known(part: Part) -> Any:
    if isinstance(part, np.ndarray):
        require_integer("index", dtype_of(part), or_bool=True)
        if part.dtype == np.uint64:  # NumPy would take those from 2⁶³ on for negative ones
            far = part >= np.uint64(_WORDS_END)
            if far.any():
                raise _outside_words(int(part[far][0]))
        return part
    if isinstance(part, slice):
        for end in (part.start, part.stop, part.step):
            if end is not None:
                whole("index", "an end or a step of a slice", end)
        return part
    if isinstance(part, bool) or not isinstance(part, int | np.integer | EllipsisType | None):
        raise DTypeError(
            f"index: {type(part).__name__} is not an integer, slice, ..., None or tensor"
        )
    if isinstance(part, int) and not -_WORDS_END <= part < _WORDS_END:
        raise _outside_words(part)
    return part


_WORDS_END = 1 << 63


def _outside_words(place: int) -> IndexRangeError:
    return IndexRangeError(f"index: {shown_number(place)} is outside every axis")


def take(values: Array, indices: Array, axis: int | None) -> Array:
    """Slices of an axis in the order of the indices, whose shape takes the place of the axis."""
    if axis is None:
        if values.ndim != 1:
            raise ShapeError(f"take: shape {list(values.shape)} has not one axis; say which one")
        axis = 0
    axis = normalise_axis("take", values, axis)
    check_indices("take", indices, values.shape[axis])
    return np.take(values, indices, axis=axis)


def take_along(values: Array, indices: Array, axis: int) -> Array:
    """For each place of ``indices`` the element of ``values`` that it names on this axis."""
    axis = normalise_axis("take_along_axis", values, axis)
    if indices.ndim != values.ndim:
        raise ShapeError(
            f"take_along_axis: indices have {indices.ndim} axes, the values {values.ndim}"
        )
    for place, (own, other) in enumerate(zip(values.shape, indices.shape, strict=True)):
        if place != axis and own != other and 1 not in (own, other):
            raise ShapeError(
                f"take_along_axis: shapes {list(values.shape)} and {list(indices.shape)} do not "
                f"broadcast on axis {place}"
            )
    check_indices("take_along_axis", indices, values.shape[axis])
    return _gathered(values, indices, axis)


def check_indices(name: str, indices: Array, size: int) -> None:
    """Raise IndexRangeError for an index outside -size to size - 1, DTypeError for floats."""
    require_integer(name, dtype_of(indices))
    outside = (
        (indices >= size) if indices.dtype.kind == "u" else ((indices >= size) | (indices < -size))
    )
    if np.any(outside):
        first = int(indices[outside].reshape(-1)[0])
        raise IndexRangeError(f"{name}: index {first} is outside an axis of size {size}")


def nonzero(values: Array) -> list[Array]:
    """Places of the values other than 0: for each axis their i64 indices, in row-major order."""
    if not values.ndim:
        raise ShapeError("nonzero: a scalar has no axes to give places on")
    return [np.asarray(one).astype(np.int64) for one in np.nonzero(values != 0)]


def is_mask(values: Array) -> bool:
    """True for bool arrays, which select by truth."""
    return dtype_of(values) is DType.BOOL


_UPDATES = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def added(values: Array, parts: tuple[Part, ...], new: Array) -> Array:
    """A copy to whose elements of the index ``new`` is added; doubled indices add up."""
    fitted = _fitted("select_assign", values, new)
    made = values.copy()
    axis, places = len(parts) - 1, parts[-1]
    if isinstance(places, np.ndarray) and _kernels.can_add(made.dtype):
        shape = (*made.shape[:axis], places.size, *made.shape[axis + 1 :])
        if fitted.shape == shape and places.ndim == 1:
            _kernels.add_slices(made, places, fitted, axis)
            return made
    try:
        with np.errstate(all="ignore"):
            np.add.at(made, parts, fitted)  # type: ignore[arg-type]
    except ValueError as error:
        raise ShapeError(f"select_assign: shape {list(values.shape)}: {error}") from None
    return made


def gather(values: Array, indices: Array, axis: int) -> Array:
    """``values[…, indices[…], …]`` on an axis; other axes of the indices may be shorter."""
    axis = normalise_axis("gather", values, axis)
    _check_inside("gather", values, indices, axis)
    check_indices("gather", indices, values.shape[axis])
    return _gathered(_cut(values, indices, axis), indices, axis)


def _gathered(values: Array, indices: Array, axis: int) -> Array:
    """Indices that were checked; the kernel takes them where nothing needs to be copied first."""
    if values.flags.c_contiguous and _same_but(values.shape, indices.shape, axis):
        return _kernels.gather_items(values, indices, axis)
    return np.take_along_axis(values, indices.astype(np.int64), axis=axis)


def _same_but(first: tuple[int, ...], second: tuple[int, ...], axis: int) -> bool:
    return first[:axis] == second[:axis] and first[axis + 1 :] == second[axis + 1 :]


def scatter(values: Array, indices: Array, new: Array, axis: int, update: str) -> Array:
    """A copy in which ``new`` goes to ``indices`` on an axis; ``update`` says how (see Tensor)."""
    axis = normalise_axis("scatter", values, axis)
    _check_inside("scatter", values, indices, axis)
    if new.shape != indices.shape:
        raise ShapeError(
            f"scatter: values of shape {list(new.shape)} for indices of {list(indices.shape)}"
        )
    check_indices("scatter", indices, values.shape[axis])
    alike = _same_but(values.shape, indices.shape, axis)
    if update == "add" and alike and _kernels.can_add(values.dtype):
        fitted, made = _fitted("scatter", values, new), values.copy()
        _kernels.scatter_add(made, indices, fitted, axis)
        return made
    places = list(np.ogrid[tuple(slice(0, size) for size in indices.shape)])
    places[axis] = indices.astype(np.int64)
    return _updated("scatter", values, tuple(places), new, update)


def _updated(name: str, values: Array, places: tuple[Array, ...], new: Array, update: str) -> Array:
    if update != "assign" and update not in _UPDATES:
        raise SettingError(f"{name}: update is assign, {', '.join(_UPDATES)}, got {update!r}")
    fitted = _fitted(name, values, new)
    made = values.copy()
    if update == "assign":
        made[places] = fitted
    else:
        with np.errstate(all="ignore"):
            _UPDATES[update].at(made, places, fitted)
    return made


def gather_nd(values: Array, indices: Array) -> Array:
    """What ``indices`` [..., k] name on the first k axes: [..., *values.shape[k:]], a copy."""
    return np.array(values[_coordinates("gather_nd", values, indices)])


def scatter_nd(values: Array, indices: Array, new: Array, update: str) -> Array:
    """A copy in which ``new`` goes to the places of ``gather_nd``; ``update`` as in ``scatter``."""
    places = _coordinates("scatter_nd", values, indices)
    shape = (*indices.shape[:-1], *values.shape[len(places) :])
    if new.shape != shape:
        raise ShapeError(
            f"scatter_nd: values of shape {list(new.shape)} for places of shape {list(shape)}"
        )
    return _updated("scatter_nd", values, places, new, update)


def _coordinates(name: str, values: Array, indices: Array) -> tuple[Array, ...]:
    """One index array for each of the axes that the last axis of ``indices`` counts."""
    count = indices.shape[-1] if indices.ndim else 0
    if not 1 <= count <= values.ndim:
        raise ShapeError(
            f"{name}: indices of shape {list(indices.shape)} name no places in shape "
            f"{list(values.shape)}; their last axis counts 1 to {values.ndim} coordinates"
        )
    parts = [indices[..., axis] for axis in range(count)]
    for part, size in zip(parts, values.shape, strict=False):
        check_indices(name, part, size)
    return tuple(part.astype(np.int64) for part in parts)


def one_hot(values: Array, classes: int) -> Array:
    """A new last axis of ``classes`` with 1 where the value says, 0 elsewhere; of its dtype."""
    classes = whole("one_hot", "a number of classes", classes)
    if classes < 0:
        raise SettingError(f"one_hot: {shown_number(classes)} classes are fewer than none")
    check_indices("one_hot", values, classes)
    require_room("one_hot", (*values.shape, classes), DType.I64)
    if np.any(values < 0):
        raise IndexRangeError(f"one_hot: class {int(values.min())} is negative")
    return np.asarray(values[..., None] == np.arange(classes)).astype(values.dtype)


def one_hot_filled(values: Array, classes: int, on: Scalar, off: Scalar, axis: int) -> Array:
    """``one_hot`` with other numbers than 1 and 0, on an axis of the result."""
    dtype = dtype_of(values)
    place = normalise_axis("one_hot_fill", values, axis, extra=1)
    for number in (on, off):
        if promote_scalar("one_hot_fill", dtype, number) is not dtype:
            raise DTypeError(
                f"one_hot_fill: {dtype} does not take {number!r}; cast the tensor first"
            )
    hot = one_hot(values, classes) != 0
    return np.moveaxis(np.where(hot, scalar(on, dtype), scalar(off, dtype)), -1, place)


def _check_inside(name: str, values: Array, indices: Array, axis: int) -> None:
    if indices.ndim != values.ndim:
        raise ShapeError(f"{name}: indices have {indices.ndim} axes, the values {values.ndim}")
    for place, (own, other) in enumerate(zip(values.shape, indices.shape, strict=True)):
        if place != axis and other > own:
            raise ShapeError(
                f"{name}: indices of shape {list(indices.shape)} reach outside axis {place} of "
                f"shape {list(values.shape)}"
            )


def _cut(values: Array, indices: Array, axis: int) -> Array:
    """The values without what lies beyond the indices on the other axes."""
    parts = [slice(0, size) for size in indices.shape]
    parts[axis] = slice(None)
    return values[tuple(parts)]


def _fitted(name: str, values: Array, new: Array) -> Array:
    dtype = dtype_of(values)
    if promote(name, dtype, dtype_of(new)) is not dtype:
        raise DTypeError(f"{name}: {dtype_of(new)} cannot go into {dtype}; cast it first")
    return recast(new, dtype)
