"""NumPy twin of the difference kernel: the same name, arguments and figures."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def _keys(words: Array) -> Array:
    """Floats counted from zero, negative ones downwards; both zeros are 0."""
    size = (words & np.int32(0x7FFFFFFF)).astype(np.int64)
    return np.where(words < 0, -size, size)


def difference_f32(
    left_words: Array,
    right_words: Array,
    left: Array,
    right: Array,
    relative: float,
    absolute: float,
    steps: int,
    scratch: Array,
    scratch_words: Array,
    counts: Array,
    sums: Array,
) -> None:
    """Counts and sums as the kernel orders them; the scratch is for the compiled one only."""
    with np.errstate(all="ignore"):
        nans, infs = (np.isnan(left), np.isnan(right)), (np.isinf(left), np.isinf(right))
        held = ~(nans[0] | nans[1] | infs[0] | infs[1])
        same = (left == right) | (nans[0] & nans[1])
        x = np.where(held, left, np.float32(0)).astype(np.float64)
        y = np.where(held, right, np.float32(0)).astype(np.float64)
        distance = np.abs(x - y)
        apart = np.where(held, np.abs(_keys(left_words) - _keys(right_words)), 0)
        allowed = np.maximum(absolute, relative * np.maximum(np.abs(x), np.abs(y)))
        passed = same | (held & ((apart <= steps) | (distance < allowed)))
    whole = (~same, ~passed, held, ~held & ~same)
    counts[:4] = [np.count_nonzero(found) for found in whole]
    counts[4] = apart.max(initial=0)
    counts[5:] = [np.count_nonzero(found) for found in (*nans, *infs)]
    sums[0] = distance.max(initial=0.0)
    sums[1:] = [found.sum() for found in (distance, distance * distance, x * y, x * x, y * y)]
