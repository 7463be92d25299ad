"""Interpolate1d and Interpolate2d: images and sequences in another size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ruda import _kernels
from ruda.errors import SettingError
from ruda.nn.module import Module
from ruda.nn.precision import working_input
from ruda.nn.window import Pair, as_pair
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]

InterpolateMode: TypeAlias = Literal["nearest", "nearest_exact", "linear", "cubic", "lanczos"]
"""``nearest`` rounds down, ``nearest_exact`` takes the centre, ``linear`` mixes two neighbours,
``cubic`` four and ``lanczos`` six."""

_MODES = ("nearest", "nearest_exact", "linear", "cubic", "lanczos")

Scale: TypeAlias = float | tuple[float, float]
"""One factor for height and width, or one each."""


class Interpolate2d(Module):
    """(batch, channel, height, width) → (batch, channel, height', width').

    Either ``output_size`` or ``scale_factor`` says how large; a factor f makes ⌊f · size⌋ of a
    size. Place i comes from source place s · i (``nearest``, rounded down), s · (i + ½)
    (``nearest_exact``, rounded down) or s · (i + ½) - ½ (``linear``, not below 0), where s is 1 / f
    or source size / size, as in PyTorch. ``align_corners`` makes it (source size - 1) / (size - 1)
    · i for ``linear``, so that the corners stay; on unless told otherwise, which PyTorch is not.

    ``cubic`` and ``lanczos`` have the places of ``linear``, also below 0. Cubic weights are Keys'
    with a = -0.75, beyond the edges the outermost value is repeated, as in PyTorch. Lanczos' are
    sinc(x) · sinc(x / 3) within 3; beyond the edges there is nothing, and the others count more, as
    in RUDA. Results may lie outside the range of the values.
    """

    def __init__(
        self,
        *,
        output_size: Pair | None = None,
        scale_factor: Scale | None = None,
        mode: InterpolateMode = "nearest",
        align_corners: bool = True,
    ) -> None:
        if mode not in _MODES:
            raise SettingError(
                f"mode is 'nearest', 'nearest_exact', 'linear', 'cubic' or 'lanczos', got {mode!r}"
            )
        if (output_size is None) == (scale_factor is None):
            raise SettingError(
                f"{type(self).__name__} needs output_size or scale_factor, and not both"
            )
        self._size = None if output_size is None else as_pair(output_size, "output_size")
        self._scale = None if scale_factor is None else _as_factors(scale_factor)
        self._mode: InterpolateMode = mode
        self._corners = align_corners

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        if x.rank != 4 or min(x.shape[2:]) < 1:
            raise self.shape_error("[batch, channel, height, width]", x.shape)
        given = working_input(self, x)
        size = self._size or tuple(
            math.floor(n * f) for n, f in zip(x.shape[2:], self._scale or (), strict=True)
        )
        if min(size) < 1:
            raise self.shape_error(
                f"[batch, channel, height, width] with a point left by {self._scale}", x.shape
            )
        pairs = list(zip(x.shape[2:], size, strict=True))
        if self._mode in ("cubic", "lanczos"):
            for axis in (1, 0):
                exact = self._places(*pairs[axis], axis, given.dtype)
                given = _weighed(given, _taps(exact, pairs[axis][0], self._mode), axis - 2)
            return Tensor(given)
        along = [
            self._sources(source, target, axis, given.dtype)
            for axis, (source, target) in enumerate(pairs)
        ]
        return Tensor(_resized(given, along, linear=self._mode == "linear"))

    def _sources(
        self, source: int, target: int, axis: int, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        """For each place of an axis the source place, and the share of the one behind it."""
        number = dtype.type
        exact = self._places(source, target, axis, dtype)
        if self._mode == "linear":
            exact = np.maximum(exact, number(0))
        first = np.minimum(exact.astype(np.int64), source - 1)
        share = np.clip(exact - first.astype(dtype), number(0), number(1))
        share[first == source - 1] = 0  # the last one has no neighbour
        return first, share

    def _places(self, source: int, target: int, axis: int, dtype: np.dtype[Any]) -> Array:
        """For each place of an axis where it comes from, which may be between two or outside."""
        number = dtype.type
        places = np.arange(target, dtype=dtype)
        if self._scale is not None:
            step = number(1.0 / self._scale[axis])
        else:
            step = number(source) / number(target)
        exact: Array
        if self._mode in ("nearest", "nearest_exact"):
            exact = step * (places + number(0.5 if self._mode == "nearest_exact" else 0))
        elif self._corners:
            step = number(source - 1) / number(target - 1) if target > 1 else number(0)
            exact = step * places
        else:
            exact = step * (places + number(0.5)) - number(0.5)
        return exact


@dataclass(frozen=True, slots=True)
class Interpolate2dConfig:
    """Settings of an Interpolate2d."""

    output_size: Pair | None = None
    scale_factor: Scale | None = None
    mode: InterpolateMode = "nearest"
    align_corners: bool = True

    def init(self, device: HostDevice | None = None) -> Interpolate2d:
        """A new layer. It has no parameters, so the device does not matter."""
        return Interpolate2d(
            output_size=self.output_size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
        )


class Interpolate1d(Module):
    """(batch, channel, length) → (batch, channel, length'); as Interpolate2d along one axis."""

    def __init__(
        self,
        *,
        output_size: int | None = None,
        scale_factor: float | None = None,
        mode: InterpolateMode = "nearest",
        align_corners: bool = True,
    ) -> None:
        self._flat = Interpolate2d(
            output_size=None if output_size is None else (1, output_size),
            scale_factor=None if scale_factor is None else (1.0, scale_factor),
            mode=mode,
            align_corners=align_corners,
        )

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        if x.rank != 3 or x.shape[2] < 1:
            raise self.shape_error("[batch, channel, length]", x.shape)
        return Tensor(self._flat.forward(Tensor(x.numpy()[:, :, None])).numpy()[:, :, 0])


@dataclass(frozen=True, slots=True)
class Interpolate1dConfig:
    """Settings of an Interpolate1d."""

    output_size: int | None = None
    scale_factor: float | None = None
    mode: InterpolateMode = "nearest"
    align_corners: bool = True

    def init(self, device: HostDevice | None = None) -> Interpolate1d:
        """A new layer. It has no parameters, so the device does not matter."""
        return Interpolate1d(
            output_size=self.output_size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
        )


def _as_factors(scale: Scale) -> tuple[float, float]:
    factors = (scale, scale) if isinstance(scale, int | float) else tuple(scale)
    if len(factors) != 2 or not all(math.isfinite(f) and f > 0 for f in factors):
        raise SettingError(f"scale_factor is one or two positive numbers, got {scale}")
    return factors[0], factors[1]


def _resized(x: Array, along: list[tuple[Array, Array]], *, linear: bool) -> Array:
    """Rows and columns of the last two axes from where they are said to come."""
    rows, columns = along
    if x.dtype == np.float32:
        if linear:
            return _kernels.resize_linear(x, rows, columns)
        return _kernels.resize_nearest(x, rows[0], columns[0])
    if not linear:
        return x[..., rows[0][:, None], columns[0]]
    with np.errstate(all="ignore"):  # NaN and Inf in the input are results, not news
        return _mixed(_mixed(x, columns, -1), rows, -2)


def _taps(exact: Array, source: int, mode: InterpolateMode) -> list[tuple[Array, Array]]:
    """The neighbours of each place and what each of them counts; weights add up to 1."""
    first = np.floor(exact)
    steps = range(-1, 3) if mode == "cubic" else range(-2, 4)
    places = [first + step for step in steps]
    weights = []
    for place in places:
        distance = np.abs(exact.astype(np.float64) - place)
        weight = _keys(distance) if mode == "cubic" else _lanczos(distance)
        # What is exactly a whole number away counts nothing, and must not bring in its NaN.
        weight = np.where(distance == np.rint(distance), distance == 0, weight)
        if mode == "lanczos":
            weight = np.where((place < 0) | (place > source - 1), 0, weight)
        weights.append(weight)
    total = sum(weights) if mode == "lanczos" else 1.0
    return [
        (place.clip(0, source - 1).astype(np.int64), (weight / total).astype(exact.dtype))
        for place, weight in zip(places, weights, strict=True)
    ]


def _keys(distance: Array) -> Array:
    """Keys, "Cubic convolution interpolation for digital image processing", 1981; a = -0.75."""
    a, d = -0.75, distance
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _lanczos(distance: Array) -> Array:
    """Sinc windowed by its own main lobe, three times as wide."""
    return np.where(distance < 3, np.sinc(distance) * np.sinc(distance / 3), 0)


def _weighed(x: Array, taps: list[tuple[Array, Array]], axis: int) -> Array:
    """Neighbours on one axis times their weights, added up; one of weight 0 is not seen."""
    made: Array | None = None
    with np.errstate(all="ignore"):  # NaN and Inf in the input are results, not news
        for place, share in taps:
            weight = share if axis == -1 else share[:, None]
            if not share.any():
                continue
            # -0.0 adds to everything without a trace, also to -0.0.
            part = np.where(weight == 0, x.dtype.type(-0.0), np.take(x, place, axis) * weight)
            made = part if made is None else made + part
    assert made is not None  # weights add up to 1
    return made


def _mixed(x: Array, sources: tuple[Array, Array], axis: int) -> Array:
    """Neighbours on one axis mixed; one without a share is not seen."""
    first, share = sources
    share = share if axis == -1 else share[:, None]
    here = np.take(x, first, axis)
    behind = np.take(x, np.minimum(first + 1, x.shape[axis] - 1), axis)
    return np.where(share == 0, here, here * (1 - share) + behind * share)
