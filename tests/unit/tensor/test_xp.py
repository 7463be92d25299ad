"""The Array API namespace is the tensor's own operations under the standard's names."""

import numpy as np
import pytest

import ruda.tensor.xp as xp
from ruda.errors import DTypeError

A = xp.asarray([[1.0, 2.0], [3.0, 4.0]])

CASES = [
    pytest.param(lambda: xp.add(A, A), [[2, 4], [6, 8]], id="add"),
    pytest.param(lambda: xp.subtract(A, 1), [[0, 1], [2, 3]], id="subtract"),
    pytest.param(lambda: xp.multiply(A, 2), [[2, 4], [6, 8]], id="multiply"),
    pytest.param(lambda: xp.divide(A, 2), [[0.5, 1], [1.5, 2]], id="divide"),
    pytest.param(lambda: xp.negative(A), [[-1, -2], [-3, -4]], id="negative"),
    pytest.param(lambda: xp.equal(A, 4), [[0, 0], [0, 1]], id="equal"),
    pytest.param(lambda: xp.matmul(A, xp.ones((2, 1))), [[3], [7]], id="matmul"),
    pytest.param(lambda: xp.matrix_transpose(A), [[1, 3], [2, 4]], id="transpose"),
    pytest.param(lambda: xp.sum(A, axis=0), [4, 6], id="sum"),
    pytest.param(lambda: xp.mean(A), 2.5, id="mean"),
    pytest.param(lambda: xp.max(A, axis=1, keepdims=True), [[2], [4]], id="max"),
    pytest.param(lambda: xp.min(A), 1, id="min"),
    pytest.param(lambda: xp.argmax(A), 3, id="argmax"),
    pytest.param(lambda: xp.reshape(A, (4,)), [1, 2, 3, 4], id="reshape"),
    pytest.param(lambda: xp.expand_dims(xp.zeros(2), axis=-1), [[0], [0]], id="expand_dims"),
    pytest.param(lambda: xp.concat([A, A], axis=None), [1, 2, 3, 4] * 2, id="concat flat"),
    pytest.param(lambda: xp.concat([A, A], axis=1), [[1, 2, 1, 2], [3, 4, 3, 4]], id="concat"),
    pytest.param(lambda: xp.stack([xp.ones(1), xp.zeros(1)]), [[1], [0]], id="stack"),
    pytest.param(lambda: xp.full((1,), 3, dtype=xp.int8), [3], id="full"),
    pytest.param(lambda: xp.astype(A, xp.int32), [[1, 2], [3, 4]], id="astype"),
]


@pytest.mark.parametrize(("compute", "expected"), CASES)
def test_functions(compute, expected):
    np.testing.assert_array_equal(compute().numpy(), np.asarray(expected))


def test_dtypes():
    assert xp.result_type(xp.asarray([1], dtype=xp.int64), xp.bfloat16) is xp.bfloat16
    assert xp.asarray(A) is xp.asarray(A, dtype=xp.float32) is A
    assert xp.asarray(A, dtype=xp.float64).dtype is xp.float64
    assert xp.equal(A, A).dtype is xp.bool
    with pytest.raises(DTypeError, match="result_type: no integer holds both u64 and i64"):
        xp.result_type(xp.uint64, xp.int64)


def test_all_names_exist():
    assert all(hasattr(xp, name) for name in xp.__all__)
