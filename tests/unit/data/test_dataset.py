"""Dataset, its two views, and what a user's own dataset gets for free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ruda.data import Dataset, InMemDataset, PartialDataset, SelectionDataset
from ruda.errors import ItemError, SettingError
from ruda.progress import Cancelled


class Counting(Dataset[int]):
    """Item i is i; counts the reads; some items fail."""

    def __init__(self, length: int, failures: dict[int, BaseException] | None = None) -> None:
        self.length = length
        self.failures = failures or {}
        self.reads: list[int] = []

    def __len__(self) -> int:
        return self.length

    def get(self, index: int) -> int:
        self.check_index(index)
        self.reads.append(index)
        if index in self.failures:
            raise self.failures[index]
        return index


def sizes(parts: list[Any]) -> list[int]:
    return [len(part) for part in parts]


def test_get_many_reads_nothing_if_one_index_is_outside() -> None:
    dataset = Counting(5)
    with pytest.raises(IndexError, match="Counting has 5 items, there is no item 5"):
        dataset.get_many([0, 1, 5, 2])
    assert dataset.reads == []


def test_a_hole_is_an_error_with_its_index_and_not_a_short_epoch() -> None:
    dataset = Counting(5, {3: IndexError("row is gone")})
    with pytest.raises(ItemError, match="Counting, item 3: IndexError: row is gone") as told:
        list(dataset)
    assert told.value.index == 3
    assert isinstance(told.value.__cause__, IndexError)
    with pytest.raises(ItemError, match="item 3"):
        dataset.try_get(3)


def test_an_error_of_ours_and_a_stop_go_through_as_they_are() -> None:
    own = ItemError("bad pixels", index=9, source="a.png")
    with pytest.raises(ItemError, match=r"a\.png, item 9: bad pixels") as told:
        Counting(5, {1: own}).get_many([1])
    assert told.value is own
    with pytest.raises(Cancelled):
        list(Counting(5, {1: Cancelled()}))


INDICES = [
    pytest.param([0.0, 1.0], "got float64 of shape", id="floats"),
    pytest.param([True, False], "got bool of shape", id="mask"),
    pytest.param([[0, 1]], r"got int64 of shape \(1, 2\)", id="two axes"),
    pytest.param(["a"], "got <U1 of shape", id="text"),
]


@pytest.mark.parametrize(("indices", "told"), INDICES)
def test_indices_are_one_row_of_whole_numbers(indices: list[Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        Counting(5).get_many(indices)


def test_a_huge_unsigned_index_does_not_wrap() -> None:
    with pytest.raises(IndexError, match="18446744073709551615 is outside"):
        Counting(5).get_many(np.array([2**64 - 1], dtype=np.uint64))


def test_numpy_numbers_are_indices() -> None:
    assert Counting(5)[np.int8(-2)] == 3
    assert list(Counting(5)[np.array([4])]) == [4]


def test_a_slice_reads_nothing() -> None:
    dataset = Counting(10)
    part = dataset[2:8][1:]
    assert isinstance(part, PartialDataset)
    assert len(part) == 5
    assert dataset.reads == []
    assert list(part) == [3, 4, 5, 6, 7]
    assert part.dataset is dataset


PARTS = [
    pytest.param(0, 10, 10, id="from the start"),
    pytest.param(5, 15, 10, id="inside"),
    pytest.param(20, 30, 5, id="past the end"),
    pytest.param(30, 40, 0, id="outside"),
    pytest.param(7, 3, 0, id="start after end"),
    pytest.param(0, 0, 0, id="empty"),
]


@pytest.mark.parametrize(("start", "end", "length"), PARTS)
def test_a_part_is_clamped(start: int, end: int, length: int) -> None:
    part = PartialDataset(Counting(25), start, end)
    assert list(part) == list(range(25))[start:end]
    assert len(part) == length


def test_a_part_needs_bounds_from_zero() -> None:
    with pytest.raises(SettingError, match="bounds of at least 0, got -1 and 5"):
        PartialDataset(Counting(25), -1, 5)


SPLITS = [
    pytest.param(27, 4, False, [6, 6, 6, 9], id="rest to the last"),
    pytest.param(27, 4, True, [7, 7, 7, 6], id="balanced"),
    pytest.param(3, 5, False, [0, 0, 0, 0, 3], id="fewer items than parts"),
    pytest.param(3, 5, True, [1, 1, 1, 0, 0], id="fewer items, balanced"),
    pytest.param(0, 2, False, [0, 0], id="empty"),
]


@pytest.mark.parametrize(("count", "parts", "balanced", "expected"), SPLITS)
def test_split(count: int, parts: int, balanced: bool, expected: list[int]) -> None:
    found = PartialDataset.split(Counting(count), parts, balanced=balanced)
    assert sizes(found) == expected
    assert [item for part in found for item in part] == list(range(count))


CHUNKS = [
    pytest.param(27, 4, 5, [10, 10, 5, 2], id="extra batches first, short batch last"),
    pytest.param(7, 4, 5, [5, 2], id="no empty part"),
    pytest.param(20, 2, 5, [10, 10], id="even"),
    pytest.param(0, 2, 5, [], id="empty"),
]


@pytest.mark.parametrize(("count", "parts", "batch_size", "expected"), CHUNKS)
def test_split_chunks(count: int, parts: int, batch_size: int, expected: list[int]) -> None:
    found = PartialDataset.split_chunks(Counting(count), parts, batch_size)
    assert sizes(found) == expected
    assert [item for part in found for item in part] == list(range(count))


def test_a_split_needs_parts() -> None:
    with pytest.raises(SettingError, match="at least 1 part, got 0"):
        PartialDataset.split(Counting(3), 0)
    with pytest.raises(SettingError, match="start at 1, got 0 and 5"):
        PartialDataset.split_chunks(Counting(3), 0, 5)
    with pytest.raises(SettingError, match="start at 1, got 1 and 0"):
        PartialDataset.split_chunks(Counting(3), 1, 0)
    with pytest.raises(SettingError, match="at least 1 part, got 0"):
        SelectionDataset.select_all(Counting(3)).split(0)


def test_a_selection_names_the_first_bad_index() -> None:
    with pytest.raises(IndexError, match="Counting has 5 items, there is no item 7"):
        SelectionDataset(Counting(5), [0, 7, 9])


def test_a_selection_keeps_its_own_indices() -> None:
    indices = np.array([3, 1, 1])
    selection = SelectionDataset(Counting(5), indices)
    indices[:] = 0
    assert list(selection) == [3, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        selection.indices[0] = 2


def test_a_selection_of_a_selection_reads_through_one_row() -> None:
    inner = SelectionDataset(Counting(9), [8, 6, 4, 2])
    outer = SelectionDataset(inner, [3, 0])
    assert list(outer) == [2, 8]
    assert isinstance(outer.dataset, Counting)


def test_selection_slice_and_split() -> None:
    selection = SelectionDataset.select_all(Counting(28))
    assert list(selection.slice(5, 8)) == [5, 6, 7]
    assert sizes(selection.split(3)) == [9, 9, 10]
    with pytest.raises(IndexError, match="20 … 29 is not a range inside 28 items"):
        selection.slice(20, 29)


def test_views_have_fingerprints_of_their_own() -> None:
    dataset = InMemDataset(range(10))
    views = [dataset, dataset[1:], dataset[2:], dataset[[1, 2]], dataset[[2, 1]]]
    assert len({view.fingerprint for view in views}) == len(views)
    assert dataset[1:][1:].fingerprint == dataset[2:].fingerprint
    assert {view.source_id for view in views} == {"InMemDataset"}
