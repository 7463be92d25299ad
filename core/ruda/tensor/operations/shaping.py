"""The same values under another shape, order or extent. Views wherever memory allows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import ShapeError
from ruda.tensor.operations.operands import (
    Array,
    Axes,
    common_shape,
    dtype_of,
    normalise_axes,
    normalise_axis,
    promoted,
)
from ruda.tensor.promotion import require_integer
from ruda.tensor.sizes import reach, require_room, shown_sizes, sizes_of, whole


def reshape(values: Array, shape: Sequence[int]) -> Array:
    """The same values in row-major order under another shape; one axis may be -1.

    A view where memory allows.
    """
    wanted = sizes_of("reshape", shape)
    known = math.prod(size for size in wanted if size != -1)
    free = wanted.count(-1)
    fits = free <= 1 and all(size >= -1 for size in wanted)
    fits = fits and (values.size == known if not free else known > 0 and values.size % known == 0)
    if not fits:
        raise ShapeError(
            f"reshape: {values.size} elements of shape {list(values.shape)} do not fill "
            f"{shown_sizes(wanted)}"
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


def transpose_matrices(values: Array) -> Array:
    """The last two axes exchanged; a view. Raises ShapeError below rank 2."""
    if values.ndim < 2:
        raise ShapeError(f"transpose: shape {list(values.shape)} has no two axes to exchange")
    return values.swapaxes(-1, -2)


def permute(values: Array, order: Sequence[int]) -> Array:
    """The axes in this order; a view. Raises ShapeError unless each axis stands there once."""
    axes = normalise_axes("permute", values, sizes_of("permute", order, "an axis")) or ()
    if len(axes) != values.ndim:
        raise ShapeError(
            f"permute: shape {list(values.shape)} has {values.ndim} axes, the order {list(order)} "
            f"names {len(axes)}"
        )
    return values.transpose(axes)


def move_axes(values: Array, source: Axes, target: Axes) -> Array:
    """Axes taken to other places, the rest in their order; a view."""
    start = normalise_axes("movedim", values, source) or ()
    end = normalise_axes("movedim", values, target) or ()
    if len(start) != len(end):
        raise ShapeError(f"movedim: {len(start)} axes cannot go to {len(end)} places")
    return np.moveaxis(values, start, end)


def unsqueeze(values: Array, axis: int) -> Array:
    """A new axis of size 1 at this position of the result; a view."""
    place = normalise_axis("unsqueeze", values, axis, extra=1)
    require_room("unsqueeze", (*values.shape, 1), values.dtype)
    return np.expand_dims(values, place)


def squeeze(values: Array, axis: Axes) -> Array:
    """Without these axes of size 1; a view. Raises ShapeError where one has another size."""
    axes = normalise_axes("squeeze", values, axis)
    if axes is None:
        axes = tuple(i for i, size in enumerate(values.shape) if size == 1)
    for one in axes:
        if values.shape[one] != 1:
            raise ShapeError(
                f"squeeze: axis {one} of shape {list(values.shape)} has size "
                f"{values.shape[one]}, not 1"
            )
    return np.squeeze(values, axes)


def expand(values: Array, shape: Sequence[int]) -> Array:
    """Repeated along axes of size 1 and new ones in front, without memory; a view.

    -1 keeps the size of an axis. Raises ShapeError where a size is neither 1 nor the wanted one.
    """
    wanted = list(sizes_of("expand", shape))
    lead = len(wanted) - values.ndim
    for place, size in enumerate(wanted):
        if size == -1 and place >= max(lead, 0):
            wanted[place] = values.shape[place - lead]
    fits = lead >= 0 and all(
        own in (1, size) for own, size in zip(values.shape, wanted[max(lead, 0) :], strict=False)
    )
    if not fits or any(size < 0 for size in wanted):
        raise ShapeError(
            f"expand: shape {list(values.shape)} does not expand to {shown_sizes(shape)}; only "
            f"axes of size 1 and new ones in front can grow"
        )
    require_room("expand", tuple(wanted), values.dtype)
    return np.broadcast_to(values, tuple(wanted))


def broadcast(parts: Sequence[Array]) -> list[Array]:
    """All arrays with their common shape; views."""
    shape: tuple[int, ...] = ()
    for part in parts:
        shape = common_shape("broadcast_arrays", shape, part.shape)
    return [np.broadcast_to(part, shape) for part in parts]


def flip(values: Array, axis: Axes) -> Array:
    """In reverse along these axes, or all; a view."""
    return np.flip(values, normalise_axes("flip", values, axis))


def roll(values: Array, shift: int | Sequence[int], axis: Axes) -> Array:
    """Shifted along axes, what leaves at one end enters at the other; None rolls all values."""
    asked = shift if isinstance(shift, Iterable) else (shift,)
    single = asked is not shift
    shifts = tuple(whole("roll", "a shift", one) for one in asked)
    if axis is None:
        if not single:
            raise ShapeError("roll: several shifts need an axis each")
        return np.roll(values, shifts[0] % max(values.size, 1))
    axes = tuple(axis) if isinstance(axis, Iterable) else (axis,)  # one axis may be rolled twice
    places = tuple(normalise_axis("roll", values, one) for one in axes)
    shifts = shifts * len(places) if single else shifts
    if len(shifts) != len(places):
        raise ShapeError(f"roll: {len(shifts)} shifts for {len(places)} axes")
    near = [one % max(values.shape[at], 1) for one, at in zip(shifts, places, strict=True)]
    return np.roll(values, near, places) if places else values


def repeat_elements(values: Array, times: int | Array, axis: int | None) -> Array:
    """Each element several times in a row, along an axis or flattened."""
    if axis is None:
        values, axis = values.reshape(-1), 0
    axis = normalise_axis("repeat", values, axis)
    if isinstance(times, np.ndarray):
        require_integer("repeat", dtype_of(times))
        if times.ndim > 1 or (times.size not in (1, values.shape[axis])):
            raise ShapeError(
                f"repeat: counts of shape {list(times.shape)} do not fit axis {axis} of shape "
                f"{list(values.shape)}"
            )
        if np.any(times < 0):
            raise ShapeError("repeat: a count is negative")
        size = _exact_sum(times) * (values.shape[axis] if times.size == 1 else 1)
        times = times.astype(np.int64)  # NumPy takes no unsigned ones
    else:
        times = whole("repeat", "a count", times)
        if times < 0:
            raise ShapeError(f"repeat: a count of {shown_number(times)} is negative")
        times = times if values.shape[axis] else 0
        size = times * values.shape[axis]
    require_room("repeat", (*values.shape[:axis], size, *values.shape[axis + 1 :]), values.dtype)
    return np.repeat(values, times, axis)


def _exact_sum(times: Array) -> int:
    """The sum of counts from 0 on, which may be more than 64 bits hold."""
    low = int((times & np.uint8(0xFF)).sum(dtype=np.uint64))
    return low + (int((times >> 8).sum(dtype=np.uint64)) << 8)


def tile(values: Array, times: Sequence[int]) -> Array:
    """The whole laid side by side: ``times[i]`` copies along axis i, new axes in front."""
    counts = sizes_of("tile", times, "a count")
    if any(count < 0 for count in counts):
        raise ShapeError(f"tile: counts {shown_sizes(counts)} contain a negative one")
    pairs = zip_longest(reversed(values.shape), reversed(counts), fillvalue=1)
    require_room("tile", tuple(size * count for size, count in pairs), values.dtype)
    return np.tile(values, counts)


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
    return np.concatenate(promoted("cat", parts), axis=axis)


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
    place = normalise_axis("stack", parts[0], axis, extra=1)
    require_room("stack", (*parts[0].shape, len(parts)), parts[0].dtype)
    return np.stack(promoted("stack", parts), place)


def unstack(values: Array, axis: int) -> list[Array]:
    """The slices along an axis, without it; views."""
    if not values.ndim:
        raise ShapeError("unstack: a scalar has no axis")
    front = np.moveaxis(values, normalise_axis("unstack", values, axis), 0)
    return [front[place, ...] for place in range(front.shape[0])]


def split(values: Array, sizes: Sequence[int], axis: int) -> list[Array]:
    """Consecutive parts of these sizes; views. Raises ShapeError unless they add up to the axis."""
    axis = normalise_axis("split", values, axis)
    sizes = sizes_of("split", sizes)
    if sum(sizes) != values.shape[axis] or any(size < 0 for size in sizes):
        raise ShapeError(
            f"split: sizes {shown_sizes(sizes)} do not add up to {values.shape[axis]}, the size of "
            f"axis {axis}"
        )
    parts, start = [], 0
    for size in sizes:
        parts.append(narrow(values, axis, start, size))
        start += size
    return parts


def narrow(values: Array, axis: int, start: int, length: int) -> Array:
    """``length`` elements of an axis from ``start`` on; a view. Raises ShapeError outside it."""
    axis = normalise_axis("narrow", values, axis)
    start, length = whole("narrow", "a start", start), whole("narrow", "a length", length)
    if start < 0 or length < 0 or start + length > values.shape[axis]:
        raise ShapeError(
            f"narrow: elements {shown_number(start)} to {shown_number(start + length)} are outside "
            f"axis {axis} of shape {list(values.shape)}"
        )
    return values[(slice(None),) * axis + (slice(start, start + length),)]


def windows(values: Array, axis: int, size: int, step: int) -> Array:
    """Windows of an axis, each ``step`` further, as a new last axis of ``size``; a view."""
    axis = normalise_axis("unfold", values, axis)
    size, step = whole("unfold", "a size", size), whole("unfold", "a step", step)
    if not 0 < size <= values.shape[axis] or step < 1:
        raise ShapeError(
            f"unfold: windows of {shown_number(size)} every {shown_number(step)} do not fit axis "
            f"{axis} of shape {list(values.shape)}"
        )
    count = values.shape[axis] - size + 1
    front, behind = values.shape[:axis], values.shape[axis + 1 :]
    require_room("unfold", (*front, count, *behind, size), values.dtype)
    # Words of the same width: NumPy does not know how to describe others' floats there.
    words = values.view(f"u{values.itemsize}") if dtype_of(values).is_float else values
    every = np.lib.stride_tricks.sliding_window_view(words, size, axis=axis)
    return every[(slice(None),) * axis + (slice(None, None, step),)].view(values.dtype)


def triangle(values: Array, diagonal: int, *, upper: bool) -> Array:
    """Zeros below the diagonal (``upper``) or above it; matrices on the last two axes."""
    name = "triu" if upper else "tril"
    diagonal = reach(name, "a diagonal", diagonal, values.shape)
    if values.ndim < 2:
        raise ShapeError(f"{name}: shape {list(values.shape)} has no matrices on its last axes")
    return np.triu(values, diagonal) if upper else np.tril(values, diagonal)
