from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruda.errors import AdapterError, KeyCollisionError
from ruda.store import (
    Action,
    CastPolicy,
    Decision,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    convert,
    diff,
    open_store,
    save,
)
from ruda.store.int8 import int8_per_channel, scale_shape
from ruda.tensor import DType

TO_INT8 = Recipe().with_cast(CastPolicy.every(DType.I8))
TO_F32 = Recipe().with_cast(CastPolicy.every(DType.F32))


def index(**arrays):
    made = [TensorSnapshot.from_array(key, np.asarray(value)) for key, value in arrays.items()]
    return TensorIndex.of(made, format="memory")


def weights(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("<f4")


@pytest.mark.parametrize("suffix", ["safetensors", "bpk"])
def test_values_come_back_from_a_file_within_half_a_step(tmp_path, suffix):
    before = index(w=weights(5, 3, 2, 2), bias=weights(5))
    path = tmp_path / f"a.{suffix}"
    save(convert(before, recipe=TO_INT8), path)
    with open_store(path) as file:
        assert {key: str(s.dtype) for key, s in file.items()} == {
            "w": "i8",
            "w_scale": "f32",
            "bias": "f32",
        }
        assert file["w_scale"].shape == (5, 1, 1, 1)
        after = convert(file, recipe=TO_F32)
        assert set(after) == {"w", "bias"}
        x, y = before["w"].read(), after["w"].read()
        step = np.abs(x).max(axis=(1, 2, 3), keepdims=True) / 127
        assert (np.abs(x - y) <= step * 0.5000001).all()
        assert diff(file, before, recipe=TO_F32).is_clean


@settings(deadline=None)
@given(
    st.lists(
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_law_holds_for_any_finite_values(rows):
    x = np.array(rows, "<f4")
    made = convert(index(w=x), recipe=TO_INT8)
    whole, scale = made["w"].read(), made["w_scale"].read()
    assert np.abs(whole.astype(int)).max() <= 127
    with np.errstate(over="ignore", under="ignore"):
        error = np.abs(whole.astype(np.float64) * scale.astype(np.float64) - x.astype(np.float64))
    assert (error <= scale.astype(np.float64) * 0.500001).all()


def test_channels_longer_than_a_run_and_many_short_ones():
    for shape in ((2, (1 << 20) + 7), ((1 << 20) + 7, 2)):
        x = weights(*shape)
        made = convert(index(w=x), recipe=TO_INT8)
        scale = np.abs(x).max(1, keepdims=True) / np.float32(127)
        np.testing.assert_array_equal(made["w_scale"].read(), scale)
        np.testing.assert_array_equal(made["w"].read(), np.rint(x / scale).astype("i1"))
        assert b"".join(bytes(c) for c in made["w"].chunks(1000)) == made["w"].read().tobytes()


KEPT = [
    pytest.param(np.ones(3, "f4"), id="vector"),
    pytest.param(np.float32(1), id="scalar"),
    pytest.param(np.ones((2, 2), "i8"), id="integers"),
    pytest.param(np.ones((0, 2), "f4"), id="empty"),
]


@pytest.mark.parametrize("value", KEPT)
def test_what_has_no_channels_stays(value):
    snapshot = TensorSnapshot.from_array("a", np.asarray(value))
    assert int8_per_channel(snapshot) is snapshot


def test_a_channel_of_zeros_stays_zero():
    made = convert(index(w=np.zeros((2, 3), "f4")), recipe=TO_INT8)
    assert made["w_scale"].read().tolist() == [[1.0], [1.0]]
    assert not made["w"].read().any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_int8_cannot_hold_is_refused(bad):
    made = convert(index(w=np.array([[bad, 1]], "f4")), recipe=TO_INT8)
    with pytest.raises(AdapterError, match="holds NaN or infinite values"):
        made["w"].read()


def test_a_scale_replaces_no_tensor():
    with pytest.raises(KeyCollisionError, match="w_scale"):
        convert(index(w=weights(2, 2), w_scale=weights(2)), recipe=TO_INT8)


def test_a_scale_of_another_shape_is_not_taken_for_ours():
    source = index(w=np.ones((2, 2), "i1"), w_scale=np.ones(2, "f4"))
    made = convert(source, recipe=TO_F32)
    assert made["w"].dtype is DType.I8
    assert scale_shape((2, 3, 4)) == (2, 1, 1)


def test_a_tensor_that_is_to_keep_its_type_is_not_multiplied():
    source = convert(index(w=weights(2, 3)), recipe=TO_INT8)
    made = convert(source, recipe=TO_F32.with_decision(Decision("w", Action.KEEP)))
    assert [str(s.dtype) for s in made.values()] == ["i8", "f32"]
