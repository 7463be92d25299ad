"""MaxPool2d: the largest value in each window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruda.errors import SettingError
from ruda.nn.module import Module
from ruda.nn.precision import working_input
from ruda.nn.window import Padding, Pair, Window2d
from ruda.tensor import HostDevice, Tensor


class MaxPool2d(Module):
    """(batch, channel, height, width) → (batch, channel, height', width').

    The stride is the kernel unless given. Padding counts as -Inf; NaN wins.
    """

    def __init__(
        self,
        kernel_size: Pair,
        *,
        stride: Pair | None = None,
        dilation: Pair = 1,
        padding: Padding = "valid",
    ) -> None:
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
        size = self._window.output_size(*x.shape[2:]) if x.rank == 4 else (0, 0)
        if min(size) < 1:
            rows, columns = self._window.reach
            raise self.shape_error(
                f"[batch, channel, height, width] with room for a window of {rows} × {columns}",
                x.shape,
            )
        padded = self._window.pad(working_input(self, x), -np.inf)
        result = None
        for row in range(self._window.kernel[0]):
            for column in range(self._window.kernel[1]):
                seen = self._window.at(padded, row, column, size)
                if result is None:
                    result = seen.copy()
                else:
                    np.maximum(result, seen, out=result)
        assert result is not None  # a window has at least one point
        return Tensor(result)


@dataclass(frozen=True, slots=True)
class MaxPool2dConfig:
    """Settings of a MaxPool2d."""

    kernel_size: Pair
    stride: Pair | None = None
    dilation: Pair = 1
    padding: Padding = "valid"

    def init(self, device: HostDevice | None = None) -> MaxPool2d:
        """A new layer. It has no parameters, so the device does not matter."""
        return MaxPool2d(
            self.kernel_size, stride=self.stride, dilation=self.dilation, padding=self.padding
        )
