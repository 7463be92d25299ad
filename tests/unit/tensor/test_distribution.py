"""Distributions: range, reproducibility, refused parameters."""

import numpy as np
import pytest

from ruda.errors import SettingError
from ruda.tensor import Distribution

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
