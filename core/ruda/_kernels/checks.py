"""What the gate makes sure of before a kernel, which checks nothing, sees an array."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ruda.errors import DTypeError, LayoutError, ShapeError

Array = NDArray[Any]

# Bits of ``flags.num``: one look at it costs a third of asking for three flags by name.
_OWNED = 0x4
_PLAIN = 0x101  # C-contiguous and aligned
_READY = 0x501  # and writable


def take_array(values: object, name: str, allowed: tuple[np.dtype[Any], ...] = ()) -> Array:
    """The argument as an ndarray of one of the allowed dtypes (any, if none is named).

    Its byte order does not matter. Raises DTypeError for anything else, and for a masked array in
    which something is masked: the values under a mask would be taken for real ones.
    """
    if type(values) is np.ndarray and (not allowed or values.dtype in allowed):
        return values  # the usual case: small arrays should not wait for the rest
    if not isinstance(values, np.ndarray):
        raise DTypeError(f"{name} is a {type(values).__name__}; expected a NumPy array")
    if allowed and values.dtype not in allowed and native(values.dtype) not in allowed:
        expected = " or ".join(str(d) for d in allowed)
        raise DTypeError(f"{name} has dtype {values.dtype}; expected {expected}")
    if type(values) is np.ndarray:
        return values
    if np.ma.is_masked(values):
        raise DTypeError(f"{name} has masked items; expected an array without, so fill them first")
    return np.asarray(values)


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in native byte order; itself where it has none, as variable strings have."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def take_flat(values: Array) -> Array:
    """The items in row-major order, 1-D, where that is a view; else the array, for ``take_run``."""
    return values if values.ndim == 1 or not _is_line(values) else values.reshape(-1)


def _is_line(array: Array) -> bool:
    """Whether the items lie at equal distances in row-major order, so that one axis is a view."""
    if array.flags.c_contiguous or not array.size:
        return True
    longer = [(n, step) for n, step in zip(array.shape, array.strides, strict=True) if n > 1]
    return all(outer == inner * count for (_, outer), (count, inner) in pairwise(longer))


def take_run(source: Array, cut: slice) -> Array:
    """Items ``cut.start`` to ``cut.stop`` of what ``take_flat`` gave, in row-major order, 1-D.

    A view if the source has one axis, else a copy of these items alone: one of a whole transposed
    or memory-mapped array could take as much memory as there is.
    """
    if source.ndim == 1:
        return source[cut]
    room = np.empty(cut.stop - cut.start, native(source.dtype))
    _copy_run(source, cut.start, room)
    return room


def as_rows(values: Array) -> Array:
    """(rows, width) of any array of rank ≥ 1 where that is a view; else it, for ``take_rows``."""
    if values.ndim == 2 or not values.size or not _is_line(values[..., 0]):
        return values
    return values.reshape(-1, values.shape[-1])


def take_rows(source: Array, cut: slice) -> Array:
    """Rows ``cut.start`` to ``cut.stop`` of what ``as_rows`` gave: (rows, width).

    A view if the source has two axes, else a copy of these rows alone, as of ``take_run``.
    """
    if source.ndim == 2:
        return source[cut]
    width = source.shape[-1]
    return take_run(source, slice(cut.start * width, cut.stop * width)).reshape(-1, width)


def _copy_run(source: Array, start: int, room: Array) -> None:
    """Fill ``room`` with the items from ``start`` on: rest of a row, whole rows, a beginning."""
    if source.ndim == 1:
        room[...] = source[start : start + room.size]
        return
    inner = math.prod(source.shape[1:])
    row, skipped = divmod(start, inner)
    done = 0
    if skipped:
        done = min(inner - skipped, room.size)
        _copy_run(source[row], skipped, room[:done])
        row += 1
    rows = (room.size - done) // inner
    if rows:
        whole = room[done : done + rows * inner]
        whole.reshape(rows, *source.shape[1:])[...] = source[row : row + rows]
        done += whole.size
    if done < room.size:
        _copy_run(source[row + rows], 0, room[done:])


def is_plain(array: Array) -> bool:
    """Whether a kernel can take the array: C-contiguous, aligned, native byte order."""
    return array.flags.num & _PLAIN == _PLAIN and array.dtype.isnative


def take_plain(piece: Array) -> Array:
    """A C-contiguous, aligned, native array of the same items; copies only when needed."""
    if piece.flags.num & _PLAIN == _PLAIN and piece.dtype.isnative:
        return piece
    return np.array(piece, dtype=native(piece.dtype), order="C", copy=True)


def take_out(
    out: object,
    shape: tuple[int, ...],
    allowed: tuple[np.dtype[Any], ...],
    *inputs: Array,
) -> Array:
    """The caller's ``out`` after every check, or a new array of the first allowed dtype for None.

    Raises DTypeError, ShapeError or LayoutError saying what is wrong.
    """
    if out is None:
        return np.empty(shape, allowed[0])
    array = take_array(out, "out", allowed)
    if array.shape != shape:
        raise ShapeError(f"out has shape {array.shape}; expected {shape}")
    flags = array.flags.num
    if flags & _READY != _READY or not array.dtype.isnative:
        raise _unfit(array)
    for given in inputs:
        if array is not given and flags & given.flags.num & _OWNED:
            continue  # each has memory of its own; this is quicker than comparing bounds
        if np.may_share_memory(array, given):
            raise LayoutError("out shares memory with the input; pass a separate array")
    return array


def take_written(
    array: object,
    name: str,
    shape: tuple[int, ...],
    allowed: tuple[np.dtype[Any], ...],
    *inputs: Array,
) -> Array:
    """An array that is read and written, after the checks of ``take_out`` under its own name."""
    found = take_array(array, name, allowed)
    try:
        return take_out(found, shape, allowed, *inputs)
    except (DTypeError, LayoutError, ShapeError) as error:
        raise type(error)(str(error).replace("out ", f"{name} ", 1)) from None


def take_pair(
    values: object,
    name: str,
    allowed: tuple[np.dtype[Any], ...],
    out: object,
    kinds: tuple[np.dtype[Any], ...],
) -> tuple[Array, Array, Array, bool]:
    """Input, output, result of a kernel that makes one item of each: (source, target, result, fit).

    ``source`` is the input for ``take_run``, on one axis where that is a view; ``target`` is the
    memory of the result on one axis. ``fit`` says that a kernel can take the source as it is.
    Raises as ``take_array`` and ``take_out`` do.
    """
    # The usual case first, without a call: small arrays should not wait for the rest. The dtypes
    # asked for are native, and arrays with memory of their own share none.
    if (
        type(values) is np.ndarray
        and type(out) is np.ndarray
        and values.dtype in allowed
        and out.dtype in kinds
        and values.shape == out.shape
    ):
        flags, room = values.flags.num, out.flags.num
        plain = flags & _PLAIN == _PLAIN and room & _READY == _READY
        if plain and flags & room & _OWNED and values.ndim == 1 and values is not out:
            return values, out, out, True
    given = take_array(values, name, allowed)
    result = take_out(out, given.shape, kinds, given)
    fit = is_plain(given)
    if given.ndim == 1:
        return given, result, result, fit
    return take_flat(given), result.reshape(-1), result, fit


def _unfit(out: Array) -> LayoutError:
    """What is wrong with an ``out`` that is not plain or cannot be written."""
    flags = out.flags
    if not out.dtype.isnative:
        return LayoutError(f"out has dtype {out.dtype.str} in foreign byte order; expected native")
    if not flags.writeable:
        return LayoutError("out is read-only; pass an array that may be written")
    if not flags.c_contiguous:
        return LayoutError(f"out has strides {out.strides}; expected a C-contiguous array")
    return LayoutError(
        f"out starts at address {out.ctypes.data:#x}, which is not a multiple of "
        f"{out.dtype.alignment}; pass an aligned array"
    )
