"""Bilinear: a form in two inputs, linear in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruda.errors import SettingError
from ruda.nn.init import DEFAULT, Fans, Initializer, derive_seed
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.tensor import HostDevice, Tensor


class Bilinear(Module):
    """y[o] = Σ x₁[i] · weight[o, i, j] · x₂[j] + bias[o] on the last axes of two inputs.

    ``weight`` is (d_output, d_input_1, d_input_2), ``bias`` (d_output) or None, both as in PyTorch.
    """

    def __init__(
        self,
        d_input_1: int,
        d_input_2: int,
        d_output: int,
        *,
        bias: bool = True,
        initializer: Initializer = DEFAULT,
        seed: int = 0,
    ) -> None:
        if min(d_input_1, d_input_2, d_output) < 1:
            raise SettingError(
                f"Bilinear needs positive sizes, got {d_input_1}, {d_input_2} and {d_output}"
            )
        fans = Fans(d_input_1, d_output)  # PyTorch's range is that of the first input
        self.weight = Param(
            (d_output, d_input_1, d_input_2),
            initializer,
            fans=fans,
            seed=derive_seed(seed, "weight"),
        )
        self.bias = (
            Param((d_output,), initializer, fans=fans, seed=derive_seed(seed, "bias"))
            if bias
            else None
        )

    def forward_pair(self, x: Tensor, other: Tensor) -> Tensor:
        """(…, d_input_1) and (…, d_input_2) → (…, d_output), alike in all axes but the last.

        Raises ShapeError and DTypeError naming the layer.
        """
        d_output, first, second = self.weight.shape
        if not x.rank or x.shape[-1] != first:
            raise self.shape_error(f"[…, {first}] as the first", x.shape)
        if other.shape != (*x.shape[:-1], second):
            raise self.shape_error(f"{[*x.shape[:-1], second]} as the second", other.shape)
        left, right = working_input(self, x), working_input(self, other)
        left = left.astype(np.promote_types(left.dtype, right.dtype), copy=False)
        left, weight, *bias = working_values(self, left, self.weight, self.bias)
        left = left.reshape(-1, first)
        right = right.astype(left.dtype, copy=False).reshape(-1, second)
        result = np.empty((left.shape[0], d_output), left.dtype)
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            for at in range(d_output):  # one product each: all at once are as large as the pairs
                result[:, at] = (np.matmul(left, weight[at]) * right).sum(axis=-1)
            if bias:
                result += bias[0]
        return Tensor(result.reshape(*x.shape[:-1], d_output))


@dataclass(frozen=True, slots=True)
class BilinearConfig:
    """Settings of a Bilinear."""

    d_input_1: int
    d_input_2: int
    d_output: int
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: HostDevice, *, seed: int = 0) -> Bilinear:
        """A new layer; its values are drawn from the seed when first needed."""
        return Bilinear(
            self.d_input_1,
            self.d_input_2,
            self.d_output,
            bias=self.bias,
            initializer=self.initializer,
            seed=seed,
        )
