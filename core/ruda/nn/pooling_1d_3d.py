"""Pooling along one axis and over three, by the pools of pictures.

A sequence is a picture one row high. A window of a volume is pooled in each plane, and what is
left of it along the depth: the largest of the largest, the mean of the means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.nn.module import Module
from ruda.nn.pooling import AvgPool2d, MaxPool2d
from ruda.nn.precision import working_input
from ruda.nn.window import Padding, Padding1d, Padding3d, Triple, as_flat_padding, as_triple
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]


class _Pool1d(Module):
    _flat: MaxPool2d | AvgPool2d
    _reach: int

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        if x.rank != 3 or not self._flat.has_room(1, x.shape[2]):
            raise self.shape_error(
                f"[batch, channel, length] with room for a window of {self._reach}", x.shape
            )
        return Tensor(self._flat.pooled(working_input(self, x)[:, :, None])[:, :, 0])


class MaxPool1d(_Pool1d):
    """(batch, channel, length) → (batch, channel, length'); as MaxPool2d along one axis."""

    def __init__(
        self,
        kernel_size: int,
        *,
        stride: int | None = None,
        dilation: int = 1,
        padding: Padding1d = "valid",
        ceil_mode: bool = False,
    ) -> None:
        self._flat = MaxPool2d(
            (1, kernel_size),
            stride=None if stride is None else (1, stride),
            dilation=(1, dilation),
            padding=_flat(padding),
            ceil_mode=ceil_mode,
        )
        self._reach = dilation * (kernel_size - 1) + 1


class AvgPool1d(_Pool1d):
    """(batch, channel, length) → (batch, channel, length'); as AvgPool2d along one axis."""

    def __init__(
        self,
        kernel_size: int,
        *,
        stride: int | None = None,
        padding: Padding1d = "valid",
        count_include_pad: bool = True,
        ceil_mode: bool = False,
    ) -> None:
        self._flat = AvgPool2d(
            (1, kernel_size),
            stride=None if stride is None else (1, stride),
            padding=_flat(padding),
            count_include_pad=count_include_pad,
            ceil_mode=ceil_mode,
        )
        self._reach = kernel_size


class _Pool3d(Module):
    _planes: MaxPool2d | AvgPool2d
    _depth: MaxPool2d | AvgPool2d
    _reach: tuple[int, int, int]

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        if (
            x.rank != 5
            or not self._depth.has_room(x.shape[2], 1)
            or not self._planes.has_room(*x.shape[3:])
        ):
            reach = " × ".join(map(str, self._reach))
            raise self.shape_error(
                f"[batch, channel, depth, height, width] with room for a window of {reach}", x.shape
            )
        batch, channels, depth = x.shape[:3]
        given = working_input(self, x).reshape(batch, channels * depth, *x.shape[3:])
        flat = self._planes.pooled(given)
        size = flat.shape[2:]
        columns = self._depth.pooled(flat.reshape(batch, channels, depth, size[0] * size[1]))
        return Tensor(columns.reshape(batch, channels, columns.shape[2], *size))


class MaxPool3d(_Pool3d):
    """(batch, channel, depth, height, width) → (batch, channel, depth', height', width').

    As MaxPool2d, with windows that are deep as well.
    """

    def __init__(
        self,
        kernel_size: Triple,
        *,
        stride: Triple | None = None,
        dilation: Triple = 1,
        padding: Padding3d = "valid",
        ceil_mode: bool = False,
    ) -> None:
        kernel, steps = _windows(kernel_size, stride)
        gaps = as_triple(dilation, "dilation", 1)
        deep, flat = _sides(padding)
        self._planes = MaxPool2d(
            kernel[1:], stride=steps[1:], dilation=gaps[1:], padding=flat, ceil_mode=ceil_mode
        )
        self._depth = MaxPool2d(
            (kernel[0], 1),
            stride=(steps[0], 1),
            dilation=(gaps[0], 1),
            padding=deep,
            ceil_mode=ceil_mode,
        )
        spans = (gap * (size - 1) + 1 for size, gap in zip(kernel, gaps, strict=True))
        self._reach = (next(spans), next(spans), next(spans))


class AvgPool3d(_Pool3d):
    """(batch, channel, depth, height, width) → (batch, channel, depth', height', width').

    As AvgPool2d, with windows that are deep as well.
    """

    def __init__(
        self,
        kernel_size: Triple,
        *,
        stride: Triple | None = None,
        padding: Padding3d = "valid",
        count_include_pad: bool = True,
        ceil_mode: bool = False,
    ) -> None:
        self._reach, steps = _windows(kernel_size, stride)
        deep, flat = _sides(padding)
        self._planes = AvgPool2d(
            self._reach[1:],
            stride=steps[1:],
            padding=flat,
            count_include_pad=count_include_pad,
            ceil_mode=ceil_mode,
        )
        self._depth = AvgPool2d(
            (self._reach[0], 1),
            stride=(steps[0], 1),
            padding=deep,
            count_include_pad=count_include_pad,
            ceil_mode=ceil_mode,
        )


def _flat(padding: Padding1d) -> Padding:
    return padding if isinstance(padding, str) else as_flat_padding(padding)


def _windows(
    kernel_size: Triple, stride: Triple | None
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Kernel and stride; the stride is the kernel unless given."""
    kernel = as_triple(kernel_size, "kernel_size", 1)
    return kernel, kernel if stride is None else as_triple(stride, "stride", 1)


def _sides(padding: Padding3d) -> tuple[Padding, Padding]:
    """Padding along the depth, and of the planes."""
    if isinstance(padding, str):
        return padding, padding
    sides = as_triple(padding, "padding", 0)
    return (sides[0], 0), sides[1:]


@dataclass(frozen=True, slots=True)
class MaxPool1dConfig:
    """Settings of a MaxPool1d."""

    kernel_size: int
    stride: int | None = None
    dilation: int = 1
    padding: Padding1d = "valid"
    ceil_mode: bool = False

    def init(self, device: HostDevice | None = None) -> MaxPool1d:
        """A new layer. It has no parameters, so the device does not matter."""
        return MaxPool1d(
            self.kernel_size,
            stride=self.stride,
            dilation=self.dilation,
            padding=self.padding,
            ceil_mode=self.ceil_mode,
        )


@dataclass(frozen=True, slots=True)
class MaxPool3dConfig:
    """Settings of a MaxPool3d."""

    kernel_size: Triple
    stride: Triple | None = None
    dilation: Triple = 1
    padding: Padding3d = "valid"
    ceil_mode: bool = False

    def init(self, device: HostDevice | None = None) -> MaxPool3d:
        """A new layer. It has no parameters, so the device does not matter."""
        return MaxPool3d(
            self.kernel_size,
            stride=self.stride,
            dilation=self.dilation,
            padding=self.padding,
            ceil_mode=self.ceil_mode,
        )


@dataclass(frozen=True, slots=True)
class AvgPool1dConfig:
    """Settings of an AvgPool1d."""

    kernel_size: int
    stride: int | None = None
    padding: Padding1d = "valid"
    count_include_pad: bool = True
    ceil_mode: bool = False

    def init(self, device: HostDevice | None = None) -> AvgPool1d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AvgPool1d(
            self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            count_include_pad=self.count_include_pad,
            ceil_mode=self.ceil_mode,
        )


@dataclass(frozen=True, slots=True)
class AvgPool3dConfig:
    """Settings of an AvgPool3d."""

    kernel_size: Triple
    stride: Triple | None = None
    padding: Padding3d = "valid"
    count_include_pad: bool = True
    ceil_mode: bool = False

    def init(self, device: HostDevice | None = None) -> AvgPool3d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AvgPool3d(
            self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            count_include_pad=self.count_include_pad,
            ceil_mode=self.ceil_mode,
        )
