"""Conv2d: cross-correlation over height and width, as matrix products over unfolded windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.errors import SettingError
from ruda.nn.init import DEFAULT, Fans, Initializer, derive_seed
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.nn.window import Padding, Pair, Window2d
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]

COLUMN_BYTES = 4 << 20
"""Most memory for unfolded windows: large enough for BLAS, small enough for the cache."""


class Conv2d(Module):
    """(batch, in_channels, height, width) → (batch, out_channels, height', width').

    ``weight`` is (out_channels, in_channels / groups, kernel height, kernel width), ``bias``
    (out_channels) or None, both as in PyTorch.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        *,
        stride: Pair = 1,
        dilation: Pair = 1,
        groups: int = 1,
        padding: Padding = "valid",
        bias: bool = True,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        if groups < 1 or in_channels < 1 or out_channels < 1:
            raise SettingError(
                f"Conv2d needs positive channels and groups, got {in_channels}, {out_channels} "
                f"and {groups}"
            )
        if in_channels % groups or out_channels % groups:
            raise SettingError(
                f"channels {in_channels} and {out_channels} do not divide by {groups} groups"
            )
        self._window = Window2d.of(kernel_size, stride, dilation, padding)
        self._groups = groups
        rows, columns = self._window.kernel
        shape = (out_channels, in_channels // groups, rows, columns)
        fans = Fans(shape[1] * rows * columns, out_channels // groups * rows * columns)
        self.weight = Param(shape, initializer, fans=fans, seed=derive_seed(seed, "weight"))
        self.bias = (
            Param((out_channels,), initializer, fans=fans, seed=derive_seed(seed, "bias"))
            if bias
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        channels = self.weight.shape[1] * self._groups
        if x.rank != 4 or x.shape[1] != channels:
            raise self.shape_error(f"[batch, {channels}, height, width]", x.shape)
        size = self._window.output_size(x.shape[2], x.shape[3])
        if min(size) < 1:
            rows, columns = self._window.reach
            raise self.shape_error(
                f"[batch, {channels}, height, width] with room for a window of {rows} × {columns}",
                x.shape,
            )
        given, weight, *bias = working_values(self, working_input(self, x), self.weight, self.bias)
        result = np.empty((x.shape[0], weight.shape[0], *size), given.dtype)
        _convolve(given, weight, self._window, self._groups, result)
        if bias:
            result += bias[0][:, None, None]
        return Tensor(result)


@dataclass(frozen=True, slots=True)
class Conv2dConfig:
    """Settings of a Conv2d; ``channels`` is (in, out)."""

    channels: tuple[int, int]
    kernel_size: Pair
    stride: Pair = 1
    dilation: Pair = 1
    groups: int = 1
    padding: Padding = "valid"
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> Conv2d:
        """A new layer; its values are drawn from the seed when first needed."""
        return Conv2d(
            *self.channels,
            self.kernel_size,
            stride=self.stride,
            dilation=self.dilation,
            groups=self.groups,
            padding=self.padding,
            bias=self.bias,
            initializer=self.initializer,
            seed=seed,
        )


def _convolve(x: Array, weight: Array, window: Window2d, groups: int, out: Array) -> None:
    """Fill ``out`` block by block; the unfolded windows never take more than COLUMN_BYTES.

    A single row of output may take more, because less than a row is not worth a product.
    """
    filters = weight.reshape(groups, weight.shape[0] // groups, -1)
    batch, _, rows, columns = out.shape
    depth = groups * filters.shape[2]
    for images, lines in _blocks(batch, rows, depth * columns * x.itemsize):
        block = window.pad(x[images], 0.0)
        top = lines.start * window.stride[0]
        unfolded = _unfold(block[:, :, top:], window, (lines.stop - lines.start, columns))
        product = np.matmul(filters, unfolded.reshape(len(block), groups, filters.shape[2], -1))
        out[images, :, lines] = product.reshape(len(block), -1, *unfolded.shape[-2:])


def _blocks(batch: int, rows: int, row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of whole images, or of rows of one image where an image is too much."""
    together = max(1, COLUMN_BYTES // (row_bytes * rows))
    step = rows if together > 1 else max(1, min(rows, COLUMN_BYTES // row_bytes))
    for image in range(0, batch, together):
        for line in range(0, rows, step):
            yield (
                slice(image, min(image + together, batch)),
                slice(line, min(line + step, rows)),
            )


def _unfold(x: Array, window: Window2d, size: tuple[int, int]) -> Array:
    """(batch, channel, height, width) → (batch, channel, point, rows, columns).

    A view where the window is a single point that does not skip.
    """
    kernel_rows, kernel_columns = window.kernel
    if window.kernel == (1, 1) and window.stride == (1, 1):
        return x[:, :, None, : size[0], : size[1]]
    out = np.empty((*x.shape[:2], kernel_rows * kernel_columns, *size), x.dtype)
    for row in range(kernel_rows):
        for column in range(kernel_columns):
            point = row * kernel_columns + column
            out[:, :, point] = window.at(x, row, column, size)
    return out
