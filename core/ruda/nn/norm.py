"""The five norms: values brought to a learned mean and spread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import ModelError, SettingError
from ruda.nn.init import Constant
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]


class BatchNorm(Module):
    """(x - running_mean) / √(running_var + epsilon) · gamma + beta on axis 1, for any rank from 2.

    One class serves PyTorch's BatchNorm1d, 2d and 3d. It runs with stored statistics only.
    """

    def __init__(self, num_features: int, *, epsilon: float = 1e-5, momentum: float = 0.1) -> None:
        _check("BatchNorm", num_features, epsilon)
        shape = (num_features,)
        self.gamma = Param(shape, Constant(1.0), seed=0)
        self.beta = Param(shape, Constant(0.0), seed=0)
        self.running_mean = Param(shape, Constant(0.0), seed=0, trainable=False)
        self.running_var = Param(shape, Constant(1.0), seed=0, trainable=False)
        self.epsilon = epsilon
        self.momentum = momentum

    def forward(self, x: Tensor) -> Tensor:
        """(batch, feature, …) of the same shape. Raises ShapeError and DTypeError naming the layer.

        Raises ModelError in training mode.
        """
        if self.training:
            raise ModelError(
                f"{self.place()}: statistics of a batch are not computed; call model.eval() to "
                f"run with the stored ones"
            )
        (features,) = self.gamma.shape
        if x.rank < 2 or x.shape[1] != features:
            raise self.shape_error(f"[batch, {features}, …]", x.shape)
        given, gamma, beta, mean, variance = working_values(
            self, working_input(self, x), self.gamma, self.beta, self.running_mean, self.running_var
        )
        with np.errstate(all="ignore"):  # a negative variance gives NaN, as it should
            scale = gamma / np.sqrt(variance.astype(np.float64) + self.epsilon)
            shift = beta - mean * scale
            if given.dtype == np.float32:
                factors, shifts = scale.astype(np.float32), shift.astype(np.float32)
                return Tensor(_kernels.scale_channels(given, factors, shifts))
            along = (features, *(1,) * (x.rank - 2))
            result = given * scale.astype(given.dtype).reshape(along)
            result += shift.astype(given.dtype).reshape(along)
        return Tensor(result)


@dataclass(frozen=True, slots=True)
class BatchNormConfig:
    """Settings of a BatchNorm."""

    num_features: int
    epsilon: float = 1e-5
    momentum: float = 0.1

    def init(self, device: HostDevice, *, seed: int = 0) -> BatchNorm:
        """A new layer; its first values do not depend on the seed."""
        return BatchNorm(self.num_features, epsilon=self.epsilon, momentum=self.momentum)


class LayerNorm(Module):
    """(x - mean) / √(variance + epsilon) · gamma + beta over the last axis; beta may be None."""

    def __init__(self, d_model: int, *, epsilon: float = 1e-5, bias: bool = True) -> None:
        _check("LayerNorm", d_model, epsilon)
        self.gamma = Param((d_model,), Constant(1.0), seed=0)
        self.beta = Param((d_model,), Constant(0.0), seed=0) if bias else None
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """(…, d_model) of the same shape. Raises ShapeError and DTypeError naming the layer."""
        (width,) = self.gamma.shape
        if not x.rank or x.shape[-1] != width:
            raise self.shape_error(f"[…, {width}]", x.shape)
        given, gamma, *beta = working_values(self, working_input(self, x), self.gamma, self.beta)
        if given.dtype == np.float32:
            return Tensor(_kernels.layer_norm(given, gamma, *beta, epsilon=self.epsilon))
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            result = _standardised(given, self.epsilon)
            result *= gamma
            if beta:
                result += beta[0]
        return Tensor(result)


class GroupNorm(Module):
    """Mean 0 and variance 1 for each group of channels of each item, then gamma and beta.

    ``gamma`` and ``beta`` are (num_channels), or None where ``affine`` is off.
    """

    def __init__(
        self, num_groups: int, num_channels: int, *, epsilon: float = 1e-5, affine: bool = True
    ) -> None:
        _check("GroupNorm", num_channels, epsilon)
        if num_groups < 1 or num_channels % num_groups:
            raise SettingError(f"{num_channels} channels do not divide by {num_groups} groups")
        shape = (num_channels,)
        self.gamma = Param(shape, Constant(1.0), seed=0) if affine else None
        self.beta = Param(shape, Constant(0.0), seed=0) if affine else None
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channel, …) of the same shape. Raises ShapeError and DTypeError."""
        return _group_normalised(self, x, self.num_groups, self.num_channels, self.epsilon)


class InstanceNorm(Module):
    """GroupNorm with a group of its own for every channel. ``affine`` is on unless told.

    PyTorch's InstanceNorm has no ``gamma`` and ``beta`` unless asked.
    """

    def __init__(self, num_channels: int, *, epsilon: float = 1e-5, affine: bool = True) -> None:
        _check("InstanceNorm", num_channels, epsilon)
        shape = (num_channels,)
        self.gamma = Param(shape, Constant(1.0), seed=0) if affine else None
        self.beta = Param(shape, Constant(0.0), seed=0) if affine else None
        self.num_channels = num_channels
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channel, …) of the same shape. Raises ShapeError and DTypeError."""
        return _group_normalised(self, x, self.num_channels, self.num_channels, self.epsilon)


class RmsNorm(Module):
    """x / √(mean(x²) + epsilon) · gamma over the last axis."""

    def __init__(self, d_model: int, *, epsilon: float = 1e-5) -> None:
        _check("RmsNorm", d_model, epsilon)
        self.gamma = Param((d_model,), Constant(1.0), seed=0)
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """(…, d_model) of the same shape. Raises ShapeError and DTypeError naming the layer."""
        (width,) = self.gamma.shape
        if not x.rank or x.shape[-1] != width:
            raise self.shape_error(f"[…, {width}]", x.shape)
        given, gamma = working_values(self, working_input(self, x), self.gamma)
        if given.dtype == np.float32:
            return Tensor(_kernels.rms_norm(given, gamma, epsilon=self.epsilon))
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            squares = np.mean(np.square(given), axis=-1, keepdims=True, dtype=np.float64)
            result = given * (1.0 / np.sqrt(squares + self.epsilon)).astype(given.dtype)
            result *= gamma
        return Tensor(result)


@dataclass(frozen=True, slots=True)
class LayerNormConfig:
    """Settings of a LayerNorm."""

    d_model: int
    epsilon: float = 1e-5
    bias: bool = True

    def init(self, device: HostDevice, *, seed: int = 0) -> LayerNorm:
        """A new layer; its first values do not depend on the seed."""
        return LayerNorm(self.d_model, epsilon=self.epsilon, bias=self.bias)


@dataclass(frozen=True, slots=True)
class GroupNormConfig:
    """Settings of a GroupNorm."""

    num_groups: int
    num_channels: int
    epsilon: float = 1e-5
    affine: bool = True

    def init(self, device: HostDevice, *, seed: int = 0) -> GroupNorm:
        """A new layer; its first values do not depend on the seed."""
        return GroupNorm(
            self.num_groups, self.num_channels, epsilon=self.epsilon, affine=self.affine
        )


@dataclass(frozen=True, slots=True)
class InstanceNormConfig:
    """Settings of an InstanceNorm."""

    num_channels: int
    epsilon: float = 1e-5
    affine: bool = True

    def init(self, device: HostDevice, *, seed: int = 0) -> InstanceNorm:
        """A new layer; its first values do not depend on the seed."""
        return InstanceNorm(self.num_channels, epsilon=self.epsilon, affine=self.affine)


@dataclass(frozen=True, slots=True)
class RmsNormConfig:
    """Settings of an RmsNorm."""

    d_model: int
    epsilon: float = 1e-5

    def init(self, device: HostDevice, *, seed: int = 0) -> RmsNorm:
        """A new layer; its first values do not depend on the seed."""
        return RmsNorm(self.d_model, epsilon=self.epsilon)


def _check(name: str, features: int, epsilon: float) -> None:
    if features < 1:
        raise SettingError(f"{name} needs at least one feature, got {features}")
    if not epsilon >= 0.0:
        raise SettingError(f"epsilon is not negative, got {epsilon}")


def _standardised(x: Array, epsilon: float) -> Array:
    """Mean 0 and (biased) variance 1 along the last axis; sums are taken in f64."""
    if x.dtype == np.float32:
        return _kernels.layer_norm(x, epsilon=epsilon)
    mean = np.mean(x, axis=-1, keepdims=True, dtype=np.float64)
    result: Array = x - mean.astype(x.dtype)
    variance = np.mean(np.square(result), axis=-1, keepdims=True, dtype=np.float64)
    result *= (1.0 / np.sqrt(variance + epsilon)).astype(x.dtype)
    return result


def _group_normalised(
    layer: GroupNorm | InstanceNorm, x: Tensor, groups: int, channels: int, epsilon: float
) -> Tensor:
    if x.rank < 2 or x.shape[1] != channels:
        raise layer.shape_error(f"[batch, {channels}, …]", x.shape)
    given, *affine = working_values(layer, working_input(layer, x), layer.gamma, layer.beta)
    with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
        width = math.prod(x.shape[2:]) * (channels // groups)
        grouped = np.ascontiguousarray(given).reshape(x.shape[0], groups, width)
        result = _standardised(grouped, epsilon).reshape(x.shape)
        if affine:
            along = (channels, *(1,) * (x.rank - 2))
            result *= affine[0].reshape(along)
            result += affine[1].reshape(along)
    return Tensor(result)
