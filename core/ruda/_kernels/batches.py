"""Images put together as a batch of planes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ruda._kernels.checks import Array, take_array, take_out, take_plain
from ruda._kernels.narrowing import F32
from ruda._kernels.numbers import MOST, Pair, take_pair_of
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda.errors import SettingError, ShapeError

_collate = kernel("collate")

_U8 = np.dtype(np.uint8)


def collate_images(
    images: Sequence[Array],
    size: Pair,
    *,
    mean: Sequence[float],
    std: Sequence[float],
    corners: Sequence[Pair] | None = None,
    flips: Sequence[bool] | None = None,
    out: Array | None = None,
) -> Array:
    """uint8 images (height, width, channel) → float32 (image, channel, *size).

    ``size`` is (height, width) of what is cut out of each image, from its ``corners`` (top, left),
    (0, 0) unless given; images with a true in ``flips`` are mirrored, left to right. A value is
    (byte / 255 - mean) / std of its channel, as byte · (1 / (255 · std)) - mean / std with both
    constants in float32: within 2 ulp of the larger of the two terms.
    Raises DTypeError, ShapeError naming the image, LayoutError, SettingError.
    """
    height, width = take_pair_of(size, "size", 0)
    factors, shifts = _normalisation(mean, std)
    channels = factors.size
    places = [(0, 0)] * len(images) if corners is None else _corners(corners)
    turns = [False] * len(images) if flips is None else list(map(bool, flips))
    if len(places) != len(images) or len(turns) != len(images):
        raise ShapeError(
            f"{len(images)} images with {len(places)} corners and {len(turns)} flips; "
            "expected as many of each"
        )
    given = [_take_image(image, i) for i, image in enumerate(images)]
    for i, (image, (top, left)) in enumerate(zip(given, places, strict=True)):
        _check_image(i, image, channels, (top, left, height, width))
    result = take_out(out, (len(given), channels, height, width), (F32,), *given)

    def piece(cut: slice) -> None:
        for i in range(cut.start, cut.stop):
            top, left = places[i]
            image = take_plain(given[i])
            lines = image.reshape(image.shape[0], -1)
            start = left * channels
            _collate.image_to_planes(lines, top, start, int(turns[i]), factors, shifts, result[i])

    if result.size:
        in_pieces(piece, len(given), item_bytes=5 * channels * height * width)
    return result


def _corners(corners: Sequence[Pair]) -> list[Pair]:
    return [take_pair_of(one, f"corner of image {i}", -MOST) for i, one in enumerate(corners)]


def _take_image(image: Array, i: int) -> Array:
    if type(image) is np.ndarray and image.dtype is _U8:
        return image
    return take_array(image, f"image {i}", (_U8,))


def _normalisation(mean: Sequence[float], std: Sequence[float]) -> tuple[Array, Array]:
    try:
        means, spreads = tuple(map(float, mean)), tuple(map(float, std))
    except (TypeError, ValueError, OverflowError):
        raise _unfit(mean, std) from None
    return _constants(means, spreads)


@lru_cache(maxsize=64)
def _constants(mean: tuple[float, ...], std: tuple[float, ...]) -> tuple[Array, Array]:
    """Factors and shifts of the channels; a run has one mean and one std for all its batches."""
    means, spreads = np.array(mean, np.float64), np.array(std, np.float64)
    if means.shape != spreads.shape or not means.size:
        raise _unfit(mean, std)
    if np.isfinite(means).all() and np.isfinite(spreads).all() and (spreads > 0).all():
        with np.errstate(all="ignore"):
            found = (1.0 / (255.0 * spreads)).astype(F32), (-means / spreads).astype(F32)
        if np.isfinite(found).all():
            return found
    raise SettingError(
        f"mean={mean} and std={std}: expected finite numbers, std above 0, with quotients that "
        f"float32 holds"
    )


def _unfit(mean: object, std: object) -> SettingError:
    return SettingError(f"mean={mean} and std={std}: expected one of each for every channel")


def _check_image(i: int, image: Array, channels: int, window: tuple[int, int, int, int]) -> None:
    if image.ndim != 3 or image.shape[2] != channels:
        raise ShapeError(f"image {i} has shape {image.shape}; expected (height, width, {channels})")
    top, left, height, width = window
    if not (
        0 <= top <= top + height <= image.shape[0] and 0 <= left <= left + width <= image.shape[1]
    ):
        raise ShapeError(
            f"image {i} has {image.shape[0]} × {image.shape[1]} pixels; {height} × {width} from "
            f"({top}, {left}) do not lie within"
        )
