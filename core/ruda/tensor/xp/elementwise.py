"""Functions of each element, or of two that broadcast; numbers may stand for one of two."""

from __future__ import annotations

from ruda.tensor.operations import elementwise
from ruda.tensor.promotion import Scalar
from ruda.tensor.tensor import Tensor
from ruda.tensor.xp._given import array, either, wrap


def abs(x: Tensor, /) -> Tensor:
    """Magnitude; of complex numbers a float. That of the least integer wraps around to itself."""
    return wrap(elementwise.absolute(array("abs", x)))


def acos(x: Tensor, /) -> Tensor:
    """Inverse cosine in radians."""
    return wrap(elementwise.acos(array("acos", x)))


def acosh(x: Tensor, /) -> Tensor:
    """Inverse hyperbolic cosine."""
    return wrap(elementwise.acosh(array("acosh", x)))


def asin(x: Tensor, /) -> Tensor:
    """Inverse sine in radians."""
    return wrap(elementwise.asin(array("asin", x)))


def asinh(x: Tensor, /) -> Tensor:
    """Inverse hyperbolic sine."""
    return wrap(elementwise.asinh(array("asinh", x)))


def atan(x: Tensor, /) -> Tensor:
    """Inverse tangent in radians."""
    return wrap(elementwise.atan(array("atan", x)))


def atanh(x: Tensor, /) -> Tensor:
    """Inverse hyperbolic tangent."""
    return wrap(elementwise.atanh(array("atanh", x)))


def bitwise_invert(x: Tensor, /) -> Tensor:
    """Every bit turned over."""
    return wrap(elementwise.bitwise_not(array("bitwise_invert", x)))


def ceil(x: Tensor, /) -> Tensor:
    """Next whole number above."""
    return wrap(elementwise.ceil(array("ceil", x)))


def conj(x: Tensor, /) -> Tensor:
    """Complex conjugate."""
    return wrap(elementwise.conj(array("conj", x)))


def cos(x: Tensor, /) -> Tensor:
    """Cosine of radians."""
    return wrap(elementwise.cos(array("cos", x)))


def cosh(x: Tensor, /) -> Tensor:
    """Hyperbolic cosine."""
    return wrap(elementwise.cosh(array("cosh", x)))


def exp(x: Tensor, /) -> Tensor:
    """Exponential, e to the power x."""
    return wrap(elementwise.exp(array("exp", x)))


def expm1(x: Tensor, /) -> Tensor:
    """exp(x) - 1, exact near 0."""
    return wrap(elementwise.expm1(array("expm1", x)))


def floor(x: Tensor, /) -> Tensor:
    """Next whole number below."""
    return wrap(elementwise.floor(array("floor", x)))


def imag(x: Tensor, /) -> Tensor:
    """Imaginary part; a view."""
    return wrap(elementwise.imag(array("imag", x)))


def isfinite(x: Tensor, /) -> Tensor:
    """Where values are neither NaN nor infinite."""
    return wrap(elementwise.is_finite(array("isfinite", x)))


def isinf(x: Tensor, /) -> Tensor:
    """Where values are infinite."""
    return wrap(elementwise.is_inf(array("isinf", x)))


def isnan(x: Tensor, /) -> Tensor:
    """Where values are NaN."""
    return wrap(elementwise.is_nan(array("isnan", x)))


def log(x: Tensor, /) -> Tensor:
    """Natural logarithm."""
    return wrap(elementwise.log(array("log", x)))


def log1p(x: Tensor, /) -> Tensor:
    """log(1 + x), exact near 0."""
    return wrap(elementwise.log1p(array("log1p", x)))


def log2(x: Tensor, /) -> Tensor:
    """Logarithm to base 2."""
    return wrap(elementwise.log2(array("log2", x)))


def log10(x: Tensor, /) -> Tensor:
    """Logarithm to base 10."""
    return wrap(elementwise.log10(array("log10", x)))


def logical_not(x: Tensor, /) -> Tensor:
    """True where the value is False."""
    return wrap(elementwise.logical_not(array("logical_not", x)))


def negative(x: Tensor, /) -> Tensor:
    """Opposite sign."""
    return wrap(elementwise.negative(array("negative", x)))


def positive(x: Tensor, /) -> Tensor:
    """The values as they are."""
    return wrap(elementwise.positive(array("positive", x)))


def real(x: Tensor, /) -> Tensor:
    """Real part; a view."""
    return wrap(elementwise.real(array("real", x)))


def reciprocal(x: Tensor, /) -> Tensor:
    """1 / x."""
    return wrap(elementwise.reciprocal(array("reciprocal", x)))


def round(x: Tensor, /) -> Tensor:
    """Nearest whole number, halves to even."""
    return wrap(elementwise.rounded(array("round", x)))


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; of complex numbers z / |z|."""
    return wrap(elementwise.sign(array("sign", x)))


def signbit(x: Tensor, /) -> Tensor:
    """Where the sign bit is set, as in -0."""
    return wrap(elementwise.signbit(array("signbit", x)))


def sin(x: Tensor, /) -> Tensor:
    """Sine of radians."""
    return wrap(elementwise.sin(array("sin", x)))


def sinh(x: Tensor, /) -> Tensor:
    """Hyperbolic sine."""
    return wrap(elementwise.sinh(array("sinh", x)))


def sqrt(x: Tensor, /) -> Tensor:
    """Square root."""
    return wrap(elementwise.sqrt(array("sqrt", x)))


def square(x: Tensor, /) -> Tensor:
    """Square, x · x."""
    return wrap(elementwise.square(array("square", x)))


def tan(x: Tensor, /) -> Tensor:
    """Tangent of radians."""
    return wrap(elementwise.tan(array("tan", x)))


def tanh(x: Tensor, /) -> Tensor:
    """Hyperbolic tangent."""
    return wrap(elementwise.tanh(array("tanh", x)))


def trunc(x: Tensor, /) -> Tensor:
    """Whole part, towards 0."""
    return wrap(elementwise.trunc(array("trunc", x)))


def add(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Sum."""
    return wrap(elementwise.add(either("add", x1), either("add", x2)))


def atan2(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Angle in radians of the point (x2, x1)."""
    return wrap(elementwise.atan2(either("atan2", x1), either("atan2", x2)))


def bitwise_and(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Bits that both have."""
    return wrap(elementwise.bitwise_and(either("bitwise_and", x1), either("bitwise_and", x2)))


def bitwise_left_shift(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Bits moved up."""
    return wrap(
        elementwise.left_shift(either("bitwise_left_shift", x1), either("bitwise_left_shift", x2))
    )


def bitwise_or(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Bits that either has."""
    return wrap(elementwise.bitwise_or(either("bitwise_or", x1), either("bitwise_or", x2)))


def bitwise_right_shift(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Bits moved down; the sign stays."""
    return wrap(
        elementwise.right_shift(
            either("bitwise_right_shift", x1), either("bitwise_right_shift", x2)
        )
    )


def bitwise_xor(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Bits that exactly one has."""
    return wrap(elementwise.bitwise_xor(either("bitwise_xor", x1), either("bitwise_xor", x2)))


def copysign(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Magnitude of x1 with the sign of x2."""
    return wrap(elementwise.copysign(either("copysign", x1), either("copysign", x2)))


def divide(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Quotient of floats."""
    return wrap(elementwise.divide(either("divide", x1), either("divide", x2)))


def equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where values are equal."""
    return wrap(elementwise.equal(either("equal", x1), either("equal", x2)))


def floor_divide(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Whole quotient, rounded down."""
    return wrap(elementwise.floor_divide(either("floor_divide", x1), either("floor_divide", x2)))


def greater(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where x1 > x2."""
    return wrap(elementwise.greater(either("greater", x1), either("greater", x2)))


def greater_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where x1 ≥ x2."""
    return wrap(elementwise.greater_equal(either("greater_equal", x1), either("greater_equal", x2)))


def hypot(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """√(x1² + x2²)."""
    return wrap(elementwise.hypot(either("hypot", x1), either("hypot", x2)))


def less(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where x1 < x2."""
    return wrap(elementwise.less(either("less", x1), either("less", x2)))


def less_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where x1 ≤ x2."""
    return wrap(elementwise.less_equal(either("less_equal", x1), either("less_equal", x2)))


def logaddexp(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """log(exp(x1) + exp(x2))."""
    return wrap(elementwise.logaddexp(either("logaddexp", x1), either("logaddexp", x2)))


def logical_and(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where both are True."""
    return wrap(elementwise.logical_and(either("logical_and", x1), either("logical_and", x2)))


def logical_or(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where either is True."""
    return wrap(elementwise.logical_or(either("logical_or", x1), either("logical_or", x2)))


def logical_xor(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where exactly one is True."""
    return wrap(elementwise.logical_xor(either("logical_xor", x1), either("logical_xor", x2)))


def maximum(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """The larger of two; NaN wins."""
    return wrap(elementwise.maximum(either("maximum", x1), either("maximum", x2)))


def minimum(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """The smaller of two; NaN wins."""
    return wrap(elementwise.minimum(either("minimum", x1), either("minimum", x2)))


def multiply(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Product."""
    return wrap(elementwise.multiply(either("multiply", x1), either("multiply", x2)))


def nextafter(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """The next float of x1 towards x2."""
    return wrap(elementwise.nextafter(either("nextafter", x1), either("nextafter", x2)))


def not_equal(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Where values differ."""
    return wrap(elementwise.not_equal(either("not_equal", x1), either("not_equal", x2)))


def pow(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """x1 to the power x2."""
    return wrap(elementwise.power(either("pow", x1), either("pow", x2)))


def remainder(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Rest of the division, with the sign of the divisor."""
    return wrap(elementwise.remainder(either("remainder", x1), either("remainder", x2)))


def subtract(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Difference."""
    return wrap(elementwise.subtract(either("subtract", x1), either("subtract", x2)))


def clip(
    x: Tensor, /, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None
) -> Tensor:
    """Values below ``min`` become it, those above ``max`` that; NaN stays NaN."""
    bounds = [None if one is None else either("clip", one) for one in (min, max)]
    return wrap(elementwise.clip(array("clip", x), bounds[0], bounds[1]))
