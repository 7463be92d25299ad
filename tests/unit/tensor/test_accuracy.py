"""Sums of many values, along every axis and in every order of memory, and what is made of them."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

import ruda.tensor.xp as xp
from ruda.tensor import DType, Tensor

MANY = 2_000_000
TENTH = float(np.float32(0.1))


def columns(count=MANY, width=2):
    return np.full((count, width), 0.1, np.float32)


@pytest.mark.parametrize(
    ("make", "axis"),
    [
        pytest.param(lambda: columns(), 0, id="rows"),
        pytest.param(lambda: columns().T, 1, id="transposed"),
        pytest.param(lambda: columns()[::-1], 0, id="backwards"),
        pytest.param(lambda: columns(width=4)[:, ::2], 0, id="strided"),
        pytest.param(lambda: columns().reshape(MANY // 1000, 1000, 2), (0, 1), id="two axes"),
        pytest.param(lambda: np.broadcast_to(np.float32(0.1), (MANY, 2)), 0, id="without memory"),
    ],
)
def test_sums_of_floats_stay_right_along_every_axis(make, axis):
    values = Tensor(make())
    total = MANY * TENTH
    assert values.sum(axis).tolist() == pytest.approx([total] * 2, rel=1e-5)
    assert values.mean(axis).tolist() == pytest.approx([TENTH] * 2, rel=1e-5)
    assert values.vector_norm(1.0, axis).tolist() == pytest.approx([total] * 2, rel=1e-5)
    norm = (MANY * TENTH**2) ** 0.5
    assert values.vector_norm(2.0, axis).tolist() == pytest.approx([norm] * 2, rel=1e-5)
    assert values.var(axis).tolist() == pytest.approx([0] * 2, abs=1e-11)


def test_one_odd_axis_among_many():
    values = np.random.default_rng(1).random((5, 300, 7, 4)).astype(np.float32)
    for axis in (1, (1, 2), (0, 2), (0, 1, 3), None, (3,), ()):
        for keepdims in (False, True):
            found = Tensor(values).sum(axis, keepdims=keepdims).numpy()
            wanted = values.sum(axis, dtype=np.float64, keepdims=keepdims)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
            assert found.shape == wanted.shape


@pytest.mark.parametrize("axis", [0, 1])
def test_shares_of_many_add_up_to_one(axis):
    values = Tensor(np.zeros((MANY, 2) if axis == 0 else (2, MANY), np.float32))
    shares = values.softmax(axis)
    assert shares.max().item() == pytest.approx(1 / MANY, rel=1e-6)
    assert values.logsumexp(axis).tolist() == pytest.approx([np.log(MANY)] * 2, rel=1e-6)


@pytest.mark.parametrize("dtype", [DType.F32, DType.C64, DType.F16, DType.BF16])
def test_running_sums_never_stand_still(dtype):
    """Added in f32, a tenth is nothing beside two million."""
    step = 2.0**-12
    values = xp.full((50_000, 2), step, dtype=dtype)
    found = xp.cumulative_sum(values, axis=0)
    assert found.dtype is dtype
    last = {DType.F16: 12.203125, DType.BF16: 12.1875}.get(dtype, 50_000 * step)  # rounded once
    assert found[-1].tolist() == [last] * 2
    long = Tensor.full((8_000_000,), 0.1).cumsum(0)
    assert long[-1].item() == pytest.approx(800_000, rel=1e-6)
    assert long[65_537].item() == pytest.approx(65_538 * TENTH, rel=1e-6)


def test_running_sums_keep_infinities_and_nan():
    values = Tensor.from_data([1.0, float("inf"), 2.0, float("-inf"), 1.0])
    assert values.cumsum(0).tolist()[:3] == [1, float("inf"), float("inf")]
    assert values.cumsum(0).is_nan().tolist() == [False, False, False, True, True]


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_halves_add_up_in_f32(dtype):
    """A million of them: the sum is that of the f32 values, rounded once."""
    rows = np.random.default_rng(3).random((1_000_000, 2)).astype(np.float32) * 0.01
    values = Tensor(rows).cast(dtype)
    exact = values.cast(DType.F64).numpy()
    eps = 2.0**-11 if dtype is DType.F16 else 2.0**-8
    for axis in (0, None):
        found = np.asarray(values.sum(axis).cast(DType.F64).numpy())
        np.testing.assert_allclose(found, exact.sum(axis), rtol=1.01 * eps)
        mean = np.asarray(values.mean(axis).cast(DType.F64).numpy())
        np.testing.assert_allclose(mean, exact.mean(axis), rtol=1.01 * eps)


SMALL = [1e-5, -1e-3, 0.0199, 0.0201, -0.3, 2.0, -9.0]


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32, DType.F16, DType.BF16])
def test_what_is_left_of_two_numbers_almost_alike(dtype):
    """x - tanh(x) near 0, where f32 would keep no digit of it."""
    values = Tensor.from_data(SMALL, dtype=dtype)
    given = values.cast(DType.F64).tolist()
    exact = [_tanh_shrunk(x) for x in given]
    step = {DType.F64: 1e-11, DType.F32: 1e-7, DType.F16: 2.0**-11, DType.BF16: 2.0**-8}[dtype]
    found = values.tanh_shrink().cast(DType.F64).tolist()
    np.testing.assert_allclose(found, exact, rtol=1.01 * step, atol=2.0**-25 if step > 1e-5 else 0)


def _tanh_shrunk(x):
    """With 60 digits: x - (1 - q) / (1 + q), q = exp(-2x)."""
    with localcontext() as context:
        context.prec = 60
        power = (Decimal(x) * -2).exp()
        return float(Decimal(x) - (1 - power) / (1 + power))


def test_gelu_by_tanh_fades_instead_of_ending():
    """In f64, 1 + tanh(u) is 0 from x = -7 on, where GELU is still 1e-17."""
    found = Tensor.from_data([-6.0, -8.0, -12.0], dtype=DType.F64).gelu_approximate().tolist()
    exact = []
    with localcontext() as context:
        context.prec = 60
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        for x in (Decimal(-6), Decimal(-8), Decimal(-12)):
            inner = (2 / pi).sqrt() * (x + Decimal("0.044715") * x**3)
            exact.append(float(x / (1 + (-2 * inner).exp())))
    np.testing.assert_allclose(found, exact, rtol=1e-12)
