"""Tensors that are counted, or made like others."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import Distribution, DType, Tensor


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-9, 9).filter(bool))
def test_arange_is_pythons(start, stop, step):
    made = Tensor.arange(start, stop, step)
    assert made.tolist() == list(range(start, stop, step))
    assert made.dtype is DType.I32


def test_arange_at_the_ends_of_words():
    last = 2**63 - 1
    assert Tensor.arange(last - 2, last, dtype=DType.I64).tolist() == [last - 2, last - 1]
    assert Tensor.arange(-last, last, last, dtype=DType.I64).tolist() == [-last, 0]
    assert Tensor.arange(0, 1, 10**30).tolist() == [0]
    assert Tensor.arange(0, 6, 2, dtype=DType.BF16).tolist() == [0, 2, 4]


def test_like_others():
    first = Tensor.from_data([[1, 2, 3]], dtype=DType.U8)
    for made, value in (
        (first.zeros_like(), 0),
        (first.ones_like(), 1),
        (first.full_like(7), 7),
    ):
        assert made.tolist() == [[value] * 3]
        assert made.dtype is DType.U8
    drawn = first.cast(DType.F16).random_like(Distribution.default(), seed=4)
    assert (drawn.shape, drawn.dtype) == ((1, 3), DType.F16)
    again = Tensor.random((1, 3), Distribution.default(), dtype=DType.F16, seed=4)
    assert np.array_equal(drawn.numpy(), again.numpy())
    assert Tensor.eye(2, dtype=DType.BF16).tolist() == [[1, 0], [0, 1]]


def test_one_hot_with_other_numbers():
    classes = Tensor.from_data([1, 0])
    assert classes.one_hot_fill(3, 5, -1).tolist() == [[-1, 5, -1], [5, -1, -1]]
    assert classes.one_hot_fill(3, axis=0).tolist() == [[0, 1], [1, 0], [0, 0]]
    assert classes.one_hot_fill(2).tolist() == classes.one_hot(2).tolist()


def test_slices_one_by_one_keep_their_axis():
    parts = list(Tensor.from_data([[1, 2], [3, 4]]).iter_dim(1))
    assert [part.tolist() for part in parts] == [[[1], [3]], [[2], [4]]]


REFUSED = [
    (lambda: Tensor.arange(0, 3, 0), SettingError, "arange: a step of 0 never arrives"),
    (lambda: Tensor.arange(0, 300, dtype=DType.I8), DTypeError, "arange: 299 does not fit i8"),
    (lambda: Tensor.arange(0, 2**62), ShapeError, f"arange: shape [{2**62}] of i64"),
    (lambda: Tensor.arange(0.5, 2), DTypeError, "arange: an end or step is a whole number"),
    (lambda: Tensor.arange(0, 2, dtype="i8"), DTypeError, "arange: 'i8' is no dtype"),
    (lambda: Tensor.eye(-1), ShapeError, "eye: shape [-1, -1] has a negative size"),
    (lambda: Tensor.eye(1, dtype=DType.F8_E5M2), DTypeError, "eye: f8_e5m2 is for storage only"),
    (lambda: Tensor.from_data([1]).full_like(0.5), DTypeError, "not whole numbers"),
    (lambda: Tensor.from_data([0]).one_hot_fill(2, 0.5), DTypeError, "i32 does not take 0.5"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[m for *_, m in REFUSED])
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
