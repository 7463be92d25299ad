"""Sorting, searching in sorted values, and sets. NaN sorts as the largest value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from ruda import _kernels
from ruda.errors import ShapeError
from ruda.tensor.layout import widened
from ruda.tensor.operations.indexing import check_indices
from ruda.tensor.operations.operands import Array, dtype_of, normalise_axis, pair
from ruda.tensor.promotion import require_computable, require_real


def argsort(
    values: Array, axis: int = -1, *, descending: bool = False, stable: bool = True
) -> Array:
    """Places, as i64, that sort an axis. Stable: equal values keep their order, both ways."""
    require_real("argsort", dtype_of(values))
    if not values.ndim:
        normalise_axis("argsort", values.reshape(1), axis)
        return np.zeros((), np.int64)
    axis = normalise_axis("argsort", values, axis)
    kind: Literal["stable"] | None = "stable" if stable else None

    def places(seen: Array, at: int) -> Array:
        if not descending:
            return np.argsort(seen, axis=at, kind=kind).astype(np.int64)
        # Sorting the reversed axis and reversing the result keeps equal values in order.
        back = np.argsort(np.flip(seen, at), axis=at, kind=kind)
        return np.asarray(seen.shape[at] - 1 - np.flip(back, at)).astype(np.int64)

    return _along(widened(values), axis, places)


_MOST_SORTED = 32
"""NumPy sorts arrays of more axes than this only where they are seen as rows."""


def _along(values: Array, axis: int, compute: Callable[[Array, int], Array]) -> Array:
    """``compute`` on the values and an axis, of which every size stays, with any number of axes."""
    if values.ndim <= _MOST_SORTED:
        return compute(values, axis)
    moved = np.moveaxis(values, axis, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])
    return np.moveaxis(compute(rows, 1).reshape(moved.shape), -1, axis)


_SHORT = (np.dtype(np.float32), np.dtype(np.int32))
"""What the kernel ranks; narrower numbers are widened to one of them, which is exact."""


def largest(values: Array, count: int, axis: int) -> Array:
    """Places, as i64, of the largest on an axis in falling order; of equal ones the first first."""
    require_real("topk", dtype_of(values))
    seen = widened(values)
    if seen.dtype.kind in "iub" and np.can_cast(seen.dtype, np.int32):
        seen = seen.astype(np.int32)
    elif seen.dtype == np.float16:
        seen = seen.astype(np.float32)
    if seen.dtype not in _SHORT:
        places = argsort(values, axis, descending=True)
        return places[(slice(None),) * axis + (slice(0, count),)]
    moved = np.moveaxis(seen, axis, -1)
    rows = math.prod(moved.shape[:-1])  # -1 would not do where a row is empty
    found = _kernels.largest_places(moved.reshape(rows, moved.shape[-1]), count)
    return np.ascontiguousarray(np.moveaxis(found.reshape(*moved.shape[:-1], count), -1, axis))


def sort(values: Array, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """Values of an axis in order; equal ones keep theirs, both ways, unless ``stable`` is False."""
    require_real("sort", dtype_of(values))
    if not values.ndim:
        normalise_axis("sort", values.reshape(1), axis)
        return values
    axis = normalise_axis("sort", values, axis)
    seen = widened(values)
    kind: Literal["stable"] | None = "stable" if stable else None
    # As argsort does it: equal values that look different, 0.0 and -0.0, keep their order.
    given = np.flip(seen, axis) if descending else seen
    done = _along(given, axis, lambda rows, at: np.sort(rows, axis=at, kind=kind))
    done = np.flip(done, axis) if descending else done
    return done if seen is values else done.astype(values.dtype)


def search_sorted(ordered: Array, wanted: Array, *, right: bool, sorter: Array | None) -> Array:
    """Where values would go into an ascending vector, as i64: before equal ones, or behind them."""
    a, b, result = pair("searchsorted", ordered.reshape(-1)[:0], wanted.reshape(-1)[:0])
    del a, b
    require_real("searchsorted", result)
    if ordered.ndim != 1:
        raise ShapeError(f"searchsorted: shape {list(ordered.shape)} is not a vector")
    if sorter is not None:
        if sorter.shape != ordered.shape:
            raise ShapeError(
                f"searchsorted: a sorter of shape {list(sorter.shape)} for a vector of "
                f"{list(ordered.shape)}"
            )
        check_indices("searchsorted", sorter, ordered.size)
        sorter = sorter.astype(np.int64) % max(ordered.size, 1)
    side: Literal["left", "right"] = "right" if right else "left"
    order: Any = sorter
    found = np.searchsorted(widened(ordered), widened(wanted), side=side, sorter=order)
    return np.asarray(found).astype(np.int64)


class Unique(NamedTuple):
    """The different values of an array, where they stand, and how often."""

    values: Array
    indices: Array
    inverse: Array
    counts: Array


def unique(values: Array) -> Unique:
    """Different values in ascending order; each NaN is one of its own, +0 and -0 are equal.

    ``indices``: where each stands first in row-major order, i64. ``inverse``: of the shape of the
    values, which of the unique values stands there. ``counts``: how often each occurs.
    """
    require_computable("unique", dtype_of(values))
    seen = widened(values)
    found, indices, inverse, counts = np.unique(
        seen, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    kept = found if seen is values else found.astype(values.dtype)
    return Unique(
        kept,
        indices.astype(np.int64),
        np.asarray(inverse).reshape(values.shape).astype(np.int64),
        counts.astype(np.int64),
    )
