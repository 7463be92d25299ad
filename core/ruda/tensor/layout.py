"""Copies of arrays in another memory order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import ShapeError


def transpose_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """C-contiguous copy of the transpose of a matrix: (rows, columns) → (columns, rows).

    Raises ShapeError unless the array has two axes.
    """
    if array.ndim != 2:
        raise ShapeError(f"transpose needs two axes, got shape {list(array.shape)}")
    return _kernels.transpose(np.ascontiguousarray(array))
