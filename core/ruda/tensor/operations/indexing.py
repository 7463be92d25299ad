"""Reading and replacing elements by index. Everything is checked: outside an axis is an error."""

from __future__ import annotations

import math
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from ruda import _kernels
from ruda._kernels import shown_number
from ruda.errors import DTypeError, IndexRangeError, SettingError, ShapeError
from ruda.tensor.casting import scalar
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import (
    Array,
    Operand,
    common_shape,
    dtype_of,
    normalise_axis,
    recast,
)
from ruda.tensor.promotion import Scalar, accumulator, promote, promote_scalar, require_integer
from ruda.tensor.sizes import MOST_AXES, require_room, whole

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
    shape = (*values.shape[:axis], *indices.shape, *values.shape[axis + 1 :])
    require_room("take", shape, values.dtype)
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


def masked(values: Array, mask: Array) -> Array:
    """The elements where a bool mask is True, as a vector; both broadcast. Raises DTypeError."""
    if dtype_of(mask) is not DType.BOOL:
        raise DTypeError(
            f"mask_select: needs a bool tensor, got {dtype_of(mask)}; compare it with 0 first, or "
            f"take by index"
        )
    shape = common_shape("mask_select", values.shape, mask.shape)
    return np.asarray(np.broadcast_to(values, shape)[np.broadcast_to(mask, shape)])


def nonzero(values: Array) -> list[Array]:
    """Places of the values other than 0: for each axis their i64 indices, in row-major order."""
    if not values.ndim:
        raise ShapeError("nonzero: a scalar has no axes to give places on")
    return [np.asarray(one).astype(np.int64) for one in np.nonzero(values != 0)]


def is_mask(values: Array) -> bool:
    """True for bool arrays, which select by truth."""
    return dtype_of(values) is DType.BOOL


_UPDATES = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def added(values: Array, indices: Array, new: Array, axis: int) -> Array:
    """A copy to whose slices of an axis ``new`` is added; doubled indices add up, halves in f32."""
    name = "select_assign"
    dtype = dtype_of(values)
    _require_sums(name, "add", dtype)
    wanted = (*values.shape[:axis], *indices.shape, *values.shape[axis + 1 :])
    given = _fitted(name, values, new)
    try:
        given = np.broadcast_to(given, wanted)
    except ValueError:
        raise ShapeError(
            f"{name}: values of shape {list(new.shape)} do not broadcast to {list(wanted)}, the "
            f"slices of axis {axis} that the indices name"
        ) from None
    wide = accumulator(dtype) if dtype.is_float else dtype
    made, fitted = np.array(recast(values, wide)), recast(given, wide)
    if indices.ndim == 1 and _kernels.can_add(made.dtype):
        _kernels.add_slices(made, indices, fitted, axis)
    else:
        with np.errstate(all="ignore"):
            parts: Any = (slice(None),) * axis + (indices.astype(np.int64),)
            np.add.at(made, parts, fitted)
    return recast(made, dtype)


def gather(values: Array, indices: Array, axis: int) -> Array:
    """``values[…, indices[…], …]`` on an axis; other axes of the indices may be shorter."""
    axis = normalise_axis("gather", values, axis)
    _check_inside("gather", values, indices, axis)
    check_indices("gather", indices, values.shape[axis])
    return _gathered(_cut(values, indices, axis), indices, axis)


def _gathered(values: Array, indices: Array, axis: int) -> Array:
    """Indices that were checked; the kernel takes them where nothing needs to be copied first."""
    if values.flags.c_contiguous and _same_but(values.shape, indices.shape, axis):
        # On three axes, since NumPy takes at most 63 index arrays.
        found = _kernels.gather_items(_three(values, axis), _three(indices, axis), 1)
        return found.reshape(indices.shape)
    if values.ndim < MOST_AXES:
        return np.take_along_axis(values, indices.astype(np.int64), axis=axis)
    rest = (
        common_shape("gather", values.shape[:axis], indices.shape[:axis]),
        common_shape("gather", values.shape[axis + 1 :], indices.shape[axis + 1 :]),
    )
    full, places = (
        np.ascontiguousarray(np.broadcast_to(one, (*rest[0], one.shape[axis], *rest[1])))
        for one in (values, indices)
    )
    return _gathered(full, places, axis)


def _three(values: Array, axis: int) -> Array:
    """The axes in front as one, the axis, and those behind as one; a view where memory allows."""
    before, behind = math.prod(values.shape[:axis]), math.prod(values.shape[axis + 1 :])
    return values.reshape(before, values.shape[axis], behind)


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
    dtype = dtype_of(values)
    _require_sums("scatter", update, dtype)
    if update == "add" and _same_but(values.shape, indices.shape, axis):
        wide = accumulator(dtype) if dtype.is_float else dtype
        fitted = recast(_fitted("scatter", values, new), wide)
        if _kernels.can_add(fitted.dtype):
            made = np.array(recast(values, wide))
            _kernels.scatter_add(made, indices, fitted, axis)
            return recast(made, dtype)
    places = _positions(values.shape, indices, axis).reshape(-1)
    made = _updated("scatter", values.reshape(-1), places, new.reshape(-1), update)
    return made.reshape(values.shape)


def _positions(shape: tuple[int, ...], indices: Array, axis: int) -> Array:
    """Where in row-major order the indices point, which are checked and may be negative."""
    at = _from_front(indices, shape[axis]) * math.prod(shape[axis + 1 :])
    for other, size in enumerate(indices.shape):
        if other != axis and size > 1:
            steps = np.arange(size, dtype=np.int64) * math.prod(shape[other + 1 :])
            at += steps.reshape(size, *(1,) * (indices.ndim - 1 - other))
    return at


def _from_front(indices: Array, size: int) -> Array:
    """Indices as i64, those below 0 counted from the end."""
    found = indices.astype(np.int64)
    found[found < 0] += size
    return found


def _require_sums(name: str, update: str, dtype: DType) -> None:
    """Raise SettingError for an unknown update, DTypeError for one that bool does not have."""
    if update != "assign" and update not in _UPDATES:
        raise SettingError(f"{name}: update is assign, {', '.join(_UPDATES)}, got {update!r}")
    if update != "assign" and dtype is DType.BOOL:
        raise DTypeError(
            f"{name}: bool tensors have no arithmetic; cast one to i32 first, or assign"
        )


def _updated(name: str, values: Array, places: Array, new: Array, update: str) -> Array:
    """A copy in which ``new`` went to places of the first axis; sums of halves are made in f32."""
    dtype = dtype_of(values)
    _require_sums(name, update, dtype)
    fitted = _fitted(name, values, new)
    if update == "assign":
        made = values.copy()
        made[places] = fitted
        return made
    wide = accumulator(dtype) if dtype.is_float else dtype
    made = np.array(recast(values, wide))
    with np.errstate(all="ignore"):
        _UPDATES[update].at(made, places, recast(fitted, wide))
    return recast(made, dtype)


def gather_nd(values: Array, indices: Array) -> Array:
    """What ``indices`` [..., k] name on the first k axes: [..., *values.shape[k:]], a copy."""
    count, places = _coordinates("gather_nd", values, indices)
    shape = (*indices.shape[:-1], *values.shape[count:])
    require_room("gather_nd", shape, values.dtype)
    return _joined(values, count)[places].reshape(shape)


def scatter_nd(values: Array, indices: Array, new: Array, update: str) -> Array:
    """A copy in which ``new`` goes to the places of ``gather_nd``; ``update`` as in ``scatter``."""
    count, places = _coordinates("scatter_nd", values, indices)
    shape = (*indices.shape[:-1], *values.shape[count:])
    if new.shape != shape:
        raise ShapeError(
            f"scatter_nd: values of shape {list(new.shape)} for places of shape {list(shape)}"
        )
    fresh = new.reshape(places.size, *values.shape[count:])
    found = _updated("scatter_nd", _joined(values, count), places, fresh, update)
    return found.reshape(values.shape)


def _joined(values: Array, count: int) -> Array:
    """The first axes as one, so that one index names a place on all of them."""
    return values.reshape(math.prod(values.shape[:count]), *values.shape[count:])


def _coordinates(name: str, values: Array, indices: Array) -> tuple[int, Array]:
    """How many axes the last axis of ``indices`` counts, and the places on them joined to one."""
    count = indices.shape[-1] if indices.ndim else 0
    if not 1 <= count <= values.ndim:
        raise ShapeError(
            f"{name}: indices of shape {list(indices.shape)} name no places in shape "
            f"{list(values.shape)}; their last axis counts 1 to {values.ndim} coordinates"
        )
    at = np.zeros(math.prod(indices.shape[:-1]), np.int64)
    for axis, size in enumerate(values.shape[:count]):
        part = indices[..., axis]
        check_indices(name, part, size)
        at += _from_front(part.reshape(-1), size) * math.prod(values.shape[axis + 1 : count])
    return count, at


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
