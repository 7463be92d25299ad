"""Items read and added to by their places on an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ruda._kernels.checks import Array, native, take_array, take_out, take_plain, take_written
from ruda._kernels.numbers import MOST, take_whole
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda.errors import DTypeError, IndexRangeError, ShapeError

_indexed = kernel("indexed")

_WORDS = {size: np.dtype(f"u{size}") for size in (2, 4, 8)}
_SUMS: dict[np.dtype[Any], type[np.generic]] = {
    np.dtype(np.float32): np.float32,
    np.dtype(np.float64): np.float64,
    np.dtype(np.int64): np.uint64,
    np.dtype(np.uint64): np.uint64,
}
"""What is added as what: integers wrap around, whatever their sign."""


def gather_items(values: Array, places: Array, axis: int, out: Array | None = None) -> Array:
    """``out[…, k, …] = values[…, places[…, k, …], …]`` on one axis, for any dtype.

    ``places`` are integers of the shape of the result, which is that of the values but for the
    axis; those below 0 count from the end. Every bit of an item is kept. Items of 2, 4 and 8 bytes
    go through the kernel as words; NumPy takes others.
    Raises DTypeError, ShapeError, LayoutError, and IndexRangeError for a place outside the axis.
    """
    given = take_array(values, "values")
    found = _take_places(places, given.shape, axis)
    kind = native(given.dtype)
    result = take_out(out, found.shape, (kind,), given, found)
    word = _WORDS.get(kind.itemsize)
    if not result.size:
        return result
    if word is None or kind.hasobject:
        result[...] = np.take_along_axis(given, found.view(np.int64), axis)
        return result
    source = _three_axes(take_plain(given).view(word), axis)
    where, target = _three_axes(found, axis), _three_axes(result.view(word), axis)

    def piece(cut: slice) -> None:
        _indexed.gather(source[cut], where[cut], target[cut])

    in_pieces(piece, len(source), item_bytes=where[0].size * (8 + 2 * kind.itemsize))
    return result


def can_add(dtype: np.dtype[np.generic]) -> bool:
    """Whether ``scatter_add`` and ``add_slices`` know the dtype."""
    return dtype in _SUMS


def scatter_add(target: Array, places: Array, values: Array, axis: int) -> None:
    """``target[…, places[…, k, …], …] += values[…, k, …]`` on one axis, in the order of k.

    float32, float64, int64 or uint64, all of one dtype; ``values`` and ``places`` have one shape,
    that of the target but for the axis. Places below 0 count from the end. The same sums in every
    variant and every time. Raises DTypeError, ShapeError, LayoutError, and IndexRangeError for a
    place outside the axis; nothing is written then.
    """
    own = take_array(target, "target", tuple(_SUMS))
    found = _take_places(places, own.shape, axis)
    own, new = _take_sums(own, values, found)
    if new.shape != found.shape:
        raise ShapeError(f"values has shape {new.shape}; expected that of places, {found.shape}")
    if new.size:
        _scatter_in_pieces(*(_three_axes(part, axis) for part in (own, found, new)))


def add_slices(target: Array, places: Array, values: Array, axis: int) -> None:
    """``target[…, places[k], …] += values[…, k, …]`` on one axis, in the order of k.

    As ``scatter_add``, with one place for a whole slice: integers (k).
    """
    own = take_array(target, "target", tuple(_SUMS))
    along = _axis_of(own.shape, axis)
    found = take_array(places, "places")
    if found.ndim != 1:
        raise ShapeError(f"places has shape {found.shape}; expected one axis")
    found = _within(found, own.shape[along])
    own, new = _take_sums(own, values, found)
    expected = (*own.shape[:along], found.size, *own.shape[along + 1 :])
    if new.shape != expected:
        raise ShapeError(f"values has shape {new.shape}; expected {expected}")
    if not new.size:
        return
    if own.dtype.kind == "u":
        inner = np.broadcast_to(found[:, None], (len(found), _three_axes(new, along).shape[2]))
        three = _three_axes(new, along)
        every = np.ascontiguousarray(np.broadcast_to(inner, three.shape))
        _scatter_in_pieces(_three_axes(own, along), every, three)
        return
    whole, parts = _three_axes(own, along), _three_axes(new, along)

    def piece(cut: slice) -> None:
        _indexed.add_slices(whole[cut], found, parts[cut])

    in_pieces(piece, len(whole), item_bytes=3 * parts[0].nbytes)


def _scatter_in_pieces(own: Array, places: Array, values: Array) -> None:
    """Cut on the outer axis, where no two pieces add to one item."""

    def piece(cut: slice) -> None:
        _indexed.scatter_add(own[cut], places[cut], values[cut])

    in_pieces(piece, len(own), item_bytes=places[0].nbytes + 3 * values[0].nbytes)


def _take_sums(own: Array, values: Array, places: Array) -> tuple[Array, Array]:
    """Target and values as what is added. Places in the target's memory would move under way."""
    new = take_plain(take_array(values, "values", (native(own.dtype),)))
    take_written(own, "target", own.shape, tuple(_SUMS), new, places)
    word = _SUMS[own.dtype]
    return own.view(word), new.view(word)


def _axis_of(shape: tuple[int, ...], axis: int) -> int:
    axis = take_whole(axis, "axis", -MOST)
    if not -len(shape) <= axis < len(shape):
        raise ShapeError(f"axis {axis} of shape {shape} does not exist")
    return axis % len(shape)


def _take_places(places: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Places of the right shape, within the axis, as uint64."""
    found = take_array(places, "places")
    along = _axis_of(shape, axis)
    expected = (*shape[:along], *found.shape[along : along + 1], *shape[along + 1 :])
    if found.ndim != len(shape) or found.shape != expected:
        raise ShapeError(f"places has shape {found.shape}; expected {shape} but for axis {axis}")
    return _within(found, shape[along])


def _within(places: Array, size: int) -> Array:
    if places.dtype.kind not in "iu":
        raise DTypeError(f"places has dtype {places.dtype}; expected integers")
    if not places.size:
        return np.ascontiguousarray(places, np.uint64)
    plain = take_plain(places)
    wide = (plain if plain.dtype.itemsize == 8 else plain.astype(np.int64)).view(np.uint64)
    if int(wide.max()) < size:  # seen without a sign, those below 0 are huge
        return wide
    low, high = int(places.min()), int(places.max())
    if high >= size or low < -size:
        wrong = high if high >= size else low
        raise IndexRangeError(f"place {wrong} is outside an axis of size {size}")
    signed = wide.view(np.int64)
    return np.where(signed < 0, signed + size, signed).view(np.uint64)


def _three_axes(values: Array, axis: int) -> Array:
    """The axes before, the axis, and the axes behind: a view of a C-contiguous array."""
    along = axis % values.ndim
    before, behind = values.shape[:along], values.shape[along + 1 :]
    return values.reshape(math.prod(before), values.shape[along], math.prod(behind))
