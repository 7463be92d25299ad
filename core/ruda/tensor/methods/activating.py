"""Activations of floats."""

from __future__ import annotations

from typing import Self

from ruda.tensor.methods.held import Held, tensor_array
from ruda.tensor.operations import activations


class Activating(Held):
    """Functions between layers; halves are computed in f32 and rounded once."""

    __slots__ = ()

    def relu(self) -> Self:
        """Negative values become 0; NaN stays NaN."""
        return self._new(activations.relu(self._array))

    def relu6(self) -> Self:
        """Negative values become 0, those above 6 become 6."""
        return self._new(activations.hard_tanh(self._array, 0.0, 6.0))

    def hard_tanh(self, low: float = -1.0, high: float = 1.0) -> Self:
        """Values kept between two ends."""
        return self._new(activations.hard_tanh(self._array, low, high))

    def leaky_relu(self, slope: float = 0.01) -> Self:
        """x, or ``slope`` · x below 0."""
        return self._new(activations.leaky_relu(self._array, slope))

    def prelu(self, slopes: Self) -> Self:
        """x, or slope · x below 0: one slope for all, or one for each channel (axis 1)."""
        return self._new(activations.prelu(self._array, tensor_array("prelu", slopes)))

    def sigmoid(self) -> Self:
        """1 / (1 + exp(-x))."""
        return self._new(activations.sigmoid(self._array))

    def silu(self) -> Self:
        """Value x · sigmoid(x), which is called swish as well."""
        return self._new(activations.silu(self._array))

    def gelu(self) -> Self:
        """Value x · Φ(x) with the exact error function."""
        return self._new(activations.gelu(self._array))

    def gelu_approximate(self) -> Self:
        """GELU by way of tanh, as GPT-2 has it."""
        return self._new(activations.gelu_approximate(self._array))

    def elu(self, alpha: float = 1.0) -> Self:
        """x, or ``alpha`` · (exp(x) - 1) below 0."""
        return self._new(activations.elu(self._array, alpha))

    def celu(self, alpha: float = 1.0) -> Self:
        """x, or ``alpha`` · (exp(x / ``alpha``) - 1) below 0."""
        return self._new(activations.celu(self._array, alpha))

    def selu(self) -> Self:
        """1.0507 · elu(x, 1.6733)."""
        return self._new(activations.selu(self._array))

    def softplus(self, beta: float = 1.0, threshold: float = 20.0) -> Self:
        """log(1 + exp(``beta`` · x)) / ``beta``; x where ``beta`` · x is above ``threshold``."""
        return self._new(activations.softplus(self._array, beta, threshold))

    def mish(self) -> Self:
        """Value x · tanh(softplus(x))."""
        return self._new(activations.mish(self._array))

    def log_sigmoid(self) -> Self:
        """log(sigmoid(x)), without underflow."""
        return self._new(activations.log_sigmoid(self._array))

    def hard_sigmoid(self, alpha: float = 1 / 6, beta: float = 0.5) -> Self:
        """``alpha`` · x + ``beta``, kept between 0 and 1."""
        return self._new(activations.hard_sigmoid(self._array, alpha, beta))

    def hard_swish(self) -> Self:
        """Value x · clip(x + 3, 0, 6) / 6."""
        return self._new(activations.hard_swish(self._array))

    def tanh_shrink(self) -> Self:
        """Value x - tanh(x)."""
        return self._new(activations.tanh_shrink(self._array))

    def soft_sign(self) -> Self:
        """Value x / (1 + |x|)."""
        return self._new(activations.soft_sign(self._array))

    def hard_shrink(self, width: float = 0.5) -> Self:
        """0 between -``width`` and ``width``, x elsewhere."""
        return self._new(activations.hard_shrink(self._array, width))

    def soft_shrink(self, width: float = 0.5) -> Self:
        """0 between -``width`` and ``width``, x moved towards 0 by it elsewhere."""
        return self._new(activations.soft_shrink(self._array, width))

    def shrink(self, width: float = 0.5, bias: float = 0.0) -> Self:
        """0 between -``width`` and ``width``, x moved towards 0 by ``bias`` elsewhere."""
        return self._new(activations.shrink(self._array, width, bias))

    def threshold(self, threshold: float, value: float) -> Self:
        """Keeps x where it is above ``threshold``, ``value`` elsewhere."""
        return self._new(activations.thresholded(self._array, threshold, value))

    def glu(self, axis: int = -1) -> Self:
        """First half of an axis times the sigmoid of the second."""
        return self._new(activations.glu(self._array, axis))

    def softmax(self, axis: int = -1) -> Self:
        """exp(x) / Σ exp(x) along an axis."""
        return self._new(activations.softmax(self._array, axis))

    def quiet_softmax(self, axis: int = -1) -> Self:
        """exp(x) / (1 + Σ exp(x)) along an axis."""
        return self._new(activations.quiet_softmax(self._array, axis))

    def log_softmax(self, axis: int = -1) -> Self:
        """Logarithm of the softmax, without underflow."""
        return self._new(activations.log_softmax(self._array, axis))

    def softmin(self, axis: int = -1) -> Self:
        """Softmax of -x."""
        return self._new(activations.softmin(self._array, axis))

    def logsumexp(self, axis: int = -1, *, keepdims: bool = False) -> Self:
        """Logarithm of Σ exp(x) along an axis, safe for large values."""
        return self._new(activations.log_sum_exp(self._array, axis, keepdims=keepdims))
