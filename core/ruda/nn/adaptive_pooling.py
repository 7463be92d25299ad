"""Adaptive pooling: a given number of cells along each axis, whatever the size of the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.nn.module import Module
from ruda.nn.precision import working_input
from ruda.nn.window import Pair, Triple, as_pair, as_triple
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]

_AXES = (("length",), ("height", "width"), ("depth", "height", "width"))


class _AdaptivePool(Module):
    _size: tuple[int, ...]

    def _cell(self, values: Array) -> Array:
        """One value for what a cell sees along the first axis."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        axes = len(self._size)
        if x.rank != axes + 2 or min(x.shape[2:]) < 1:
            raise self.shape_error(f"[batch, channel, {', '.join(_AXES[axes - 1])}]", x.shape)
        result = working_input(self, x)
        with np.errstate(all="ignore"):  # NaN and Inf in the input are results, not news
            for axis, cells in enumerate(self._size, 2):
                size = result.shape[axis]
                moved = np.moveaxis(result, axis, 0)
                found = [
                    self._cell(moved[cell * size // cells : -(-(cell + 1) * size // cells)])
                    for cell in range(cells)
                ]
                result = np.stack(found, axis=axis)
        return Tensor(result)


class _AdaptiveAvgPool(_AdaptivePool):
    def _cell(self, values: Array) -> Array:
        found: Array = values.mean(axis=0)
        return found


class _AdaptiveMaxPool(_AdaptivePool):
    def _cell(self, values: Array) -> Array:
        found: Array = values.max(axis=0)
        return found


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """(batch, channel, length) → (batch, channel, output_size); cells as in AdaptiveAvgPool2d."""

    def __init__(self, output_size: int) -> None:
        self._size = as_pair((output_size, 1), "output_size")[:1]


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """(batch, channel, height, width) → (batch, channel, *output_size), whatever the input's size.

    Cell i of n takes the rows from ⌊i · height / n⌋ to ⌈(i + 1) · height / n⌉.
    """

    def __init__(self, output_size: Pair) -> None:
        self._size = as_pair(output_size, "output_size")


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """(batch, channel, depth, height, width) → (batch, channel, *output_size).

    Cells as in AdaptiveAvgPool2d.
    """

    def __init__(self, output_size: Triple) -> None:
        self._size = as_triple(output_size, "output_size", 1)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """(batch, channel, length) → (batch, channel, output_size); cells as in AdaptiveAvgPool2d."""

    def __init__(self, output_size: int) -> None:
        self._size = as_pair((output_size, 1), "output_size")[:1]


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """(batch, channel, height, width) → (batch, channel, *output_size), the largest of each cell.

    Cells as in AdaptiveAvgPool2d; NaN wins.
    """

    def __init__(self, output_size: Pair) -> None:
        self._size = as_pair(output_size, "output_size")


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """(batch, channel, depth, height, width) → (batch, channel, *output_size).

    Cells as in AdaptiveAvgPool2d; NaN wins.
    """

    def __init__(self, output_size: Triple) -> None:
        self._size = as_triple(output_size, "output_size", 1)


@dataclass(frozen=True, slots=True)
class AdaptiveAvgPool1dConfig:
    """Settings of an AdaptiveAvgPool1d."""

    output_size: int

    def init(self, device: HostDevice | None = None) -> AdaptiveAvgPool1d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AdaptiveAvgPool1d(self.output_size)


@dataclass(frozen=True, slots=True)
class AdaptiveAvgPool2dConfig:
    """Settings of an AdaptiveAvgPool2d."""

    output_size: Pair

    def init(self, device: HostDevice | None = None) -> AdaptiveAvgPool2d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AdaptiveAvgPool2d(self.output_size)


@dataclass(frozen=True, slots=True)
class AdaptiveAvgPool3dConfig:
    """Settings of an AdaptiveAvgPool3d."""

    output_size: Triple

    def init(self, device: HostDevice | None = None) -> AdaptiveAvgPool3d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AdaptiveAvgPool3d(self.output_size)


@dataclass(frozen=True, slots=True)
class AdaptiveMaxPool1dConfig:
    """Settings of an AdaptiveMaxPool1d."""

    output_size: int

    def init(self, device: HostDevice | None = None) -> AdaptiveMaxPool1d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AdaptiveMaxPool1d(self.output_size)


@dataclass(frozen=True, slots=True)
class AdaptiveMaxPool2dConfig:
    """Settings of an AdaptiveMaxPool2d."""

    output_size: Pair

    def init(self, device: HostDevice | None = None) -> AdaptiveMaxPool2d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AdaptiveMaxPool2d(self.output_size)


@dataclass(frozen=True, slots=True)
class AdaptiveMaxPool3dConfig:
    """Settings of an AdaptiveMaxPool3d."""

    output_size: Triple

    def init(self, device: HostDevice | None = None) -> AdaptiveMaxPool3d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AdaptiveMaxPool3d(self.output_size)
