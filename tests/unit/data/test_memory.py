"""InMemDataset: the stored objects, copies on request, fingerprints by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ruda.data import InMemDataset, MapperDataset
from ruda.data.fingerprint import fingerprint
from ruda.errors import ItemError


def test_get_returns_the_stored_object() -> None:
    item = {"x": [1]}
    assert InMemDataset([item]).get(0) is item


def test_copy_protects_the_stored_object() -> None:
    dataset = InMemDataset([{"x": [1]}], copy=True)
    dataset.get(0)["x"].append(2)
    assert dataset.get(0) == {"x": [1]}


def test_the_list_is_copied() -> None:
    items = [1, 2]
    dataset = InMemDataset(items)
    items.append(3)
    assert len(dataset) == 2


def test_an_empty_dataset_is_empty_everywhere() -> None:
    dataset: InMemDataset[int] = InMemDataset([])
    assert list(dataset) == dataset.get_many([]) == []
    assert dataset.try_get(0) is None
    with pytest.raises(IndexError, match="has 0 items, there is no item 0"):
        dataset.get(0)


def test_from_dataset_reads_everything_once() -> None:
    calls: list[int] = []
    mapped = MapperDataset(InMemDataset([1, 2, 3]), lambda x: calls.append(x) or x * 10)
    dataset = InMemDataset.from_dataset(mapped)
    assert list(dataset) == list(dataset) == [10, 20, 30]
    assert calls == [1, 2, 3]


def test_from_dataset_says_which_item_failed() -> None:
    with pytest.raises(ItemError, match=r"item 1: .* raised ZeroDivisionError"):
        InMemDataset.from_dataset(MapperDataset(InMemDataset([1, 0]), lambda x: 1 // x))


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class Opaque:
    """Counts by its type only."""


DIFFERENT = [
    pytest.param([1], [1.0], id="int and float"),
    pytest.param([1], [True], id="int and bool"),
    pytest.param(["ab", "c"], ["a", "bc"], id="text borders"),
    pytest.param([[1], [2]], [[1, 2]], id="nesting"),
    pytest.param([b"a"], ["a"], id="bytes and text"),
    pytest.param([np.zeros(2, np.int32)], [np.zeros(2, np.float32)], id="dtype"),
    pytest.param([np.zeros((2, 3))], [np.zeros((3, 2))], id="shape"),
    pytest.param([Point(1, 2)], [Point(2, 1)], id="dataclass"),
    pytest.param([{"a": 1}], [{"b": 1}], id="mapping"),
    pytest.param([Opaque()], [Point(0, 0)], id="type of an object"),
    pytest.param([None], [], id="length"),
    pytest.param([np.array(["a", None])], [np.array(["b", None])], id="object array"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_items_have_another_fingerprint(one: list[Any], other: list[Any]) -> None:
    assert InMemDataset(one).fingerprint != InMemDataset(other).fingerprint


SAME = [
    pytest.param(Opaque(), Opaque(), id="objects of one type"),
    pytest.param([1, 2], (1, 2), id="list and tuple"),
    pytest.param(np.arange(6)[::2], np.array([0, 2, 4]), id="strided"),
    pytest.param(np.array(7), np.array(7), id="scalar array"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_values_have_equal_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint(one) == fingerprint(other)


def test_a_fingerprint_never_changes() -> None:
    found = fingerprint(1, "a", None, np.arange(3, dtype=np.uint8))
    assert found == "b2:98f6109da980ba772c017fee27a6ddf4"
