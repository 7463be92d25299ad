"""Param: lazy values, identity, and assignment."""

import numpy as np
import pytest

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.nn import Constant, Fans, KaimingUniform, Normal, Param, ParamId, Uniform, derive_seed
from ruda.tensor import DType


def make(**options):
    return Param((2, 3), Uniform(-1, 1), seed=5, **options)


def test_values_wait_until_asked_for():
    param = make()
    assert not param.is_initialized
    assert (param.shape, param.dtype, param.numel) == ((2, 3), DType.F32, 6)
    assert repr(param) == "Param(f32, [2, 3], lazy)"
    first = param.value().numpy()
    assert param.is_initialized
    np.testing.assert_array_equal(first, make().value().numpy())
    assert make(dtype=DType.BF16).value().dtype is DType.BF16


def test_identity_is_drawn_once_and_can_be_given():
    param = make()
    assert param.known_id is None
    assert param.id == param.id == param.known_id
    assert make().id != param.id
    assert make(param_id=ParamId(7)).id == 7


def test_assign_keeps_dtype_and_identity():
    param = make(trainable=False)
    identity = param.id
    values = np.ones((2, 3), np.float16)
    param.assign(values, DType.F16)
    assert (param.dtype, param.id, param.trainable) == (DType.F16, identity, False)
    assert param.data().array is values
    param.assign(np.ones((2, 3), np.float32), DType.FLEX32, param_id=ParamId(9))
    assert (param.dtype, param.value().dtype, param.id) == (DType.FLEX32, DType.F32, 9)


def test_assign_copies_what_it_does_not_own():
    large = np.zeros((4, 3), np.float32)
    param = make()
    param.assign(large[:2], DType.F32)
    large[:] = 7
    assert param.value().sum().item() == 0
    param.assign(np.ones((2, 3), ">f4"), DType.F32)
    assert param.data().array.dtype.isnative


REFUSED = [
    pytest.param(
        np.zeros((3, 2), np.float32),
        DType.F32,
        ShapeError,
        r"expected shape \[2, 3\], got \[3, 2\]",
        id="shape",
    ),
    pytest.param(
        np.zeros((2, 3), np.float64), DType.F32, DTypeError, "f32 is held as float32", id="dtype"
    ),
    pytest.param(
        np.zeros((2, 3), np.uint8), DType.QFLOAT, DTypeError, "cannot hold qfloat", id="quantized"
    ),
]


@pytest.mark.parametrize(("array", "dtype", "error", "message"), REFUSED)
def test_assign_refuses_and_changes_nothing(array, dtype, error, message):
    param = make()
    before = param.data()
    with pytest.raises(error, match=message):
        param.assign(array, dtype, param_id=ParamId(1))
    assert param.data() is before
    assert param.known_id is None


FANS = Fans(12, 3)
INITIALIZERS = [
    pytest.param(Constant(2.0), 2.0, 2.0, id="constant"),
    pytest.param(Uniform(1.0, 3.0), 1.0, 3.0, id="uniform"),
    pytest.param(Normal(0.0, 1.0), -6.0, 6.0, id="normal"),
    pytest.param(KaimingUniform(), -0.5, 0.5, id="kaiming"),
    pytest.param(KaimingUniform(2.0, fan_out_only=True), -2.0, 2.0, id="kaiming fan out"),
]


@pytest.mark.parametrize(("initializer", "low", "high"), INITIALIZERS)
def test_initializers(initializer, low, high):
    values = initializer.sample((400,), FANS, seed=1)
    np.testing.assert_array_equal(values, initializer.sample((400,), FANS, seed=1))
    assert low <= values.min() <= values.max() <= high
    assert values.max() - values.min() >= (high - low) * 0.4


def test_bad_fan_is_refused():
    with pytest.raises(SettingError, match="Kaiming initialisation needs a positive fan, got 0"):
        KaimingUniform().sample((1,), Fans(0, 1), seed=0)


def test_seeds_of_parts_differ_and_stay():
    seeds = {derive_seed(seed, name) for seed in range(20) for name in ("a", "b", "a.b")}
    assert len(seeds) == 60
    assert derive_seed(0, "weight") == 16219054065691497842  # files of seeded models rely on it
