"""Activations: Relu and Relu6, Gelu and its approximation, Silu, and PRelu with a learned slope."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.errors import SettingError
from ruda.nn.init import Constant
from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.nn.precision import working_input, working_values
from ruda.tensor import HostDevice, Tensor

Array = np.ndarray[Any, Any]

_BLOCK = 1 << 14
"""Values at a time: the temporaries of one block stay in the cache."""

# Rational approximations of the Cephes library (Moshier): below 1 erf(x) = x · T(x²) / U(x²),
# from there on erfc(x) = exp(-x²) · P(x) / Q(x). Leading coefficients of U and Q are 1.
_T = (9.60497373987051638749, 90.0260197203842689217, 2232.00534594684319226,
      7003.32514112805075473, 55592.3013010394962768)  # fmt: skip
_U = (1.0, 33.5617141647503099647, 521.357949780152679795, 4594.32382970980127987,
      22629.0000613890934246, 49267.3942608635921086)  # fmt: skip
_P = (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687,
      48.6371970985681366614, 196.520832956077098242, 526.445194995477358631,
      934.528527171957607540, 1027.55188689515710272, 557.535335369399327526)  # fmt: skip
_Q = (1.0, 13.2281951154744992508, 86.7072140885989742329, 354.937778887819891062,
      975.708501743205489753, 1823.90916687909736289, 2246.33760818710981792,
      1656.66309194161350182, 557.535340817727675546)  # fmt: skip


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
        """Any shape. Raises DTypeError unless the input is a float."""
        given = working_input(self, x)
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
        """Any shape. Raises DTypeError unless the input is a float."""
        given = working_input(self, x)
        if self._approximate:
            return Tensor(_gelu_tanh(given))
        result = np.empty_like(given, order="C")
        flat, out = np.ascontiguousarray(given).reshape(-1), result.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK].astype(np.float64)
            with np.errstate(all="ignore"):
                # Φ through erfc keeps its digits where erf is close to -1.
                share = _erfc(np.abs(block) * np.sqrt(0.5)) * 0.5
                value = block * np.where(block < 0, share, 1.0 - share)
            # exp(-x²) is 0 long before x is; -Inf · 0 would be NaN.
            out[start : start + _BLOCK] = np.where(np.isneginf(block), -0.0, value)
        return Tensor(result)


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


def _gelu_tanh(x: Array) -> Array:
    one = x.dtype.type
    with np.errstate(all="ignore"):
        inner = np.tanh(one(math.sqrt(2 / math.pi)) * (x + one(0.044715) * (x * x * x)))
        # -Inf · 0 would be NaN; the limit is 0.
        result: Array = np.where(np.isneginf(x), -one(0), one(0.5) * x * (1 + inner))
        return result


def erf(x: Array) -> Array:
    """The error function of f64 values, within 2e-15."""
    with np.errstate(all="ignore"):
        return np.copysign(1.0 - _erfc(np.abs(x)), x)


def _erfc(x: Array) -> Array:
    """1 - erf of values that are not negative; NaN stays NaN."""
    square = x * x
    near = 1.0 - x * _polynomial(square, _T) / _polynomial(square, _U)
    far = np.exp(-square) * _polynomial(x, _P) / _polynomial(x, _Q)
    return np.where(x < 1.0, near, np.where(x > 8.0, np.where(np.isnan(x), x, 0.0), far))


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    result = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result *= x
        result += coefficient
    return result
