"""Activations: Relu and Relu6, Gelu and its approximation, Silu, and PRelu with a learned slope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import SettingError
from ruda.nn.init import Constant
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]


class Relu(Module):
    """Negative values become 0; NaN stays NaN."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape. Raises DTypeError unless the input is a float."""
        given = working_input(self, x)
        return Tensor(np.maximum(given, given.dtype.type(0)))


class Relu6(Module):
    """Negative values become 0, and those above 6 become 6; NaN stays NaN."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape. Raises DTypeError unless the input is a float."""
        given = working_input(self, x)
        return Tensor(np.clip(given, given.dtype.type(0), given.dtype.type(6)))


class Silu(Module):
    """x / (1 + exp(-x)), which is called swish as well."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, f32 within 4 ulp. Raises DTypeError unless the input is a float."""
        given = working_input(self, x)
        if given.dtype == np.float32:
            return Tensor(_kernels.silu(given))
        with np.errstate(all="ignore"):
            # -Inf / Inf would be NaN; the limit is 0.
            value = given / (1 + np.exp(-given))
            return Tensor(np.where(np.isneginf(given), given.dtype.type(0), value))


class Gelu(Module):
    """x · Φ(x) with the exact error function.

    With ``approximate`` Φ is ½ · (1 + tanh(√(2 / π) · (x + 0.044715 · x³))), as GPT-2 has it.
    """

    def __init__(self, *, approximate: bool = False) -> None:
        self._approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, f32 within 10 ulp. Raises DTypeError unless the input is a float.

        With ``approximate`` small results are less exact: at -3 within 25 ulp, at -9 within 210.
        """
        given = Tensor(working_input(self, x))
        return given.gelu_approximate() if self._approximate else given.gelu()


class PRelu(Module):
    """max(0, x) + alpha · min(0, x), with one alpha for everything or one for each channel.

    Channels are axis 1. PyTorch calls ``alpha`` ``weight``.
    """

    def __init__(self, num_parameters: int = 1, *, alpha: float = 0.25) -> None:
        if num_parameters < 1:
            raise SettingError(f"PRelu needs at least one parameter, got {num_parameters}")
        self.alpha = Param((num_parameters,), Constant(alpha), seed=0)

    def forward(self, x: Tensor) -> Tensor:
        """Of the same shape. Raises ShapeError and DTypeError naming the layer."""
        (count,) = self.alpha.shape
        if count > 1 and (x.rank < 2 or x.shape[1] != count):
            raise self.shape_error(f"[batch, {count}, …]", x.shape)
        given, alpha = working_values(self, working_input(self, x), self.alpha)
        along = alpha.reshape(count, *(1,) * max(0, x.rank - 2)) if count > 1 else alpha[0]
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            result = np.where(given > 0, given, given * along)
        return Tensor(result)


@dataclass(frozen=True, slots=True)
class PReluConfig:
    """Settings of a PRelu."""

    num_parameters: int = 1
    alpha: float = 0.25

    def init(self, device: HostDevice, *, seed: int = 0) -> PRelu:
        """A new layer; its first values do not depend on the seed."""
        return PRelu(self.num_parameters, alpha=self.alpha)
