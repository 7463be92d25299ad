"""Planes of float32 in another size."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array, take_array, take_out, take_plain
from ruda._kernels.narrowing import F32
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda.errors import DTypeError, IndexRangeError, ShapeError

_resize = kernel("resize")

_WORD = np.dtype(np.uint32)


def resize_nearest(values: Array, rows: Array, columns: Array, out: Array | None = None) -> Array:
    """Items of the rows and columns named: float32 (…, height, width) → (…, rows, columns).

    ``rows`` and ``columns`` are integers within the planes. Every bit of an item is kept.
    Raises DTypeError, ShapeError, LayoutError, IndexRangeError.
    """
    given = _take_planes(values)
    down = _take_places(rows, "rows", given.shape[-2])
    across = _take_places(columns, "columns", given.shape[-1])
    shape = (*given.shape[:-2], down.size, across.size)
    result = take_out(out, shape, (F32,), given, down, across)
    if not result.size:
        return result
    source, target = _planes_of(given), _planes_of(result)

    def piece(cut: slice) -> None:
        planes = take_plain(source[cut]).view(_WORD)
        _resize.nearest(planes, down, across, target[cut].view(_WORD))

    in_pieces(piece, len(source), item_bytes=4 * (source[0].size + target[0].size))
    return result


def resize_linear(
    values: Array,
    rows: tuple[Array, Array],
    columns: tuple[Array, Array],
    out: Array | None = None,
) -> Array:
    """Neighbours mixed, columns first: float32 (…, height, width) → (…, rows, columns).

    ``rows`` and ``columns`` are each the first of two neighbours, integers within the planes, and
    the share of the second, float32; the last one is its own neighbour. What has a share of 0 is
    not seen, so that Inf or NaN beside a point do not reach it. Products and sums are
    rounded each: exactly as the twin, within 4 ulp of the largest magnitude mixed.
    Raises DTypeError, ShapeError, LayoutError, IndexRangeError.
    """
    given = _take_planes(values)
    down, down_shares = _take_mix(rows, "rows", given.shape[-2])
    across, across_shares = _take_mix(columns, "columns", given.shape[-1])
    shape = (*given.shape[:-2], down.shape[1], across.shape[1])
    result = take_out(out, shape, (F32,), given)
    if not result.size:
        return result
    source, target = _planes_of(given), _planes_of(result)

    def piece(cut: slice) -> None:
        lines = np.empty((2, shape[-1]), F32)
        planes = take_plain(source[cut])
        _resize.linear(planes, down, down_shares, across, across_shares, lines, target[cut])

    in_pieces(piece, len(source), item_bytes=4 * (source[0].size + target[0].size))
    return result


def _take_planes(values: Array) -> Array:
    given = take_array(values, "values", (F32,))
    if given.ndim < 2:
        raise ShapeError(f"values has shape {given.shape}; expected (…, height, width)")
    return given


def _planes_of(values: Array) -> Array:
    return values.reshape(-1, *values.shape[-2:])


def _take_places(places: Array, name: str, size: int) -> Array:
    found = take_array(places, name)
    if found.dtype.kind not in "iu":
        raise DTypeError(f"{name} has dtype {found.dtype}; expected integers")
    if found.ndim != 1:
        raise ShapeError(f"{name} has shape {found.shape}; expected one axis")
    # Seen without a sign, those below 0 are huge.
    if found.size and int(found.astype(np.int64).view(np.uint64).max()) >= size:
        wrong = int(found[(found < 0) | (found >= size)][0])
        raise IndexRangeError(f"{name} names {wrong}; expected 0 to {size - 1}")
    return np.ascontiguousarray(found, _WORD)


def _take_mix(mix: tuple[Array, Array], name: str, size: int) -> tuple[Array, Array]:
    """Both neighbours, and both shares."""
    if not isinstance(mix, tuple) or len(mix) != 2:
        raise ShapeError(f"{name} is no pair; expected places and shares")
    first = _take_places(mix[0], name, size)
    share = take_plain(take_array(mix[1], f"shares of {name}", (F32,)))
    if share.shape != first.shape:
        raise ShapeError(f"shares of {name} has shape {share.shape}; expected {first.shape}")
    both, shares = np.empty((2, first.size), _WORD), np.empty((2, first.size), F32)
    both[0], shares[1] = first, share
    np.add(first, _WORD.type(1), out=both[1])
    np.minimum(both[1], _WORD.type(max(size - 1, 0)), out=both[1])
    np.subtract(F32.type(1), share, out=shares[0])
    return both, shares
