"""Items put together as a batch: images as planes, rows of unequal length padded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ruda._kernels.checks import Array, take_array, take_out, take_plain
from ruda._kernels.narrowing import F32
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda.errors import DTypeError, SettingError, ShapeError

_collate = kernel("collate")

_U8 = np.dtype(np.uint8)
_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def collate_images(
    images: Sequence[Array],
    size: tuple[int, int],
    *,
    mean: Sequence[float],
    std: Sequence[float],
    corners: Sequence[tuple[int, int]] | None = None,
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
    height, width = size
    factors, shifts = _normalisation(mean, std)
    channels = factors.size
    places = [(0, 0)] * len(images) if corners is None else list(corners)
    turns = [False] * len(images) if flips is None else list(flips)
    if len(places) != len(images) or len(turns) != len(images):
        raise ShapeError(
            f"{len(images)} images with {len(places)} corners and {len(turns)} flips; "
            "expected as many of each"
        )
    given = [take_array(image, f"image {i}", (_U8,)) for i, image in enumerate(images)]
    for i, (image, (top, left)) in enumerate(zip(given, places, strict=True)):
        _check_image(i, image, channels, (top, left, height, width))
    result = take_out(out, (len(given), channels, height, width), (F32,), *given)

    def piece(cut: slice) -> None:
        for i in range(cut.start, cut.stop):
            top, left = places[i]
            image = take_plain(given[i])
            _collate.image_to_planes(
                image, int(top), int(left), int(turns[i]), factors, shifts, result[i]
            )

    if result.size:
        in_pieces(piece, len(given), item_bytes=5 * channels * height * width)
    return result


def _normalisation(mean: Sequence[float], std: Sequence[float]) -> tuple[Array, Array]:
    means, spreads = np.asarray(mean, np.float64), np.asarray(std, np.float64)
    if means.ndim != 1 or means.shape != spreads.shape or not means.size:
        raise SettingError(f"mean={mean} and std={std}: expected one of each for every channel")
    if not (np.isfinite(means).all() and np.isfinite(spreads).all() and (spreads > 0).all()):
        raise SettingError(f"mean={mean} and std={std}: expected finite numbers, std above 0")
    return (1.0 / (255.0 * spreads)).astype(F32), (-means / spreads).astype(F32)


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


def pad_rows(
    rows: Sequence[Array], fill: float = 0, *, length: int = 0, out: Array | None = None
) -> Array:
    """One-axis arrays of one dtype, below each other and filled up on the right: (row, longest).

    ``length`` is a least length of the rows. Items of 1, 2, 4 and 8 bytes. ``fill`` must be a
    value of the dtype. Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    given = [take_array(row, f"row {i}") for i, row in enumerate(rows)]
    if not given:
        raise ShapeError("no rows to pad; expected one or more")
    kind = given[0].dtype.newbyteorder("=")
    for i, row in enumerate(given):
        if row.ndim != 1:
            raise ShapeError(f"row {i} has shape {row.shape}; expected one axis")
        if row.dtype.newbyteorder("=") != kind:
            raise DTypeError(f"row {i} has dtype {row.dtype}; expected that of row 0, {kind}")
    word = _WORDS.get(kind.itemsize)
    if word is None or kind.hasobject:
        raise DTypeError(f"row 0 has dtype {kind}; expected items of 1, 2, 4 or 8 bytes")
    filling = _filling(fill, kind)
    starts = np.zeros(len(given) + 1, np.int64)
    np.cumsum([row.size for row in given], out=starts[1:])
    longest = max(length, max(row.size for row in given))
    result = take_out(out, (len(given), longest), (kind,), *given)
    flat = take_plain(np.concatenate(given).astype(kind, copy=False)).view(word)
    target = result.view(word)

    def piece(cut: slice) -> None:
        _collate.pad_rows(flat, starts[cut.start : cut.stop + 1], filling.view(word), target[cut])

    if result.size:
        in_pieces(piece, len(given), item_bytes=2 * kind.itemsize * longest)
    return result


def _filling(fill: float, kind: np.dtype[Any]) -> Array:
    """The filling as an array of one. Raises SettingError where whole numbers cannot hold it."""
    if kind.kind in "iub":
        limits = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
        if not math.isfinite(fill) or fill != int(fill) or not limits[0] <= fill <= limits[1]:
            raise SettingError(f"fill={fill} is not a value of {kind}")
    with np.errstate(all="ignore"):
        return np.array([fill]).astype(kind)
