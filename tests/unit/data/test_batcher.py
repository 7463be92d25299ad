"""StackBatcher: structures, dtypes, and sentences for what does not stack."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from ruda.data import StackBatcher
from ruda.errors import BatchError
from ruda.tensor import DType, HostDevice, Tensor


def batch(*items: Any) -> Any:
    return StackBatcher().batch(items, HostDevice())


class Pair(NamedTuple):
    image: Any
    label: Any


STACKED = [
    pytest.param((1, 2), DType.I32, [1, 2], id="ints"),
    pytest.param((1.5, 2.0), DType.F32, [1.5, 2.0], id="floats"),
    pytest.param((True, False), DType.BOOL, [True, False], id="bools"),
    pytest.param((np.uint8(1), np.uint8(2)), DType.U8, [1, 2], id="NumPy scalars"),
    pytest.param((np.float64(1), np.float64(2)), DType.F64, [1.0, 2.0], id="NumPy doubles"),
    pytest.param(([1, 2], [3, 4]), DType.I32, [[1, 2], [3, 4]], id="lists"),
    pytest.param((np.array([1], ">i2"), np.array([2], "<i2")), DType.I16, [[1], [2]], id="order"),
    pytest.param((np.array(1), np.array(2)), DType.I64, [1, 2], id="arrays without axes"),
    pytest.param((np.zeros((0, 2)),), DType.F64, [[]], id="empty axis"),
    pytest.param((Tensor.from_data([1]), Tensor.from_data([2])), DType.I32, [[1], [2]], id="own"),
    pytest.param((np.ones(2, ml_dtypes.bfloat16),), DType.BF16, [[1.0, 1.0]], id="bf16 stays bf16"),
]


@pytest.mark.parametrize(("items", "dtype", "expected"), STACKED)
def test_one_tensor(items: tuple[Any, ...], dtype: DType, expected: list[Any]) -> None:
    found = batch(*items)
    assert isinstance(found, Tensor)
    assert found.dtype is dtype
    assert found.tolist() == expected


def test_a_batch_shares_no_memory_with_its_items() -> None:
    item = np.zeros(2, np.float32)
    found = batch(item)
    item[0] = 7
    assert found.tolist() == [[0.0, 0.0]]


def test_structures_stay() -> None:
    item = {"x": np.zeros((2, 3), np.uint8), "at": (1, {"deep": 2.0}), "name": "a", "none": None}
    found = batch(item, item, item)
    assert list(found) == ["x", "at", "name", "none"]
    assert found["x"].shape == (3, 2, 3)
    assert found["at"][0].tolist() == [1, 1, 1]
    assert found["at"][1]["deep"].tolist() == [2.0, 2.0, 2.0]
    assert found["name"] == ["a", "a", "a"]
    assert found["none"] == [None, None, None]


def test_a_named_tuple_keeps_its_type() -> None:
    found = batch(Pair(np.zeros(2), 1), Pair(np.ones(2), 2))
    assert isinstance(found, Pair)
    assert found.label.tolist() == [1, 2]


REFUSED = [
    pytest.param((), "", "at least one item, got none", id="none"),
    pytest.param(
        ({"x": np.zeros(2)}, {"x": np.zeros(3)}),
        "x",
        r"field 'x': item 1 has the shape \(3,\), item 0 has \(2,\)",
        id="shapes",
    ),
    pytest.param(
        ({"a": {"b": np.zeros(2, "f4")}}, {"a": {"b": np.zeros(2, "f8")}}),
        "a.b",
        r"field 'a\.b': item 1 is f64, item 0 is f32",
        id="dtypes",
    ),
    pytest.param(({"x": 1}, {"y": 1}), "x", "item 1 has other fields than item 0: x, y", id="keys"),
    pytest.param(({"x": 1}, 2), "", "item 1 is of type int, item 0 is a mapping", id="mapping"),
    pytest.param(((1,), [1]), "", "item 1 is of type list, item 0 is a tuple", id="tuple"),
    pytest.param(((1,), (1, 2)), "", "item 1 has 2 parts, item 0 has 1", id="lengths"),
    pytest.param(
        ({"a": (1, "x")}, {"a": (1, 2)}),
        "a[1]",
        r"field 'a\[1\]': item 1 is of type int, item 0 of type str",
        id="part of a tuple",
    ),
    pytest.param((Pair(0, 1), Pair(0, 1.0)), "label", "field 'label': item 1 is of", id="named"),
    pytest.param((1, 2.5), "", "item 1 is of type float, item 0 of type int", id="numbers"),
    pytest.param((True, 1), "", "item 1 is of type int, item 0 of type bool", id="bool and int"),
    pytest.param((1, 1 << 40), "", "1 of 2 values of i64 do not fit i32", id="does not fit"),
    pytest.param(([1, [2]],), "", "item 0: nested values do not form a tensor", id="ragged"),
    pytest.param((object(),), "", "item 0 is of type object, which does not stack", id="object"),
    pytest.param((np.array(["a"]),), "", "item 0: NumPy dtype <U1 has no Ruda dtype", id="text"),
]


@pytest.mark.parametrize(("items", "field", "told"), REFUSED)
def test_what_does_not_stack(items: tuple[Any, ...], field: str, told: str) -> None:
    with pytest.raises(BatchError, match=told) as caught:
        batch(*items)
    assert caught.value.field == field


def test_the_error_carries_the_shapes() -> None:
    with pytest.raises(BatchError, match="item 2 has the shape") as caught:
        batch(np.zeros(2), np.zeros(2), np.zeros((2, 1)))
    assert caught.value.shapes == ((2,), (2, 1))
