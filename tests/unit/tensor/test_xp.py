"""The Array API namespace: NumPy is the oracle, the standard where NumPy differs from it."""

import inspect
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ruda.tensor.xp as xp
from ruda.errors import DTypeError, ShapeError
from ruda.tensor import DType, HostDevice, Tensor

INF, NAN = math.inf, math.nan
DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float32", "float64"]
DTYPES += ["complex64", "complex128"]
EDGES = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN, 1e-40, 3e38, 0.5]


def values(name, shape, seed=0):
    """Values of a dtype with its edges among them."""
    rng = np.random.default_rng(seed)
    if name == "bool":
        return rng.random(shape) < 0.5
    if "int" in name:
        low = max(int(np.iinfo(name).min), -9)
        return rng.integers(low, 10, shape).astype(name)
    made = np.empty(shape, name)
    with np.errstate(all="ignore"):
        made.real = rng.choice(EDGES, shape)
        if made.dtype.kind == "c":
            made.imag = rng.choice(EDGES, shape)
    return made


def plain(result):
    """Arrays of a result, of all its parts if it is a tuple."""
    if isinstance(result, tuple):
        return [plain(part) for part in result]
    return result.numpy() if isinstance(result, Tensor) else result


def assert_same(got, wanted):
    """Same dtype, shape and values, floats within rounding, -0 and NaN told apart."""
    if isinstance(wanted, tuple | list):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other)
        return
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if got.dtype.kind == "c":
        assert_same(got.real, wanted.real)
        assert_same(got.imag, wanted.imag)
        return
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted)
        return
    np.testing.assert_allclose(got, wanted, rtol=1e-5 if got.dtype.itemsize == 4 else 1e-12)
    zeros = wanted == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(wanted[zeros]))


UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj",
    "cos", "cosh", "exp", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log1p", "log2",
    "log10", "logical_not", "negative", "positive", "real", "reciprocal", "round", "sign",
    "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "nonzero", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "sort", "argsort", "sum", "prod", "max",
    "min", "std", "var", "any", "all", "argmax", "argmin", "count_nonzero", "diff",
]  # fmt: skip
OWN = {"sign", "log1p"}  # of complex numbers NumPy's overflow and forget digits; see SPECIAL
ORACLES = {
    "argsort": lambda a: np.argsort(a, kind="stable"),
    "unique_values": lambda a: np.unique_all(a).values,
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor_agree_with_numpy(name):
    computed = 0
    for dtype, shape in itertools.product(DTYPES, [(12,), (3, 4), (2, 1, 3)]):
        given_ = values(dtype, shape)
        try:
            found = plain(getattr(xp, name)(xp.asarray(given_)))
        except DTypeError:
            continue
        computed += 1
        if name in OWN and given_.dtype.kind == "c":
            continue
        with np.errstate(all="ignore"):
            wanted = ORACLES.get(name, getattr(np, name))(given_)
        assert_same(found, list(wanted) if isinstance(wanted, tuple) else wanted)
    assert computed >= 3  # at least one dtype takes it


BINARY = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "divide", "equal", "greater", "greater_equal", "hypot", "less",
    "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
    "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract",
]  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors_agree_with_numpy(name):
    computed = 0
    for dtype in DTYPES:
        left, right = values(dtype, (3, 4), 1), values(dtype, (4,), 2)
        if left.dtype.kind in "iu" and name in ("remainder", "pow", *BINARY[3:6:2]):
            right = np.abs(right) + 1
        try:
            found = plain(getattr(xp, name)(xp.asarray(left), xp.asarray(right)))
        except DTypeError:
            continue
        computed += 1
        with np.errstate(all="ignore"):
            assert_same(found, getattr(np, name)(left, right))
    assert computed >= 1


MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
CALLS = [
    ("sum", (values("int8", (3, 4)),), {"axis": (0, 1), "keepdims": True}),
    ("prod", (values("uint8", (3, 4)),), {"axis": 1}),
    ("mean", (MATRIX,), {"axis": (0,)}),
    ("var", (MATRIX,), {"axis": 0, "correction": 1.0}),
    ("std", (MATRIX,), {"correction": 1.5}),
    ("cumulative_sum", (values("int64", (3, 4)),), {"axis": 1, "include_initial": True}),
    ("cumulative_prod", (MATRIX,), {"axis": 0, "include_initial": True}),
    ("clip", (MATRIX, 1.0, 2.5), {}),
    ("where", (MATRIX > 1, MATRIX, -1.0), {}),
    ("take", (MATRIX, np.array([2, 0])), {"axis": 1}),
    ("take_along_axis", (MATRIX, np.array([[0, 2, 1]])), {"axis": 0}),
    ("searchsorted", (np.array([1.0, 2.0, 2.0, 3.0]), np.array([2.0, 0.0])), {"side": "right"}),
    ("roll", (MATRIX, (1, -1)), {"axis": (0, 1)}),
    ("roll", (MATRIX, 2), {}),
    ("repeat", (MATRIX, np.array([1, 0, 2])), {"axis": 0}),
    ("repeat", (MATRIX, 2), {}),
    ("tile", (MATRIX, (2, 1, 2)), {}),
    ("moveaxis", (np.ones((1, 2, 3)), 0, -1), {}),
    ("permute_dims", (np.ones((1, 2, 3)), (2, 0, 1)), {}),
    ("squeeze", (np.ones((1, 2, 1)), (0, 2)), {}),
    ("expand_dims", (MATRIX, -1), {}),
    ("flip", (MATRIX,), {"axis": (0,)}),
    ("broadcast_to", (np.ones(3), (2, 3)), {}),
    ("unstack", (MATRIX,), {"axis": 1}),
    ("sort", (MATRIX,), {"axis": 0}),
    ("diff", (MATRIX,), {"axis": 0, "n": 2, "prepend": MATRIX, "append": MATRIX}),
    ("tril", (MATRIX,), {"k": -1}),
    ("triu", (MATRIX,), {"k": 1}),
    ("reshape", (MATRIX, (9,)), {}),
    ("astype", (MATRIX, "int32"), {}),
    ("tensordot", (MATRIX, MATRIX), {"axes": ((0,), (1,))}),
    ("vecdot", (MATRIX + 1j, MATRIX), {"axis": 0}),
    ("matmul", (MATRIX, MATRIX[0]), {}),
    ("linalg.outer", (MATRIX[0], MATRIX[1]), {}),
    ("linalg.cross", (MATRIX, MATRIX[0]), {}),
    ("linalg.det", (MATRIX,), {}),
    ("linalg.slogdet", (MATRIX,), {}),
    ("linalg.inv", (MATRIX,), {}),
    ("linalg.cholesky", (MATRIX,), {}),
    ("linalg.eigh", (MATRIX,), {}),
    ("linalg.eigvalsh", (MATRIX,), {}),
    ("linalg.qr", (MATRIX[:, :2],), {"mode": "complete"}),
    ("linalg.svd", (MATRIX[:2],), {"full_matrices": False}),
    ("linalg.svdvals", (MATRIX,), {}),
    ("linalg.solve", (MATRIX, MATRIX[0]), {}),
    ("linalg.solve", (MATRIX, MATRIX[:, :2]), {}),
    ("linalg.pinv", (MATRIX[:2],), {}),
    ("linalg.matrix_rank", (np.ones((3, 3)),), {}),
    ("linalg.matrix_power", (MATRIX, -2), {}),
    ("linalg.matrix_norm", (MATRIX,), {"ord": "nuc"}),
    ("linalg.vector_norm", (MATRIX,), {"axis": 1, "ord": 3, "keepdims": True}),
    ("linalg.vector_norm", (MATRIX,), {"axis": (0, 1), "ord": -INF}),
    ("linalg.diagonal", (MATRIX,), {"offset": 1}),
    ("linalg.trace", (MATRIX,), {"offset": -1}),
    ("fft.fft", (MATRIX,), {"n": 4, "axis": 0, "norm": "ortho"}),
    ("fft.ifft", (MATRIX + 1j,), {}),
    ("fft.rfft", (MATRIX.astype("f4"),), {}),
    ("fft.irfft", (MATRIX + 1j,), {"n": 4}),
    ("fft.hfft", (MATRIX + 1j,), {}),
    ("fft.ihfft", (MATRIX,), {}),
    ("fft.fftn", (MATRIX,), {"axes": (0, 1)}),
    ("fft.ifftn", (MATRIX,), {"s": (2, 2), "axes": (0, 1)}),
    ("fft.rfftn", (MATRIX,), {}),
    ("fft.irfftn", (MATRIX + 0j,), {"axes": (1,)}),
    ("fft.fftshift", (MATRIX,), {"axes": 1}),
    ("fft.ifftshift", (MATRIX,), {}),
]


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [pytest.param(*c, id=f"{c[0]}-{i}") for i, c in enumerate(CALLS)],
)
def test_calls_agree_with_numpy(name, arguments, options):
    ours, theirs = xp, np
    for part in name.split(".")[:-1]:
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    name = name.split(".")[-1]
    held = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    held = [getattr(xp, a) if isinstance(a, str) else a for a in held]
    kept = {k: xp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    theirs_options = {"decimals" if k == "none" else k: v for k, v in options.items()}
    assert_same(
        plain(getattr(ours, name)(*held, **kept)),
        getattr(theirs, name)(*arguments, **theirs_options),
    )


# From the special cases of the standard, 2024.12, where NumPy gives something else.
SPECIAL = [
    ("floor_divide", (INF, 2.0), INF),
    ("floor_divide", (INF, -2.0), -INF),
    ("floor_divide", (-INF, 2.0), -INF),
    ("floor_divide", (-INF, -2.0), INF),
    ("floor_divide", (3.0, -INF), -0.0),
    ("floor_divide", (-3.0, INF), -0.0),
    ("floor_divide", (3.0, INF), 0.0),
    ("floor_divide", (3.0, 0.0), INF),
    ("floor_divide", (0.0, 0.0), NAN),
    ("floor_divide", (INF, INF), NAN),
    ("floor_divide", (7.0, -2.0), -4.0),
    ("floor_divide", (1.0, 0.1), 9.0),
    ("expm1", (complex(0, 0),), complex(0, 0)),
    ("expm1", (complex(0, -0.0),), complex(0, -0.0)),
    ("expm1", (complex(-0.0, 0.0),), complex(0, 0)),
    ("expm1", (complex(2, INF),), complex(NAN, NAN)),
    ("expm1", (complex(2, NAN),), complex(NAN, NAN)),
    ("expm1", (complex(INF, 0),), complex(INF, 0)),
    ("expm1", (complex(-INF, 2),), complex(-1, 0)),
    ("expm1", (complex(INF, 1),), complex(INF, INF)),
    ("expm1", (complex(-INF, INF),), complex(-1, 0)),
    ("expm1", (complex(INF, INF),), complex(INF, NAN)),
    ("expm1", (complex(-INF, NAN),), complex(-1, 0)),
    ("expm1", (complex(INF, NAN),), complex(INF, NAN)),
    ("expm1", (complex(NAN, 0),), complex(NAN, 0)),
    ("expm1", (complex(NAN, 1),), complex(NAN, NAN)),
    ("expm1", (complex(NAN, NAN),), complex(NAN, NAN)),
    ("expm1", (complex(1e-20, 1e-20),), complex(1e-20, 1e-20)),
    ("sign", (complex(0, -0.0),), complex(0, 0)),
    ("sign", (complex(NAN, 1),), complex(NAN, NAN)),
    ("sign", (complex(3e307, 4e307),), complex(0.6, 0.8)),
    ("sign", (complex(3e-320, 4e-320),), complex(0.6, 0.8)),
]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"), [pytest.param(*c, id=f"{c[0]}{c[1]}") for c in SPECIAL]
)
def test_special_cases_of_the_standard(name, arguments, expected):
    double = xp.complex128 if isinstance(expected, complex) else xp.float64
    found = getattr(xp, name)(*(xp.asarray(a, dtype=double) for a in arguments)).item()
    if isinstance(expected, complex):
        parts = [(found.real, expected.real), (found.imag, expected.imag)]
    else:
        parts = [(found, expected)]
    for got, wanted in parts:
        assert (math.isnan(got) and math.isnan(wanted)) or got == pytest.approx(wanted, rel=1e-3)
        if wanted == 0 and name != "expm1":
            assert math.copysign(1, got) == math.copysign(1, wanted)


@given(
    st.sampled_from(["floor_divide", "remainder"]),
    st.lists(st.integers(-128, 127), min_size=1, max_size=8),
    st.integers(-128, 127).filter(bool),
)
def test_integer_division_is_pythons(name, dividends, divisor):
    python = {"floor_divide": lambda a: a // divisor, "remainder": lambda a: a % divisor}[name]
    left = xp.asarray(dividends, dtype=xp.int32)
    assert getattr(xp, name)(left, divisor).tolist() == [python(a) for a in dividends]


def test_the_standards_signatures():
    """Positional-only and keyword-only arguments stand as in the standard."""
    for name in ("add", "sum", "concat", "linspace", "take", "searchsorted", "tril"):
        first = next(iter(inspect.signature(getattr(xp, name)).parameters.values()))
        assert first.kind is inspect.Parameter.POSITIONAL_ONLY
    with pytest.raises(TypeError, match="positional"):
        xp.sum(xp.ones(2), 0)


MADE = [
    (lambda: xp.asarray([1, 2]), [1, 2], xp.int64),
    (lambda: xp.asarray([1.5]), [1.5], xp.float32),
    (lambda: xp.asarray([True]), [True], xp.bool),
    (lambda: xp.asarray(2j), 2j, xp.complex64),
    (lambda: xp.asarray([xp.asarray(1), 2]), [1, 2], xp.int64),
    (lambda: xp.asarray([2**64 - 1], dtype=xp.uint64), [2**64 - 1], xp.uint64),
    (lambda: xp.arange(3), [0, 1, 2], xp.int64),
    (lambda: xp.arange(3, 0, -2), [3, 1], xp.int64),
    (lambda: xp.arange(0.0, 1.0, 0.25), [0, 0.25, 0.5, 0.75], xp.float32),
    (lambda: xp.arange(2**63, 2**63 + 2, dtype=xp.uint64), [2**63, 2**63 + 1], xp.uint64),
    (lambda: xp.linspace(0, 1, 3), [0, 0.5, 1], xp.float32),
    (lambda: xp.linspace(0, 1, 2, endpoint=False), [0, 0.5], xp.float32),
    (lambda: xp.linspace(0, 2j, 3), [0, 1j, 2j], xp.complex64),
    (lambda: xp.full((2,), 3), [3, 3], xp.int64),
    (lambda: xp.full(1, True), [True], xp.bool),
    (lambda: xp.full_like(xp.ones(1, dtype=xp.int8), 7), [7], xp.int8),
    (lambda: xp.eye(2, 3, k=1), [[0, 1, 0], [0, 0, 1]], xp.float32),
    (lambda: xp.empty((1, 2)), [[0, 0]], xp.float32),
    (lambda: xp.zeros_like(xp.ones(1)), [0], xp.float32),
    (lambda: xp.ones_like(xp.ones(1), dtype=xp.uint8), [1], xp.uint8),
    (lambda: xp.meshgrid(xp.arange(2), xp.arange(3))[0], [[0, 1]] * 3, xp.int64),
    (lambda: xp.fft.fftfreq(4), [0, 0.25, -0.5, -0.25], xp.float32),
    (lambda: xp.fft.rfftfreq(4, d=0.5, dtype=xp.float64), [0, 0.5, 1], xp.float64),
    (lambda: xp.linalg.cholesky(xp.eye(2), upper=True), [[1, 0], [0, 1]], xp.float32),
    (
        lambda: xp.asarray([1.0], dtype=xp.bfloat16) + xp.asarray([1.0], dtype=xp.float16),
        [2],
        xp.float32,
    ),
    (lambda: xp.floor_divide(xp.asarray([7.5], dtype=xp.bfloat16), 2), [3], xp.bfloat16),
    (lambda: xp.sort(xp.asarray([2.0, NAN, 1.0], dtype=xp.float16))[:2], [1, 2], xp.float16),
]


@pytest.mark.parametrize(("make", "expected", "dtype"), MADE)
def test_making(make, expected, dtype):
    made = make()
    assert made.tolist() == expected
    assert made.dtype is dtype


def test_what_dtypes_hold():
    assert xp.finfo(xp.float32).eps == 2**-23
    assert xp.finfo(xp.complex128).dtype is xp.float64
    assert xp.finfo(xp.bfloat16).smallest_normal == pytest.approx(2.0**-126)
    assert (xp.iinfo(xp.int16).min, xp.iinfo(xp.ones(1, dtype=xp.uint8)).max) == (-32768, 255)
    assert xp.isdtype(xp.int8, ("unsigned integer", "signed integer"))
    assert not xp.isdtype(xp.bfloat16, ("integral", "complex floating"))
    assert xp.result_type(xp.asarray([1], dtype=xp.int64), xp.bfloat16) is xp.bfloat16
    assert xp.result_type(xp.float32, 1.0, xp.ones(1, dtype=xp.float64)) is xp.float64
    assert xp.result_type(1, 2j) is xp.complex64


CASTS = [
    (xp.int8, xp.int16, True),
    (xp.uint8, xp.int8, False),
    (xp.int16, xp.float16, False),
    (xp.int8, xp.float16, True),
    (xp.int32, xp.float32, False),
    (xp.bfloat16, xp.float32, True),
    (xp.float16, xp.bfloat16, False),
    (xp.float64, xp.complex64, False),
    (xp.float32, xp.complex64, True),
    (xp.complex64, xp.float64, False),
    (xp.complex64, xp.complex128, True),
    (xp.bool, xp.int8, True),
    (xp.int8, xp.bool, False),
    (xp.float32, xp.int64, False),
]


@pytest.mark.parametrize(("source", "target", "fits"), CASTS)
def test_can_cast_only_where_every_value_is_kept(source, target, fits):
    assert xp.can_cast(source, target) is fits
    assert xp.can_cast(xp.ones(1, dtype=source), target) is fits


def test_item_assignment_changes_one_tensor_only():
    first = xp.zeros((2, 2))
    view, seen = first[0], first.numpy()
    first[0, 1] = 5
    first[xp.asarray([[False, False], [True, True]])] = xp.asarray([1.0, 2.0])
    assert first.tolist() == [[0, 5], [1, 2]]
    assert view.tolist() == [0, 0]
    assert seen.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(DTypeError, match="index: f64 cannot go into f32; cast it first"):
        first[0] = xp.ones(2, dtype=xp.float64)
    with pytest.raises(ShapeError, match="index: shape"):
        first[0] = xp.ones(3)


def test_namespace_is_found_and_says_what_it_can():
    x = xp.ones(1)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2023.12") is xp
    info = xp.__array_namespace_info__()
    assert info.default_device() == HostDevice() == info.devices()[0]
    assert info.default_dtypes()["integral"] is xp.int64
    assert set(info.dtypes(kind="integral")) == {
        f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)
    }
    assert info.capabilities()["boolean indexing"] is True
    assert x.to_device(HostDevice()) is x
    assert xp.__array_api_version__ == "2024.12"
    assert all(hasattr(xp, name) for name in xp.__all__)


def test_dlpack_both_ways():
    ours = xp.asarray([[1, 2], [3, 4]], dtype=xp.int16)
    theirs = np.from_dlpack(ours)
    assert not theirs.flags.writeable
    assert np.shares_memory(theirs, ours.numpy())
    assert theirs.tolist() == ours.tolist()
    assert np.from_dlpack(ours, copy=True).flags.writeable
    source = np.arange(3.0)
    assert np.shares_memory(xp.from_dlpack(source).numpy(), source)
    assert not np.shares_memory(xp.from_dlpack(source, copy=True).numpy(), source)
    with pytest.raises(DTypeError, match="DLPack: NumPy cannot hand out bf16"):
        np.from_dlpack(xp.ones(1, dtype=xp.bfloat16))
    spread = xp.broadcast_to(xp.asarray(1), (2,))
    with pytest.raises(BufferError, match=r"without version 1\.0 read-only memory needs a copy"):
        spread.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="lies in main memory"):
        ours.__dlpack__(dl_device=(2, 0))


class Unversioned:
    """A tensor as consumers before DLPack 1.0 see it; ``copy`` is what they ask for."""

    def __init__(self, tensor, copy):
        self.tensor, self.copy = tensor, copy

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **_asked):
        return self.tensor.__dlpack__(copy=self.copy)


@pytest.mark.parametrize(("copy", "shared"), [(None, False), (True, False), (False, True)])
def test_dlpack_before_version_1_copies_unless_forbidden(copy, shared):
    ours = xp.asarray([1.0, 2.0])
    theirs = np.from_dlpack(Unversioned(ours, copy))
    assert theirs.tolist() == [1.0, 2.0]
    assert np.shares_memory(theirs, ours.numpy()) is shared


BIG = (1 << 64) - 1


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        pytest.param([1, BIG], None, DType.U64, id="both sides of i64"),
        pytest.param([[0, BIG - 1], [1 << 63, 3]], DType.U64, DType.U64, id="nested"),
        pytest.param(BIG, None, DType.U64, id="scalar"),
        pytest.param([1.0, (1 << 53) + 1], DType.I64, DType.I64, id="beside a float"),
        pytest.param([2.0, BIG], DType.U64, DType.U64, id="beside a float, unsigned"),
    ],
)
def test_large_integers_are_never_rounded(values, dtype, expected):
    made = xp.asarray(values, dtype=dtype)
    assert made.dtype is expected
    assert made.tolist() == values


def test_floats_beside_large_integers_stay_floats():
    assert xp.asarray([0.5, 1 << 63]).tolist() == [0.5, 2.0**63]
    assert xp.asarray([0.5, 1 << 63]).dtype is DType.F32
    assert xp.asarray([-1, 1 << 63], dtype=xp.float64).tolist() == [-1.0, 2.0**63]


@pytest.mark.parametrize("axis", [-3, 2, 5])
def test_axes_outside_the_rank_are_index_errors(axis):
    with pytest.raises(IndexError, match=rf"unsqueeze: axis {axis} is outside shape \[2\]"):
        xp.expand_dims(xp.ones(2), axis=axis)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6),
    st.sampled_from([DType.I8, DType.I32, DType.U8, DType.U64]),
)
def test_sums_in_a_narrower_dtype_are_exact_modulo_its_range(values, dtype):
    x = xp.asarray(values, dtype=xp.int64)
    modulus, low = 1 << dtype.bits, xp.iinfo(dtype).min
    for fold, plain in ((xp.sum, sum(values)), (xp.prod, math.prod(values))):
        assert fold(x, dtype=dtype).item() == (plain - low) % modulus + low
    sums = [(part - low) % modulus + low for part in itertools.accumulate(values)]
    assert xp.cumulative_sum(x, dtype=dtype).tolist() == sums


@pytest.mark.parametrize("dtype", [DType.U8, DType.U64, DType.I16])
def test_repeat_takes_counts_of_every_integer_dtype(dtype):
    counts = xp.asarray([2, 0, 1], dtype=dtype)
    assert xp.repeat(xp.asarray([7, 8, 9]), counts).tolist() == [7, 7, 9]


def test_nothing_to_move_leaves_values_alone():
    scalar = xp.asarray(2.0)
    assert xp.fft.fftshift(scalar).tolist() == xp.fft.ifftshift(scalar).tolist() == 2.0
    assert xp.roll(xp.asarray([1, 2]), 1, axis=()).tolist() == [1, 2]
    assert xp.broadcast_to(scalar, 2).tolist() == [2.0, 2.0]


def test_upper_cholesky_factor_has_true_zeros_below():
    found = xp.linalg.cholesky(xp.asarray([[4, 2j], [-2j, 5]]), upper=True).numpy()
    np.testing.assert_allclose(found, [[2, 1j], [0, 2]])
    assert not np.signbit([found[1, 0].real, found[1, 0].imag]).any()


def test_halves_take_integers_beyond_64_bits():
    assert xp.add(xp.ones(1, dtype=xp.bfloat16), 1 << 70).tolist() == [float(1 << 70)]
    assert not xp.any(xp.equal(xp.ones(1, dtype=xp.float16), 3))


def test_repeat_refuses_counts_that_are_no_integers():
    with pytest.raises(DTypeError, match="repeat: needs an integer dtype, got f32"):
        xp.repeat(xp.ones(1), xp.asarray([1.5]))


@pytest.mark.parametrize("real", [INF, -INF])
@pytest.mark.parametrize("imaginary", [2.7, -2.7, 0.0, -0.0])
def test_tanh_of_an_infinity_keeps_the_sign_of_the_imaginary_part(real, imaginary):
    found = xp.tanh(xp.asarray(complex(real, imaginary), dtype=xp.complex128)).item()
    assert found.real == math.copysign(1, real)
    assert found.imag == 0
    assert math.copysign(1, found.imag) == math.copysign(1, imaginary)


def test_tensor_protocol():
    x = xp.asarray([[1, 2], [3, 4]])
    assert (x.ndim, x.size, x.shape, x.T.tolist()) == (2, 4, (2, 2), [[1, 3], [2, 4]])
    assert x.mT.tolist() == x.T.tolist()
    assert x.__rmatmul__(xp.asarray([[1, 1]])).tolist() == [[4, 6]]
    assert [int(xp.asarray(3)), float(xp.asarray(1.5)), complex(xp.asarray(1j))] == [3, 1.5, 1j]
    assert [10, 20][xp.asarray(1)] == 20
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    assert x.__hash__ is None
    with pytest.raises(DTypeError, match=r"index: a tensor of f32 and shape \[\] is no integer"):
        [10][xp.asarray(0.0)]
    with pytest.raises(DTypeError, match="float: c64 numbers are no real numbers"):
        float(xp.asarray(1j))


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_halves_are_computed_in_f32(dtype):
    x = Tensor.from_data([0.1, 1.5, -2.25, 60.0], dtype=dtype)
    wide = x.cast(DType.F32)
    for name in ("exp", "tanh", "sqrt", "log1p", "sin", "erf"):
        ours, theirs = getattr(x, name)(), getattr(wide, name)().cast(dtype)
        assert ours.dtype is dtype
        np.testing.assert_array_equal(ours.numpy().view("u2"), theirs.numpy().view("u2"))
