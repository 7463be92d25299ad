"""Tolerance: strict comparison, presets, and precision of its own."""

import numpy as np
import pytest

from ruda.errors import SettingError
from ruda.tensor import DType, TensorData, Tolerance, deviation

B, S = Tolerance.balanced(), Tolerance.strict()

CASES = [
    pytest.param(1.0, 1.004, B, True, id="within relative"),
    pytest.param(1.0, 1.006, B, False, id="beyond relative"),
    pytest.param(0.0, 9e-6, B, True, id="within absolute"),
    pytest.param(0.0, 2e-5, B, False, id="beyond absolute"),
    pytest.param(1.0, 1.5, Tolerance.rel_abs(0.0, 0.5), False, id="strictly less"),
    pytest.param(1.0, 1.0, Tolerance.rel_abs(0.0, 0.0), True, id="equal passes anything"),
    pytest.param(np.inf, np.inf, B, True, id="same infinity"),
    pytest.param(np.inf, -np.inf, B, False, id="other infinity"),
    pytest.param(np.inf, 1.0, Tolerance.permissive(), False, id="infinity and number"),
    pytest.param(np.nan, np.nan, B, True, id="both NaN"),
    pytest.param(np.nan, 1.0, B, False, id="one NaN"),
    pytest.param(0.0, 60 * 2.0**-126, S, True, id="strict, tiny"),
    pytest.param(1.0, 1.0000001, S, False, id="strict"),
    pytest.param(1.0, 1.009, Tolerance.permissive(), True, id="permissive"),
    pytest.param(1.0, 1.1, B.set_single(0.2, 0.0), True, id="single replaced"),
    pytest.param(1.0, 1.1, B.set_half(0.2, 0.0).set_double(0.2, 0.0), False, id="others replaced"),
]


@pytest.mark.parametrize(("a", "b", "tolerance", "close"), CASES)
def test_tolerance(a, b, tolerance, close):
    left, right = TensorData.of([a], DType.F32), TensorData.of([b], DType.F32)
    assert (left.compare(right, tolerance).count == 0) is close
    assert (right.compare(left, tolerance).count == 0) is close
    if close:
        left.assert_approx_eq(right, tolerance)
    else:
        with pytest.raises(AssertionError, match="1 of 1 values differ"):
            left.assert_approx_eq(right, tolerance)


def test_precision_decides_the_pair():
    tolerance = B.set_half(0.1, 0.2)
    assert tolerance.pair(DType.BF16) == (0.1, 0.2)
    assert tolerance.pair(DType.I16) == tolerance.pair(DType.F32) == (0.005, 1e-5)
    assert S.pair(DType.F16) == (0.0, 64 * 2.0**-14)
    assert S.pair(DType.I32) == (0.0, 0.0)


BAD = [
    pytest.param(1.1, 0.0, "a relative tolerance is 0 to 1, got 1.1", id="relative"),
    pytest.param(0.1, float("inf"), "finite and from 0, got inf", id="infinite"),
    pytest.param(0.1, -1.0, "an absolute tolerance is finite and from 0, got -1.0", id="absolute"),
    pytest.param(float("nan"), 0.0, "relative tolerance", id="NaN"),
]


@pytest.mark.parametrize(("relative", "absolute", "message"), BAD)
def test_bad_tolerance(relative, absolute, message):
    with pytest.raises(SettingError, match=message):
        Tolerance.rel_abs(relative, absolute)
    with pytest.raises(SettingError, match=message):
        B.set_double(relative, absolute)


def test_floats_of_two_dtypes_are_compared_in_the_first_one():
    wide, narrow = TensorData.of([0.1], DType.F64), TensorData.of([0.1], DType.F32)
    narrow.assert_eq(wide, strict=False)
    with pytest.raises(AssertionError, match="1 of 1 values differ"):
        wide.assert_eq(narrow, strict=False)  # f64 tells them apart
    with pytest.raises(AssertionError, match="1 of 1 values differ"):
        TensorData.of([255], DType.U8).assert_eq(TensorData.of([300], DType.I32), strict=False)
    assert narrow.compare(wide).count == 1  # of files every bit counts


@pytest.mark.parametrize("tolerance", [None, B])
@pytest.mark.parametrize(
    ("left", "right", "count"),
    [
        pytest.param((0,), (3,), 3, id="nothing against something"),
        pytest.param((3,), (0,), 3, id="something against nothing"),
        pytest.param((0,), (0, 2), 1, id="nothing in two shapes"),
        pytest.param((), (1,), 1, id="a scalar and a vector"),
        pytest.param((2, 3), (3, 2), 6, id="turned"),
    ],
)
def test_two_shapes_never_agree(left, right, count, tolerance):
    found = TensorData.zeros(left).compare(TensorData.zeros(right), tolerance)
    assert (found.count, found.same_shape) == (count, False)


PRECISIONS = [
    pytest.param(DType.F64, DType.F16, S, 0, id="strict, f64 and f16"),
    pytest.param(DType.F64, DType.F32, S, 1, id="strict, f64 and f32"),
    pytest.param(DType.F32, DType.BF16, S, 1, id="strict, f32 and bf16"),
    pytest.param(DType.F16, DType.BF16, S, 1, id="strict, f16 and bf16"),
    pytest.param(DType.F16, DType.I8, S, 0, id="strict, f16 and i8"),
    pytest.param(
        DType.F64, DType.F16, B.set_double(1.0, 0.0), 1, id="balanced, the double replaced"
    ),
    pytest.param(DType.F64, DType.F16, B.set_half(1.0, 1.0), 0, id="balanced, the half replaced"),
]


@pytest.mark.parametrize(("first", "second", "tolerance", "count"), PRECISIONS)
def test_the_coarser_dtype_decides_the_tolerance_both_ways(first, second, tolerance, count):
    left = TensorData.of([2e-4], first)
    right = TensorData.of([0], second) if second is DType.I8 else TensorData.of([1e-4], second)
    assert left.compare(right, tolerance).count == count
    assert right.compare(left, tolerance).count == count
    for one, other in ((left, right), (right, left)):
        both = (one.dtype, other.dtype)
        assert deviation(one.array, other.array, both, tolerance=tolerance).beyond == count
