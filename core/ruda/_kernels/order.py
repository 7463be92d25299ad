"""``fy64-v1``: the reproducible shuffle of datasets and loaders."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array
from ruda._kernels.numbers import take_whole
from ruda._kernels.variants import kernel

_shuffle = kernel("shuffle")

LONGEST = 2**32 - 1


def shuffle_order(n: int, key: int) -> Array:
    """The permutation of 0 … n-1 that belongs to a 64-bit key: int64[n], the same everywhere.

    Fisher-Yates from the end, with SplitMix64 words and rejection, so that every order is equally
    likely. Raises SettingError unless 0 ≤ n < 2³² and 0 ≤ key < 2⁶⁴.
    """
    n, key = take_whole(n, "n", 0, LONGEST), take_whole(key, "key", 0, 2**64 - 1)
    out = np.empty(n, np.int64)
    _shuffle.permute(out, np.array([key], np.uint64))
    return out
