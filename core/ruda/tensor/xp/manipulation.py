"""The same values under another shape or order; taking and searching."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor.casting import scalar
from ruda.tensor.operations import elementwise, indexing, ordering, reductions, shaping
from ruda.tensor.operations.operands import Axes, dtype_of, normalise_axis
from ruda.tensor.promotion import Scalar, promote_scalar
from ruda.tensor.sizes import whole
from ruda.tensor.tensor import Tensor
from ruda.tensor.xp._given import array, either, wrap
from ruda.tensor.xp._given import arrays as held

Flag = builtins.bool


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Join along an existing axis; None flattens each first. Dtypes promote."""
    parts = held("concat", list(arrays))
    if axis is None:
        return wrap(shaping.concatenate([part.reshape(-1) for part in parts], 0))
    return wrap(shaping.concatenate(parts, axis))


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """A new axis of size 1; a view."""
    return wrap(shaping.unsqueeze(array("expand_dims", x), axis))


def flip(x: Tensor, /, *, axis: Axes = None) -> Tensor:
    """In reverse along these axes, or all; a view."""
    return wrap(shaping.flip(array("flip", x), axis))


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """Axes taken to other places, the rest in their order; a view."""
    return wrap(shaping.move_axes(array("moveaxis", x), source, destination))


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """The axes in this order; a view."""
    return wrap(shaping.permute(array("permute_dims", x), axes))


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element several times in a row, along an axis or flattened."""
    times = repeats if isinstance(repeats, int) else array("repeat", repeats)
    return wrap(shaping.repeat_elements(array("repeat", x), times, axis))


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: Flag | None = None) -> Tensor:
    """The same values in row-major order under another shape.

    Raises SettingError where ``copy=False`` cannot be kept.
    """
    values = array("reshape", x)
    made = shaping.reshape(values, shape)
    if copy is False and not np.shares_memory(values, made) and values.size:
        raise SettingError("reshape: this memory order needs a copy")
    return wrap(made.copy() if copy else made)


def roll(
    x: Tensor, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None
) -> Tensor:
    """Shifted along axes: what leaves at one end enters at the other."""
    return wrap(shaping.roll(array("roll", x), shift, axis))


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Without these axes of size 1; a view."""
    return wrap(shaping.squeeze(array("squeeze", x), axis))


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis. Dtypes promote."""
    return wrap(shaping.stack(held("stack", list(arrays)), axis))


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The whole laid side by side, so many times along each axis."""
    return wrap(shaping.tile(array("tile", x), repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it; views."""
    return tuple(wrap(part) for part in shaping.unstack(array("unstack", x), axis))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Slices of an axis in the order of the indices, whose shape takes its place."""
    return wrap(indexing.take(array("take", x), array("take", indices), axis))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each place of ``indices`` the element that it names on this axis."""
    places = array("take_along_axis", indices)
    return wrap(indexing.take_along(array("take_along_axis", x), places, axis))


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: Flag = False) -> Tensor:
    """Position of the first largest value, as int64."""
    return wrap(reductions.argmax(array("argmax", x), axis, keepdims=keepdims))


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: Flag = False) -> Tensor:
    """Position of the first smallest value, as int64."""
    return wrap(reductions.argmin(array("argmin", x), axis, keepdims=keepdims))


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: Flag = False) -> Tensor:
    """How many values are other than 0, as int64."""
    return wrap(reductions.count_nonzero(array("count_nonzero", x), axis, keepdims=keepdims))


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """For each axis the int64 indices of the values other than 0, in row-major order."""
    return tuple(wrap(one) for one in indexing.nonzero(array("nonzero", x)))


def searchsorted(
    x1: Tensor, x2: Tensor | Scalar, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where values would go into an ascending vector, before equal ones or behind them.

    Raises SettingError for a side that is neither left nor right, DTypeError for a number that is
    none of the vector's dtype.
    """
    if side not in ("left", "right"):
        raise SettingError(f"searchsorted: side is left or right, got {side!r}")
    ordered = array("searchsorted", x1)
    wanted = either("searchsorted", x2)
    if not isinstance(wanted, np.ndarray):
        dtype = dtype_of(ordered)
        if promote_scalar("searchsorted", dtype, wanted) is not dtype:
            raise DTypeError(f"searchsorted: {wanted} is no value of {dtype}; cast the vector")
        wanted = scalar(wanted, dtype)
    order = None if sorter is None else array("searchsorted", sorter)
    return wrap(ordering.search_sorted(ordered, wanted, right=side == "right", sorter=order))


def where(condition: Tensor, x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """``x1`` where the condition is True, ``x2`` elsewhere."""
    yes, no = either("where", x1), either("where", x2)
    return wrap(elementwise.select(array("where", condition), yes, no))


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: Flag = False, stable: Flag = True
) -> Tensor:
    """Places, as int64, that sort an axis."""
    values = array("argsort", x)
    return wrap(ordering.argsort(values, axis, descending=descending, stable=stable))


def sort(x: Tensor, /, *, axis: int = -1, descending: Flag = False, stable: Flag = True) -> Tensor:
    """Values of an axis in order; NaN is the largest."""
    return wrap(ordering.sort(array("sort", x), axis, descending=descending, stable=stable))


class UniqueAll(NamedTuple):
    """Different values, where each stands first, which one stands where, and how often."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Different values and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Different values and which one stands where."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """Everything about the different values; each NaN is one of its own."""
    return UniqueAll(*(wrap(part) for part in ordering.unique(array("unique_all", x))))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Different values in ascending order, and how often each occurs."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Different values in ascending order, and which one stands where."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Different values in ascending order."""
    return unique_all(x).values


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours on an axis, ``n`` times over. Raises DTypeError for bool."""
    values = array("diff", x)
    n = whole("diff", "a number of times", n)
    if n < 0:
        raise SettingError(f"diff: {shown_number(n)} times is fewer than none")
    if not values.ndim:
        raise ShapeError("diff: a scalar has no neighbours")
    one = normalise_axis("diff", values, axis)
    if not n:
        return x
    parts = [values]
    for extra, place in ((prepend, 0), (append, len(parts))):
        if extra is not None:
            other = array("diff", extra)
            if other.dtype != values.dtype:
                raise DTypeError("diff: what is put before or behind has another dtype")
            parts.insert(0 if place == 0 else len(parts), other)
    made = shaping.concatenate(parts, one) if len(parts) > 1 else values
    for _ in range(min(n, made.shape[one] + 1)):  # once nothing is left, nothing changes
        size = made.shape[one]
        later = shaping.narrow(made, one, min(1, size), max(size - 1, 0))
        earlier = shaping.narrow(made, one, 0, max(size - 1, 0))
        made = elementwise.subtract(later, earlier)
    return wrap(made)
