"""The ends of a dtype among extremes, and the order of what is equal."""

import numpy as np
import pytest

import ruda.tensor.xp as xp
from ruda.errors import OperationError
from ruda.tensor import DType, Tensor

SIGNED = [DType.I8, DType.I16, DType.I32, DType.I64]


@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_no_magnitude_is_shown_for_the_least_integer(dtype, axis):
    least = int(np.iinfo(dtype.numpy).min)
    message = f"max_abs: {dtype} has no number for the magnitude of {least}; cast to a wider dtype"
    with pytest.raises(OperationError, match=message):
        Tensor(np.array([[least, 5], [1, 2]], dtype.numpy)).max_abs(axis)
    found = Tensor(np.array([[least + 1, 5], [1, 2]], dtype.numpy)).max_abs(axis)
    whole = [[-least - 1, 5], [1, 2]]
    assert found.tolist() == np.asarray(np.max(np.array(whole, object), axis=axis)).tolist()
    assert found.dtype is dtype


MAGNITUDES = [
    pytest.param(np.array([200, 5], np.uint8), 200, id="unsigned"),
    pytest.param(np.array([-2.5, 1.0], np.float16), 2.5, id="half"),
    pytest.param(np.array([np.nan, 1.0], np.float32), np.nan, id="NaN"),
    pytest.param(np.array([3 + 4j, 1.0], np.complex64), 5.0, id="complex"),
]


@pytest.mark.parametrize(("values", "wanted"), MAGNITUDES)
def test_the_largest_magnitude(values, wanted):
    np.testing.assert_equal(Tensor(values).max_abs().item(), wanted)


EQUAL = [
    pytest.param([0.0, -0.0, 1.0], [0.0, -0.0, 1.0], [1.0, 0.0, -0.0], id="zeros"),
    pytest.param([-0.0, 0.0, 1.0], [-0.0, 0.0, 1.0], [1.0, -0.0, 0.0], id="other zeros"),
    pytest.param([np.nan, -0.0, 0.0], [-0.0, 0.0, np.nan], [np.nan, -0.0, 0.0], id="NaN"),
]


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F32, DType.F64])
@pytest.mark.parametrize(("values", "up", "down"), EQUAL)
def test_equal_values_keep_their_order_both_ways(values, up, down, dtype):
    given = Tensor.from_data(values, dtype=dtype)
    for descending, wanted in ((False, up), (True, down)):
        places = given.argsort(descending=descending)
        for found in (
            given.sort(descending=descending),
            given.sort_with_indices(descending=descending)[0],
            xp.sort(given, descending=descending, stable=True),
            given.gather(0, places),
        ):
            assert list(map(str, found.tolist())) == list(map(str, wanted))
