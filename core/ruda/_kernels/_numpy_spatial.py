"""NumPy twins of the kernels of planes: the same names, the same arguments, the same results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ruda._kernels.checks import Array


def _points(
    planes: Array,
    window: tuple[int, int],
    stride: tuple[int, int],
    gaps: tuple[int, int],
    out: Array,
) -> Iterator[Array]:
    """What each point of a window sees, row by row: views of the shape of out."""
    rows, columns = out.shape[1:]
    for i in range(window[0]):
        for j in range(window[1]):
            top, left = i * gaps[0], j * gaps[1]
            yield planes[
                :,
                top : top + (rows - 1) * stride[0] + 1 : stride[0],
                left : left + (columns - 1) * stride[1] + 1 : stride[1],
            ]


def max_pool(
    planes: Array,
    height: int,
    width: int,
    down: int,
    across: int,
    down_gap: int,
    across_gap: int,
    out: Array,
) -> None:
    """Largest value of each window; NaN wins."""
    seen = _points(planes, (height, width), (down, across), (down_gap, across_gap), out)
    out[...] = next(seen)
    for values in seen:
        np.maximum(out, values, out=out)


def average_pool(
    planes: Array, height: int, width: int, down: int, across: int, factor: np.float32, out: Array
) -> None:
    """Sum of each window times the factor."""
    seen = _points(planes, (height, width), (down, across), (1, 1), out)
    with np.errstate(all="ignore"):
        out[...] = next(seen)
        for values in seen:
            out += values
        out *= factor


def scale_planes(planes: Array, factors: Array, shifts: Array, relu: int, out: Array) -> None:
    """Plane p times factors[p mod channels] plus shifts of the same place."""
    channels = factors.size
    source, target = (a.reshape(-1, channels, planes.shape[1]) for a in (planes, out))
    with np.errstate(all="ignore"):
        np.multiply(source, factors[:, None], out=target)
        target += shifts[:, None]
        if relu:
            target[target < 0] = 0


def convolve_3x3(planes: Array, weights: Array, down: int, across: int, out: Array) -> None:
    """Row c of the weights: nine taps of channel c and its bias. Plane p is channel p mod c."""
    taps = np.tile(weights, (planes.shape[0] // weights.shape[0], 1))[:, :, None, None]
    seen = list(_points(planes, (3, 3), (down, across), (1, 1), out))
    with np.errstate(all="ignore"):
        out[...] = taps[:, 9]
        for row in range(0, 9, 3):
            a, b, c = (seen[row + k] * taps[:, row + k] for k in range(3))
            out += (a + b) + c


def rotate_pairs(rows: Array, cos: Array, sin: Array, out: Array) -> None:
    """Row r is at position r mod the number of positions."""
    source, target = (a.reshape(-1, *cos.shape, 2) for a in (rows, out))
    first, second = source[..., 0], source[..., 1]
    with np.errstate(all="ignore"):
        target[..., 0] = first * cos - second * sin
        target[..., 1] = first * sin + second * cos
