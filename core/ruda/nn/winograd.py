"""Convolution with 3 × 3 windows by Winograd's F(2×2, 3×3): 16 products where there were 36.

Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks" (2015). Tiles of 4 × 4 points
give 2 × 2 results each. What is added up is larger than the result: with |d| the largest magnitude
in a tile of a channel and |g| the sum of magnitudes of its filter, a result is off by at most
(channels + 16) · 2⁻²⁴ · 16 · Σ |d| · |g| over the channels; typically by two to four times as much
as the plain sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.nn.window import Window2d

Array = np.ndarray[Any, Any]

TILE_BYTES = 1 << 20
"""Memory for the tiles of a block: as much as stays in the second-level cache of a core."""

_FILTER = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
FEWEST_CHANNELS = 32
"""In and out, from which the transforms are paid for; measured."""
FEWEST_TILES = 32
"""Of all images together; fewer are too narrow a matrix for the number of filters to read."""


def suits(weight: Array, window: Window2d, groups: int, out: Array) -> bool:
    """Whether the convolution is of this kind, and large enough to gain; never in NumPy alone."""
    if _kernels.variant() == "numpy":
        return False
    if out.dtype != np.float32 or groups != 1 or window.kernel != (3, 3):
        return False
    if window.stride != (1, 1) or window.dilation != (1, 1):
        return False
    tiles = out.shape[0] * -(-out.shape[2] // 2) * -(-out.shape[3] // 2)
    return bool(min(weight.shape[:2]) >= FEWEST_CHANNELS and tiles >= FEWEST_TILES)


def convolve(
    x: Array, filters: Array, bias: Array | None, window: Window2d, out: Array
) -> list[int]:
    """Fill ``out`` (batch, out channel, row, column); images that came out with NaN or Inf.

    ``filters`` are the weights ``transformed``. Those images are to be computed otherwise: where a
    sum has Inf in it, the differences of tiles have NaN, and they overflow earlier.
    """
    batch, channels, rows, columns = out.shape
    down, across = -(-rows // 2), -(-columns // 2)
    shift = np.zeros(channels, np.float32) if bias is None else bias
    fitting = (rows, columns) == (2 * down, 2 * across) and out.flags.c_contiguous
    even = out if fitting else np.empty((batch, channels, 2 * down, 2 * across), np.float32)
    failed: set[int] = set()
    most = max(across, TILE_BYTES // (64 * max(filters.shape[1:])))
    padded = _Padded(x, window, (2 * down + 2, 2 * across + 2))
    tiles = products = np.empty((16, 0, 0), np.float32)
    for block in _blocks(batch, down, across, most):
        count = sum(rows_ * across for _, _, rows_ in block)
        if tiles.shape[2] != count:
            tiles = np.empty((16, filters.shape[2], count), np.float32)
            products = np.empty((16, channels, count), np.float32)
        at = 0
        for image, top, rows_ in block:
            _kernels.winograd_tiles(padded.image(image), top, rows_, at, tiles)
            at += rows_ * across
        np.matmul(filters, tiles, out=products)
        at = 0
        for image, top, rows_ in block:
            if not _kernels.winograd_planes(products, shift, at, top, rows_, even[image]):
                failed.add(image)
            at += rows_ * across
    if even is not out:
        out[...] = even[:, :, :rows, :columns]
    return sorted(failed)


def transformed(weight: Array) -> Array:
    """(out channel, in channel, 3, 3) → (16, out channel, in channel)."""
    both = np.kron(_FILTER, _FILTER)
    made: Array = np.matmul(both, weight.reshape(-1, 9).T)
    return made.reshape(16, *weight.shape[:2])


def _blocks(batch: int, down: int, across: int, most: int) -> Iterator[list[tuple[int, int, int]]]:
    """Blocks of up to ``most`` tiles: (image, first row of tiles, rows of tiles)."""
    images = most // (down * across)
    if images:
        for first in range(0, batch, images):
            yield [(image, 0, down) for image in range(first, min(first + images, batch))]
        return
    step = max(1, most // across)
    for image in range(batch):
        for top in range(0, down, step):
            yield [(image, top, min(step, down - top))]


class _Padded:
    """Images one after the other with their border, in one piece of memory."""

    def __init__(self, x: Array, window: Window2d, size: tuple[int, int]) -> None:
        top, left, _, _ = window.pads(x.shape[2], x.shape[3])
        self._x = x
        self._planes = np.zeros((x.shape[1], *size), np.float32)
        rows, columns = min(x.shape[2], size[0] - top), min(x.shape[3], size[1] - left)
        self._inside = self._planes[:, top : top + rows, left : left + columns]
        self._held = -1

    def image(self, place: int) -> Array:
        """(channel, height, width); the next call replaces it."""
        if place != self._held:
            rows, columns = self._inside.shape[1:]
            self._inside[...] = self._x[place, :, :rows, :columns]
            self._held = place
        return self._planes
