"""NumPy twins of the kernels of batches: the same names, the same arguments, the same results."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def image_to_planes(
    lines: Array, top: int, start: int, flip: int, factors: Array, shifts: Array, out: Array
) -> None:
    """A window of an image as planes of byte · factor + shift, mirrored if asked."""
    channels, height, width = out.shape
    pixels = lines[top : top + height, start : start + width * channels]
    pixels = pixels.reshape(height, width, channels)
    pixels = pixels[:, ::-1] if flip else pixels
    np.multiply(pixels.transpose(2, 0, 1), factors[:, None, None], out=out)
    out += shifts[:, None, None]
