"""NumPy twins of what goes by places on an axis: the same names, arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda._kernels.checks import Array

_WIDE = 32
"""Items of a slice from which a NumPy call for each slice costs less than its call for all."""


def gather(words: Array, places: Array, out: Array) -> None:
    """Items that the places name on the middle axis."""
    out[...] = np.take_along_axis(words, places.view(np.int64), axis=1)


def scatter_add(target: Array, places: Array, values: Array) -> None:
    """In the order of the values, so that sums are the same every time."""
    outer, _, inner = np.ogrid[tuple(slice(0, size) for size in values.shape)]
    with np.errstate(all="ignore"):
        np.add.at(target, (outer, places.view(np.int64), inner), values)


def add_slices(target: Array, places: Array, values: Array) -> None:
    """Slices of the middle axis, in the order of the values."""
    with np.errstate(all="ignore"):
        if values.shape[2] < _WIDE:
            along: Any = (slice(None), places.view(np.int64))
            np.add.at(target, along, values)
            return
        for at, place in enumerate(places.tolist()):
            target[:, place] += values[:, at]
