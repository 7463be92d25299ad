"""Special cases of the array API standard, 2024.12, row by row: what it says of NaN, ±0 and ±Inf.

A row names sets of values and the result: ``pi/2`` and the like within rounding, zeros with their
sign. ``~`` leaves a sign free where the standard does. The rows of complex functions give the
parts; the standard derives their mirror images, ``f(conj x) = conj f(x)``, which are asserted too.
Of sqrt the rows of an infinite real part are C99's: the text has their signs the wrong way round.
"""

import cmath
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import ruda.tensor.xp as xp

INF, NAN, PI = math.inf, math.nan, math.pi
HUGE = 2.0**100  # exact in every dtype, so that its cosine has one sign
POSITIVE = [0.25, 0.5, 1.0, 2.5, 3.0, 4.0, HUGE]
NEGATIVE = [-one for one in POSITIVE]
FINITE = [0.0, -0.0, *POSITIVE, *NEGATIVE]
SETS = {
    "nan": [NAN], "+0": [0.0], "-0": [-0.0], "0": [0.0, -0.0], "inf": [INF], "-inf": [-INF],
    "infs": [INF, -INF], "+": POSITIVE, "-": NEGATIVE, "nonzero": POSITIVE + NEGATIVE,
    "finite": FINITE, "above": [*POSITIVE, INF], "below": [*NEGATIVE, -INF],
    "number": [*FINITE, INF, -INF], "any": [*FINITE, INF, -INF, NAN], "1": [1.0], "-1": [-1.0],
    "ones": [1.0, -1.0], ">1": [1.5, 2.5, HUGE, INF], "<1": [0.5, 0.0, -0.5, -2.5, -INF],
    "<-1": [-1.5, -HUGE, -INF], "|>1|": [1.5, -1.5, HUGE, -HUGE, INF, -INF],
    "|<1|": [0.5, -0.5, 0.0, -0.0], "not1": [0.0, -0.0, 0.5, -1.0, 2.5, INF, -INF],
    "odd": [1.0, 3.0, 7.0], "-odd": [-1.0, -3.0], "even+": [2.0, 4.0, 0.5, 2.5, HUGE, INF],
    "even-": [-2.0, -0.5, -HUGE, -INF], "halves": [0.5, -0.5, 2.5, -1.25], "nonint": [1.5, -0.25],
    "not0": [0.5, -2.5, INF, -INF, NAN], "nonzero|infs": [0.5, -2.5, INF, -INF],
}  # fmt: skip
NUMBERS = {
    "nan": NAN, "+0": 0.0, "-0": -0.0, "1": 1.0, "-1": -1.0, "inf": INF, "-inf": -INF, "pi": PI,
    "-pi": -PI, "pi/2": PI / 2, "-pi/2": -PI / 2, "pi/4": PI / 4, "-pi/4": -PI / 4,
    "3pi/4": 3 * PI / 4, "-3pi/4": -3 * PI / 4,
}  # fmt: skip

ONE = """
abs nan nan | abs -0 +0 | abs infs inf
acos nan nan | acos >1 nan | acos <-1 nan | acos 1 +0
acosh nan nan | acosh <1 nan | acosh 1 +0 | acosh inf inf
asin nan nan | asin >1 nan | asin <-1 nan | asin +0 +0 | asin -0 -0
asinh nan nan | asinh +0 +0 | asinh -0 -0 | asinh inf inf | asinh -inf -inf
atan nan nan | atan +0 +0 | atan -0 -0 | atan inf pi/2 | atan -inf -pi/2
atanh nan nan | atanh >1 nan | atanh <-1 nan | atanh -1 -inf | atanh 1 inf | atanh +0 +0
atanh -0 -0
ceil inf inf | ceil -inf -inf | ceil +0 +0 | ceil -0 -0 | ceil nan nan
cos nan nan | cos 0 1 | cos infs nan | cosh nan nan | cosh 0 1 | cosh infs inf
exp nan nan | exp 0 1 | exp inf inf | exp -inf +0
expm1 nan nan | expm1 +0 +0 | expm1 -0 -0 | expm1 inf inf | expm1 -inf -1
floor inf inf | floor -inf -inf | floor +0 +0 | floor -0 -0 | floor nan nan
log nan nan | log below nan | log 0 -inf | log 1 +0 | log inf inf
log1p nan nan | log1p <-1 nan | log1p -1 -inf | log1p -0 -0 | log1p +0 +0 | log1p inf inf
log2 nan nan | log2 below nan | log2 0 -inf | log2 1 +0 | log2 inf inf
log10 nan nan | log10 below nan | log10 0 -inf | log10 1 +0 | log10 inf inf
reciprocal +0 inf | reciprocal -0 -inf | reciprocal inf +0 | reciprocal -inf -0
reciprocal nan nan
round inf inf | round -inf -inf | round +0 +0 | round -0 -0 | round nan nan
sign below -1 | sign 0 ~0 | sign above 1 | sign nan nan
sin nan nan | sin +0 +0 | sin -0 -0 | sin infs nan
sinh nan nan | sinh +0 +0 | sinh -0 -0 | sinh inf inf | sinh -inf -inf
sqrt nan nan | sqrt below nan | sqrt +0 +0 | sqrt -0 -0 | sqrt inf inf
square nan nan | square infs inf | square 0 +0
tan nan nan | tan +0 +0 | tan -0 -0 | tan infs nan
tanh nan nan | tanh +0 +0 | tanh -0 -0 | tanh inf 1 | tanh -inf -1
trunc inf inf | trunc -inf -inf | trunc +0 +0 | trunc -0 -0 | trunc nan nan
"""
TWO = """
add nan any nan | add any nan nan | add inf -inf nan | add -inf inf nan | add inf inf inf
add -inf -inf -inf | add inf finite inf | add -inf finite -inf | add finite inf inf
add finite -inf -inf | add -0 -0 -0 | add -0 +0 +0 | add +0 -0 +0 | add +0 +0 +0
add 0 nonzero x2 | add nonzero 0 x1
subtract inf inf nan | subtract -inf -inf nan | subtract -0 +0 -0 | subtract +0 -0 +0
subtract +0 +0 +0 | subtract -0 -0 +0
atan2 nan any nan | atan2 any nan nan | atan2 above 0 pi/2 | atan2 +0 above +0
atan2 +0 +0 +0 | atan2 +0 -0 pi | atan2 +0 below pi | atan2 -0 above -0 | atan2 -0 +0 -0
atan2 -0 -0 -pi | atan2 -0 below -pi | atan2 below 0 -pi/2 | atan2 + inf +0 | atan2 + -inf pi
atan2 - inf -0 | atan2 - -inf -pi | atan2 inf finite pi/2 | atan2 -inf finite -pi/2
atan2 inf inf pi/4 | atan2 inf -inf 3pi/4 | atan2 -inf inf -pi/4 | atan2 -inf -inf -3pi/4
copysign number below -|x1| | copysign number -0 -|x1| | copysign number +0 |x1|
copysign number above |x1|
divide nan any nan | divide any nan nan | divide infs infs nan | divide 0 0 nan
divide +0 above +0 | divide -0 above -0 | divide +0 below -0 | divide -0 below +0
divide above +0 inf | divide above -0 -inf | divide below +0 -inf | divide below -0 inf
divide inf + inf | divide inf - -inf | divide -inf + -inf | divide -inf - inf
divide + inf +0 | divide + -inf -0 | divide - inf -0 | divide - -inf +0
floor_divide nan any nan | floor_divide any nan nan | floor_divide infs infs nan
floor_divide 0 0 nan | floor_divide +0 above +0 | floor_divide -0 above -0
floor_divide +0 below -0 | floor_divide -0 below +0 | floor_divide above +0 inf
floor_divide above -0 -inf | floor_divide below +0 -inf | floor_divide below -0 inf
floor_divide inf + inf | floor_divide inf - -inf | floor_divide -inf + -inf
floor_divide -inf - inf | floor_divide + inf +0 | floor_divide + -inf -0
floor_divide - inf -0 | floor_divide - -inf +0
hypot infs any inf | hypot any infs inf | hypot 0 any |x2| | hypot any 0 |x1|
hypot finite nan nan | hypot nan finite nan | hypot nan nan nan
logaddexp nan any nan | logaddexp any nan nan | logaddexp inf number inf
logaddexp number inf inf
maximum nan any nan | maximum any nan nan | minimum nan any nan | minimum any nan nan
multiply nan any nan | multiply any nan nan | multiply infs 0 nan | multiply 0 infs nan
multiply inf above inf | multiply inf below -inf | multiply -inf above -inf
multiply -inf below inf | multiply + inf inf | multiply - inf -inf | multiply + -inf -inf
multiply - -inf inf | multiply +0 + +0 | multiply -0 + -0 | multiply +0 - -0 | multiply -0 - +0
nextafter nan any nan | nextafter any nan nan | nextafter -0 +0 +0 | nextafter +0 -0 -0
pow not1 nan nan | pow any 0 1 | pow nan not0 nan | pow |>1| inf inf | pow |>1| -inf +0
pow ones infs 1 | pow 1 number 1 | pow |<1| inf +0 | pow |<1| -inf inf | pow inf above inf
pow inf below +0 | pow -inf odd -inf | pow -inf even+ inf | pow -inf -odd -0
pow -inf even- +0 | pow +0 above +0 | pow +0 below inf | pow -0 odd -0 | pow -0 even+ +0
pow -0 -odd -inf | pow -0 even- inf | pow - nonint nan
remainder nan any nan | remainder any nan nan | remainder infs infs nan | remainder 0 0 nan
remainder 0 above +0 | remainder 0 below -0 | remainder above 0 nan | remainder below 0 nan
remainder infs nonzero nan | remainder + inf x1 | remainder + -inf x2 | remainder - inf x2
remainder - -inf x1
"""
COMPLEX = """
abs infs any inf +0 | abs any infs inf +0 | abs nan finite nan +0 | abs finite nan nan +0
abs nan nan nan +0
acos 0 +0 pi/2 -0 | acos 0 nan pi/2 nan | acos finite inf pi/2 -inf | acos nonzero nan nan nan
acos -inf + pi -inf | acos inf + +0 -inf | acos -inf inf 3pi/4 -inf | acos inf inf pi/4 -inf
acos infs nan nan ~inf | acos nan finite nan nan | acos nan inf nan -inf | acos nan nan nan nan
acosh 0 +0 +0 pi/2 | acosh finite inf inf pi/2 | acosh nonzero nan nan nan | acosh +0 nan nan ~pi/2
acosh -inf + inf pi | acosh inf + inf +0 | acosh -inf inf inf 3pi/4 | acosh inf inf inf pi/4
acosh infs nan inf nan | acosh nan finite nan nan | acosh nan inf inf nan | acosh nan nan nan nan
asinh +0 +0 +0 +0 | asinh + inf inf pi/2 | asinh finite nan nan nan | asinh inf + inf +0
asinh inf inf inf pi/4 | asinh nan +0 nan +0 | asinh nan nonzero nan nan | asinh nan inf ~inf nan
asinh nan nan nan nan
atanh +0 +0 +0 +0 | atanh +0 nan +0 nan | atanh 1 +0 inf +0 | atanh + inf +0 pi/2
atanh nonzero nan nan nan | atanh inf + +0 pi/2 | atanh inf inf +0 pi/2 | atanh inf nan +0 nan
atanh nan finite nan nan | atanh nan inf ~0 pi/2 | atanh nan nan nan nan
cosh +0 +0 1 +0 | cosh +0 inf nan ~0 | cosh +0 nan nan ~0 | cosh nonzero inf nan nan
cosh nonzero nan nan nan | cosh inf +0 inf +0 | cosh inf nonzero inf*cos inf*sin
cosh inf inf ~inf nan | cosh inf nan inf nan | cosh nan 0 nan ~0 | cosh nan nonzero nan nan
cosh nan nan nan nan
exp 0 +0 1 +0 | exp finite inf nan nan | exp finite nan nan nan | exp inf +0 inf +0
exp -inf finite 0*cos 0*sin | exp inf nonzero inf*cos inf*sin | exp -inf inf ~0 ~0
exp inf inf ~inf nan | exp -inf nan ~0 ~0 | exp inf nan ~inf nan | exp nan +0 nan +0
exp nan not0 nan nan
expm1 0 +0 +0 +0 | expm1 finite inf nan nan | expm1 finite nan nan nan | expm1 inf +0 inf +0
expm1 -inf finite -1 0*sin | expm1 inf nonzero inf*cos inf*sin | expm1 -inf inf -1 ~0
expm1 inf inf ~inf nan | expm1 -inf nan -1 ~0 | expm1 inf nan ~inf nan | expm1 nan +0 nan +0
expm1 nan not0 nan nan
log -0 +0 -inf pi | log +0 +0 -inf +0 | log finite inf inf pi/2 | log finite nan nan nan
log -inf + inf pi | log inf + inf +0 | log -inf inf inf 3pi/4 | log inf inf inf pi/4
log infs nan inf nan | log nan finite nan nan | log nan inf inf nan | log nan nan nan nan
log1p -1 +0 -inf +0 | log1p finite inf inf pi/2 | log1p finite nan nan nan | log1p -inf + inf pi
log1p inf + inf +0 | log1p -inf inf inf 3pi/4 | log1p inf inf inf pi/4 | log1p infs nan inf nan
log1p nan finite nan nan | log1p nan inf inf nan | log1p nan nan nan nan
sign 0 0 +0 +0 | sign nan any nan nan | sign any nan nan nan
sinh +0 +0 +0 +0 | sinh +0 inf ~0 nan | sinh +0 nan ~0 nan | sinh + inf nan nan
sinh + nan nan nan | sinh inf +0 inf +0 | sinh inf + inf*cos inf*sin | sinh inf inf ~inf nan
sinh inf nan ~inf nan | sinh nan +0 nan +0 | sinh nan nonzero nan nan | sinh nan nan nan nan
sqrt 0 +0 +0 +0 | sqrt any inf inf inf | sqrt finite nan nan nan | sqrt -inf + +0 inf
sqrt inf + inf +0 | sqrt -inf nan nan ~inf | sqrt inf nan inf nan | sqrt nan finite nan nan
sqrt nan nan nan nan
tanh +0 +0 +0 +0 | tanh nonzero inf nan nan | tanh +0 inf +0 nan | tanh nonzero nan nan nan
tanh +0 nan +0 nan | tanh inf + 1 +0 | tanh inf inf 1 ~0 | tanh inf nan 1 ~0 | tanh nan +0 nan +0
tanh nan nonzero|infs nan nan | tanh nan nan nan nan
"""
MIRRORED = [
    "acos",
    "acosh",
    "asinh",
    "atanh",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sinh",
    "sqrt",
    "tanh",
]
ODD = ["asinh", "atanh", "sinh", "tanh"]


def rows(text):
    found = [row.split() for row in text.replace("\n", " @ ").split(" @ ") if row.strip()]
    lines = [" ".join(row).split(" | ") for row in found]
    return [tuple(row.split()) for line in lines for row in line]


def number(name, values):
    """What a result is called, as a number and whether its sign counts."""
    free = name.startswith("~")
    name = name.removeprefix("~")
    if name in ("x1", "x2"):
        return values[int(name[1]) - 1], not free
    if "|x" in name:
        size = abs(values[int(name.strip("-|")[1]) - 1])
        return (-size if name.startswith("-") else size), not free
    if "*" in name:
        factor, turn = name.split("*")
        return NUMBERS[{"0": "+0"}.get(factor, factor)] * getattr(math, turn)(values[1]), not free
    return NUMBERS[{"0": "+0"}.get(name, name)], not free


def assert_is(got, wanted, signed, place):
    """NaN for NaN; zeros and infinities with their sign; other numbers within rounding."""
    if math.isnan(wanted):
        assert math.isnan(got), place
        return
    assert abs(got) == pytest.approx(abs(wanted), rel=1e-6, abs=0), place
    if signed:
        assert math.copysign(1, got) == math.copysign(1, wanted), place


def computed(name, dtype, *arguments):
    """A function of all combinations at once, as Python numbers."""
    made = [xp.asarray(np.asarray(one, dtype)) for one in arguments]
    return getattr(xp, name)(*made).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", rows(ONE), ids=" ".join)
def test_real_functions_of_one(row, dtype):
    name, given, result = row
    for x, got in zip(SETS[given], computed(name, dtype, SETS[given]), strict=True):
        assert_is(got, *number(result, (x,)), (name, x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", rows(TWO), ids=" ".join)
def test_real_functions_of_two(row, dtype):
    name, left, right, result = row
    pairs = list(itertools.product(SETS[left], SETS[right]))
    found = computed(name, dtype, *zip(*pairs, strict=True))
    for pair, got in zip(pairs, found, strict=True):
        assert_is(got, *number(result, pair), (name, *pair))


def of_complex(name, dtype, pairs):
    """Parts of the results for these parts."""
    values = [complex(*pair) for pair in pairs]
    return [(one.real, one.imag) for one in map(complex, computed(name, dtype, values))]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("row", rows(COMPLEX), ids=" ".join)
def test_complex_functions(row, dtype):
    name, real, imaginary, *result = row
    pairs = list(itertools.product(SETS[real], SETS[imaginary]))
    wanted = [[number(part, pair) for part in result] for pair in pairs]
    images = [(1, 1)]
    images += [(1, -1)] if name in MIRRORED else []
    images += [(-1, -1), (-1, 1)] if name in ODD else [(-1, -1), (-1, 1)] * (name == "cosh")
    for across, along in images:
        turned = [(across * a, along * b) for a, b in pairs]
        signs = {"cosh": (1, across * along)}.get(name, (across, along))
        for pair, got, parts in zip(turned, of_complex(name, dtype, turned), wanted, strict=True):
            for one, sign, (value, signed) in zip(got, signs, parts, strict=True):
                assert_is(one, sign * value, signed, (name, pair, got))


TURNED = {"sin": "sinh", "asin": "asinh", "tan": "tanh", "atan": "atanh"}
EDGES = [0.0, -0.0, 0.5, -2.5, INF, -INF, NAN]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [*TURNED, "cos"])
def test_circular_functions_are_hyperbolic_ones_turned(name, dtype):
    """f(x) = -i·g(i·x), where i·x is (-b, a) and nothing is multiplied; cos x = cosh(i·x)."""
    pairs = list(itertools.product(EDGES, EDGES))
    got = of_complex(name, dtype, pairs)
    other = of_complex(TURNED.get(name, "cosh"), dtype, [(-b, a) for a, b in pairs])
    wanted = other if name == "cos" else [(b, -a) for a, b in other]
    for pair, one, two in zip(pairs, got, wanted, strict=True):
        for part, value in zip(one, two, strict=True):
            assert_is(part, value, cmath.isfinite(complex(*pair)), (name, pair, one, two))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("name", "base"), [("log2", 2), ("log10", 10)])
def test_other_logarithms_are_the_natural_one_divided(name, base, dtype):
    pairs = list(itertools.product(EDGES, EDGES))
    natural = of_complex("log", dtype, pairs)
    for pair, got, parts in zip(pairs, of_complex(name, dtype, pairs), natural, strict=True):
        for one, part in zip(got, parts, strict=True):
            assert_is(one, part / math.log(base), cmath.isfinite(complex(*pair)), (name, pair))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_signs_of_nan_are_kept(dtype):
    """copysign, signbit and abs look at the sign bit of NaN too."""
    values = np.copysign(np.asarray([NAN, NAN, 0.0, 2.0], dtype), np.asarray([1, -1, -1, 1], dtype))
    x = xp.asarray(values)
    assert xp.signbit(x).tolist() == [False, True, True, False]
    for other, sign in ((2.0, False), (-0.0, True)):
        made = xp.copysign(x, xp.full_like(x, other))
        assert xp.signbit(made).tolist() == [sign] * 4
    made = xp.copysign(xp.full_like(x, 3.0), x)
    assert made.tolist() == [3.0, -3.0, -3.0, 3.0]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("power", [-300, -20, -9, 0])
@pytest.mark.parametrize("turn", [0, 1, 2.5, -2, PI / 2])
def test_log1p_of_small_complex_numbers_keeps_its_digits(dtype, power, turn):
    """log(1 + z) is z - z²/2 + … near 0, where 1 + z would forget z."""
    z = complex(np.asarray(cmath.rect(10.0**power * 0.5, turn), dtype))
    wanted = z - z * z / 2 + z**3 / 3 if power else cmath.log(1 + z)
    got = computed("log1p", dtype, z)
    assert got.real == pytest.approx(wanted.real, rel=1e-6, abs=1e-37)
    assert got.imag == pytest.approx(wanted.imag, rel=1e-6, abs=1e-37)


@pytest.mark.parametrize("angle", [1e-7, 1e-4, 0.1, 0.5, 1.0])
def test_log1p_where_1_plus_z_is_about_1(angle):
    """z = exp(i·angle) - 1 as rounded; ln|1+z| is what the rounding left, in whole numbers."""
    z = cmath.exp(1j * angle) - 1
    x, y = Fraction(z.real), Fraction(z.imag)
    wanted = float((2 * x + x * x + y * y) / 2)  # ln(1 + t) = t where t is 1e-16
    got = computed("log1p", "complex128", z).real
    assert got == pytest.approx(wanted, rel=1e-6, abs=0)


@pytest.mark.parametrize("name", ["exp", "expm1"])
@pytest.mark.parametrize(("dtype", "real"), [("complex64", 89.0), ("complex128", 710.0)])
def test_exponentials_of_large_real_parts_are_finite_where_their_product_is(name, dtype, real):
    got = computed(name, dtype, complex(real, 1.5))
    wanted = math.exp(real - 50) * math.cos(1.5) * math.exp(50)  # 1.5 keeps it in range
    assert got.real == pytest.approx(wanted, rel=1e-5)
