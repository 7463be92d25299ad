"""TensorData: making, viewing, converting and comparing."""

import numpy as np
import pytest

from ruda.errors import DTypeError, ShapeError
from ruda.tensor import Distribution, DType, TensorData, Tolerance, transpose_copy


def of(values, dtype=DType.F32):
    return TensorData.of(values, dtype)


def test_bytes_and_back():
    data = of([[1, 2], [3, 4]], DType.BF16)
    assert TensorData.from_bytes(data.to_bytes(), (2, 2), DType.BF16).to_list() == data.to_list()
    assert (data.shape, data.numel) == ((2, 2), 4)
    packed = TensorData.from_bytes(b"ab", (4,), DType.F4_E2M1)
    assert packed.to_bytes() == b"ab"


REFUSED = [
    pytest.param(
        lambda: TensorData.from_bytes(b"abc", (2,), DType.F16),
        ShapeError,
        r"shape \[2\] of f16 takes 4 bytes, got 3",
        id="byte count",
    ),
    pytest.param(
        lambda: TensorData(np.zeros(2, np.float64), DType.F32),
        DTypeError,
        "f32 is held as float32, but the array is float64",
        id="carrier",
    ),
    pytest.param(
        lambda: of([1.0]).view(DType.F16), DTypeError, "f32 cannot be viewed as f16", id="view"
    ),
    pytest.param(
        lambda: TensorData(np.zeros(1, "u1"), DType.QFLOAT).to_list(),
        DTypeError,
        "qfloat is stored as raw bits",
        id="list of raw bits",
    ),
    pytest.param(
        lambda: TensorData(np.zeros(1, "u1"), DType.QFLOAT).compare(of([1.0])),
        DTypeError,
        "cannot compare qfloat with f32",
        id="compare raw bits",
    ),
    pytest.param(
        lambda: of([1e5]).try_cast(DType.F16),
        DTypeError,
        "1 of 1 values of f32 do not fit f16; choose a wider dtype",
        id="overflow",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_views_share_memory():
    data = of([True, False], DType.BOOL)
    assert data.view(DType.BOOL) is data.array
    assert data.view(DType.U8).tolist() == [1, 0]


def test_conversions():
    assert of([1.5, 1e6]).cast(DType.I8).to_list() == [1, 127]
    assert of([1.0, 2.0]).try_cast(DType.I8).to_list() == [1, 2]
    assert TensorData.full((2,), 7, DType.U8).to_list() == [7, 7]
    assert TensorData.zeros((1,)).dtype is DType.F32
    drawn = TensorData.random((4,), Distribution.bernoulli(1.0), seed=1, dtype=DType.I8)
    assert drawn.to_list() == [1, 1, 1, 1]


def test_repr_is_short():
    assert repr(of([1.0])) == "TensorData(f32, [1], [1.])"
    assert len(repr(TensorData.zeros((1000,)))) < 100


EXACT = [
    pytest.param([1.0, np.nan], [1.0, np.nan], 0, id="NaN is NaN"),
    pytest.param([0.0], [-0.0], 0, id="zeros"),
    pytest.param([1.0, 2.0], [1.0, 2.5], 1, id="one differs"),
    pytest.param([1.0], [1.0, 2.0], 2, id="shapes"),
    pytest.param([], [], 0, id="empty"),
]


@pytest.mark.parametrize(("left", "right", "count"), EXACT)
def test_exact_comparison(left, right, count):
    found = of(left).compare(of(right))
    assert found.count == count
    assert found.same_dtype


def test_assert_eq_lists_the_first_five():
    left, right = of([[float(i) for i in range(8)]]), of([[float(-i) for i in range(8)]])
    with pytest.raises(AssertionError, match=r"7 of 8 values differ\n  \[0, 1\]: 1.0 and -1.0"):
        left.assert_eq(right)
    with pytest.raises(AssertionError, match="and 2 more"):
        left.assert_eq(right)
    with pytest.raises(AssertionError, match=r"shapes differ: \[1, 8\] and \[1\]"):
        left.assert_eq(of([1.0]))


def test_strict_compares_dtypes():
    left, right = of([1.0, 2.0]), of([1, 2], DType.I32)
    left.assert_eq(right, strict=False)
    with pytest.raises(AssertionError, match="dtypes differ: f32 and i32"):
        left.assert_eq(right)


def test_report_is_structured():
    found = of([1.0, np.nan, 4.0]).compare(of([1.5, 2.0, 4.0]), Tolerance.balanced())
    assert (found.count, found.numel, found.nans) == (2, 3, (1, 0))
    assert found.max_absolute == 0.5
    assert found.max_relative == pytest.approx(1 / 3)
    assert found.first[0].position == (0,)


def test_raw_bits_compare_as_bytes():
    a = TensorData(np.array([1, 2], "u1"), DType.QFLOAT)
    assert a.compare(a, Tolerance.balanced()).count == 0


RANGES = [
    pytest.param([0.0, 0.5], False, None, id="inside"),
    pytest.param([1.0], True, None, id="end included"),
    pytest.param([0.5, 1.0], False, r"1 of 2 values are outside \[0, 1\); first 1.0 at \[1\]",
                 id="end left out"),
    pytest.param([np.nan], True, r"outside \[0, 1\]; first nan", id="NaN"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "inclusive", "message"), RANGES)
def test_ranges(values, inclusive, message):
    if message is None:
        of(values).assert_within_range(0, 1, inclusive=inclusive)
        return
    with pytest.raises(AssertionError, match=message):
        of(values).assert_within_range(0, 1, inclusive=inclusive)


def test_transpose_copy():
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    copy = transpose_copy(matrix)
    np.testing.assert_array_equal(copy, matrix.T)
    assert copy.flags.c_contiguous
    assert not np.shares_memory(copy, matrix)
    with pytest.raises(ShapeError, match=r"transpose needs two axes, got shape \[3\]"):
        transpose_copy(np.zeros(3))
