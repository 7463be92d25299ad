"""Python numbers on their way into a dtype: rounded once, in range, or refused in a sentence."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ruda.tensor.xp as xp
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import Distribution, DType, Tensor, TensorData

TIE = 1 + 2.0**-8 + 2.0**-40
"""Just above the middle of two bf16: by way of float32 it would be the middle, and become 1."""
ABOVE = 1.0078125
ONE = Tensor.ones((1,), dtype=DType.BF16)
TRUE = Tensor.from_data([True])


@pytest.mark.parametrize(
    "compute",
    [
        pytest.param(lambda: ONE * TIE, id="operator"),
        pytest.param(lambda: TIE * ONE, id="from the right"),
        pytest.param(lambda: ONE.mask_fill(TRUE, TIE), id="mask_fill"),
        pytest.param(lambda: ONE.slice_fill(0, TIE), id="slice_fill"),
        pytest.param(lambda: ONE.pad([(1, 0)], value=TIE)[:1], id="pad"),
        pytest.param(lambda: ONE.clamp(TIE), id="clamp"),
        pytest.param(lambda: xp.where(TRUE, ONE * 2, TIE).min_pair(TIE), id="where"),
        pytest.param(lambda: Tensor.full((1,), TIE, dtype=DType.BF16), id="full"),
        pytest.param(lambda: Tensor.from_data([TIE], dtype=DType.BF16), id="from_data"),
    ],
)
def test_a_number_is_rounded_once(compute):
    assert compute().tolist() == [ABOVE]


def nearest(value, dtype):
    """The neighbour of an integer among the numbers of a dtype, by exact arithmetic."""
    middle = np.array(float(value)).astype(dtype.numpy)
    low, high = (np.nextafter(middle, np.array(end).astype(dtype.numpy)) for end in (-1e38, 1e38))
    around = [int(float(one)) for one in (low, middle, high) if np.isfinite(one)]
    best = min(abs(one - value) for one in around)
    close = [one for one in around if abs(one - value) == best]
    return close


@given(st.integers(-(2**90), 2**90), st.sampled_from([DType.BF16, DType.F32]))
def test_integers_of_any_size_are_rounded_once(value, dtype):
    zero = Tensor.zeros((1,), dtype=dtype)
    (found,) = (zero + value).tolist()
    assert found in nearest(value, dtype)
    assert Tensor.from_data([value], dtype=dtype).tolist() == [found]


def test_an_integer_between_two_floats_goes_to_the_nearer_one():
    value = 2**63 + 2**39 + 1  # by way of float64 it would lie in the middle
    assert (Tensor.zeros((1,)) + value).tolist() == [float(2**63 + 2**40)]


@pytest.mark.parametrize(
    ("dtype", "largest", "above"),
    [
        (DType.F16, 65519.99, 65520),
        (DType.BF16, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max), 3.3961775292304601e38),
        (DType.F32, 3.4028235677e38, 3.4028235678e38),
        (DType.F64, 1.7976931348623157e308, 2**1024),
        (DType.C64, 3.4028235677e38, 3.4028235678e38),
    ],
)
def test_what_would_round_to_infinity_is_refused(dtype, largest, above):
    one = xp.ones(1, dtype=dtype)
    assert xp.isfinite(one * largest).item()
    for beyond in (above, -above, 10**400, 10**5000):
        with pytest.raises(DTypeError, match=f"multiply: .* does not fit {dtype}; cast the tensor"):
            one * beyond
    assert math.isinf((xp.ones(1, dtype=DType.F16) * math.inf).item())


def test_both_parts_of_a_complex_number_are_in_range():
    one = xp.ones(1, dtype=xp.complex64)
    with pytest.raises(DTypeError, match=r"add: 1e\+300 does not fit c64; cast the tensor first"):
        one + 1e300j
    assert (one + complex(math.nan, math.inf)).item().imag == math.inf


def test_integers_of_hundreds_of_digits_are_shown_by_their_size():
    with pytest.raises(DTypeError, match="add: an integer of 16610 bits does not fit i32"):
        Tensor.from_data([1]) + 10**5000


def test_integers_beyond_64_bits_go_into_floats_only():
    assert Tensor.from_data([10**30, 1], dtype=DType.F32).tolist() == [float(np.float32(1e30)), 1]
    assert xp.asarray(-(10**300), dtype=xp.float64).item() == -1e300
    with pytest.raises(DTypeError, match="no integer dtype holds 1000000000000000000000 of the"):
        Tensor.from_data([[10**21]])
    with pytest.raises(DTypeError, match="an integer of 1329 bits of the nested values fits no"):
        Tensor.from_data([10**400, 1], dtype=DType.F64)
    with pytest.raises(DTypeError, match="1 of 1 values of f64 do not fit f16"):
        Tensor.from_data([10**30], dtype=DType.F16)


def test_numbers_of_numpy_in_a_list_raise_no_warning():
    assert xp.asarray([np.float16(1), np.float16(2)]).dtype is DType.F16  # warnings are errors here


def test_distances_of_integers_are_exact():
    big, low = xp.asarray([2**53]), xp.asarray([-(2**63)])
    assert not big.is_close(big + 1, rtol=0, atol=0).item()
    assert big.is_close(big + 1, rtol=0, atol=1).item()
    assert not low.is_close(xp.asarray([2**63 - 1]), rtol=0, atol=1e19).item()
    assert low.is_close(low, rtol=0, atol=0).item()
    unsigned = xp.asarray([0, 2**64 - 1], dtype=xp.uint64)
    assert unsigned.is_close(unsigned.flip(), rtol=0, atol=1).tolist() == [False, False]


def test_the_array_api_makes_no_values_that_do_not_fit():
    with pytest.raises(DTypeError, match="1 of 3 values of f64 do not fit i8"):
        xp.linspace(0, 200, 3, dtype=xp.int8)
    with pytest.raises(DTypeError, match="10 of 10 values of i64 do not fit f16"):
        xp.arange(100_000, 100_010, dtype=xp.float16)
    for make in (
        lambda: xp.linspace(0, 10**400, 3),
        lambda: xp.arange(0, 10**400, 10**399, dtype=xp.float32),
    ):
        with pytest.raises(SettingError, match="beyond float64"):
            make()


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16, DType.F8_E4M3FN])
def test_uniform_values_stay_below_the_open_end_in_every_dtype(dtype):
    drawn = TensorData.random((20_000,), Distribution.uniform(1, 2), seed=3, dtype=dtype)
    values = drawn.cast(DType.F64).array
    assert values.max() < 2
    if dtype is not DType.F32:
        assert values.min() == 1
        assert values.max() == 2 - float(ml_dtypes.finfo(dtype.numpy).eps)


def test_distributions_reach_across_all_of_f64_and_say_what_does_not_fit():
    wide = Distribution.uniform(-1.7e308, 1.7e308).sample((1000,), seed=1)
    assert np.isfinite(wide).all()
    assert wide.min() < -1e308 < 1e308 < wide.max()
    with pytest.raises(DTypeError, match=r"random: \d+ of 100 values drawn do not fit f16"):
        Tensor.random((100,), Distribution.normal(0, 1e6), dtype=DType.F16, seed=1)
    with pytest.raises(ShapeError, match=r"random: shape \[-1\] has a negative size"):
        Tensor.random((-1,), Distribution.default(), seed=1)
