"""Conv2d: cross-correlation over height and width, as matrix products over unfolded windows."""

from __future__ import annotations

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
        _convolve(given, weight, bias[0] if bias else None, self._window, self._groups, result)
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


def _convolve(
    x: Array, weight: Array, bias: Array | None, window: Window2d, groups: int, out: Array
) -> None:
    """Fill ``out`` block by block; the unfolded windows of a block take about COLUMN_BYTES."""
    filters = weight.reshape(groups, weight.shape[0] // groups, -1)
    batch, channels, rows, columns = out.shape
    per_row = groups * filters.shape[2] * columns * x.itemsize
    offset = None if bias is None else bias.reshape(channels, 1, 1, 1)
    images, lines = _block_sizes(rows, per_row)
    for image in range(0, batch, images):
        padded = window.pad(x[image : image + images], 0.0)
        for top in range(0, rows, lines):
            size = (min(lines, rows - top), columns)
            unfolded = _unfold(padded[:, :, top * window.stride[0] :], window, size)
            # One product for all images of the block: one per image is too little for BLAS.
            product = np.matmul(filters, unfolded.reshape(groups, filters.shape[2], -1))
            product = product.reshape(channels, len(padded), *size)
            target = out[image : image + images, :, top : top + lines].transpose(1, 0, 2, 3)
            if offset is None:
                target[...] = product
            else:
                np.add(product, offset, out=target)


def _block_sizes(rows: int, row_bytes: int) -> tuple[int, int]:
    """Images, and rows of each, in one block: rows of one image where an image is too much."""
    images = COLUMN_BYTES // (row_bytes * rows)
    if images:
        return images, rows
    return 1, max(1, COLUMN_BYTES // row_bytes)


def _unfold(x: Array, window: Window2d, size: tuple[int, int]) -> Array:
    """(batch, channel, height, width) → (channel, point, batch, rows, columns); copies."""
    kernel_rows, kernel_columns = window.kernel
    out = np.empty((x.shape[1], kernel_rows * kernel_columns, x.shape[0], *size), x.dtype)
    for row in range(kernel_rows):
        for column in range(kernel_columns):
            point = row * kernel_columns + column
            out[:, point] = window.at(x, row, column, size).transpose(1, 0, 2, 3)
    return out
