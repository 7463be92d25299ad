"""BatchNorm: values brought to a learned mean and spread, channel by channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruda.errors import ModelError, SettingError
from ruda.nn.init import Constant
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.tensor import HostDevice, Tensor


class BatchNorm(Module):
    """(x - running_mean) / √(running_var + epsilon) · gamma + beta on axis 1, for any rank from 2.

    One class serves PyTorch's BatchNorm1d, 2d and 3d. It runs with stored statistics only.
    """

    def __init__(self, num_features: int, *, epsilon: float = 1e-5, momentum: float = 0.1) -> None:
        if num_features < 1:
            raise SettingError(f"BatchNorm needs at least one feature, got {num_features}")
        if not epsilon >= 0.0:
            raise SettingError(f"epsilon is not negative, got {epsilon}")
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
