"""The largest values of windows, and where they were."""

from __future__ import annotations

import numpy as np

from ruda.errors import SettingError, ShapeError
from ruda.tensor.operations.operands import Array, dtype_of, recast, working
from ruda.tensor.operations.planes import Pair, take_two
from ruda.tensor.sizes import switch, whole


def max_pool2d_with_indices(
    values: Array, kernel: Pair, stride: Pair | None, padding: Pair, dilation: Pair, ceil_mode: bool
) -> tuple[Array, Array]:
    """Largest value of each window and its place; see ``Tensor.max_pool2d_with_indices``."""
    name = "max_pool2d_with_indices"
    if values.ndim != 4:
        raise ShapeError(f"{name}: shape {list(values.shape)} is not (n, channel, h, w)")
    points = take_two(name, "kernel", kernel, 1)
    step = points if stride is None else take_two(name, "stride", stride, 1)
    around = take_two(name, "padding", padding, 0)
    gap = take_two(name, "dilation", dilation, 1)
    over_end = switch(name, "ceil_mode", ceil_mode)
    wide = working(name, values)[1]
    lines = [
        _lines(name, *one, over_end)
        for one in zip(values.shape[2:], points, step, around, gap, strict=True)
    ]
    best, place = _largest(name, wide, lines[0], lines[1])
    return recast(best, dtype_of(values)), place


def max_pool1d_with_indices(
    values: Array, kernel: int, stride: int | None, padding: int, dilation: int, ceil_mode: bool
) -> tuple[Array, Array]:
    """The same along the last of three axes."""
    name = "max_pool1d_with_indices"
    if values.ndim != 3:
        raise ShapeError(f"{name}: shape {list(values.shape)} is not (n, channel, length)")
    points = _take_one(name, "kernel", kernel, 1)
    step = points if stride is None else _take_one(name, "stride", stride, 1)
    around = _take_one(name, "padding", padding, 0)
    gap = _take_one(name, "dilation", dilation, 1)
    over_end = switch(name, "ceil_mode", ceil_mode)
    wide = working(name, values)[1][:, :, None]
    one_row = np.zeros((1, 1), np.int64)
    columns = _lines(name, values.shape[2], points, step, around, gap, over_end)
    best, place = _largest(name, wide, one_row, columns)
    return recast(best[:, :, 0], dtype_of(values)), place[:, :, 0]


def _take_one(name: str, what: str, given: int, low: int) -> int:
    found = whole(name, what, given)
    if found < low:
        raise SettingError(f"{name}: {what} is a whole number from {low}, got {given!r}")
    return found


def _lines(
    name: str, size: int, points: int, step: int, around: int, gap: int, over_end: bool
) -> Array:
    """Along one axis, which element each point of each window sees: (points, windows).

    Outside there is nothing: such an element is below 0 or not below the size.
    """
    span = gap * (points - 1) + 1
    if around >= span:
        raise SettingError(
            f"{name}: padding {around} lets a window that spans {span} see nothing but padding"
        )
    room = size + 2 * around - span
    if room < 0 or not size:
        raise ShapeError(f"{name}: a window that spans {span} does not fit {size} elements")
    count = room // step + 1
    if over_end and room % step and count * step < size + around:
        count += 1  # a last window that starts before the padding at the end
    return np.arange(points)[:, None] * gap + np.arange(count) * step - around


def _largest(name: str, planes: Array, rows: Array, columns: Array) -> tuple[Array, Array]:
    height, width = planes.shape[2:]
    shape = (*planes.shape[:2], rows.shape[1], columns.shape[1])
    best = np.full(shape, -np.inf, planes.dtype)
    place = np.full(shape, -1, np.int64)
    for down in rows:
        for right in columns:
            inside = ((down >= 0) & (down < height))[:, None] & (right >= 0) & (right < width)
            y, x = down.clip(0, height - 1)[:, None], right.clip(0, width - 1)
            seen = planes[:, :, y, x]
            is_first_nan = np.isnan(seen) & ~np.isnan(best)
            better = inside & ((place < 0) | (seen > best) | is_first_nan)
            best = np.where(better, seen, best)
            place = np.where(better, y * width + x, place)
    if (place < 0).any():
        raise ShapeError(f"{name}: the dilation lets a window see nothing")
    return best, place
