"""Distributions: range, reproducibility, refused parameters."""

import numpy as np
import pytest

from ruda.errors import DTypeError, SettingError
from ruda.tensor import Distribution, DType, Tensor, TensorData

KINDS = [
    pytest.param(Distribution.default(), 0.5, id="default"),
    pytest.param(Distribution.uniform(-2, 4), 1.0, id="uniform"),
    pytest.param(Distribution.normal(3, 2), 3.0, id="normal"),
    pytest.param(Distribution.bernoulli(0.25), 0.25, id="bernoulli"),
]


@pytest.mark.parametrize(("distribution", "mean"), KINDS)
def test_samples(distribution, mean):
    first = distribution.sample((100, 200), seed=7)
    np.testing.assert_array_equal(first, distribution.sample((100, 200), seed=7))
    assert (first != distribution.sample((100, 200), seed=8)).any()
    assert first.mean() == pytest.approx(mean, abs=0.1)


def test_uniform_is_half_open():
    narrow = Distribution.uniform(1.0, np.nextafter(1.0, 2.0)).sample((100,), seed=0)
    assert (narrow == 1.0).all()
    assert set(Distribution.bernoulli(0.5).sample((100,), seed=0)) == {0.0, 1.0}


BAD = [
    pytest.param(lambda: Distribution.uniform(1, 1), "finite low < high, got 1 and 1", id="empty"),
    pytest.param(lambda: Distribution.uniform(0, np.inf), "finite low < high", id="infinite"),
    pytest.param(lambda: Distribution.normal(0, -1), "std ≥ 0, got 0 and -1", id="std"),
    pytest.param(lambda: Distribution.bernoulli(1.5), "0 to 1, got 1.5", id="probability"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_parameters(make, message):
    with pytest.raises(SettingError, match=message):
        make()


FLOATS = [DType.F64, DType.F32, DType.F16, DType.BF16, DType.F8_E4M3FN, DType.F8_E5M2]
ENDS = [(0.7, 1.3), (-1.3, -0.7), (-0.1, 0.1), (0.3, 0.9), (1.0, 2.0), (-2.0, -1.0)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("low", "high"), ENDS)
def test_uniform_values_stay_between_the_ends_in_every_dtype(dtype, low, high):
    """0.7 is 0.69921875 in bf16, which is below the low end."""
    drawn = TensorData.random((4000,), Distribution.uniform(low, high), seed=5, dtype=dtype)
    drawn.assert_within_range(low, high)
    assert drawn.cast(DType.F64).array.std() > 0.05


def test_where_no_number_of_the_dtype_lies_between_the_ends():
    narrow = Distribution.uniform(0.701, 0.702)
    with pytest.raises(DTypeError, match=r"no number of bf16 lies from 0\.701 to below 0\.70"):
        Tensor.random((2,), narrow, dtype=DType.BF16, seed=1)
    TensorData.random((50,), narrow, seed=1).assert_within_range(0.701, 0.702)


PINNED = [
    (Distribution.default(), DType.F32, [0.17893481254577637, 0.6399131417274475]),
    (Distribution.uniform(-8, 8), DType.I8, [-5, 2]),
    (Distribution.normal(1, 2), DType.F64, [-0.5862449503157983, 1.4811425670765497]),
    (Distribution.bernoulli(0.5), DType.BOOL, [True, False]),
    (Distribution.default(), DType.BF16, [0.1787109375, 0.640625]),
]


@pytest.mark.parametrize(("law", "dtype", "expected"), PINNED)
def test_a_seed_means_the_same_values_on_every_machine(law, dtype, expected):
    drawn = TensorData.random((2,), law, seed=2026, dtype=dtype)
    assert drawn.to_list() == expected


def test_no_global_generator_is_read_or_moved():
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1:3]  # noqa: NPY002
    first = Tensor.random((5,), Distribution.normal(0, 1), seed=1).tolist()
    weights = Tensor.from_data([0.2, 0.8])
    drawn = weights.categorical(5, np.random.Generator(np.random.PCG64(1))).tolist()
    after = np.random.get_state()[1:3]  # noqa: NPY002
    np.testing.assert_array_equal(before[0], after[0])
    assert before[1] == after[1]
    np.random.seed(4)  # noqa: NPY002
    assert Tensor.random((5,), Distribution.normal(0, 1), seed=1).tolist() == first
    again = weights.categorical(5, np.random.Generator(np.random.PCG64(1))).tolist()
    assert again == drawn
