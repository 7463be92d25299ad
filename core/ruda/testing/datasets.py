"""DatasetContract: what every dataset has to keep, as tests to inherit.

class TestMyDataset(DatasetContract):
    def make_dataset(self):
        return MyDataset(...)
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ruda.data import Dataset, Feature, FeatureKind
from ruda.tensor import DType


def assert_same_item(found: object, expected: object) -> None:
    """Items are equal: arrays by value, dtype and shape, containers entry by entry."""
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, Mapping):
        assert isinstance(found, Mapping)
        assert list(found) == list(expected)
        for name in expected:
            assert_same_item(found[name], expected[name])
    elif isinstance(expected, list | tuple):
        assert isinstance(found, list | tuple)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same_item(one, other)
    else:
        assert found == expected


class DatasetContract:
    """Tests of one dataset of at least three items. Inherit, and say how it is made."""

    def make_dataset(self) -> Dataset[Any]:
        """A fresh dataset; always of the same data."""
        raise NotImplementedError

    def test_it_has_enough_items_for_this_contract(self) -> None:
        assert len(self.make_dataset()) >= 3

    def test_all_ways_to_an_item_agree(self) -> None:
        dataset = self.make_dataset()
        one_by_one = [dataset.get(index) for index in range(len(dataset))]
        assert_same_item(list(dataset), one_by_one)
        assert_same_item(dataset.get_many(range(len(dataset))), one_by_one)
        assert_same_item([dataset[index] for index in range(len(dataset))], one_by_one)
        assert_same_item([dataset.try_get(index) for index in range(len(dataset))], one_by_one)

    def test_an_item_does_not_depend_on_what_was_read_before(self) -> None:
        dataset = self.make_dataset()
        backwards = [dataset.get(index) for index in reversed(range(len(dataset)))]
        assert_same_item(backwards[::-1], list(self.make_dataset()))
        assert_same_item(dataset.get(1), dataset.get(1))

    def test_get_many_keeps_order_and_duplicates(self) -> None:
        dataset = self.make_dataset()
        expected = [dataset.get(2), dataset.get(0), dataset.get(2)]
        assert_same_item(dataset.get_many([2, 0, 2]), expected)
        assert_same_item(dataset.get_many(np.array([2, 0, 2])), expected)
        assert_same_item(dataset.get_many(np.array([2, 0, 2], dtype=np.uint8)), expected)
        assert dataset.get_many([]) == []

    def test_no_index_outside_is_taken(self) -> None:
        dataset = self.make_dataset()
        for index in (-1, len(dataset), len(dataset) + 7):
            with pytest.raises(IndexError, match=f"there is no item {index}$"):
                dataset.get(index)
            with pytest.raises(IndexError, match=f"there is no item {index}$"):
                dataset.get_many([0, index])
            assert dataset.try_get(index) is None

    def test_brackets_count_from_the_end_too(self) -> None:
        dataset = self.make_dataset()
        length = len(dataset)
        assert_same_item(dataset[-1], dataset.get(length - 1))
        assert_same_item(dataset[-length], dataset.get(0))
        with pytest.raises(IndexError, match="there is no item"):
            dataset[-length - 1]

    def test_brackets_with_a_slice_or_a_row_of_indices_are_datasets(self) -> None:
        dataset = self.make_dataset()
        items = list(dataset)
        for where in (slice(1, None), slice(None, None, -1), slice(2, 1), slice(-2, None)):
            part = dataset[where]
            assert isinstance(part, Dataset)
            assert_same_item(list(part), items[where])
        chosen = dataset[[-1, 0, 0]]
        assert isinstance(chosen, Dataset)
        assert_same_item(list(chosen), [items[-1], items[0], items[0]])

    def test_threads_read_the_same(self) -> None:
        dataset = self.make_dataset()
        expected = list(self.make_dataset())
        indices = list(range(len(dataset)))
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(dataset.get_many, [indices] * 8):
                assert_same_item(found, expected)

    def test_the_same_data_has_the_same_fingerprint(self) -> None:
        first, second = self.make_dataset(), self.make_dataset()
        assert first.fingerprint == second.fingerprint
        assert first.fingerprint != first[1:].fingerprint

    def test_it_describes_itself(self) -> None:
        dataset = self.make_dataset()
        summary = dataset.describe()
        assert summary.length == len(dataset)
        assert summary.source_id == dataset.source_id
        assert summary.fingerprint == dataset.fingerprint
        assert f"{len(dataset)} items" in str(summary)

    def test_items_are_what_the_features_say(self) -> None:
        dataset = self.make_dataset()
        for item in dataset:
            for name, feature in dataset.features.items():
                _assert_feature(item[name], feature)
                if feature.kind is FeatureKind.LABEL and dataset.class_names is not None:
                    assert 0 <= item[name] < len(dataset.class_names)


def _assert_feature(value: Any, feature: Feature) -> None:
    if feature.shape is not None:
        assert np.shape(value) == feature.shape
    if isinstance(value, np.ndarray) and feature.dtype is not None:
        assert DType.from_numpy(value.dtype) is feature.dtype
