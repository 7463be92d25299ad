"""ConvTranspose1d, 2d and 3d: the gradient of a convolution, as a layer that enlarges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ruda.errors import SettingError
from ruda.nn.conv import check_channels
from ruda.nn.init import DEFAULT, Fans, Initializer, derive_seed
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]

Sizes: TypeAlias = int | tuple[int, ...]
"""One number for every axis, or one each."""


def _each(value: Sizes, axes: int, name: str, least: int) -> tuple[int, ...]:
    sizes = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(sizes) != axes or any(size < least for size in sizes):
        raise SettingError(f"{name} is 1 or {axes} whole numbers from {least}, got {value}")
    return sizes


class _ConvTranspose(Module):
    """(batch, in_channels, *sizes) → (batch, out_channels, *sizes').

    ``weight`` is (in_channels, out_channels / groups, *kernel), ``bias`` (out_channels) or None,
    both as in PyTorch. size' = (size - 1) · stride - 2 · padding + reach + padding_out.
    """

    axes: ClassVar[int]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        *,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        groups: int = 1,
        padding: Sizes = 0,
        padding_out: Sizes = 0,
        bias: bool = True,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        check_channels(type(self).__name__, in_channels, out_channels, groups)
        self._kernel = _each(kernel_size, self.axes, "kernel_size", 1)
        self._stride = _each(stride, self.axes, "stride", 1)
        self._dilation = _each(dilation, self.axes, "dilation", 1)
        self._padding = _each(padding, self.axes, "padding", 0)
        self._extra = _each(padding_out, self.axes, "padding_out", 0)
        self._groups = groups
        shape = (in_channels, out_channels // groups, *self._kernel)
        points = math.prod(self._kernel)
        fans = Fans(shape[1] * points, in_channels // groups * points)
        self.weight = Param(shape, initializer, fans=fans, seed=derive_seed(seed, "weight"))
        self.bias = (
            Param((out_channels,), initializer, fans=fans, seed=derive_seed(seed, "bias"))
            if bias
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Raises ShapeError and DTypeError naming the layer."""
        channels = self.weight.shape[0]
        wanted = f"[batch, {channels}{', size' * self.axes}]"
        if x.rank != self.axes + 2 or x.shape[1] != channels:
            raise self.shape_error(wanted, x.shape)
        full = [
            (size - 1) * stride + dilation * (kernel - 1) + 1
            for size, stride, dilation, kernel in zip(
                x.shape[2:], self._stride, self._dilation, self._kernel, strict=True
            )
        ]
        sizes = [
            size - 2 * pad + extra
            for size, pad, extra in zip(full, self._padding, self._extra, strict=True)
        ]
        if min(x.shape[2:]) < 1 or min(sizes) < 1:
            raise self.shape_error(f"{wanted} that leaves something after the padding", x.shape)
        given, weight, *bias = working_values(self, working_input(self, x), self.weight, self.bias)
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            result = self._spread(
                given,
                weight,
                [max(f, s + p) for f, s, p in zip(full, sizes, self._padding, strict=True)],
            )
            inner = (slice(p, p + s) for p, s in zip(self._padding, sizes, strict=True))
            result = result[(slice(None), slice(None), *inner)]
            if bias:
                result = result + bias[0].reshape(-1, *(1,) * self.axes)
        return Tensor(np.ascontiguousarray(result))

    def _spread(self, x: Array, weight: Array, sizes: list[int]) -> Array:
        """Every value times the kernel, added up where kernels overlap; no padding taken off."""
        batch, groups = x.shape[0], self._groups
        outs = weight.shape[1]
        filters = weight.reshape(groups, weight.shape[0] // groups, -1).transpose(0, 2, 1)
        seen = x.reshape(batch, groups, weight.shape[0] // groups, -1)
        parts = np.matmul(filters, seen).reshape(batch, groups, outs, *self._kernel, *x.shape[2:])
        result = np.zeros((batch, groups, outs, *sizes), x.dtype)
        for point in product(*(range(kernel) for kernel in self._kernel)):
            where: tuple[Any, ...] = tuple(
                slice(at * dilation, at * dilation + (size - 1) * stride + 1, stride)
                for at, dilation, stride, size in zip(
                    point, self._dilation, self._stride, x.shape[2:], strict=True
                )
            )
            result[(..., *where)] += parts[(slice(None),) * 3 + point]
        return result.reshape(batch, groups * outs, *sizes)


class ConvTranspose1d(_ConvTranspose):
    """(batch, in_channels, length) → (batch, out_channels, length')."""

    axes = 1


class ConvTranspose2d(_ConvTranspose):
    """(batch, in_channels, height, width) → (batch, out_channels, height', width')."""

    axes = 2


class ConvTranspose3d(_ConvTranspose):
    """(batch, in_channels, depth, height, width) → the same with other sizes."""

    axes = 3


@dataclass(frozen=True, slots=True)
class ConvTranspose1dConfig:
    """Settings of a ConvTranspose1d; ``channels`` is (in, out)."""

    channels: tuple[int, int]
    kernel_size: Sizes
    stride: Sizes = 1
    dilation: Sizes = 1
    groups: int = 1
    padding: Sizes = 0
    padding_out: Sizes = 0
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> ConvTranspose1d:
        """A new layer; its values are drawn from the seed when first needed."""
        return ConvTranspose1d(*self.channels, self.kernel_size, **_options(self), seed=seed)


@dataclass(frozen=True, slots=True)
class ConvTranspose2dConfig:
    """Settings of a ConvTranspose2d; ``channels`` is (in, out)."""

    channels: tuple[int, int]
    kernel_size: Sizes
    stride: Sizes = 1
    dilation: Sizes = 1
    groups: int = 1
    padding: Sizes = 0
    padding_out: Sizes = 0
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> ConvTranspose2d:
        """A new layer; its values are drawn from the seed when first needed."""
        return ConvTranspose2d(*self.channels, self.kernel_size, **_options(self), seed=seed)


@dataclass(frozen=True, slots=True)
class ConvTranspose3dConfig:
    """Settings of a ConvTranspose3d; ``channels`` is (in, out)."""

    channels: tuple[int, int]
    kernel_size: Sizes
    stride: Sizes = 1
    dilation: Sizes = 1
    groups: int = 1
    padding: Sizes = 0
    padding_out: Sizes = 0
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> ConvTranspose3d:
        """A new layer; its values are drawn from the seed when first needed."""
        return ConvTranspose3d(*self.channels, self.kernel_size, **_options(self), seed=seed)


def _options(
    config: ConvTranspose1dConfig | ConvTranspose2dConfig | ConvTranspose3dConfig,
) -> dict[str, Any]:
    return {
        "stride": config.stride,
        "dilation": config.dilation,
        "groups": config.groups,
        "padding": config.padding,
        "padding_out": config.padding_out,
        "bias": config.bias,
        "initializer": config.initializer,
    }
