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

InterpolateMode: TypeAlias = Literal["nearest", "nearest_exact", "linear"]
"""``nearest`` rounds down, ``nearest_exact`` takes the centre, ``linear`` mixes neighbours."""

Scale: TypeAlias = float | tuple[float, float]
"""One factor for height and width, or one each."""


class Interpolate2d(Module):
    """(batch, channel, height, width) → (batch, channel, height', width').

    Either ``output_size`` or ``scale_factor`` says how large; a factor f makes ⌊f · size⌋ of a
    size. Place i comes from source place s · i (``nearest``, rounded down), s · (i + ½)
    (``nearest_exact``, rounded down) or s · (i + ½) - ½ (``linear``, not below 0), where s is 1 / f
    or source size / size, as in PyTorch. ``align_corners`` makes it (source size - 1) / (size - 1)
    · i for ``linear``, so that the corners stay; on unless told otherwise, which PyTorch is not.
    """

    def __init__(
        self,
        *,
        output_size: Pair | None = None,
        scale_factor: Scale | None = None,
        mode: InterpolateMode = "nearest",
        align_corners: bool = True,
    ) -> None:
        if mode not in ("nearest", "nearest_exact", "linear"):
            raise SettingError(f"mode is 'nearest', 'nearest_exact' or 'linear', got {mode!r}")
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
        along = [
            self._sources(source, target, axis, given.dtype)
            for axis, (source, target) in enumerate(zip(x.shape[2:], size, strict=True))
        ]
        return Tensor(_resized(given, along, linear=self._mode == "linear"))

    def _sources(
        self, source: int, target: int, axis: int, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        """For each place of an axis the source place, and the share of the one behind it."""
        number = dtype.type
        places = np.arange(target, dtype=dtype)
        if self._scale is not None:
            step = number(1.0 / self._scale[axis])
        else:
            step = number(source) / number(target)
        if self._mode == "linear" and self._corners:
            step = number(source - 1) / number(target - 1) if target > 1 else number(0)
            exact = step * places
        elif self._mode == "linear":
            exact = np.maximum(step * (places + number(0.5)) - number(0.5), number(0))
        else:
            exact = step * (places + number(0.5 if self._mode == "nearest_exact" else 0))
        first = np.minimum(exact.astype(np.int64), source - 1)
        share = np.clip(exact - first.astype(dtype), number(0), number(1))
        share[first == source - 1] = 0  # the last one has no neighbour
        return first, share


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


def _mixed(x: Array, sources: tuple[Array, Array], axis: int) -> Array:
    """Neighbours on one axis mixed; one without a share is not seen."""
    first, share = sources
    share = share if axis == -1 else share[:, None]
    here = np.take(x, first, axis)
    behind = np.take(x, np.minimum(first + 1, x.shape[axis] - 1), axis)
    return np.where(share == 0, here, here * (1 - share) + behind * share)
