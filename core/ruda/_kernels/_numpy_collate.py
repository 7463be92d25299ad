"""NumPy twins of the kernels of batches: the same names, the same arguments, the same results."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def image_to_planes(
    image: Array, top: int, left: int, flip: int, factors: Array, shifts: Array, out: Array
) -> None:
    """A window of an image as planes of byte · factor + shift, mirrored if asked."""
    _, height, width = out.shape
    pixels = image[top : top + height, left : left + width]
    pixels = pixels[:, ::-1] if flip else pixels
    np.multiply(pixels.transpose(2, 0, 1), factors[:, None, None], out=out)
    out += shifts[:, None, None]


def pad_rows(values: Array, starts: Array, fill: Array, out: Array) -> None:
    """Row i of out: values from starts[i] to starts[i + 1], and then fill[0]."""
    out[...] = fill[0]
    for row in range(out.shape[0]):
        part = values[starts[row] : starts[row + 1]]
        out[row, : part.size] = part
