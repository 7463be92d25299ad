"""Copies of arrays in another memory order, or in a dtype that NumPy computes with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import ShapeError

_FIRST_FOREIGN = 256
"""NumPy numbers the types that others register from here; their ``kind`` may claim to be "f"."""


def transpose_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """C-contiguous copy of the transpose of a matrix: (rows, columns) → (columns, rows).

    Raises ShapeError unless the array has two axes.
    """
    if array.ndim != 2:
        raise ShapeError(f"transpose needs two axes, got shape {list(array.shape)}")
    return _kernels.transpose(np.ascontiguousarray(array))


def widened(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values where NumPy knows their order and signs: ml_dtypes as f32, others as is."""
    if values.dtype.num < _FIRST_FOREIGN:
        return values
    with np.errstate(invalid="ignore"):  # a signalling NaN says so when it is converted
        return values.astype(np.float32)
