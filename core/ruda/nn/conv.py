"""Conv1d, Conv2d and Conv3d: cross-correlation, as matrix products over unfolded windows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import SettingError
from ruda.nn import winograd
from ruda.nn.init import DEFAULT, Fans, Initializer, derive_seed
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.nn.window import (
    Padding,
    Padding1d,
    Padding3d,
    Pair,
    Triple,
    Window2d,
    as_flat_padding,
    as_triple,
)
from ruda.tensor import DType, HostDevice, Tensor, TensorData

Array = np.ndarray[Any, Any]

COLUMN_BYTES = 1 << 20
"""Memory for unfolded windows: as much as stays in the second-level cache of a core."""

_LONG_ROWS = 16
"""Columns from which the kernel unfolds every other point faster than NumPy copies it."""

_WIDEST = 1.25
"""How much wider than its output an input may be to be unfolded in whole images."""


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
        check_channels("Conv2d", in_channels, out_channels, groups)
        self._window = Window2d.of(kernel_size, stride, dilation, padding)
        self._groups = groups
        rows, columns = self._window.kernel
        shape = (out_channels, in_channels // groups, rows, columns)
        self.weight, self.bias = conv_params(shape, groups, initializer, seed, bias=bias)
        self._transformed: tuple[TensorData, Array] | None = None

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
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            offset = bias[0] if bias else None
            if winograd.suits(weight, self._window, self._groups, result):
                filters = self._filters(weight)
                rest = winograd.convolve(given, filters, offset, self._window, result)
                for image in (slice(at, at + 1) for at in rest):
                    _unfold_and_multiply(
                        given[image], weight, offset, self._window, 1, result[image]
                    )
            else:
                _convolve(given, weight, offset, self._window, self._groups, result)
        return Tensor(result)

    def _filters(self, weight: Array) -> Array:
        """The weights for ``winograd``; kept as long as the parameter is the same, if it is f32.

        They are 16 / 9 as large. Halves are kept small instead, and transformed each time.
        """
        data, kept = self.weight.data(), self._transformed
        if kept is not None and kept[0] is data:
            return kept[1]
        made = winograd.transformed(weight)
        self._transformed = (data, made) if data.dtype is DType.F32 else None
        return made


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


class Conv1d(Module):
    """(batch, in_channels, length) → (batch, out_channels, length').

    ``weight`` is (out_channels, in_channels / groups, kernel), ``bias`` (out_channels) or None,
    both as in PyTorch.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        padding: Padding1d = "valid",
        bias: bool = True,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        check_channels("Conv1d", in_channels, out_channels, groups)
        sides: Padding = padding if isinstance(padding, str) else as_flat_padding(padding)
        self._window = Window2d.of((1, kernel_size), (1, stride), (1, dilation), sides)
        self._groups = groups
        shape = (out_channels, in_channels // groups, kernel_size)
        self.weight, self.bias = conv_params(shape, groups, initializer, seed, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        channels = self.weight.shape[1] * self._groups
        if x.rank != 3 or x.shape[1] != channels:
            raise self.shape_error(f"[batch, {channels}, length]", x.shape)
        size = self._window.output_size(1, x.shape[2])
        if min(size) < 1:
            raise self.shape_error(
                f"[batch, {channels}, length] with room for a window of {self._window.reach[1]}",
                x.shape,
            )
        given, weight, *bias = working_values(self, working_input(self, x), self.weight, self.bias)
        result = np.empty((x.shape[0], weight.shape[0], *size), given.dtype)
        flat, filters = given[:, :, None], weight[:, :, None]
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            _convolve(flat, filters, bias[0] if bias else None, self._window, self._groups, result)
        return Tensor(result[:, :, 0])


@dataclass(frozen=True, slots=True)
class Conv1dConfig:
    """Settings of a Conv1d."""

    channels_input: int
    channels_output: int
    kernel_size: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padding: Padding1d = "valid"
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> Conv1d:
        """A new layer; its values are drawn from the seed when first needed."""
        return Conv1d(
            self.channels_input,
            self.channels_output,
            self.kernel_size,
            stride=self.stride,
            dilation=self.dilation,
            groups=self.groups,
            padding=self.padding,
            bias=self.bias,
            initializer=self.initializer,
            seed=seed,
        )


class Conv3d(Module):
    """(batch, in_channels, depth, height, width) → (batch, out_channels, depth', height', width').

    ``weight`` is (out_channels, in_channels / groups, *kernel), ``bias`` (out_channels) or None,
    both as in PyTorch.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Triple,
        *,
        stride: Triple = 1,
        dilation: Triple = 1,
        groups: int = 1,
        padding: Padding3d = "valid",
        bias: bool = True,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        check_channels("Conv3d", in_channels, out_channels, groups)
        kernel = as_triple(kernel_size, "kernel_size", 1)
        steps, gaps = as_triple(stride, "stride", 1), as_triple(dilation, "dilation", 1)
        flat: Padding
        deep: Padding
        if isinstance(padding, str):
            flat = deep = padding
        else:
            sides = as_triple(padding, "padding", 0)
            flat, deep = sides[1:], (0, sides[0])
        self._window = Window2d.of(kernel[1:], steps[1:], gaps[1:], flat)
        # The depth is the width of a picture one row high.
        self._depth = Window2d.of((1, kernel[0]), (1, steps[0]), (1, gaps[0]), deep)
        self._groups = groups
        shape = (out_channels, in_channels // groups, *kernel)
        self.weight, self.bias = conv_params(shape, groups, initializer, seed, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        channels = self.weight.shape[1] * self._groups
        wanted = f"[batch, {channels}, depth, height, width]"
        if x.rank != 5 or x.shape[1] != channels:
            raise self.shape_error(wanted, x.shape)
        depth = self._depth.output_size(1, x.shape[2])[1]
        size = (depth, *self._window.output_size(*x.shape[3:]))
        if min(size) < 1:
            reach = " × ".join(map(str, (self._depth.reach[1], *self._window.reach)))
            raise self.shape_error(f"{wanted} with room for a window of {reach}", x.shape)
        given, weight, *bias = working_values(self, working_input(self, x), self.weight, self.bias)
        result = np.empty((x.shape[0], weight.shape[0], *size), given.dtype)
        filters = weight.reshape(weight.shape[0], -1, *weight.shape[3:])
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            for image, out in zip(given, result, strict=True):
                slabs = self._slabs(image, depth)
                found = np.empty((depth, weight.shape[0], *size[1:]), given.dtype)
                offset = bias[0] if bias else None
                _convolve(slabs, filters, offset, self._window, self._groups, found)
                out[...] = found.transpose(1, 0, 2, 3)
        return Tensor(result)

    def _slabs(self, image: Array, depth: int) -> Array:
        """(channel, depth, height, width) → (depth', channel · kernel depth, height, width).

        What a window sees in depth becomes channels, so that the rest is a Conv2d.
        """
        _, before, _, after = self._depth.pads(1, image.shape[1])
        padded = np.pad(image, ((0, 0), (before, after), (0, 0), (0, 0)))
        taps, step, gap = self._depth.kernel[1], self._depth.stride[1], self._depth.dilation[1]
        span = (depth - 1) * step + 1
        seen = [padded[:, at * gap : at * gap + span : step] for at in range(taps)]
        stacked = np.stack(seen, axis=1).transpose(2, 0, 1, 3, 4)
        return np.ascontiguousarray(stacked).reshape(depth, -1, *image.shape[2:])


@dataclass(frozen=True, slots=True)
class Conv3dConfig:
    """Settings of a Conv3d; ``channels`` is (in, out)."""

    channels: tuple[int, int]
    kernel_size: Triple
    stride: Triple = 1
    dilation: Triple = 1
    groups: int = 1
    padding: Padding3d = "valid"
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> Conv3d:
        """A new layer; its values are drawn from the seed when first needed."""
        return Conv3d(
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


def check_channels(name: str, in_channels: int, out_channels: int, groups: int) -> None:
    """Raises SettingError for channels that are none or do not divide by the groups."""
    if groups < 1 or in_channels < 1 or out_channels < 1:
        raise SettingError(
            f"{name} needs positive channels and groups, got {in_channels}, {out_channels} "
            f"and {groups}"
        )
    if in_channels % groups or out_channels % groups:
        raise SettingError(
            f"channels {in_channels} and {out_channels} do not divide by {groups} groups"
        )


def conv_params(
    shape: tuple[int, ...], groups: int, initializer: Initializer, seed: int, *, bias: bool
) -> tuple[Param, Param | None]:
    """Weight of this shape, (out, in / groups, kernel…), and the bias, if there is one."""
    points = math.prod(shape[2:])
    fans = Fans(shape[1] * points, shape[0] // groups * points)
    weight = Param(shape, initializer, fans=fans, seed=derive_seed(seed, "weight"))
    if not bias:
        return weight, None
    return weight, Param(shape[:1], initializer, fans=fans, seed=derive_seed(seed, "bias"))


def _convolve(
    x: Array, weight: Array, bias: Array | None, window: Window2d, groups: int, out: Array
) -> None:
    """Fill ``out`` in the way that is fastest for these sizes."""
    if x.dtype == np.float32 and weight.shape == (groups, 1, 3, 3) and window.dilation == (1, 1):
        for image in range(len(x)):
            padded = window.pad(x[image : image + 1], 0.0)
            taps, found = weight[:, 0], out[image : image + 1]
            _kernels.depthwise_3x3(padded, taps, bias, stride=window.stride, out=found)
        return
    _unfold_and_multiply(x, weight, bias, window, groups, out)


def _unfold_and_multiply(
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
            unfolded, pitch = _unfold(padded[:, :, top * window.stride[0] :], window, size)
            # One product for all images of the block: one per image is too little for BLAS.
            product = np.matmul(filters, unfolded.reshape(groups, filters.shape[2], -1))
            found = _rows(product.reshape(channels, len(padded), -1), pitch, size)
            target = out[image : image + images, :, top : top + lines].transpose(1, 0, 2, 3)
            if offset is None:
                target[...] = found
            else:
                np.add(found, offset, out=target)


def _block_sizes(rows: int, row_bytes: int) -> tuple[int, int]:
    """Images, and rows of each, in one block: rows of one image where an image is too much."""
    images = COLUMN_BYTES // (row_bytes * rows)
    if images:
        return images, rows
    return 1, max(1, COLUMN_BYTES // row_bytes)


def _unfold(x: Array, window: Window2d, size: tuple[int, int]) -> tuple[Array, int]:
    """(batch, channel, height, width) → (channel, point, batch, position), and the row pitch.

    Position row · pitch + column is what a point of the window sees there. Where the window moves
    by single steps the pitch is the width, so that a whole image is one run of memory; the few
    positions between the rows are computed and left out, which costs less than short copies.
    """
    rows, columns = size
    batch, channels, _, width = x.shape
    points = window.kernel[0] * window.kernel[1]
    whole = window.stride == (1, 1) and width <= _WIDEST * columns
    pitch = width if whole else columns
    length = (rows - 1) * pitch + columns
    out = np.empty((channels, points, batch, length), x.dtype)
    if x.dtype == np.float32 and window.stride[1] == 2 and columns >= _LONG_ROWS:
        gaps = window.dilation
        return _kernels.unfold(
            x, window.kernel, size, stride=window.stride, dilation=gaps, out=out
        ), pitch
    flat = x.reshape(batch, channels, -1)
    for point in range(points):
        row, column = divmod(point, window.kernel[1])
        if whole:
            start = row * window.dilation[0] * width + column * window.dilation[1]
            out[:, point] = flat[:, :, start : start + length].transpose(1, 0, 2)
        else:
            seen = window.at(x, row, column, size).transpose(1, 0, 2, 3)
            out[:, point].reshape(channels, batch, rows, columns)[...] = seen
    return out, pitch


def _rows(product: Array, pitch: int, size: tuple[int, int]) -> Array:
    """(channel, batch, position) → view (channel, batch, row, column)."""
    outer, middle, step = product.strides
    return np.lib.stride_tricks.as_strided(
        product, (*product.shape[:2], *size), (outer, middle, pitch * step, step), writeable=False
    )
