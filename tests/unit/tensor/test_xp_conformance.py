"""The Array API standard 2024.12: every function with its signature, and the edges of complex ones.

The signatures are those of the standard's text, ``/`` and ``*`` included. The special cases of
complex functions are those of C99, annex G, which the standard takes over, and so does ``cmath``.
"""

import cmath
import inspect
import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ruda.tensor.xp as xp
from ruda.errors import OperationError
from ruda.tensor import DType

ONE = "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag"
ONE += " isfinite isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal"
ONE += " round sign signbit sin sinh sqrt square tan tanh trunc nonzero unique_all unique_counts"
ONE += " unique_inverse unique_values matrix_transpose linalg.det linalg.eigh linalg.eigvalsh"
ONE += " linalg.inv linalg.matrix_transpose linalg.slogdet linalg.svdvals"
TWO = "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign"
TWO += " divide equal floor_divide greater greater_equal hypot less less_equal logaddexp"
TWO += " logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow"
TWO += " remainder subtract matmul linalg.matmul linalg.outer linalg.solve"
FOLD = "all any count_nonzero max mean min"
TRANSFORM = "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft"
SEVERAL = "fft.fftn fft.ifftn fft.rfftn fft.irfftn"
SIGNATURES = {
    **dict.fromkeys(ONE.split(), "(x, /)"),
    **dict.fromkeys(TWO.split(), "(x1, x2, /)"),
    **dict.fromkeys(FOLD.split(), "(x, /, *, axis=None, keepdims=False)"),
    **dict.fromkeys(["sum", "prod"], "(x, /, *, axis=None, dtype=None, keepdims=False)"),
    **dict.fromkeys(["std", "var"], "(x, /, *, axis=None, correction=0.0, keepdims=False)"),
    **dict.fromkeys(["argmax", "argmin"], "(x, /, *, axis=None, keepdims=False)"),
    **dict.fromkeys(
        ["cumulative_sum", "cumulative_prod"],
        "(x, /, *, axis=None, dtype=None, include_initial=False)",
    ),
    **dict.fromkeys(["sort", "argsort"], "(x, /, *, axis=-1, descending=False, stable=True)"),
    **dict.fromkeys(["tril", "triu"], "(x, /, *, k=0)"),
    **dict.fromkeys(["empty", "ones", "zeros"], "(shape, *, dtype=None, device=None)"),
    **dict.fromkeys(
        ["empty_like", "ones_like", "zeros_like"], "(x, /, *, dtype=None, device=None)"
    ),
    **dict.fromkeys(TRANSFORM.split(), "(x, /, *, n=None, axis=-1, norm='backward')"),
    **dict.fromkeys(SEVERAL.split(), "(x, /, *, s=None, axes=None, norm='backward')"),
    **dict.fromkeys(["fft.fftfreq", "fft.rfftfreq"], "(n, /, *, d=1.0, dtype=None, device=None)"),
    **dict.fromkeys(["fft.fftshift", "fft.ifftshift"], "(x, /, *, axes=None)"),
    **dict.fromkeys(["tensordot", "linalg.tensordot"], "(x1, x2, /, *, axes=2)"),
    **dict.fromkeys(["vecdot", "linalg.vecdot", "linalg.cross"], "(x1, x2, /, *, axis=-1)"),
    **dict.fromkeys(["linalg.pinv", "linalg.matrix_rank"], "(x, /, *, rtol=None)"),
    "arange": "(start, /, stop=None, step=1, *, dtype=None, device=None)",
    "asarray": "(obj, /, *, dtype=None, device=None, copy=None)",
    "astype": "(x, dtype, /, *, copy=True, device=None)",
    "broadcast_arrays": "(*arrays)",
    "broadcast_to": "(x, /, shape)",
    "can_cast": "(from_, to, /)",
    "clip": "(x, /, min=None, max=None)",
    "concat": "(arrays, /, *, axis=0)",
    "diff": "(x, /, *, axis=-1, n=1, prepend=None, append=None)",
    "expand_dims": "(x, /, axis=0)",
    "eye": "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)",
    "finfo": "(type, /)",
    "flip": "(x, /, *, axis=None)",
    "from_dlpack": "(x, /, *, device=None, copy=None)",
    "full": "(shape, fill_value, *, dtype=None, device=None)",
    "full_like": "(x, /, fill_value, *, dtype=None, device=None)",
    "iinfo": "(type, /)",
    "isdtype": "(dtype, kind)",
    "linspace": "(start, stop, /, num, *, dtype=None, device=None, endpoint=True)",
    "meshgrid": "(*arrays, indexing='xy')",
    "moveaxis": "(x, source, destination, /)",
    "permute_dims": "(x, /, axes)",
    "repeat": "(x, repeats, /, *, axis=None)",
    "reshape": "(x, /, shape, *, copy=None)",
    "result_type": "(*arrays_and_dtypes)",
    "roll": "(x, /, shift, *, axis=None)",
    "searchsorted": "(x1, x2, /, *, side='left', sorter=None)",
    "squeeze": "(x, /, axis)",
    "stack": "(arrays, /, *, axis=0)",
    "take": "(x, indices, /, *, axis=None)",
    "take_along_axis": "(x, indices, /, *, axis=-1)",
    "tile": "(x, repetitions, /)",
    "unstack": "(x, /, *, axis=0)",
    "where": "(condition, x1, x2, /)",
    "linalg.cholesky": "(x, /, *, upper=False)",
    "linalg.diagonal": "(x, /, *, offset=0)",
    "linalg.matrix_norm": "(x, /, *, keepdims=False, ord='fro')",
    "linalg.matrix_power": "(x, n, /)",
    "linalg.qr": "(x, /, *, mode='reduced')",
    "linalg.svd": "(x, /, *, full_matrices=True)",
    "linalg.trace": "(x, /, *, offset=0, dtype=None)",
    "linalg.vector_norm": "(x, /, *, axis=None, keepdims=False, ord=2)",
}


def found(name):
    place = xp
    for part in name.split("."):
        place = getattr(place, part)
    return place


def shown(function):
    signature = inspect.signature(function)
    plain = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    assert shown(found(name)) == SIGNATURES[name]


def test_the_table_has_every_function():
    functions = {
        prefix + name
        for prefix, module in (("", xp), ("linalg.", xp.linalg), ("fft.", xp.fft))
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    assert functions == set(SIGNATURES)


METHODS = "abs add and bool complex eq float floordiv ge getitem gt index int invert le lshift lt"
METHODS += " matmul mod mul ne neg or pos pow rshift setitem sub truediv xor radd rand rfloordiv"
METHODS += " rlshift rmatmul rmod rmul ror rpow rrshift rsub rtruediv rxor array_namespace dlpack"
METHODS += " dlpack_device"


def test_the_array_object():
    x = xp.ones((2, 3))
    assert [name for name in METHODS.split() if not hasattr(x, f"__{name}__")] == []
    for name in ("dtype", "device", "mT", "ndim", "shape", "size", "T", "to_device"):
        assert hasattr(x, name)
    with pytest.raises(OverflowError, match="infinity"):
        int(xp.asarray(math.inf))  # as the standard has it, and Python
    with pytest.raises(ValueError, match="NaN"):
        int(xp.asarray(math.nan))


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "//", "%", "**", "@"])
def test_operators_in_place_give_the_name_another_tensor(operator):
    first = xp.asarray([[4.0, 9.0], [16.0, 25.0]])
    spaces = {"x": first, "y": xp.asarray([[2.0, 1.0], [1.0, 2.0]])}
    exec(f"x {operator}= y", spaces)
    assert (
        spaces["x"].tolist()
        == eval(f"first {operator} y", {"first": first, "y": spaces["y"]}).tolist()
    )
    assert first.tolist() == [[4, 9], [16, 25]]


FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = ["bool", *INTEGERS, *FLOATS]
ANSWERS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


@pytest.mark.parametrize("left", NUMBERS)
@pytest.mark.parametrize("right", NUMBERS)
def test_dtypes_of_results(left, right):
    """Of comparisons bool, of arithmetic what both promote to, whichever stands first."""
    a, b = (xp.ones(2, dtype=getattr(xp, name)) for name in (left, right))
    try:
        wanted = xp.result_type(a, b)
    except TypeError:
        assert "uint64" in (left, right)
        return
    assert xp.result_type(b, a) is wanted
    for name in ANSWERS:
        assert getattr(xp, name)(a, b).dtype is DType.BOOL
    for name in ("add", "multiply", "maximum", "where"):
        if wanted is DType.BOOL and name != "where":
            continue
        values = (xp.asarray([True, False]), a, b) if name == "where" else (a, b)
        assert getattr(xp, name)(*values).dtype is wanted


COMPLEX = ["exp", "log", "log10", "sqrt"]
COMPLEX += [
    f"{arc}{name}{h}" for arc in ("", "a") for name in ("sin", "cos", "tan") for h in ("", "h")
]
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, math.inf, -math.inf, math.nan]
HALF_PI = math.pi / 2
# Where the standard says more than annex G: a part that it gives although the other one is NaN.
MORE = {
    ("acosh", "+0"): complex(math.nan, HALF_PI),
    ("tanh", "+0"): complex(0.0, math.nan),
    ("tan", "i0"): complex(math.nan, 0.0),
}


def of_the_standard(name, value):
    if math.isnan(value.imag) and value.real == 0 and (name, "+0") in MORE:
        return MORE[name, "+0"]
    if math.isnan(value.real) and value.imag == 0 and (name, "i0") in MORE:
        return MORE[name, "i0"]
    return getattr(cmath, name)(value)


def assert_alike(got, wanted, *, signed):
    """Equal parts; the sign of zeros and infinities counts where it is said."""
    for one, other in ((got.real, wanted.real), (got.imag, wanted.imag)):
        assert math.isnan(one) == math.isnan(other)
        if math.isnan(one):
            continue
        if other == 0 or math.isinf(other):
            assert abs(one) == abs(other)
            assert not signed or math.copysign(1, one) == math.copysign(1, other)
        else:
            assert one == pytest.approx(other, rel=1e-6, abs=0)


@pytest.mark.parametrize("dtype", [xp.complex64, xp.complex128])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_edges(name, dtype):
    computed = 0
    for real, imaginary in itertools.product(PARTS, PARTS):
        value = complex(real, imaginary)
        try:
            wanted = of_the_standard(name, value)
        except (ValueError, OverflowError):
            continue  # a pole or an invalid value, where cmath has no result but an error
        got = getattr(xp, name)(xp.asarray(value, dtype=dtype)).item()
        # With NaN or an infinity among the parts the sign is often free.
        assert_alike(got, wanted, signed=cmath.isfinite(value))
        computed += 1
    assert computed >= 60


def test_integers_have_no_result_where_floats_have_infinity():
    with pytest.raises(OperationError, match="an integer is divided by 0"):
        xp.remainder(xp.asarray([1]), xp.asarray([0]))


@given(
    st.floats(-1e18, 1e18) | st.integers(-(2**60), 2**60),
    st.floats(1e-12, 1e6) | st.integers(1, 1000),
    st.integers(0, 40),
    st.booleans(),
)
def test_arange_adds_the_step_that_it_is_given(start, step, count, falling):
    """Also where the start is so much larger that start + step is rounded."""
    step = -step if falling else step
    made = xp.arange(start, start + count * step, step, dtype=xp.float64).tolist()
    assert len(made) == max(0, math.ceil((start + count * step - start) / step))
    for place, value in enumerate(made):
        exact = Fraction(start) + place * Fraction(step)
        largest = max(abs(value), abs(place * step))
        assert abs(Fraction(value) - exact) <= Fraction(math.ulp(largest))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "float16"])
def test_arange_of_integers_rounds_each_value_once(dtype):
    named = getattr(xp, dtype)
    first = 2011 if dtype == "float16" else 2**24 - 3 if "32" in dtype or "64" in dtype else 0
    for start in (first, 2**53 - 2) if dtype == "float64" else (first,):
        made = xp.arange(start, start + 90, 7, dtype=named).tolist()
        assert made == [xp.asarray(one, dtype=named).item() for one in range(start, start + 90, 7)]
