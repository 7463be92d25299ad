"""Halves are computed in f32 and rounded once, also where one method has several steps."""

import numpy as np
import pytest

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import Distribution, DType, Tensor

HALVES = [DType.F16, DType.BF16]
_DRAWN = [
    Tensor.random((40, 3), Distribution.normal(0, 1), seed=seed, dtype=DType.F64) for seed in (1, 2)
]

STEPS = {
    "cross": lambda x, y: x.cross(y),
    "cosine_similarity": lambda x, y: x.cosine_similarity(y, 0),
    "dot": lambda x, y: x.dot(y),
    "matmul": lambda x, y: x @ y.T,
    "cov": lambda x, y: x.cov(),
    "var": lambda x, y: x.var(0),
    "vector_normalize": lambda x, y: x.vector_normalize(),
    "lerp": lambda x, y: x.lerp(y, 0.3),
    "logsumexp": lambda x, y: x.logsumexp(0),
    "cumprod": lambda x, y: x.cumprod(1),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("compute", STEPS.values(), ids=STEPS)
def test_several_steps_are_rounded_at_the_end(compute, dtype):
    x, y = (one.cast(dtype) for one in _DRAWN)
    found = compute(x, y)
    exact = compute(x.cast(DType.F64), y.cast(DType.F64)).numpy()
    assert found.dtype is dtype
    step = 2.0**-11 if dtype is DType.F16 else 2.0**-8
    np.testing.assert_allclose(found.cast(DType.F64).numpy(), exact, rtol=1.001 * step, atol=4e-6)


MANY = 4096
ONES = {
    "scatter": lambda t, i: t.scatter(0, i, Tensor.ones((MANY,), dtype=t.dtype)),
    "scatter_nd": lambda t, i: t.scatter_nd(i.unsqueeze(1), Tensor.ones((MANY,), dtype=t.dtype)),
    "select_assign": lambda t, i: t.select_assign(0, i, Tensor.ones((MANY,), dtype=t.dtype)),
    "a matrix of indices": lambda t, i: t.select_assign(
        0, i.reshape(2, -1), Tensor.ones((1,), dtype=t.dtype)
    ),
    "a wider target": lambda t, i: (
        t.unsqueeze(1)
        .expand(2, 3)
        .scatter(0, i.unsqueeze(1), Tensor.ones((MANY, 1), dtype=t.dtype))[:, 0]
    ),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("add", ONES.values(), ids=ONES)
def test_ones_that_go_to_one_place_add_up(add, dtype):
    """In bf16 they would stop at 256, in f16 at 2048."""
    found = add(Tensor.zeros((2,), dtype=dtype), Tensor.full((MANY,), -1, dtype=DType.I16))
    assert found.tolist() == [0, MANY]
    assert found.dtype is dtype


@pytest.mark.parametrize("dtype", HALVES)
def test_factors_that_go_to_one_place_are_rounded_once(dtype):
    factor = Tensor.full((64,), 1 + 2.0**-7, dtype=dtype)
    places = Tensor.zeros((64,), dtype=DType.I64)
    found = Tensor.ones((1,), dtype=dtype).scatter(0, places, factor, update="mul").item()
    exact = float(Tensor.from_data([(1 + 2.0**-7) ** 64], dtype=dtype).item())
    assert found == exact


T = Tensor.from_data
REFUSED = [
    (lambda: T([True]).scatter(0, T([0]), T([True])), DTypeError, "scatter: bool tensors have no"),
    (
        lambda: T([True]).select_assign(0, T([0]), T([True])),
        DTypeError,
        "select_assign: bool tensors have no arithmetic; cast one to i32 first, or assign",
    ),
    (lambda: T([True]).scatter(0, T([0]), T([True]), update="x"), SettingError, "update is assign"),
    (
        lambda: Tensor.zeros((3,)).select_assign(0, T([0, 1]), T([1.0, 2.0, 3.0])),
        ShapeError,
        r"values of shape \[3\] do not broadcast to \[2\], the slices of axis 0 that the indices",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_bool_is_assigned():
    found = T([True, False]).scatter(0, T([1, 0]), T([True, False]), update="assign")
    assert found.tolist() == [False, True]


def test_updates_reach_into_the_target_row_by_row():
    """Every update with every sign of index and an axis that the indices do not fill."""
    rng = np.random.default_rng(4)
    start, new = rng.integers(1, 5, (4, 5, 6)), rng.integers(1, 5, (3, 7, 2))
    where = rng.integers(-5, 5, new.shape)
    moves = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    for update, move in moves.items():
        wanted = start.copy()
        for (i, j, k), place in np.ndenumerate(where):
            wanted[i, place, k] = move(wanted[i, place, k], new[i, j, k])
        found = T(start).scatter(1, T(where), T(new), update=update)
        np.testing.assert_array_equal(found.numpy(), wanted)
    last = start.copy()
    for (i, j, k), place in np.ndenumerate(where):
        last[i, place, k] = new[i, j, k]
    found = T(start.transpose(2, 1, 0).copy().transpose(2, 1, 0)).scatter(
        1, T(where), T(new), update="assign"
    )
    np.testing.assert_array_equal(found.numpy(), last)
