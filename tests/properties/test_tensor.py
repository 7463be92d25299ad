"""Laws of tensors: NumPy's broadcasting, exact casts, statistics that join."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import ShapeError
from ruda.tensor import CastCounts, DType, Kind, Tensor, TensorData, cast, stats
from ruda.testing.strategies import arrays, shapes

FLOATS = [d for d in DType if d.kind is Kind.FLOAT and d is not DType.FLEX32]
NARROW = [DType.F16, DType.BF16, DType.F8_E4M3FN, DType.F8_E5M2]
ORDERED = [d for d in DType if d.kind in (Kind.FLOAT, Kind.INT, Kind.UINT, Kind.BOOL)]
ARITHMETIC = [DType.F64, DType.F32, DType.I32, DType.U8]


@given(shapes(max_rank=3), shapes(max_rank=3))
def test_broadcasting_is_numpys(left, right):
    a, b = np.ones(left, np.float32), np.ones(right, np.float32)
    try:
        expected = np.broadcast_shapes(left, right)
    except ValueError:
        with pytest.raises(ShapeError, match="do not broadcast"):
            Tensor(a) + Tensor(b)
        return
    assert (Tensor(a) + Tensor(b)).shape == (Tensor(b) + Tensor(a)).shape == expected


@given(arrays(ARITHMETIC))
def test_same_dtype_arithmetic_is_numpys(array):
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((Tensor(array) + Tensor(array)).numpy(), array + array)
        np.testing.assert_array_equal((Tensor(array) * Tensor(array)).numpy(), array * array)


@given(arrays(ORDERED))
def test_widening_and_back_is_identity(array):
    source = DType.from_numpy(array.dtype)
    wide = {Kind.FLOAT: DType.F64, Kind.UINT: DType.U64}.get(source.kind, DType.I64)
    there, lost = cast(array, source, wide)
    back, _ = cast(there, wide, source)
    assert lost.overflow == lost.underflow == 0
    np.testing.assert_array_equal(_seen(back), _seen(array))


@given(arrays([DType.F32]), st.sampled_from(NARROW))
def test_narrowing_f32_is_ml_dtypes(array, target):
    found, counts = cast(array, DType.F32, target)
    with np.errstate(all="ignore"):
        expected = array.astype(target.numpy)
    np.testing.assert_array_equal(_seen(found), _seen(expected))
    np.testing.assert_array_equal(np.signbit(_seen(found)), np.signbit(_seen(expected)))
    with np.errstate(invalid="ignore"):
        got = np.abs(_seen(found).astype(np.float64))
    finite = np.isfinite(array)
    held = np.isfinite(got)
    assert counts == CastCounts(
        array.size,
        overflow=int(((finite & ~held) | (np.isinf(array) & np.isnan(got))).sum()),
        underflow=int(((array != 0) & (got == 0)).sum()),
        subnormal=int(((got > 0) & (got < target.smallest_normal)).sum()),
    )


def _seen(values):
    with np.errstate(invalid="ignore"):
        return values if values.dtype.isbuiltin == 1 else values.astype(np.float32)


def _finite_values(target):
    words = np.arange(1 << target.bits, dtype=np.uint32).astype(f"u{target.itemsize}")
    with np.errstate(invalid="ignore"):
        values = _seen(words.view(target.numpy)).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


GRIDS = {target: _finite_values(target) for target in NARROW}


def _nearest(value, target):
    """The nearest even neighbour by exact arithmetic; None beyond the largest finite value."""
    grid = GRIDS[target]
    at = int(np.searchsorted(grid, float(value)))
    if at in (0, grid.size):
        return None
    low, high = Fraction(grid[at - 1]), Fraction(grid[at])
    if value == high:
        return high
    below, above = value - low, high - value
    if below != above:
        return low if below < above else high
    spacing = high - low
    return low if (low / spacing) % 2 == 0 else high


@given(st.data(), st.sampled_from(NARROW))
def test_f64_rounds_once(data, target):
    grid = GRIDS[target]
    at = data.draw(st.integers(1, grid.size - 3))
    middle = (grid[at] + grid[at + 1]) / 2
    offset = data.draw(st.sampled_from([0.0, 2.0**-40, -(2.0**-40), 2.0**-52, -(2.0**-52)]))
    value = middle * (1.0 + offset)
    expected = _nearest(Fraction(value), target)
    found = _seen(cast(np.array([value]), DType.F64, target)[0])[0]
    assert expected is not None
    assert float(found) == float(expected)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([DType.BF16, DType.F32]))
def test_i64_rounds_once(value, target):
    found = _seen(cast(np.array([value]), DType.I64, target)[0])[0]
    if target is DType.F32:
        assert found == np.float32(np.array([value]))[0]
        return
    assert float(found) == float(_nearest(Fraction(value), target))


@given(arrays(FLOATS), st.sampled_from([d for d in DType if d.is_integer]))
def test_float_to_integer_truncates_or_clips(array, target):
    found, counts = cast(array, DType.from_numpy(array.dtype), target)
    info = np.iinfo(target.numpy)
    lost = 0
    for value, got in zip(
        _seen(array).reshape(-1).tolist(), found.reshape(-1).tolist(), strict=True
    ):
        if math.isnan(value):
            expected, outside = 0, True
        elif math.isinf(value):
            expected, outside = (info.max if value > 0 else info.min), True
        else:
            expected = min(max(math.trunc(value), int(info.min)), int(info.max))
            outside = expected != math.trunc(value)
        lost += outside
        assert got == expected
    assert counts.overflow == lost


@given(arrays(ORDERED))
def test_stats_agree_with_exact_arithmetic(array):
    found = stats(array, DType.from_numpy(array.dtype), bins=7)
    values = [Fraction(v) for v in _seen(array).reshape(-1).tolist() if math.isfinite(v)]
    assert found.count == array.size
    assert found.finite == len(values) == sum(found.histogram)
    if not values:
        return
    assert found.zeros == values.count(0)
    assert Fraction(found.minimum) == min(values)
    assert Fraction(found.maximum) == max(values)
    mean = sum(values) / len(values)
    scale = max(abs(v) for v in values) or Fraction(1)
    assert abs(Fraction(found.mean) - mean) <= scale * Fraction(1, 10**12) + Fraction(5e-324)
    variance = sum((v - mean) ** 2 for v in values) / len(values)
    deviation = scale * Fraction(math.sqrt(variance / scale**2))
    assert abs(Fraction(found.std) - deviation) <= deviation / 10**5 + Fraction(1e-323)


@given(arrays(ORDERED))
def test_data_equals_itself_and_its_bytes(array):
    data = TensorData(array, DType.from_numpy(array.dtype))
    data.assert_eq(data)
    data.assert_approx_eq(data)
    again = TensorData.from_bytes(data.to_bytes(), data.shape, data.dtype)
    assert again.to_bytes() == data.to_bytes()


@given(arrays([DType.F32]), st.integers(0, 3))
def test_comparison_is_symmetric(array, shift):
    left = TensorData(array, DType.F32)
    right = TensorData(cast(np.roll(array, shift), DType.F32, DType.BF16)[0], DType.BF16)
    there, back = left.compare(right), right.compare(left)
    assert (there.count, there.max_absolute, there.max_relative) == (
        back.count,
        back.max_absolute,
        back.max_relative,
    )
    assert there.nans == back.nans[::-1]


@given(arrays([DType.F16, DType.BF16]))
def test_half_sums_are_f32_sums_rounded_once(array):
    dtype = DType.from_numpy(array.dtype)
    with np.errstate(all="ignore"):
        expected = _seen(array).astype(np.float32).sum(dtype=np.float32)
        rounded = np.asarray(expected).astype(dtype.numpy)
    np.testing.assert_array_equal(_seen(Tensor(array).sum().numpy()), _seen(rounded))
