"""``fy64-v1``: the reproducible shuffle of datasets and loaders."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array
from ruda._kernels.variants import kernel
from ruda.errors import SettingError

_shuffle = kernel("shuffle")

LONGEST = 2**32 - 1


def shuffle_order(n: int, key: int) -> Array:
    """The permutation of 0 … n-1 that belongs to a 64-bit key: int64[n], the same everywhere.

    Fisher-Yates from the end, with SplitMix64 words and rejection, so that every order is equally
    likely. Raises SettingError unless 0 ≤ n < 2³² and 0 ≤ key < 2⁶⁴.
    """
    if not 0 <= n <= LONGEST:
        raise SettingError(f"n={n}: a shuffle takes 0 to {LONGEST} items")
    if not 0 <= key < 2**64:
        raise SettingError(f"key={key}: expected a whole number of 64 bits")
    out = np.empty(n, np.int64)
    _shuffle.permute(out, np.array([key], np.uint64))
    return out
