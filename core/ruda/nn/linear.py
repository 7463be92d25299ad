"""Linear: a matrix product and a bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruda.errors import SettingError
from ruda.nn.init import DEFAULT, Fans, Initializer, derive_seed
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.tensor import HostDevice, Tensor


class Linear(Module):
    """y = x · weight + bias on the last axis: (…, d_input) → (…, d_output).

    ``weight`` is (d_input, d_output), the transpose of PyTorch's; ``bias`` is (d_output) or None.
    """

    def __init__(
        self,
        d_input: int,
        d_output: int,
        *,
        bias: bool = True,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        if d_input < 1 or d_output < 1:
            raise SettingError(f"Linear needs positive sizes, got {d_input} and {d_output}")
        fans = Fans(d_input, d_output)
        self.weight = Param(
            (d_input, d_output), initializer, fans=fans, seed=derive_seed(seed, "weight")
        )
        self.bias = (
            Param((d_output,), initializer, fans=fans, seed=derive_seed(seed, "bias"))
            if bias
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """(…, d_input) → (…, d_output). Raises ShapeError and DTypeError naming the layer."""
        d_input, d_output = self.weight.shape
        if not x.rank or x.shape[-1] != d_input:
            raise self.shape_error(f"[…, {d_input}]", x.shape)
        given, weight, *bias = working_values(self, working_input(self, x), self.weight, self.bias)
        # One product over all rows: BLAS is slower on many small ones.
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            result = np.matmul(given.reshape(-1, d_input), weight)
            if bias:
                result += bias[0]
        return Tensor(result.reshape(*x.shape[:-1], d_output))


@dataclass(frozen=True, slots=True)
class LinearConfig:
    """Settings of a Linear."""

    d_input: int
    d_output: int
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> Linear:
        """A new layer; its values are drawn from the seed when first needed."""
        return Linear(
            self.d_input, self.d_output, bias=self.bias, initializer=self.initializer, seed=seed
        )
