"""Planes of images: points sampled between pixels, and windows laid out as columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from ruda.errors import SettingError, ShapeError
from ruda.tensor.operations.operands import Array, dtype_of, recast
from ruda.tensor.promotion import accumulator, promote, require_computable, require_float
from ruda.tensor.sizes import require_room, sizes_of, whole

Mode: TypeAlias = Literal["bilinear", "nearest", "bicubic"]
Edge: TypeAlias = Literal["zeros", "border", "reflection"]
Pair: TypeAlias = int | tuple[int, int]
Taps: TypeAlias = list[tuple[Array, Array]]
"""Pixels around a point, as whole numbers held as floats, and their weights."""

_FAR = 2.0**24
"""Points further out are all alike, and whole numbers up to here are exact in every float."""


def grid_sample(values: Array, grid: Array, mode: Mode, edge: Edge, align_corners: bool) -> Array:
    """Values between pixels: (n, channel, h, w) at (n, h', w', 2) → (n, channel, h', w').

    The grid has x and y from -1 to 1, which are the middles of the outer pixels with
    ``align_corners`` and their outer edges without. Outside there is 0 (``zeros``), the nearest
    pixel (``border``), or the plane mirrored (``reflection``). NaN counts as -1, as in PyTorch.
    Formulas of PyTorch's ``grid_sample``; bicubic is Keys' with a = -0.75. Raises ShapeError,
    DTypeError for what is no float, SettingError for another mode or edge.
    """
    known = isinstance(edge, str) and edge in _EDGES
    if not known or mode not in ("bilinear", "nearest", "bicubic"):
        raise SettingError(
            f"grid_sample: mode is bilinear, nearest or bicubic, the edge zeros, border or "
            f"reflection; got {mode!r} and {edge!r}"
        )
    if values.ndim != 4 or grid.ndim != 4 or grid.shape[0] != values.shape[0] or grid.shape[3] != 2:
        raise ShapeError(
            f"grid_sample: shapes {list(values.shape)} and {list(grid.shape)}; expected "
            f"(n, channel, h, w) and (n, h', w', 2)"
        )
    if not (values.shape[2] and values.shape[3]):
        raise ShapeError(f"grid_sample: planes of shape {list(values.shape)} have no pixels")
    dtype = promote("grid_sample", dtype_of(values), dtype_of(grid))
    for part in (values, grid):
        require_float("grid_sample", dtype_of(part))
    wide = accumulator(dtype)
    planes, places = recast(values, wide), recast(grid, wide)
    with np.errstate(all="ignore"):
        axes = [
            _taps(places[..., which], planes.shape[3 - which], mode, edge, align_corners)
            for which in (1, 0)
        ]
        return recast(_mixed(planes, axes[0], axes[1]), dtype)


def _taps(places: Array, size: int, mode: Mode, edge: Edge, align_corners: bool) -> Taps:
    """Along one axis the pixels around each point, and what each counts; 0 outside."""
    known = np.where(np.isnan(places), places.dtype.type(-1), places)
    point = (known + 1) / 2 * (size - 1) if align_corners else ((known + 1) * size - 1) / 2
    inward = _EDGES[edge]
    if mode != "bicubic":  # there each pixel is brought inside, not the point
        point = inward(point, size, align_corners)
    point = np.clip(point, -_FAR, _FAR).astype(places.dtype)
    if mode == "nearest":
        found = [(np.rint(point), np.ones_like(point))]
    elif mode == "bilinear":
        return bilinear_taps(point, size)
    else:
        low = np.floor(point)
        share = point - low
        found = [
            (np.rint(inward(low + step, size, align_corners)), _keys(np.abs(share - step)))
            for step in (-1, 0, 1, 2)
        ]
    return _within(found, size)


def bilinear_taps(point: Array, size: int) -> Taps:
    """The two pixels around each point of an axis, and their shares; 0 outside."""
    known = np.clip(point, -_FAR, _FAR)
    low = np.floor(known)
    return _within([(low, 1 - (known - low)), (low + 1, known - low)], size)


def _within(found: Taps, size: int) -> Taps:
    return [(_pixel(at, size), _share(at, weight, size)) for at, weight in found]


def _pixel(at: Array, size: int) -> Array:
    known = np.where(np.isnan(at), 0, at)
    return np.clip(known, 0, size - 1).astype(np.int64)


def _share(at: Array, weight: Array, size: int) -> Array:
    """0 outside; a place that is NaN makes what is seen there NaN."""
    outside = np.where(np.isnan(at), weight.dtype.type(np.nan), 0)
    return np.asarray(np.where(_inside(at, size), weight, outside))


def _inside(pixel: Array, size: int) -> Array:
    return np.asarray((pixel >= 0) & (pixel <= size - 1))


def _keys(distance: Array) -> Array:
    """Weight of a pixel up to 2 away (Keys, "Cubic convolution interpolation", 1981)."""
    a, d = distance.dtype.type(-0.75), distance
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.asarray(np.where(d <= 1, near, far)).astype(d.dtype)


def _mixed(planes: Array, rows: Taps, columns: Taps) -> Array:
    """Pixels times their weights; those of weight 0 are not seen, so that NaN there stays there."""
    batch = np.arange(len(planes))[:, None, None]
    across = np.moveaxis(planes, 1, -1)
    found = np.zeros((*rows[0][0].shape, planes.shape[1]), planes.dtype)
    for row, down in rows:
        for column, right in columns:
            weight = (down * right)[..., None]
            found += np.where(weight == 0, 0, across[batch, row, column] * weight)
    return np.ascontiguousarray(np.moveaxis(found, -1, 1))


def _kept(point: Array, size: int, align_corners: bool) -> Array:
    return point


def _bordered(point: Array, size: int, align_corners: bool) -> Array:
    return np.clip(point, 0, size - 1)


def _reflected(point: Array, size: int, align_corners: bool) -> Array:
    """Mirrored at the middles of the outer pixels, or at their edges, as often as it takes."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(point)
    away = np.abs(np.where(np.isfinite(point), point, -100.0) - low)
    rest, turns = np.fmod(away, span), np.floor(away / span)
    mirrored = np.where(turns % 2 == 0, rest + low, span - rest + low)
    return np.clip(mirrored, 0, size - 1).astype(point.dtype)


_EDGES: dict[str, Callable[[Array, int, bool], Array]] = {
    "zeros": _kept,
    "border": _bordered,
    "reflection": _reflected,
}


def unfold4d(values: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """Windows as columns: (n, channel, h, w) → (n, channel · points, position), a copy.

    Points of a channel lie side by side, row by row; positions too. Around there are ``padding``
    zeros. Raises ShapeError where no window fits, SettingError for sizes that cannot be.
    """
    if values.ndim != 4:
        raise ShapeError(f"unfold4d: shape {list(values.shape)} is not (n, channel, h, w)")
    require_computable("unfold4d", dtype_of(values))
    points, step, around, gap = _checked("unfold4d", kernel, stride, padding, dilation)
    count = _positions("unfold4d", values.shape[2:], points, step, around, gap)
    widths = [(0, 0), (0, 0), (around[0],) * 2, (around[1],) * 2]
    padded = np.pad(values, widths) if any(around) else values
    shape = (*values.shape[:2], *points, *count)
    require_room("unfold4d", shape, values.dtype)
    made = np.empty(shape, values.dtype)
    for row in range(points[0]):
        for column in range(points[1]):
            made[:, :, row, column] = padded[_seen(row, column, step, gap, count)]
    return made.reshape(len(values), values.shape[1] * points[0] * points[1], count[0] * count[1])


def fold4d(
    columns: Array, size: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Array:
    """Columns of ``unfold4d`` added up where they lie: (n, channel · points, position) → planes.

    Planes are (n, channel, *size). Halves add up in f32. Raises ShapeError where the columns are
    not those of such windows, SettingError for sizes that cannot be.
    """
    dtype = dtype_of(columns)
    require_computable("fold4d", dtype)
    points, step, around, gap = _checked("fold4d", kernel, stride, padding, dilation)
    planes = take_two("fold4d", "size", size, 1)
    count = _positions("fold4d", planes, points, step, around, gap)
    area = points[0] * points[1]
    if columns.ndim != 3 or columns.shape[1] % area or columns.shape[2] != count[0] * count[1]:
        raise ShapeError(
            f"fold4d: shape {list(columns.shape)} is not (n, channel · {area}, "
            f"{count[0] * count[1]}), the windows of planes of {list(planes)}"
        )
    wide = accumulator(dtype) if dtype.is_float else dtype
    given = recast(columns, wide).reshape(len(columns), -1, *points, *count)
    padded = tuple(one + 2 * more for one, more in zip(planes, around, strict=True))
    made = np.zeros((len(columns), given.shape[1], *padded), given.dtype)
    with np.errstate(all="ignore"):
        for row in range(points[0]):
            for column in range(points[1]):
                made[_seen(row, column, step, gap, count)] += given[:, :, row, column]
    inner = made[:, :, around[0] : around[0] + planes[0], around[1] : around[1] + planes[1]]
    return recast(np.ascontiguousarray(inner), dtype)


def _seen(
    row: int, column: int, step: tuple[int, int], gap: tuple[int, int], count: tuple[int, int]
) -> tuple[slice, ...]:
    """Where one point of the window lies in all of its positions."""
    starts = (row * gap[0], column * gap[1])
    ends = [at + by * (n - 1) + 1 for at, by, n in zip(starts, step, count, strict=True)]
    parts = [slice(at, end, by) for at, end, by in zip(starts, ends, step, strict=True)]
    return (slice(None), slice(None), *parts)


def _checked(
    name: str, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int]]:
    return (
        take_two(name, "kernel", kernel, 1),
        take_two(name, "stride", stride, 1),
        take_two(name, "padding", padding, 0),
        take_two(name, "dilation", dilation, 1),
    )


def take_two(name: str, what: str, given: Pair, low: int) -> tuple[int, int]:
    """One whole number for both axes, or two. Raises SettingError below ``low``."""
    both = sizes_of(name, given) if isinstance(given, tuple | list) else (whole(name, what, given),)
    found = both * 2 if len(both) == 1 else both
    if len(found) != 2 or min(found) < low:
        raise SettingError(f"{name}: {what} is one or two whole numbers from {low}, got {given!r}")
    return found[0], found[1]


def _positions(
    name: str,
    planes: tuple[int, ...],
    points: tuple[int, int],
    step: tuple[int, int],
    around: tuple[int, int],
    gap: tuple[int, int],
) -> tuple[int, int]:
    rooms = [one + 2 * more for one, more in zip(planes, around, strict=True)]
    reach = [(n - 1) * by + 1 for n, by in zip(points, gap, strict=True)]
    if rooms[0] < reach[0] or rooms[1] < reach[1]:
        raise ShapeError(
            f"{name}: windows that span {reach[0]} × {reach[1]} do not fit planes of {rooms[0]} × "
            f"{rooms[1]}, padding included"
        )
    return (rooms[0] - reach[0]) // step[0] + 1, (rooms[1] - reach[1]) // step[1] + 1
