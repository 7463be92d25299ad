"""Integers beside floats: compared as Python does, exactly; and what is no integer."""

import math
import operator
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DTypeError, IndexRangeError, RudaError, ShapeError
from ruda.tensor import DType, Tensor, TensorData, Tolerance

ORDERS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
WHOLE = [DType.U8, DType.I16, DType.I32, DType.U32, DType.I64, DType.U64]
REAL = [DType.F16, DType.BF16, DType.F32, DType.F64]


def near(dtype):
    info = np.iinfo(dtype.numpy)
    powers = [2**k + d for k in (8, 11, 24, 31, 53, 62, 63) for d in (-1, 0, 1)]
    ends = [info.min, info.min + 1, info.max - 1, info.max, 0, 1]
    both = [*powers, *(-one for one in powers), *ends]
    return [one for one in both if info.min <= one <= info.max]


@pytest.mark.parametrize("whole", WHOLE, ids=str)
@pytest.mark.parametrize("real", REAL, ids=str)
@pytest.mark.parametrize("order", ORDERS, ids=[o.__name__ for o in ORDERS])
def test_integers_compare_with_floats_as_numbers(whole, real, order):
    """Rounded to f32, 16777217 equals 16777216.0; to bf16, 257 equals 256.0."""
    integers = near(whole)
    floats = Tensor.from_data([float(one) for one in near(DType.I64)], dtype=DType.F64).cast(real)
    ends = [0.5, -0.5, -0.0, math.inf, -math.inf, math.nan]
    floats = Tensor.cat([floats, Tensor.from_data(ends, dtype=real)])
    column = Tensor.from_data(integers, dtype=whole).unsqueeze(1)
    numbers = [float(one) for one in floats.tolist()]
    assert order(column, floats).tolist() == [[order(i, f) for f in numbers] for i in integers]
    back = [[order(f, i) for f in numbers] for i in integers]
    assert order(floats, column).tolist() == back


@given(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=True), st.sampled_from(ORDERS))
def test_integers_compare_with_numbers_of_python(value, number, order):
    tensor = Tensor.from_data([value], dtype=DType.I64)
    assert order(tensor, number).tolist() == [order(value, number)]
    assert order(number, tensor).tolist() == [order(number, value)]


def test_comparisons_broadcast_and_say_where_they_do_not():
    pair = Tensor.from_data([1, 2])
    with pytest.raises(ShapeError, match=r"equal: shapes \[2\] and \[3\] do not broadcast"):
        pair.equal(Tensor.zeros((3,)))
    with pytest.raises(DTypeError, match="equal: f8_e5m2 is for storage only"):
        pair.equal(Tensor.zeros((2,), dtype=DType.F8_E5M2))


FAR = [
    (DType.I64, DType.I64, 2**53, 2**53 + 1, 1),
    (DType.I64, DType.I64, -(2**63), 2**63 - 1, 2**64 - 1),
    (DType.U64, DType.U64, 2**64 - 1, 2**64 - 2, 1),
    (DType.U64, DType.I64, 2**64 - 1, -1, 2**64),
    (DType.I64, DType.U64, 2**60 + 1, 2**60, 1),
    (DType.I64, DType.F64, 2**53 + 1, 2.0**53, 1),
    (DType.F64, DType.I64, -(2.0**53), -(2**53) - 1, 1),
    (DType.I64, DType.F64, 2**53 + 1, 0.25, 2**53 + 0.75),
    (DType.U8, DType.F32, 3, 2.5, 0.5),
    (DType.I8, DType.I8, -128, 127, 255),
    (DType.U64, DType.F64, 5, -1.5, 6.5),
]


@pytest.mark.parametrize(("one", "other", "a", "b", "apart"), FAR)
def test_distances_are_those_of_the_numbers(one, other, a, b, apart):
    left, right = TensorData.of([a], one), TensorData.of([b], other)
    assert abs(Fraction(a) - Fraction(b)) - Fraction(apart) < 1
    for first, second in ((left, right), (right, left)):
        difference = first.compare(second)
        assert difference.count == 1
        assert difference.max_absolute == float(apart)
        assert difference.first[0].absolute == float(apart)
        assert first.compare(second, Tolerance.rel_abs(0, apart / 2)).count == 1
        assert first.compare(second, Tolerance.rel_abs(0, apart * 2)).count == 0


@pytest.mark.parametrize("dtype", [DType.F8_E4M3FN, DType.F8_E5M2, DType.F8_E4M3FNUZ], ids=str)
def test_strict_tells_all_floats_of_8_bits_apart(dtype):
    """64 times the smallest normal e4m3 is 1: half of all values would be one."""
    words = np.arange(256, dtype=np.uint8).view(dtype.numpy)
    finite = TensorData(words[np.isfinite(words.astype(np.float32))], dtype)
    values = finite.cast(DType.F64).array
    later = TensorData(np.roll(finite.array, 1), dtype)
    differs = np.count_nonzero(values != np.roll(values, 1))
    assert finite.compare(later, Tolerance.strict()).count == differs > 200
    assert finite.compare(finite, Tolerance.strict()).count == 0


M = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]])
B = Tensor.from_data([True, False])
ONE = Tensor.from_data(1.0)
DATA = TensorData.of([1.0])


@pytest.mark.parametrize("flag", [True, False, np.True_])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "var", "max", "argmax", "softmax", "cumsum", "sort"]
)
def test_a_truth_value_is_no_axis(name, flag):
    """``x.var(False)`` is PyTorch's way to ask for no correction; axis 0 is not meant."""
    message = re.escape(f"an axis is one integer, got {flag!r}")
    with pytest.raises(DTypeError, match=message):
        getattr(M, name)(flag)


REFUSED = [
    (lambda: M.mask_select(Tensor.from_data([1, 0])), DTypeError, "needs a bool tensor, got i32"),
    (lambda: Tensor.cat([np.ones(2), B]), DTypeError, "cat: ndarray is not a tensor; Tensor.from_"),
    (lambda: Tensor.stack([B, [True]]), DTypeError, "stack: list is not a tensor"),
    (lambda: M.pad((1, 1)), DTypeError, "pad: expected several whole numbers, got 1"),
    (lambda: M * np.float64(2), DTypeError, "multiply: numpy.float64 is no Python number; take it"),
    (lambda: B & np.True_, DTypeError, "bitwise_and: numpy.bool is no Python number"),
    (lambda: M.sum(0, keepdims=2), DTypeError, "sum: keepdims is True or False, got 2"),
    (lambda: M.argmax(0, keepdims="x"), DTypeError, "argmax: keepdims is True or False, got 'x'"),
    (lambda: M.cast(M), DTypeError, "cast: Tensor"),
    (lambda: Tensor.eye(2, dtype=[]), DTypeError, r"eye: \[\] is no dtype; expected a DType"),
    (lambda: Tensor.cat(2), DTypeError, "cat: expected several tensors, got int"),
    (lambda: M.pad(3), DTypeError, "pad: expected pairs of whole numbers, got 3"),
    (lambda: M[0].categorical(1, 7), DTypeError, "categorical: expected a numpy.random.Generator"),
    (lambda: M.random_like(0.5, seed=1), DTypeError, "random: expected a Distribution, got float"),
    (lambda: DATA.compare(DATA, 0.1), DTypeError, "compare: expected a Tolerance, got 0.1; Tolera"),
    (lambda: DATA.assert_eq(np.ones(1)), DTypeError, "assert_eq: ndarray is no TensorData; see to"),
    (
        lambda: DATA.assert_approx_eq(DATA, 0.0),
        DTypeError,
        "compare: expected a Tolerance, got 0.0",
    ),
    (lambda: bool(M), ShapeError, r"bool: shape \[2, 2\] has 4 truth values, not one; any\(\) and"),
    (lambda: bool(Tensor.zeros((0,))), ShapeError, r"bool: shape \[0\] has 0 truth values"),
    (lambda: M.topk(3), ShapeError, r"topk: axis 1 of shape \[2, 2\] has 2 values, not 3"),
    (
        lambda: ONE.topk(1),
        IndexRangeError,
        "topk: a scalar has no axes, not even -1",
    ),
    (
        lambda: ONE.sort(5),
        IndexRangeError,
        r"sort: axis 5 is outside shape \[1\]",
    ),
    (lambda: ONE.argsort(-2), IndexRangeError, "argsort: axis -2 is outside"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused_in_a_sentence(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert isinstance(caught.value, RudaError)


def test_scalars_sort_as_one_value():
    one = Tensor.from_data(2.0)
    assert (one.sort(0).item(), one.argsort(-1).item()) == (2.0, 0)
    values, places = one.sort_with_indices()
    assert (values.item(), places.item(), places.dtype) == (2.0, 0, DType.I64)


def test_bool_is_padded_by_default_with_false():
    assert B.pad([(1, 2)]).tolist() == [False, True, False, False, False]
    assert B.pad([(1, 0)], value=1).tolist() == [True, True, False]
    with pytest.raises(DTypeError, match="pad: bool does not take the fill 2"):
        B.pad([(1, 1)], value=2)
