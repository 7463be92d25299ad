"""NumPy twins around the products of a convolution: the same names, arguments and results."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def to_tiles(planes: Array, top: int, down: int, at: int, lines: Array, out: Array) -> None:
    """Rows of tiles from ``top`` on, ``down`` of them, into the places of out from ``at`` on."""
    across = (planes.shape[2] - 2) // 2
    part = planes[:, 2 * top : 2 * (top + down) + 2]
    a, b, c, d = (part[:, i : i + 2 * down - 1 : 2] for i in range(4))
    target = out[:, :, at : at + down * across].reshape(16, -1, down, across)
    with np.errstate(all="ignore"):
        for i, rows in enumerate((a - c, b + c, c - b, b - d)):
            e, f, g, h = (rows[:, :, j : j + 2 * across - 1 : 2] for j in range(4))
            for j, values in enumerate((e - g, f + g, g - f, f - h)):
                target[4 * i + j] = values


def from_tiles(
    products: Array, bias: Array, at: int, top: int, down: int, lines: Array, out: Array
) -> np.float32:
    """Tiles from ``at`` on, in rows of tiles of out; 0 if all of them are finite, else NaN."""
    across = out.shape[2] // 2
    tiles = products[:, :, at : at + down * across].reshape(4, 4, -1, down, across)
    shift = bias[:, None, None]
    target = out[:, 2 * top : 2 * (top + down)]
    with np.errstate(all="ignore"):
        upper = (tiles[0] + tiles[1]) + tiles[2]
        lower = (tiles[1] - tiles[2]) - tiles[3]
        for i, (a, b, c, d) in enumerate((upper, lower)):
            target[:, i::2, 0::2] = ((a + b) + c) + shift
            target[:, i::2, 1::2] = ((b - c) - d) + shift
        return np.float32(0 if np.isfinite(target).all() else np.nan)


def unfold(
    images: Array,
    height: int,
    width: int,
    down: int,
    across: int,
    down_gap: int,
    across_gap: int,
    columns: int,
    out: Array,
) -> None:
    """(image, channel, row, column) → (channel, point, image, position)."""
    rows = out.shape[3] // columns
    target = out.reshape(*out.shape[:3], rows, columns)
    for i in range(height):
        for j in range(width):
            top, left = i * down_gap, j * across_gap
            seen = images[
                :,
                :,
                top : top + (rows - 1) * down + 1 : down,
                left : left + (columns - 1) * across + 1 : across,
            ]
            target[:, i * width + j] = seen.transpose(1, 0, 2, 3)
