"""What TensorData, casts, statistics and distributions are given that they cannot take."""

import math
import re

import numpy as np
import pytest

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor import (
    Distribution,
    DType,
    Tensor,
    TensorData,
    cast,
    deviation,
    set_thread_count,
    stats,
    transpose_copy,
)

F32 = DType.F32
BIG = TensorData.of(np.array([2**53 + 1]))
MASKED = np.ma.masked_array(np.zeros(2, np.int32), mask=[False, True])

REFUSED = [
    (lambda: TensorData.from_bytes(b"", (-1, 0), F32), ShapeError, "shape [-1, 0] has a negative"),
    (lambda: TensorData.from_bytes(bytes(4), (-1, -1), F32), ShapeError, "a negative size"),
    (lambda: TensorData.from_bytes(bytes(4), (1.0,), F32), DTypeError, "a size is a whole number"),
    (lambda: TensorData.from_bytes(b"", (0, 2**70), F32), ShapeError, "more bytes than have an"),
    (lambda: TensorData.from_bytes("abcd", (1,), F32), DTypeError, "str has no bytes to read"),
    (
        lambda: TensorData.from_bytes(memoryview(bytes(8))[::2], (1,), F32),
        DTypeError,
        "the bytes do not lie in a row",
    ),
    (lambda: TensorData.from_bytes(np.zeros(4), (4,), F32), ShapeError, "takes 16 bytes, got 32"),
    (lambda: TensorData.from_bytes(bytes(4), (1,), "f32"), DTypeError, "'f32' is no dtype"),
    (lambda: BIG.compare(Tensor.from_data([1])), DTypeError, "Tensor is no TensorData; see to_dat"),
    (lambda: BIG.assert_within_range("a", 1), DTypeError, "a range: low is a real number"),
    (lambda: cast([1.0], F32, DType.F16), DTypeError, "a tensor wraps a NumPy array, got list"),
    (lambda: cast(MASKED, DType.I32, F32), DTypeError, "a masked array has no tensor while items"),
    (lambda: stats([1.0], F32), DTypeError, "a tensor wraps a NumPy array, got list"),
    (lambda: stats(np.zeros(2, "f4"), F32, bins=1.5), DTypeError, "a number of bins is a whole"),
    (
        lambda: deviation(MASKED, MASKED, (DType.I32, DType.I32)),
        DTypeError,
        "a masked array has no tensor",
    ),
    (lambda: transpose_copy([[1, 2]]), DTypeError, "a tensor wraps a NumPy array, got list"),
    (lambda: Distribution.uniform("a", 1), DTypeError, "uniform: low is a real number"),
    (lambda: Distribution.uniform(0, 10**400), DTypeError, "an integer of 1329 bits"),
    (lambda: Distribution.normal(0, 1j), DTypeError, "normal: std is a real number"),
    (lambda: Distribution.bernoulli(None), DTypeError, "bernoulli: the probability is a real"),
    (lambda: Distribution.default().sample((1,), seed=-1), SettingError, "a seed is 0 or more"),
    (lambda: Distribution.default().sample((1,), seed=1.5), DTypeError, "a seed is a whole number"),
    (lambda: set_thread_count(1.5), DTypeError, "a number of threads is a whole number, got 1.5"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[m for *_, m in REFUSED])
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_bytes_of_every_kind_are_read_in_place():
    for raw in (bytes(8), bytearray(8), memoryview(bytes(8)), np.zeros(2, np.int32)):
        data = TensorData.from_bytes(raw, (2,), F32)
        assert data.to_list() == [0, 0]
    room = bytearray(4)
    assert np.shares_memory(TensorData.from_bytes(room, (1,), F32).array, np.frombuffer(room, "u1"))


@pytest.mark.parametrize(
    ("low", "high", "inclusive", "inside"),
    [
        (0, 2**53, True, False),
        (0, 2**53 + 1, True, True),
        (0, 2**53 + 1, False, False),
        (0, 2**53 + 2, False, True),
        (2**53 + 1, math.inf, False, True),
        (-math.inf, 2.0**53, True, False),
        (2.0**53 + 2, math.inf, True, False),
        (0.5, 2.0**60, False, True),
        (0, math.nan, True, False),
        (math.nan, 2**60, True, False),
    ],
)
def test_ranges_of_large_integers_are_exact(low, high, inclusive, inside):
    if inside:
        BIG.assert_within_range(low, high, inclusive=inclusive)
    else:
        with pytest.raises(AssertionError, match="1 of 1 values are outside"):
            BIG.assert_within_range(low, high, inclusive=inclusive)


@pytest.mark.parametrize(
    ("integers", "floats", "differing"),
    [
        (np.array([2**53 + 1, 2**53, -3]), np.array([2.0**53, 2.0**53, -3.0]), 1),
        (np.array([2**63 - 1, -(2**63)]), np.array([2.0**63, -(2.0**63)]), 1),
        (np.array([2**64 - 1, 2**63], np.uint64), np.array([2.0**64, 2.0**63]), 1),
        (np.array([0, 1, 2, 3]), np.array([math.nan, 1.5, math.inf, 3.0]), 3),
        (np.array([300, -1], np.int16), np.array([300, -1], np.float16), 0),
    ],
)
def test_integers_and_floats_agree_where_they_are_one_number(integers, floats, differing):
    left, right = TensorData.of(integers), TensorData.of(floats)
    assert left.compare(right).count == right.compare(left).count == differing
