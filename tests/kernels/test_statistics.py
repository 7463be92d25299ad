"""One-pass statistics and histograms, against NumPy's several passes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ruda._kernels import Moments, histogram, moments
from ruda.errors import DTypeError, SettingError

NAN = math.nan
FLOATS = ["<f2", "<f4", "<f8", ">f4", ">f8", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]
INTEGERS = ["?", "u1", "i1", "<i2", ">i4", "<u4", "<i8", "<u8"]


def expected_moments(values: NDArray) -> Moments:
    """The definition, in float64."""
    wide = values.astype(np.float64)
    good = wide[np.isfinite(wide)]
    return Moments(
        count=values.size,
        minimum=good.min() if good.size else NAN,
        maximum=good.max() if good.size else NAN,
        absmax=np.abs(good).max() if good.size else NAN,
        total=good.sum(),
        total_squares=np.square(good).sum(),
        zeros=int((wide == 0).sum()),
        nans=int(np.isnan(wide).sum()),
        pos_infs=int((wide == np.inf).sum()),
        neg_infs=int((wide == -np.inf).sum()),
    )


def check(got: Moments, expected: Moments) -> None:
    for name in Moments.__slots__:
        np.testing.assert_allclose(
            getattr(got, name), getattr(expected, name), rtol=1e-12, atol=1e-9, err_msg=name
        )


def with_everything(length: int) -> NDArray[np.float32]:
    values = np.random.default_rng(length).standard_normal(length).astype(np.float32) * 3
    values[::7] = 0
    values[3::11] = np.nan
    values[5::13] = np.inf
    values[6::17] = -np.inf
    return values


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("length", [0, 1, 2, 4095, 4097, 40_000, 3_000_001])
def test_moments_of_all_sorts_of_items(length: int) -> None:
    values = with_everything(length)
    check(moments(values), expected_moments(values))


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_moments_of_every_float(dtype: object) -> None:
    with np.errstate(all="ignore"):
        values = with_everything(70_000).astype(dtype).reshape(100, 700)
    check(moments(values), expected_moments(values))
    check(moments(values[::3, ::-2]), expected_moments(values[::3, ::-2]))


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_moments_of_every_integer(dtype: str) -> None:
    values = np.random.default_rng(1).integers(0, 100, 70_000).astype(dtype)
    check(moments(values), expected_moments(values))


def test_integer_extremes_are_exact() -> None:
    got = moments(np.array([-(2**63), 2**63 - 1, 2**53 + 1]))
    assert (got.minimum, got.maximum, got.absmax) == (-(2**63), 2**63 - 1, 2**63)
    assert moments(np.array([2**64 - 1], np.uint64)).maximum == 2**64 - 1


EXTREMES = [
    pytest.param([], (NAN, NAN, NAN), id="nothing"),
    pytest.param([NAN, math.inf], (NAN, NAN, NAN), id="nothing finite"),
    pytest.param([-0.0], (0.0, 0.0, 0.0), id="negative zero"),
    pytest.param([1e-45, 3e-39], (1e-45, 3e-39, 3e-39), id="subnormal"),
    pytest.param([-3.4028235e38, 1.0], (-3.4028235e38, 1.0, 3.4028235e38), id="largest"),
    pytest.param([-5.0, -2.0, NAN], (-5.0, -2.0, 5.0), id="negative with NaN"),
]


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize(("items", "expected"), EXTREMES)
def test_extremes(items: list[float], expected: tuple[float, float, float]) -> None:
    got = moments(np.array(items, np.float32))
    wanted = [float(np.float32(x)) for x in expected]
    np.testing.assert_array_equal([got.minimum, got.maximum, got.absmax], wanted)


@pytest.mark.usefixtures("variant")
def test_squares_of_large_values_do_not_overflow() -> None:
    got = moments(np.full(5000, 2.0**100, np.float32))
    assert got.total_squares == 5000 * 2.0**200


@settings(deadline=None)
@given(
    hnp.arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32)),
    hnp.arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32)),
)
def test_parts_add_up_to_the_whole(first: NDArray, second: NDArray) -> None:
    whole = moments(np.concatenate([first, second]))
    parts = moments(first) + moments(second)
    assert parts.count == whole.count == first.size + second.size
    assert parts.finite == whole.finite
    for name in ("minimum", "maximum", "absmax", "zeros", "nans", "pos_infs", "neg_infs"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)
    scale = first.size + second.size
    limit = 1e-12 * scale * (whole.absmax if whole.finite else 1.0)
    assert abs(parts.total - whole.total) <= limit


@pytest.mark.parametrize("dtype", ["c8", "U3", "M8[s]", "O"])
def test_only_numbers_have_moments(dtype: str) -> None:
    with pytest.raises(DTypeError, match="expected floats, integers or booleans"):
        moments(np.empty(2, dtype))


HISTOGRAMS = [
    pytest.param([0, 0.5, 1, 1.5, 2], 0, 2, 4, [1, 1, 1, 2], id="last bin includes high"),
    pytest.param([-1, 3, NAN, math.inf, -math.inf], 0, 2, 2, [0, 0], id="all outside"),
    pytest.param([7, 7, 8], 7, 7, 3, [0, 0, 2], id="one point"),
    pytest.param([], 0, 1, 2, [0, 0], id="no items"),
    pytest.param([5], 0, 10, 1, [1], id="one bin"),
]


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize(("items", "low", "high", "bins", "expected"), HISTOGRAMS)
def test_histogram(
    items: list[float], low: float, high: float, bins: int, expected: list[int], dtype: object
) -> None:
    got = histogram(np.array(items, dtype), low, high, bins)
    np.testing.assert_array_equal(got, np.array(expected, np.int64), strict=True)


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "f8", "i4"])
@pytest.mark.parametrize("bins", [1, 8, 64, 1024])
def test_histogram_is_numpys_where_edges_are_exact(dtype: str, bins: int) -> None:
    values = (np.random.default_rng(bins).standard_normal((300, 701)) * 4).astype(dtype)
    expected, _ = np.histogram(values, bins, (-8, 8))
    np.testing.assert_array_equal(histogram(values, -8, 8, bins), expected)


@pytest.mark.parametrize(("low", "high"), [(-1.7e308, 1.7e308), (0.0, 5e-324)])
def test_histogram_of_extreme_float64_ranges(low: float, high: float) -> None:
    np.testing.assert_array_equal(histogram(np.array([low, high]), low, high, 2), [1, 1])


BAD_RANGES = [
    pytest.param(0, 1, 0, "bins=0: expected a whole number from 1", id="no bins"),
    pytest.param(2, 1, 4, r"from 2.0 to 1.0: expected finite low ≤ high", id="backwards"),
    pytest.param(0, math.inf, 4, r"from 0.0 to inf: expected finite", id="infinite"),
    pytest.param(NAN, 1, 4, r"from nan to 1.0: expected finite", id="nan"),
]


@pytest.mark.parametrize(("low", "high", "bins", "message"), BAD_RANGES)
def test_histogram_refuses(low: float, high: float, bins: int, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        histogram(np.zeros(2, np.float32), low, high, bins)
