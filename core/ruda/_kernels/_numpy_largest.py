"""NumPy twins of the largest few: the same names, the same arguments, the same results."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def falling(values: Array, count: int) -> Array:
    """Places of the largest of each row, NaN first; of equal ones the first comes first."""
    # Sorting the reversed row and reversing the result keeps equal values in order.
    back = np.argsort(values[:, ::-1], axis=1, kind="stable")
    return np.asarray(values.shape[1] - 1 - back[:, ::-1][:, :count])


def largest_f32(
    words: Array, values: Array, room: Array, best: Array, patience: int, places: Array
) -> int:
    """All rows, whatever the patience."""
    places[...] = falling(values, best.size)
    return len(values)


def largest_i32(keys: Array, best: Array, patience: int, places: Array) -> int:
    """All rows, whatever the patience."""
    places[...] = falling(keys, best.size)
    return len(keys)
