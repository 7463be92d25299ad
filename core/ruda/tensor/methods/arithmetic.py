"""Arithmetic: operators, and functions of each element alone or of two that broadcast."""

from __future__ import annotations

from typing import Self

from ruda.tensor.methods.held import Held, Number, operand, tensor_array
from ruda.tensor.operations import elementwise


class Operators(Held):
    """Python's operators. Comparisons are element by element, so a tensor has no hash.

    Integers wrap around in their dtype. Raises DTypeError for what is no tensor and no Python
    number, for a number that does not fit the dtype, and for ``/`` of integers; OperationError for
    an integer divided by 0, raised to a negative power, or shifted by a negative number of bits.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Self | Number) -> Self:
        return self._new(elementwise.add(self._array, operand("add", other)))

    def __radd__(self, other: Number) -> Self:
        return self._new(elementwise.add(operand("add", other), self._array))

    def __sub__(self, other: Self | Number) -> Self:
        return self._new(elementwise.subtract(self._array, operand("subtract", other)))

    def __rsub__(self, other: Number) -> Self:
        return self._new(elementwise.subtract(operand("subtract", other), self._array))

    def __mul__(self, other: Self | Number) -> Self:
        return self._new(elementwise.multiply(self._array, operand("multiply", other)))

    def __rmul__(self, other: Number) -> Self:
        return self._new(elementwise.multiply(operand("multiply", other), self._array))

    def __truediv__(self, other: Self | Number) -> Self:
        return self._new(elementwise.divide(self._array, operand("divide", other)))

    def __rtruediv__(self, other: Number) -> Self:
        return self._new(elementwise.divide(operand("divide", other), self._array))

    def __floordiv__(self, other: Self | Number) -> Self:
        return self._new(elementwise.floor_divide(self._array, operand("floor_divide", other)))

    def __rfloordiv__(self, other: Number) -> Self:
        return self._new(elementwise.floor_divide(operand("floor_divide", other), self._array))

    def __mod__(self, other: Self | Number) -> Self:
        return self._new(elementwise.remainder(self._array, operand("remainder", other)))

    def __rmod__(self, other: Number) -> Self:
        return self._new(elementwise.remainder(operand("remainder", other), self._array))

    def __pow__(self, other: Self | Number) -> Self:
        return self._new(elementwise.power(self._array, operand("pow", other)))

    def __rpow__(self, other: Number) -> Self:
        return self._new(elementwise.power(operand("pow", other), self._array))

    def __and__(self, other: Self | Number) -> Self:
        return self._new(elementwise.bitwise_and(self._array, operand("bitwise_and", other)))

    def __rand__(self, other: Number) -> Self:
        return self._new(elementwise.bitwise_and(operand("bitwise_and", other), self._array))

    def __or__(self, other: Self | Number) -> Self:
        return self._new(elementwise.bitwise_or(self._array, operand("bitwise_or", other)))

    def __ror__(self, other: Number) -> Self:
        return self._new(elementwise.bitwise_or(operand("bitwise_or", other), self._array))

    def __xor__(self, other: Self | Number) -> Self:
        return self._new(elementwise.bitwise_xor(self._array, operand("bitwise_xor", other)))

    def __rxor__(self, other: Number) -> Self:
        return self._new(elementwise.bitwise_xor(operand("bitwise_xor", other), self._array))

    def __lshift__(self, other: Self | Number) -> Self:
        return self._new(elementwise.left_shift(self._array, operand("shift", other)))

    def __rlshift__(self, other: Number) -> Self:
        return self._new(elementwise.left_shift(operand("shift", other), self._array))

    def __rshift__(self, other: Self | Number) -> Self:
        return self._new(elementwise.right_shift(self._array, operand("shift", other)))

    def __rrshift__(self, other: Number) -> Self:
        return self._new(elementwise.right_shift(operand("shift", other), self._array))

    def __eq__(self, other: Self | Number) -> Self:  # type: ignore[override]
        return self._new(elementwise.equal(self._array, operand("equal", other)))

    def __ne__(self, other: Self | Number) -> Self:  # type: ignore[override]
        return self._new(elementwise.not_equal(self._array, operand("not_equal", other)))

    def __lt__(self, other: Self | Number) -> Self:
        return self._new(elementwise.less(self._array, operand("less", other)))

    def __le__(self, other: Self | Number) -> Self:
        return self._new(elementwise.less_equal(self._array, operand("less_equal", other)))

    def __gt__(self, other: Self | Number) -> Self:
        return self._new(elementwise.greater(self._array, operand("greater", other)))

    def __ge__(self, other: Self | Number) -> Self:
        return self._new(elementwise.greater_equal(self._array, operand("greater_equal", other)))

    def __neg__(self) -> Self:
        return self._new(elementwise.negative(self._array))

    def __pos__(self) -> Self:
        return self._new(elementwise.positive(self._array))

    def __abs__(self) -> Self:
        return self._new(elementwise.absolute(self._array))

    def __invert__(self) -> Self:
        return self._new(elementwise.bitwise_not(self._array))


class Elementwise(Held):
    """Functions of each element; halves are computed in f32 and rounded once."""

    __slots__ = ()

    def abs(self) -> Self:
        """Magnitude; of complex numbers a float. That of the least integer wraps to itself."""
        return self._new(elementwise.absolute(self._array))

    def sign(self) -> Self:
        """-1, 0 or 1 by sign; NaN stays NaN; of complex numbers z / |z|."""
        return self._new(elementwise.sign(self._array))

    def recip(self) -> Self:
        """1 / x."""
        return self._new(elementwise.reciprocal(self._array))

    def square(self) -> Self:
        """Square, x · x."""
        return self._new(elementwise.square(self._array))

    def sqrt(self) -> Self:
        """Square root; NaN below 0."""
        return self._new(elementwise.sqrt(self._array))

    def exp(self) -> Self:
        """Exponential, e to the power x."""
        return self._new(elementwise.exp(self._array))

    def expm1(self) -> Self:
        """exp(x) - 1, exact near 0."""
        return self._new(elementwise.expm1(self._array))

    def log(self) -> Self:
        """Natural logarithm; -Inf at 0, NaN below."""
        return self._new(elementwise.log(self._array))

    def log1p(self) -> Self:
        """log(1 + x), exact near 0."""
        return self._new(elementwise.log1p(self._array))

    def log2(self) -> Self:
        """Logarithm to base 2."""
        return self._new(elementwise.log2(self._array))

    def log10(self) -> Self:
        """Logarithm to base 10."""
        return self._new(elementwise.log10(self._array))

    def sin(self) -> Self:
        """Sine of radians."""
        return self._new(elementwise.sin(self._array))

    def cos(self) -> Self:
        """Cosine of radians."""
        return self._new(elementwise.cos(self._array))

    def tan(self) -> Self:
        """Tangent of radians."""
        return self._new(elementwise.tan(self._array))

    def asin(self) -> Self:
        """Angle in radians with this sine; NaN outside -1 to 1."""
        return self._new(elementwise.asin(self._array))

    def acos(self) -> Self:
        """Angle in radians with this cosine; NaN outside -1 to 1."""
        return self._new(elementwise.acos(self._array))

    def atan(self) -> Self:
        """Angle in radians with this tangent."""
        return self._new(elementwise.atan(self._array))

    def sinh(self) -> Self:
        """Hyperbolic sine."""
        return self._new(elementwise.sinh(self._array))

    def cosh(self) -> Self:
        """Hyperbolic cosine."""
        return self._new(elementwise.cosh(self._array))

    def tanh(self) -> Self:
        """Hyperbolic tangent."""
        return self._new(elementwise.tanh(self._array))

    def asinh(self) -> Self:
        """Inverse hyperbolic sine."""
        return self._new(elementwise.asinh(self._array))

    def acosh(self) -> Self:
        """Inverse hyperbolic cosine; NaN below 1."""
        return self._new(elementwise.acosh(self._array))

    def atanh(self) -> Self:
        """Inverse hyperbolic tangent; NaN outside -1 to 1."""
        return self._new(elementwise.atanh(self._array))

    def erf(self) -> Self:
        """Error function; within 4 ulp in f32, and in f64."""
        return self._new(elementwise.erf(self._array))

    def erfc(self) -> Self:
        """1 - erf(x), exact where that is small."""
        return self._new(elementwise.erfc(self._array))

    def deg2rad(self) -> Self:
        """Degrees as radians."""
        return self._new(elementwise.deg2rad(self._array))

    def rad2deg(self) -> Self:
        """Radians as degrees."""
        return self._new(elementwise.rad2deg(self._array))

    def round(self) -> Self:
        """Nearest whole number, halves to even."""
        return self._new(elementwise.rounded(self._array))

    def floor(self) -> Self:
        """Next whole number below."""
        return self._new(elementwise.floor(self._array))

    def ceil(self) -> Self:
        """Next whole number above."""
        return self._new(elementwise.ceil(self._array))

    def trunc(self) -> Self:
        """Whole part, towards 0."""
        return self._new(elementwise.trunc(self._array))

    def is_nan(self) -> Self:
        """Where values are NaN, as bool."""
        return self._new(elementwise.is_nan(self._array))

    def is_inf(self) -> Self:
        """Where values are Inf or -Inf, as bool."""
        return self._new(elementwise.is_inf(self._array))

    def is_finite(self) -> Self:
        """Where values are neither NaN nor infinite, as bool."""
        return self._new(elementwise.is_finite(self._array))

    def bool_not(self) -> Self:
        """True where a bool tensor is False."""
        return self._new(elementwise.logical_not(self._array))

    def bitwise_not(self) -> Self:
        """Every bit turned over."""
        return self._new(elementwise.bitwise_not(self._array))

    def fmod(self, other: Self | Number) -> Self:
        """Rest of the division with the sign of the dividend; ``%`` has that of the divisor."""
        return self._new(elementwise.fmod(self._array, operand("fmod", other)))

    def atan2(self, other: Self | Number) -> Self:
        """Angle in radians of the point (other, self), in its quadrant."""
        return self._new(elementwise.atan2(self._array, operand("atan2", other)))

    def hypot(self, other: Self | Number) -> Self:
        """√(self² + other²) without overflow on the way."""
        return self._new(elementwise.hypot(self._array, operand("hypot", other)))

    def lerp(self, end: Self, weight: Self | Number) -> Self:
        """Move by weight: self + weight · (end - self), exact at weights 0 and 1; floats only."""
        return self._new(
            elementwise.lerp(self._array, tensor_array("lerp", end), operand("lerp", weight))
        )

    def max_pair(self, other: Self | Number) -> Self:
        """The larger of two; NaN wins."""
        return self._new(elementwise.maximum(self._array, operand("max_pair", other)))

    def min_pair(self, other: Self | Number) -> Self:
        """The smaller of two; NaN wins."""
        return self._new(elementwise.minimum(self._array, operand("min_pair", other)))

    def equal(self, other: Self | Number) -> Self:
        """Bool tensor: where values are equal. NaN equals nothing."""
        return self._new(elementwise.equal(self._array, operand("equal", other)))

    def not_equal(self, other: Self | Number) -> Self:
        """Where values differ, as bool; NaN differs from everything."""
        return self._new(elementwise.not_equal(self._array, operand("not_equal", other)))

    def greater(self, other: Self | Number) -> Self:
        """Where self > other, as bool."""
        return self._new(elementwise.greater(self._array, operand("greater", other)))

    def greater_equal(self, other: Self | Number) -> Self:
        """Where self ≥ other, as bool."""
        return self._new(elementwise.greater_equal(self._array, operand("greater_equal", other)))

    def lower(self, other: Self | Number) -> Self:
        """Where self < other, as bool."""
        return self._new(elementwise.less(self._array, operand("lower", other)))

    def lower_equal(self, other: Self | Number) -> Self:
        """Where self ≤ other, as bool."""
        return self._new(elementwise.less_equal(self._array, operand("lower_equal", other)))

    def bool_and(self, other: Self | Number) -> Self:
        """Where both bool tensors are True."""
        return self._new(elementwise.logical_and(self._array, operand("bool_and", other)))

    def bool_or(self, other: Self | Number) -> Self:
        """Where either bool tensor is True."""
        return self._new(elementwise.logical_or(self._array, operand("bool_or", other)))

    def bool_xor(self, other: Self | Number) -> Self:
        """Where exactly one bool tensor is True."""
        return self._new(elementwise.logical_xor(self._array, operand("bool_xor", other)))

    def clamp(self, low: Self | Number | None = None, high: Self | Number | None = None) -> Self:
        """Values below ``low`` become it, those above ``high`` that; NaN stays NaN."""
        bounds = [None if one is None else operand("clamp", one) for one in (low, high)]
        return self._new(elementwise.clip(self._array, bounds[0], bounds[1]))

    def is_close(self, other: Self | Number, *, rtol: float = 1e-5, atol: float = 1e-8) -> Self:
        """Where |self - other| ≤ atol + rtol · |other|; equal infinities are close, NaN is not."""
        return self._new(elementwise.is_close(self._array, operand("is_close", other), rtol, atol))

    def all_close(self, other: Self | Number, *, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """True where every element is close."""
        return bool(self.is_close(other, rtol=rtol, atol=atol)._array.all())

    def contains_nan(self) -> bool:
        """True where any value is NaN."""
        return bool(elementwise.is_nan(self._array).any())
