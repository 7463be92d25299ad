"""Mapped, composed, shuffled, sampled and windowed datasets: the vectors and the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ruda.data import (
    ComposedDataset,
    Dataset,
    Feature,
    FeatureKind,
    InMemDataset,
    ItemOrigin,
    MapperDataset,
    SamplerDataset,
    ShuffledDataset,
    WindowsDataset,
)
from ruda.errors import BatchError, ItemError, SettingError
from ruda.progress import Cancelled


def numbers(count: int, **settings: Any) -> InMemDataset[int]:
    return InMemDataset(range(count), **settings)


class Batched(Dataset[int]):
    """Notes the groups that get_many is asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __len__(self) -> int:
        return 10

    def get(self, index: int) -> int:
        return self.check_index(index)

    def get_many(self, indices: Any) -> list[int]:
        self.asked.append([int(i) for i in indices])
        return self.asked[-1]


def test_a_mapper_runs_only_for_what_is_asked() -> None:
    calls: list[int] = []
    dataset = MapperDataset(numbers(5), lambda x: calls.append(x) or -x)
    assert len(dataset) == 5
    assert calls == []
    assert dataset.get_many([3, 1]) == [-3, -1]
    assert dataset[2] == -2
    assert calls == [3, 1, 2]


def broken(item: int) -> int:
    raise KeyError(item)


def test_a_mapper_that_fails_is_named_with_its_item() -> None:
    dataset = MapperDataset(numbers(5, source_id="rows"), broken)
    told = r"rows, item 3: .*\.broken raised KeyError: 3"
    for read in (lambda: dataset.get(3), lambda: dataset.get_many([3])):
        with pytest.raises(ItemError, match=told) as caught:
            read()
        assert caught.value.index == 3
        assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("error", [BatchError("own sentence"), Cancelled("own sentence")])
def test_errors_of_ours_go_through_a_mapper(error: Exception) -> None:
    def fail(_: int) -> int:
        raise error

    with pytest.raises(type(error), match=r"^own sentence$"):
        MapperDataset(numbers(5), fail).get(0)


class Times:
    """A mapper that is an object, not a function."""

    def __call__(self, item: int) -> int:
        return item * 2


def test_the_name_of_a_mapper_is_in_the_fingerprint() -> None:
    named = [
        MapperDataset(numbers(3), broken),
        MapperDataset(numbers(3), Times()),
        MapperDataset(numbers(3), Times(), name="times/2"),
        MapperDataset(numbers(4), Times()),
    ]
    assert len({dataset.fingerprint for dataset in named}) == 4
    assert MapperDataset(numbers(3), Times()).fingerprint == named[1].fingerprint


def test_wrappers_pass_groups_down() -> None:
    source = Batched()
    stack = MapperDataset(ShuffledDataset(source, 42)[2:], Times())
    assert stack.get_many([0, 1, 0]) == [18, 12, 18]
    assert source.asked == [[9, 6, 9]]


class Fragile(Dataset[int]):
    """Item 6 cannot be read."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __len__(self) -> int:
        return 10

    @property
    def source_id(self) -> str:
        return self.source

    def get(self, index: int) -> int:
        if self.check_index(index) == 6:
            raise OSError("gone")
        return index


# 6 is at index 3 of the shuffled dataset.
VIEWS = [
    pytest.param(lambda d: d[4:], 2, id="part"),
    pytest.param(lambda d: d[4:][1:], 1, id="part of a part"),
    pytest.param(lambda d: d[[1, 6]], 1, id="selection"),
    pytest.param(lambda d: ShuffledDataset(d, 42), 3, id="shuffled"),
    pytest.param(lambda d: MapperDataset(ShuffledDataset(d, 42), Times()), 3, id="mapped"),
    pytest.param(lambda d: ComposedDataset([numbers(5), d]), 11, id="composed"),
]


@pytest.mark.parametrize(("view", "index"), VIEWS)
def test_an_error_names_the_item_of_the_source(view: Any, index: int) -> None:
    dataset = view(Fragile("rows.csv"))
    reads = (dataset.get, dataset.try_get, lambda i: dataset.get_many([i]), lambda i: dataset[i])
    for read in reads:
        with pytest.raises(ItemError, match=r"^rows\.csv, item 6: OSError: gone$"):
            read(index)
    assert dataset.origin(index) == ItemOrigin("rows.csv", 6)


def test_a_failing_mapper_names_the_item_of_the_source() -> None:
    dataset = MapperDataset(ShuffledDataset(numbers(10, source_id="rows"), 42), broken)
    with pytest.raises(ItemError, match=r"^rows, item 6: .*broken raised KeyError: 6$"):
        dataset.get(3)


def test_composed_finds_items_at_the_borders() -> None:
    dataset = ComposedDataset([numbers(3), InMemDataset([]), InMemDataset([30, 40])])
    assert list(dataset) == [0, 1, 2, 30, 40]
    assert dataset.get(2) == 2
    assert dataset.get(3) == 30
    assert dataset.get_many([4, 2, 4, 0]) == [40, 2, 40, 0]


def test_composed_asks_each_dataset_once() -> None:
    first, second = Batched(), Batched()
    dataset = ComposedDataset([first, second])
    assert dataset.get_many([12, 3, 19, 3]) == [2, 3, 9, 3]
    assert first.asked == [[3, 3]]
    assert second.asked == [[2, 9]]


def test_nothing_composed_is_empty() -> None:
    dataset: ComposedDataset[int] = ComposedDataset([])
    assert len(dataset) == 0
    assert list(dataset) == dataset.get_many([]) == []
    assert dataset.source_id == "ComposedDataset"


def test_composed_keeps_what_all_agree_on() -> None:
    label = {"y": Feature(FeatureKind.LABEL)}
    cats = numbers(2, class_names="ab", features=label, source_id="cats")
    dogs = numbers(2, class_names="ab", features=label, source_id="dogs")
    both = ComposedDataset([cats, dogs])
    assert both.class_names == ("a", "b")
    assert both.features == label
    assert both.source_id == "cats + dogs"
    mixed = ComposedDataset([cats, numbers(2, class_names="xyz")])
    assert mixed.class_names is None
    assert mixed.features == {}


def test_shuffled_has_the_order_of_seed_and_epoch() -> None:
    assert list(ShuffledDataset(numbers(10), 42)) == [5, 1, 9, 6, 7, 2, 4, 0, 8, 3]
    assert list(ShuffledDataset(numbers(10), 42, epoch=7)) == [0, 2, 1, 7, 5, 8, 6, 4, 9, 3]


MULTIPLICITY = [
    pytest.param({"size": 0}, 0, id="none"),
    pytest.param({}, 10, id="all"),
    pytest.param({"size": 20}, 20, id="twice"),
    pytest.param({"size": 15}, 15, id="one and a half"),
    pytest.param({"ratio": 0.5}, 5, id="ratio a half"),
    pytest.param({"ratio": 1.59}, 15, id="ratio rounded down"),
    pytest.param({"ratio": 0.0}, 0, id="ratio none"),
]


@pytest.mark.parametrize(("options", "length"), MULTIPLICITY)
def test_without_replacement_items_come_equally_often(options: dict[str, Any], length: int) -> None:
    found = list(SamplerDataset(numbers(10), 1, replacement=False, **options))
    assert len(found) == length
    times = np.bincount(found, minlength=10)
    assert set(times) <= {length // 10, -(-length // 10)}


@pytest.mark.parametrize(("options", "length"), MULTIPLICITY)
def test_with_replacement_the_length_is_the_same(options: dict[str, Any], length: int) -> None:
    found = list(SamplerDataset(numbers(10), 1, **options))
    assert len(found) == length
    assert set(found) <= set(range(10))


def test_a_sample_is_fixed_by_seed_and_epoch() -> None:
    def draw(seed: int, epoch: int) -> list[int]:
        return list(SamplerDataset(numbers(100), seed, size=30, epoch=epoch))

    assert draw(1, 0) == draw(1, 0)
    assert len({tuple(draw(seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4
    sample = SamplerDataset(numbers(100), 1)
    assert sample.get(3) == sample.get(3)


SAMPLES = [
    pytest.param(10, {"size": -1}, "a size is at least 0, got -1", id="negative size"),
    pytest.param(10, {"ratio": -0.5}, "a ratio is a finite number", id="negative ratio"),
    pytest.param(10, {"ratio": float("nan")}, "a ratio is a finite number", id="NaN"),
    pytest.param(10, {"size": 1, "ratio": 1.0}, "a size or a ratio, not both", id="both"),
    pytest.param(0, {"size": 1}, "1 items cannot be drawn from an empty", id="empty"),
    pytest.param(10, {"epoch": -1}, "epochs count from 0, got -1", id="epoch"),
]


@pytest.mark.parametrize(("count", "options", "told"), SAMPLES)
def test_sampler_settings_are_checked(count: int, options: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        SamplerDataset(numbers(count), 1, **options)


def test_nothing_is_drawn_from_an_empty_dataset() -> None:
    assert len(SamplerDataset(numbers(0), 1)) == 0
    assert len(SamplerDataset(numbers(0), 1, replacement=False)) == 0


WINDOWS = [
    pytest.param(5, {"size": 3}, [[0, 1, 2], [1, 2, 3], [2, 3, 4]], id="overlapping"),
    pytest.param(2, {"size": 3}, [], id="longer than the data"),
    pytest.param(0, {"size": 1}, [], id="no data"),
    pytest.param(5, {"size": 5}, [[0, 1, 2, 3, 4]], id="exactly one"),
    pytest.param(7, {"size": 2, "stride": 3}, [[0, 1], [3, 4]], id="stride"),
    pytest.param(8, {"size": 2, "stride": 3}, [[0, 1], [3, 4], [6, 7]], id="stride to the end"),
    pytest.param(6, {"size": 3, "dilation": 2}, [[0, 2, 4], [1, 3, 5]], id="dilation"),
]


@pytest.mark.parametrize(("count", "options", "expected"), WINDOWS)
def test_windows(count: int, options: dict[str, Any], expected: list[list[int]]) -> None:
    dataset = WindowsDataset(numbers(count), **options)
    assert list(dataset) == expected
    assert len(dataset) == len(expected)


@pytest.mark.parametrize("options", [{"size": 0}, {"size": 1, "stride": 0}])
def test_windows_need_a_size(options: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="size, stride and dilation start at 1"):
        WindowsDataset(numbers(3), **options)
