"""Pooling of pictures: the largest value or the mean of each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import SettingError
from ruda.nn.module import Module
from ruda.nn.precision import working_input
from ruda.nn.window import Padding, Pair, Window2d
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]


class MaxPool2d(Module):
    """(batch, channel, height, width) → (batch, channel, height', width').

    The stride is the kernel unless given. Padding counts as -Inf; NaN wins. With ``ceil_mode`` a
    last window may reach over the end; what lies there counts as padding.
    """

    def __init__(
        self,
        kernel_size: Pair,
        *,
        stride: Pair | None = None,
        dilation: Pair = 1,
        padding: Padding = "valid",
        ceil_mode: bool = False,
    ) -> None:
        self._ceil = ceil_mode
        self._window = Window2d.of(
            kernel_size, kernel_size if stride is None else stride, dilation, padding
        )
        sides, reach = self._window.padding or (0, 0, 0, 0), self._window.reach
        if any(side >= span for side, span in zip(sides, reach * 2, strict=True)):
            raise SettingError(
                f"padding {sides} lets a window of {reach[0]} × {reach[1]} see nothing but padding"
            )

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        if x.rank != 4 or not self.has_room(*x.shape[2:]):
            rows, columns = self._window.reach
            raise self.shape_error(
                f"[batch, channel, height, width] with room for a window of {rows} × {columns}",
                x.shape,
            )
        return Tensor(self.pooled(working_input(self, x)))

    def has_room(self, height: int, width: int) -> bool:
        """Whether a window fits."""
        return min(self._window.output_size(height, width, over_end=self._ceil)) >= 1

    def pooled(self, x: Array) -> Array:
        """The same of values that have room for a window."""
        window = self._window
        size = window.output_size(*x.shape[2:], over_end=self._ceil)
        padded = self._over_the_end(window.pad(x, -np.inf), size)
        if padded.dtype == np.float32:
            return _kernels.max_pool(padded, window.kernel, window.stride, dilation=window.dilation)
        result: Array | None = None
        for row in range(self._window.kernel[0]):
            for column in range(self._window.kernel[1]):
                seen = self._window.at(padded, row, column, size)
                if result is None:
                    result = seen.copy()
                else:
                    np.maximum(result, seen, out=result)
        assert result is not None  # a window has at least one point
        return result

    def _over_the_end(self, padded: Array, size: tuple[int, int]) -> Array:
        """With as much more padding at the end as the last windows reach over it."""
        window = self._window
        down, right = (
            max(0, (count - 1) * stride + reach - have)
            for count, stride, reach, have in zip(
                size, window.stride, window.reach, padded.shape[2:], strict=True
            )
        )
        if not (down or right):
            return padded
        return np.pad(padded, ((0, 0), (0, 0), (0, down), (0, right)), constant_values=-np.inf)


@dataclass(frozen=True, slots=True)
class MaxPool2dConfig:
    """Settings of a MaxPool2d."""

    kernel_size: Pair
    stride: Pair | None = None
    dilation: Pair = 1
    padding: Padding = "valid"
    ceil_mode: bool = False

    def init(self, device: HostDevice | None = None) -> MaxPool2d:
        """A new layer. It has no parameters, so the device does not matter."""
        return MaxPool2d(
            self.kernel_size,
            stride=self.stride,
            dilation=self.dilation,
            padding=self.padding,
            ceil_mode=self.ceil_mode,
        )


class AvgPool2d(Module):
    """(batch, channel, height, width) → (batch, channel, height', width'), the mean of each window.

    The stride is the kernel unless given. Padding counts as zeros, or not at all with
    ``count_include_pad`` off. With ``ceil_mode`` a last window may reach over the end; what lies
    there does not count. f32 within n ulp of the mean of the magnitudes of a window of n points.
    """

    def __init__(
        self,
        kernel_size: Pair,
        *,
        stride: Pair | None = None,
        padding: Padding = "valid",
        count_include_pad: bool = True,
        ceil_mode: bool = False,
    ) -> None:
        window = Window2d.of(kernel_size, kernel_size if stride is None else stride, 1, padding)
        sides = window.padding or (0, 0, 0, 0)
        if any(2 * side > span for side, span in zip(sides, window.kernel * 2, strict=True)):
            raise SettingError(f"padding {sides} is more than half of a window of {window.kernel}")
        self._window = window
        self._counts_padding = count_include_pad
        self._ceil = ceil_mode

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        if x.rank != 4 or not self.has_room(*x.shape[2:]):
            rows, columns = self._window.kernel
            raise self.shape_error(
                f"[batch, channel, height, width] with room for a window of {rows} × {columns}",
                x.shape,
            )
        return Tensor(self.pooled(working_input(self, x)))

    def has_room(self, height: int, width: int) -> bool:
        """Whether a window fits."""
        return min(self._window.output_size(height, width, over_end=self._ceil)) >= 1

    def pooled(self, x: Array) -> Array:
        """The same of values that have room for a window."""
        height, width = x.shape[2:]
        top, left, bottom, right = self._window.pads(height, width)
        if x.dtype == np.float32 and self._divides_alike(height, width):
            padded = self._window.pad(x, 0)
            return _kernels.average_pool(padded, self._window.kernel, self._window.stride)
        for axis, before, after in ((2, top, bottom), (3, left, right)):
            x = self._along(x, axis, before, after)
        return x

    def _divides_alike(self, height: int, width: int) -> bool:
        """Whether every window has all of its points."""
        top, left, bottom, right = self._window.pads(height, width)
        if not self._counts_padding and (top or left or bottom or right):
            return False
        room = (height + top + bottom, width + left + right)
        return not self._ceil or not any(
            (size - kernel) % stride
            for size, kernel, stride in zip(
                room, self._window.kernel, self._window.stride, strict=True
            )
        )

    def _along(self, x: Array, axis: int, before: int, after: int) -> Array:
        """The means along one axis; the mean of the window is the mean of its rows' means."""
        kernel, stride = self._window.kernel[axis - 2], self._window.stride[axis - 2]
        size = x.shape[axis]
        count = self._window.count(axis - 2, size, before, after, over_end=self._ceil)
        reach = max(size + before + after, (count - 1) * stride + kernel)
        border = [(0, 0)] * 4
        border[axis] = (before, reach - size - before)
        moved = np.moveaxis(np.pad(x, border), axis, -1)
        start = np.arange(count) * stride
        if self._counts_padding:
            shares = np.minimum(start + kernel, size + before + after) - start
        else:
            shares = np.minimum(start + kernel, size + before) - np.maximum(start, before)
        span = (count - 1) * stride + 1
        with np.errstate(all="ignore"):  # NaN and Inf in the input are results, not news
            total = sum(moved[..., at : at + span : stride] for at in range(kernel))
            return np.ascontiguousarray(np.moveaxis(total / shares.astype(x.dtype), -1, axis))


@dataclass(frozen=True, slots=True)
class AvgPool2dConfig:
    """Settings of an AvgPool2d."""

    kernel_size: Pair
    stride: Pair | None = None
    padding: Padding = "valid"
    count_include_pad: bool = True
    ceil_mode: bool = False

    def init(self, device: HostDevice | None = None) -> AvgPool2d:
        """A new layer. It has no parameters, so the device does not matter."""
        return AvgPool2d(
            self.kernel_size,
            stride=self.stride,
            padding=self.padding,
            count_include_pad=self.count_include_pad,
            ceil_mode=self.ceil_mode,
        )
