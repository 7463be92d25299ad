"""What goes before and after the matrix products of a convolution of float32 planes."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array, take_array, take_out, take_plain
from ruda._kernels.narrowing import F32
from ruda._kernels.numbers import Pair, take_pair_of, take_whole
from ruda._kernels.variants import kernel
from ruda.errors import SettingError, ShapeError

_convolution = kernel("convolution")


def winograd_tiles(planes: Array, top: int, down: int, at: int, out: Array) -> None:
    """Tiles of 4 × 4 points, two apart, as sums and differences: into 16 × (channel, tile).

    ``planes`` is float32 (channel, height, width), both even and at least 4, of which the rows of
    tiles from ``top`` on are taken, ``down`` of them. They fill the tiles of ``out``, float32
    (16, channel, tile), from ``at`` on. Exactly as the twin; values within 4 · the largest of a
    tile, after four roundings.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    given = take_array(planes, "planes", (F32,))
    if given.ndim != 3 or min(given.shape[1:]) < 4 or given.shape[1] % 2 or given.shape[2] % 2:
        raise ShapeError(
            f"planes has shape {given.shape}; expected (channel, height, width), even and from 4"
        )
    rows, across = ((size - 2) // 2 for size in given.shape[1:])
    top, down, at = take_whole(top, "top"), take_whole(down, "down"), take_whole(at, "at")
    if top + down > rows:
        raise SettingError(f"top={top} and down={down}: expected rows of tiles from 0 to {rows}")
    target = _take_tiles(out, "out", given.shape[0], at, down * across)
    take_out(target, target.shape, (F32,), given)
    if given.shape[0] and down:
        lines = np.empty((4, given.shape[2]), F32)
        _convolution.to_tiles(take_plain(given), top, down, at, lines, target)


def winograd_planes(products: Array, bias: Array, at: int, top: int, down: int, out: Array) -> bool:
    """Tiles of 2 × 2 results out of 16 × (channel, tile); True if all of them are finite.

    ``products`` is float32 (16, channel, tile), of which those from ``at`` on fill the rows of
    tiles of ``out`` from ``top`` on, ``down`` of them: float32 (channel, height, width), both
    even. ``bias`` (channel) is added. Exactly as the twin.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    found = take_array(products, "products", (F32,))
    target = take_array(out, "out", (F32,))
    if target.ndim != 3 or target.shape[1] % 2 or target.shape[2] % 2:
        raise ShapeError(f"out has shape {target.shape}; expected (channel, even, even)")
    shift = take_plain(take_array(bias, "bias", (F32,)))
    channels, rows, across = target.shape[0], target.shape[1] // 2, target.shape[2] // 2
    if shift.shape != (channels,):
        raise ShapeError(f"bias has shape {shift.shape}; expected ({channels},)")
    top, down, at = take_whole(top, "top"), take_whole(down, "down"), take_whole(at, "at")
    if top + down > rows:
        raise SettingError(f"top={top} and down={down}: expected rows of tiles from 0 to {rows}")
    found = take_plain(_take_tiles(found, "products", channels, at, down * across))
    take_out(target, target.shape, (F32,), found, shift)
    if not target.size or not down:
        return True
    lines = np.empty((8, across), F32)
    return bool(_convolution.from_tiles(found, shift, at, top, down, lines, target) == 0)


def unfold(
    images: Array,
    window: Pair,
    size: Pair,
    *,
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    out: Array | None = None,
) -> Array:
    """What each point of a window sees at each of ``size`` positions, float32.

    (image, channel, height, width) → (channel, point, image, position). Exactly as NumPy.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    given = take_array(images, "images", (F32,))
    window, stride = take_pair_of(window, "window"), take_pair_of(stride, "stride")
    dilation, size = take_pair_of(dilation, "dilation"), take_pair_of(size, "size")
    if given.ndim != 4:
        raise ShapeError(f"images has shape {given.shape}; expected four axes")
    spans = [
        (count - 1) * step + (points - 1) * gap + 1
        for count, step, points, gap in zip(size, stride, window, dilation, strict=True)
    ]
    if spans[0] > given.shape[2] or spans[1] > given.shape[3]:
        raise ShapeError(
            f"images has shape {given.shape}; expected room for {size[0]} × {size[1]} windows, "
            f"which span {spans[0]} × {spans[1]}"
        )
    shape = (given.shape[1], window[0] * window[1], given.shape[0], size[0] * size[1])
    result = take_out(out, shape, (F32,), given)
    if result.size:
        _convolution.unfold(take_plain(given), *window, *stride, *dilation, size[1], result)
    return result


def _take_tiles(values: object, name: str, channels: int, at: int, tiles: int) -> Array:
    found = take_array(values, name, (F32,))
    if found.ndim != 3 or found.shape[:2] != (16, channels):
        raise ShapeError(f"{name} has shape {found.shape}; expected (16, {channels}, tile)")
    if at + tiles > found.shape[2]:
        raise SettingError(f"at={at}: {name} has no room for {tiles} tiles of {found.shape[2]}")
    return found
