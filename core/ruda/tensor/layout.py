"""Arrays in another memory order, in a dtype that NumPy computes with, or as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import DTypeError, ShapeError

_FIRST_FOREIGN = 256
"""NumPy numbers the types that others register from here; their ``kind`` may claim to be "f"."""


def transpose_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """C-contiguous copy of the transpose of a matrix: (rows, columns) → (columns, rows).

    Raises ShapeError unless the array has two axes.
    """
    array = plain(array)
    if array.ndim != 2:
        raise ShapeError(f"transpose needs two axes, got shape {list(array.shape)}")
    return _kernels.transpose(np.ascontiguousarray(array))


def plain(values: object) -> np.ndarray[Any, Any]:
    """The array itself, without what a subclass adds to it. A view.

    Raises DTypeError for anything else, and for a masked array in which something is masked: its
    values would be taken for real ones.
    """
    if type(values) is np.ndarray:
        return values
    if not isinstance(values, np.ndarray | np.generic):
        raise DTypeError(
            f"a tensor wraps a NumPy array, got {type(values).__name__}; Tensor.from_data takes "
            f"numbers and lists"
        )
    if np.ma.is_masked(values):
        raise DTypeError("a masked array has no tensor while items are masked; fill them first")
    return np.asarray(values)


def widened(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values where NumPy knows their order and signs: ml_dtypes as f32, others as is."""
    if values.dtype.num < _FIRST_FOREIGN:
        return values
    with np.errstate(invalid="ignore"):  # a signalling NaN says so when it is converted
        return values.astype(np.float32)


_SHOWN = 256
"""The most values that a text has, whatever the number of axes."""


def shown_values(values: np.ndarray[Any, Any], whole: int) -> str:
    """Nested values in a line or a few: all of them up to ``whole``, then those at the ends.

    With many axes even the ends of each are many; then the first and the last three in row-major
    order are shown.
    """
    for ends in (3, 2, 1):
        if math.prod(min(size, 2 * ends) for size in values.shape) <= _SHOWN:
            return np.array2string(values, threshold=whole, edgeitems=ends, separator=", ")
    places = [_place(at % values.size, values.shape) for at in (0, 1, 2, 2, -3, -2, -1)]
    seven = np.array([values[place] for place in places], values.dtype)
    return np.array2string(seven, threshold=6, edgeitems=3, separator=", ")


def _place(at: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of an element that is counted in row-major order."""
    found = []
    for size in reversed(shape):
        at, rest = divmod(at, size)
        found.append(rest)
    return tuple(reversed(found))
