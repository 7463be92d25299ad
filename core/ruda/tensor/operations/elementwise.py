"""Functions of each element alone, or of two elements that broadcast.

Results follow IEEE arithmetic: an overflow is Inf and an invalid operation NaN, without warnings.
Integers wrap around; shifts by their width or more leave nothing of them but the sign. Comparisons
of integers with floats are exact: nothing is rounded to a common dtype first. Halves are computed
in f32 and rounded once at the end. Special cases are those of the Array API standard, 2024.12;
where NumPy differs (floor division by an infinity,
expm1, log1p, tanh and sign of complex numbers) the standard is followed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ruda import _kernels
from ruda.errors import DTypeError, OperationError
from ruda.tensor.dtype import DType
from ruda.tensor.operations import special
from ruda.tensor.operations.operands import (
    Array,
    Operand,
    check_broadcast,
    common_shape,
    dtype_of,
    pair,
    recast,
)
from ruda.tensor.promotion import (
    accumulator,
    promote,
    promote_scalar,
    require_computable,
    require_float,
    require_inexact,
    require_integer,
    require_real,
)
from ruda.tensor.sizes import number

Unary = Callable[[Array], Array]
Binary = Callable[[Operand, Operand], Array]
Check = Callable[[str, DType], None]


def _bool_has_no_arithmetic(name: str, dtype: DType) -> None:
    require_computable(name, dtype)
    if dtype is DType.BOOL:
        raise DTypeError(f"{name}: bool tensors have no arithmetic; cast one to i32 first")


def _real_arithmetic(name: str, dtype: DType) -> None:
    require_real(name, dtype)
    _bool_has_no_arithmetic(name, dtype)


def _integer_or_bool(name: str, dtype: DType) -> None:
    require_integer(name, dtype, or_bool=True)


def _only_bool(name: str, dtype: DType) -> None:
    if dtype is not DType.BOOL:
        raise DTypeError(f"{name}: needs a bool tensor, got {dtype}; compare it with 0 first")


def _binary(name: str, compute: Callable[[Array, Array], Array], check: Check) -> Binary:
    def run(left: Operand, right: Operand) -> Array:
        a, b, result = pair(name, left, right)
        check(name, result)
        with np.errstate(all="ignore"):
            return np.asarray(compute(a, b))

    return run


def _comparison(name: str, compute: Callable[[Array, Array], Array], check: Check) -> Binary:
    """As ``_binary``; of integers and floats neither is rounded to the dtype of the other."""
    alike = _binary(name, compute, check)

    def run(left: Operand, right: Operand) -> Array:
        with np.errstate(all="ignore"):
            if isinstance(left, np.ndarray) and left.dtype.kind in "iu" and _is_real(right):
                return np.asarray(compute(*_unrounded(name, left, right)))
            if isinstance(right, np.ndarray) and right.dtype.kind in "iu" and _is_real(left):
                return np.asarray(compute(*reversed(_unrounded(name, right, left))))
        return alike(left, right)

    return run


def _is_real(value: Operand) -> bool:
    if isinstance(value, np.ndarray):
        return dtype_of(value).is_float
    return type(value) is float


def _unrounded(name: str, whole: Array, real: Operand) -> tuple[Array, Array]:
    """Two arrays that stand to each other as integers do to floats, all of which f64 holds."""
    if isinstance(real, np.ndarray):
        require_computable(name, dtype_of(real))
        check_broadcast(name, whole.shape, real.shape)
        floats = recast(real, DType.F64)
    else:
        floats = np.asarray(real)
    if whole.itemsize < 8:
        return whole, floats  # NumPy compares these in f64
    return _order(whole, floats), _LEVEL


_LEVEL = np.zeros((), np.int8)


def _order(whole: Array, floats: Array) -> Array:
    """-1, 0 or 1: how integers of 64 bits stand to f64, and NaN beside NaN."""
    below = np.floor(floats)
    info = np.iinfo(whole.dtype)
    # The largest integer is no f64; the next one, which is a power of two, is.
    inside = (floats >= info.min) & (floats < float(info.max + 1))
    near = np.where(inside, below, 0).astype(whole.dtype)
    order = (whole > near).astype(np.int8) - (whole < near)
    order = np.where((order == 0) & (below != floats), -1, order)
    order = np.where(inside, order, np.where(floats < info.min, 1, -1)).astype(np.int8)
    absent = np.isnan(floats)
    return np.where(absent, np.float32(np.nan), order) if absent.any() else order


def _in_f32(name: str, compute: Callable[[Array, Array], Array], check: Check) -> Binary:
    """As ``_binary``, with halves computed in f32."""

    def run(left: Operand, right: Operand) -> Array:
        a, b, result = pair(name, left, right)
        check(name, result)
        wide = accumulator(result) if result.is_float else result
        with np.errstate(all="ignore"):
            found = np.asarray(compute(recast(a, wide), recast(b, wide)))
        return recast(found, result) if wide is not result and found.dtype.kind == "f" else found

    return run


def _unary(name: str, compute: Callable[[Array], Array], check: Check) -> Unary:
    def run(values: Array) -> Array:
        dtype = dtype_of(values)
        check(name, dtype)
        wide = accumulator(dtype) if dtype.is_float else dtype
        with np.errstate(all="ignore"):
            found = np.asarray(compute(recast(values, wide)))
        return recast(found, dtype) if wide is not dtype and found.dtype.kind == "f" else found

    return run


def _floor_quotient(a: Array, b: Array) -> Array:
    """floor(a / b); NumPy pairs it with the remainder and gives NaN and -1 around infinities."""
    if a.dtype.kind in "iu":
        if np.any(b == 0):
            raise OperationError("floor_divide: an integer is divided by 0, which has no result")
        return np.asarray(np.floor_divide(a, b))
    special = np.isinf(a) | np.isinf(b) | (b == 0)
    return np.where(special, np.floor(a / b), np.floor_divide(a, b)).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    if a.dtype.kind in "iu" and np.any(b == 0):
        raise OperationError("remainder: an integer is divided by 0, which has no result")
    return np.asarray(np.remainder(a, b))


def _fmod(a: Array, b: Array) -> Array:
    if a.dtype.kind in "iu" and np.any(b == 0):
        raise OperationError("fmod: an integer is divided by 0, which has no result")
    return np.asarray(np.fmod(a, b))


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind in "iu" and np.any(b < 0):
        raise OperationError(
            "pow: an integer to a negative power is no integer; cast the base to f32 first"
        )
    return np.asarray(np.power(a, b))


def _shift(name: str, compute: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def run(a: Array, b: Array) -> Array:
        if np.any(b < 0):
            raise OperationError(f"{name}: a shift by a negative number of bits has no result")
        return np.asarray(compute(a, b))

    return run


def _sign(a: Array) -> Array:
    if a.dtype.kind != "c":
        return np.asarray(np.sign(a))
    # z / |z| after scaling by a power of two, so that |z| neither overflows nor vanishes.
    largest = np.maximum(np.abs(a.real), np.abs(a.imag))
    _, exponent = np.frexp(np.where(np.isfinite(largest) & (largest > 0), largest, 1))
    scaled = np.empty_like(a)
    scaled.real, scaled.imag = np.ldexp(a.real, -exponent), np.ldexp(a.imag, -exponent)
    return np.where(a == 0, a.dtype.type(0), scaled / np.abs(scaled)).astype(a.dtype)


def _expm1(a: Array) -> Array:
    """exp(a) - 1. Complex: expm1(x)·cos y - 2·sin²(y/2) + i·exp(x)·sin y, as the standard asks."""
    if a.dtype.kind != "c":
        return np.asarray(np.expm1(a))
    x, y = a.real, a.imag
    turn = np.where(np.isfinite(y), y, 0)
    real = np.expm1(x) * np.cos(turn) - 2 * np.sin(turn / 2) ** 2
    real = np.where((x == 0) & (y == 0), 0, real)  # +0, also of -0: it is 1 - 1
    imaginary = np.exp(x) * np.sin(turn)
    imaginary = np.where(turn == 0, y, imaginary)  # keeps the sign of a zero, and inf · 0 away
    out = np.empty_like(a)
    out.real, out.imag = real, imaginary
    unturned = ~np.isfinite(y)
    # The factor alone may be Inf where its product with a small cosine is not. From here on 1 is
    # no unit of that product any more, also with the smallest cosine that a float has (1e-19).
    whole = unturned | (x > (60 if a.dtype == np.complex64 else 100))
    out[whole] = np.exp(a[whole])
    # exp(-inf) is 0 whatever the angle; only a finite angle gives it a sign.
    fallen = np.isneginf(x)
    out.real[fallen] = -1
    out.imag[fallen & unturned] = 0
    absent = np.isnan(x)
    out.real[absent] = np.nan
    out.imag[absent & (y != 0)] = np.nan
    out.imag[absent & (y == 0)] = y[absent & (y == 0)]
    risen = np.isposinf(x) & unturned
    out.real[risen] = np.inf
    out.imag[risen] = np.nan
    return out


def _log1p(a: Array) -> Array:
    """log(1 + x). Complex: ln|1+z| = log1p(2x + x² + y²) / 2; 1 + z would forget a small z."""
    found = np.asarray(np.log1p(a))
    if a.dtype.kind != "c":
        return found
    near = (np.abs(a.real) < 4) & (np.abs(a.imag) < 4)
    x, y = a.real[near].astype(np.float64), a.imag[near].astype(np.float64)
    (across, first), (along, second) = _exact_square(x), _exact_square(y)
    # Both squares are positive, and 2x takes them away again where |1+z| is about 1.
    both = across + along
    rest = np.where(across > along, across - both + along, along - both + across)
    excess = 2 * x + both
    lost = np.where(np.abs(2 * x) > both, 2 * x - excess + both, both - excess + 2 * x)
    excess += lost + rest + first + second
    # Close to z = -1 the sum 1 + z is exact and excess + 1 is not.
    found.real[near] = np.where(excess > -0.5, np.log1p(excess) / 2, found.real[near])
    return found


def _exact_square(a: Array) -> tuple[Array, Array]:
    """a² as a rounded square and what the rounding took, by Dekker's halves of 26 bits."""
    turned = a * 134217729.0  # 2²⁷ + 1
    high = turned - (turned - a)
    low = a - high
    square = a * a
    return square, ((high * high - square) + 2 * high * low) + low * low


def _tanh(a: Array) -> Array:
    """tanh; at ±Inf the imaginary part is a zero that keeps its sign, as the standard asks."""
    found = np.asarray(np.tanh(a))
    if a.dtype.kind == "c":
        far = np.isinf(a.real) & np.isfinite(a.imag)
        found.imag[far] = np.copysign(0, a.imag[far])
    return found


def _round_integers(compute: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Integers are whole already; NumPy would turn bool and small ones into floats."""

    def run(a: Array) -> Array:
        return a if a.dtype.kind in "iu" else np.asarray(compute(a))

    return run


def _round(a: Array) -> Array:
    if a.dtype.kind in "iu":
        return a
    if a.dtype.kind != "c":
        return np.asarray(np.rint(a))
    made = np.empty_like(a)  # adding 1j times the imaginary part would make Inf · 0
    made.real, made.imag = np.rint(a.real), np.rint(a.imag)
    return made


def _erf(a: Array) -> Array:
    if a.dtype == np.float32:
        return _kernels.erf(a)
    return special.erf(a.astype(np.float64)).astype(a.dtype)


def _erfc(a: Array) -> Array:
    return special.erfc(a.astype(np.float64)).astype(a.dtype)


add = _binary("add", np.add, _bool_has_no_arithmetic)
subtract = _binary("subtract", np.subtract, _bool_has_no_arithmetic)
multiply = _binary("multiply", np.multiply, _bool_has_no_arithmetic)
divide = _binary("divide", np.divide, require_inexact)
floor_divide = _in_f32("floor_divide", _floor_quotient, _real_arithmetic)
remainder = _in_f32("remainder", _remainder, _real_arithmetic)
fmod = _in_f32("fmod", _fmod, _real_arithmetic)
power = _in_f32("pow", _power, _bool_has_no_arithmetic)
atan2 = _in_f32("atan2", np.arctan2, require_float)
hypot = _in_f32("hypot", np.hypot, require_float)
logaddexp = _in_f32("logaddexp", np.logaddexp, require_float)
copysign = _in_f32("copysign", np.copysign, require_float)
nextafter = _binary("nextafter", np.nextafter, require_float)
maximum = _in_f32("maximum", np.maximum, _real_arithmetic)
minimum = _in_f32("minimum", np.minimum, _real_arithmetic)

equal = _comparison("equal", np.equal, require_computable)
not_equal = _comparison("not_equal", np.not_equal, require_computable)
less = _comparison("less", np.less, require_real)
less_equal = _comparison("less_equal", np.less_equal, require_real)
greater = _comparison("greater", np.greater, require_real)
greater_equal = _comparison("greater_equal", np.greater_equal, require_real)

bitwise_and = _binary("bitwise_and", np.bitwise_and, _integer_or_bool)
bitwise_or = _binary("bitwise_or", np.bitwise_or, _integer_or_bool)
bitwise_xor = _binary("bitwise_xor", np.bitwise_xor, _integer_or_bool)
left_shift = _binary(
    "bitwise_left_shift", _shift("bitwise_left_shift", np.left_shift), require_integer
)
right_shift = _binary(
    "bitwise_right_shift", _shift("bitwise_right_shift", np.right_shift), require_integer
)
logical_and = _binary("logical_and", np.logical_and, _only_bool)
logical_or = _binary("logical_or", np.logical_or, _only_bool)
logical_xor = _binary("logical_xor", np.logical_xor, _only_bool)

negative = _unary("negative", np.negative, _bool_has_no_arithmetic)
positive = _unary("positive", np.positive, _bool_has_no_arithmetic)
absolute = _unary("abs", np.abs, _bool_has_no_arithmetic)
sign = _unary("sign", _sign, _bool_has_no_arithmetic)
square = _unary("square", np.square, _bool_has_no_arithmetic)
reciprocal = _unary("reciprocal", np.reciprocal, require_inexact)
sqrt = _unary("sqrt", np.sqrt, require_inexact)
exp = _unary("exp", np.exp, require_inexact)
expm1 = _unary("expm1", _expm1, require_inexact)
log = _unary("log", np.log, require_inexact)
log1p = _unary("log1p", _log1p, require_inexact)
log2 = _unary("log2", np.log2, require_inexact)
log10 = _unary("log10", np.log10, require_inexact)
sin = _unary("sin", np.sin, require_inexact)
cos = _unary("cos", np.cos, require_inexact)
tan = _unary("tan", np.tan, require_inexact)
asin = _unary("asin", np.arcsin, require_inexact)
acos = _unary("acos", np.arccos, require_inexact)
atan = _unary("atan", np.arctan, require_inexact)
sinh = _unary("sinh", np.sinh, require_inexact)
cosh = _unary("cosh", np.cosh, require_inexact)
tanh = _unary("tanh", _tanh, require_inexact)
asinh = _unary("asinh", np.arcsinh, require_inexact)
acosh = _unary("acosh", np.arccosh, require_inexact)
atanh = _unary("atanh", np.arctanh, require_inexact)
erf = _unary("erf", _erf, require_float)
erfc = _unary("erfc", _erfc, require_float)
deg2rad = _unary("deg2rad", np.deg2rad, require_float)
rad2deg = _unary("rad2deg", np.rad2deg, require_float)
ceil = _unary("ceil", _round_integers(np.ceil), _real_arithmetic)
floor = _unary("floor", _round_integers(np.floor), _real_arithmetic)
trunc = _unary("trunc", _round_integers(np.trunc), _real_arithmetic)
rounded = _unary("round", _round, _bool_has_no_arithmetic)
signbit = _unary("signbit", np.signbit, require_float)
is_finite = _unary("isfinite", np.isfinite, require_computable)
is_inf = _unary("isinf", np.isinf, require_computable)
is_nan = _unary("isnan", np.isnan, require_computable)
logical_not = _unary("logical_not", np.logical_not, _only_bool)
bitwise_not = _unary("bitwise_invert", np.invert, _integer_or_bool)
conj = _unary("conj", np.conj, _bool_has_no_arithmetic)


def real(values: Array) -> Array:
    """The real part; a real tensor is its own. A view."""
    require_computable("real", dtype_of(values))
    return values.real


def imag(values: Array) -> Array:
    """The imaginary part of complex numbers. A view. Raises DTypeError for real tensors."""
    if values.dtype.kind != "c":
        raise DTypeError(f"imag: {dtype_of(values)} numbers have no imaginary part")
    return values.imag


def clip(values: Array, low: Operand | None, high: Operand | None) -> Array:
    """Values below ``low`` become it, those above ``high`` that; NaN stays NaN, in bounds too.

    Where ``low`` is above ``high``, ``high`` wins. Bounds broadcast. Raises DTypeError where a
    bound is of a dtype that would change that of the values.
    """
    dtype = dtype_of(values)
    _real_arithmetic("clip", dtype)
    for bound in (low, high):
        if bound is not None and pair("clip", values, bound)[2] is not dtype:
            kind = dtype_of(bound) if isinstance(bound, np.ndarray) else type(bound).__name__
            raise DTypeError(
                f"clip: a bound of {kind} does not fit {dtype}; cast one of them first"
            )
    found = values if low is None else maximum(values, low)
    return found if high is None else minimum(found, high)


def select(condition: Array, yes: Operand, no: Operand) -> Array:
    """``yes`` where the condition holds, ``no`` elsewhere; all three broadcast."""
    _only_bool("where", dtype_of(condition))
    a, b, _ = pair("where", yes, no)
    check_broadcast("where", condition.shape, common_shape("where", a.shape, b.shape))
    return np.asarray(np.where(condition, a, b))


def is_close(left: Operand, right: Operand, rtol: float, atol: float) -> Array:
    """Where |left - right| ≤ atol + rtol · |right|; equal infinities are close, NaN is not."""
    rtol, atol = number("is_close", "rtol", rtol), number("is_close", "atol", atol)
    a, b, dtype = pair("is_close", left, right)
    require_computable("is_close", dtype)
    if dtype.is_integer:
        return _integers_close(a, b, rtol, atol)
    wide = accumulator(dtype) if dtype.is_float else DType.F32 if dtype is DType.BOOL else dtype
    x, y = recast(a, wide), recast(b, wide)
    with np.errstate(all="ignore"):
        return np.asarray((x == y) | (np.abs(x - y) <= atol + rtol * np.abs(y)) & np.isfinite(y))


def _integers_close(a: Array, b: Array, rtol: float, atol: float) -> Array:
    """As for floats; distances are counted without a sign, since they may be as wide as u64."""
    with np.errstate(all="ignore"):
        high, low = np.maximum(a, b).astype(np.uint64), np.minimum(a, b).astype(np.uint64)
        allowed = atol + rtol * np.abs(b.astype(np.float64))
        return np.asarray((a == b) | ((high - low).astype(np.float64) <= allowed))


def lerp(start: Array, end: Array, weight: Operand) -> Array:
    """Move by weight: start + weight · (end - start), exact at weights 0 and 1; floats only.

    All three broadcast. Halves are computed in f32. Counted from the nearer end, as PyTorch's
    ``lerp``. Raises ShapeError for shapes that do not broadcast, DTypeError for dtypes that are
    not floats.
    """
    first, last, result = pair("lerp", start, end)
    require_float("lerp", result)
    if isinstance(weight, np.ndarray):
        result = promote("lerp", result, dtype_of(weight))
        check_broadcast("lerp", common_shape("lerp", first.shape, last.shape), weight.shape)
    else:
        result = promote_scalar("lerp", result, weight)
    require_float("lerp", result)
    wide = accumulator(result)
    a, b = recast(first, wide), recast(last, wide)
    w = recast(weight, wide) if isinstance(weight, np.ndarray) else wide.numpy.type(weight)
    with np.errstate(all="ignore"):
        way = b - a
        found = np.where(np.abs(w) < 0.5, a + w * way, b - way * (1 - w))
    return recast(np.asarray(found), result)
