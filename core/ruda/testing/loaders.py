"""LoaderContract: what every loader has to keep, as tests to inherit.

class TestMyLoader(LoaderContract):
    def make_loader(self, dataset, batcher, **settings):
        return MyLoader(dataset, batcher, **settings)
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from ruda.data import DataLoader, Dataset, InMemDataset
from ruda.errors import BatchError, DatasetError, ItemError, SettingError, StateMismatchError
from ruda.progress import Progress
from ruda.tensor import HostDevice

WORKERS = (0, 1, 2, 5)

workers = pytest.mark.parametrize("num_workers", WORKERS, ids=lambda n: f"{n} workers")


class ListBatcher:
    """A batch is the list of its items: the simplest batcher there can be."""

    def batch(self, items: Sequence[Any], device: HostDevice) -> list[Any]:
        """The items as a list."""
        return list(items)


class _Broken(Dataset[int]):
    """Item i is i, but some items raise."""

    def __init__(self, length: int, broken: int) -> None:
        self._length = length
        self._broken = broken

    def __len__(self) -> int:
        return self._length

    def get(self, index: int) -> int:
        if self.check_index(index) == self._broken:
            raise OSError("the disk is gone")
        return index


class _SlowStart(Dataset[int]):
    """Item i is i; the earlier an item, the longer it takes."""

    def __len__(self) -> int:
        return 12

    def get(self, index: int) -> int:
        time.sleep(0.002 * (12 - self.check_index(index)))
        return index


class _RefusingBatcher:
    def batch(self, items: Sequence[int], device: HostDevice) -> list[int]:
        if 4 in items:
            raise ValueError("four is too many")
        return list(items)


def numbers(count: int, source_id: str = "numbers") -> InMemDataset[int]:
    """A dataset whose item i is i."""
    return InMemDataset(range(count), source_id=source_id)


def joined(batches: Iterable[list[int]]) -> list[int]:
    """The items of all batches, in order."""
    return [item for batch in batches for item in batch]


class LoaderContract:
    """Tests of one kind of loader. Inherit, and say how it is made."""

    def make_loader(
        self, dataset: Dataset[Any], batcher: Any, **settings: Any
    ) -> DataLoader[Any, Any]:
        """A loader with the settings of ``DataLoader`` as keywords."""
        raise NotImplementedError

    def batches_of(self, count: int, **settings: Any) -> list[list[int]]:
        """Every batch of one epoch over the numbers 0 … count - 1."""
        return list(self.make_loader(numbers(count), ListBatcher(), **settings))

    @workers
    @pytest.mark.parametrize("drop_last", [False, True], ids=["keep last", "drop last"])
    @pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 40])
    def test_counts(self, count: int, drop_last: bool, num_workers: int) -> None:
        settings = {"batch_size": 4, "drop_last": drop_last, "num_workers": num_workers}
        loader = self.make_loader(numbers(count), ListBatcher(), **settings)
        batches = list(loader)
        delivered = count - count % 4 if drop_last else count
        assert len(loader) == len(batches) == -(-delivered // 4)
        assert loader.num_items() == sum(map(len, batches)) == delivered
        assert joined(batches) == list(range(delivered))

    @workers
    @pytest.mark.parametrize("prefetch", [1, 2, 100])
    def test_workers_and_prefetch_never_change_the_batches(
        self, num_workers: int, prefetch: int
    ) -> None:
        expected = self.batches_of(23, batch_size=4, shuffle=42)
        settings = {"num_workers": num_workers, "prefetch": prefetch}
        assert self.batches_of(23, batch_size=4, shuffle=42, **settings) == expected
        assert sorted(joined(expected)) == list(range(23))

    @workers
    def test_a_slow_item_does_not_change_the_order(self, num_workers: int) -> None:
        loader = self.make_loader(_SlowStart(), ListBatcher(), num_workers=num_workers)
        assert list(loader) == [[i] for i in range(12)]

    @workers
    def test_epochs_differ_and_come_back(self, num_workers: int) -> None:
        settings = {"batch_size": 4, "shuffle": 7, "num_workers": num_workers}
        loader = self.make_loader(numbers(30), ListBatcher(), **settings)
        first, second = list(loader), list(loader)
        assert first != second
        assert sorted(joined(first)) == sorted(joined(second)) == list(range(30))
        loader.set_epoch(0)
        assert list(loader) == first
        assert list(loader) == second

    def test_an_epoch_depends_on_nothing_but_seed_and_number(self) -> None:
        loader = self.make_loader(numbers(30), ListBatcher(), batch_size=4, shuffle=7)
        third = [loader.batch(number, epoch=2) for number in range(len(loader))]
        loader.slice(0, 10)
        loader.to_device(HostDevice())
        next(iter(loader))  # left early: the epoch counts as begun
        list(loader)
        assert loader.epoch == 2
        assert list(loader) == third

    @workers
    def test_an_unreadable_item_is_told_at_the_place_of_its_batch(self, num_workers: int) -> None:
        loader = self.make_loader(
            _Broken(20, 13), ListBatcher(), batch_size=4, num_workers=num_workers
        )
        with pytest.raises(ItemError, match="_Broken, item 13: OSError: the disk is gone") as told:
            list(loader)
        assert told.value.index == 13
        assert isinstance(told.value.__cause__, OSError)
        assert any("batch 3 of epoch 0" in note for note in told.value.__notes__)

    @workers
    def test_the_batches_before_an_error_are_delivered(self, num_workers: int) -> None:
        loader = self.make_loader(
            _Broken(20, 13), ListBatcher(), batch_size=4, num_workers=num_workers
        )
        iterator = iter(loader)
        assert [next(iterator) for _ in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
        with pytest.raises(ItemError, match="item 13"):
            next(iterator)
        with pytest.raises(DatasetError, match="ended with an error at batch 3"):
            next(iterator)
        assert loader.state_dict()["committed"] == 3

    @workers
    def test_a_batcher_that_fails_is_told_with_its_items(self, num_workers: int) -> None:
        loader = self.make_loader(
            numbers(9), _RefusingBatcher(), batch_size=3, num_workers=num_workers
        )
        iterator = iter(loader)
        assert next(iterator) == [0, 1, 2]
        told = r"batch 1 of epoch 0 \(numbers, items 3, 4, 5\): ValueError: four is too many"
        with pytest.raises(BatchError, match=told):
            next(iterator)

    @workers
    def test_leaving_early_leaves_no_thread(self, num_workers: int) -> None:
        before = set(threading.enumerate())
        loader = self.make_loader(numbers(50), ListBatcher(), num_workers=num_workers)
        for _ in range(20):
            for _batch in loader:
                break
        assert set(threading.enumerate()) == before

    def test_threads_have_readable_names(self) -> None:
        before = set(threading.enumerate())
        with iter(self.make_loader(numbers(50), ListBatcher(), num_workers=2)) as iterator:
            next(iterator)
            names = sorted(t.name for t in set(threading.enumerate()) - before)
        assert [name[-9:] for name in names] == ["-worker-0", "-worker-1"]
        assert all(name.startswith("ruda-loader-") for name in names)

    @workers
    def test_closing_twice_is_closing_once(self, num_workers: int) -> None:
        before = set(threading.enumerate())
        with self.make_loader(numbers(50), ListBatcher(), num_workers=num_workers) as loader:
            first, second = iter(loader), iter(loader)
            next(first)
            next(second)
            first.close()
            first.close()
            loader.close()
        assert set(threading.enumerate()) == before
        for iterator in (first, second):
            with pytest.raises(DatasetError, match="closed before batch 1"):
                next(iterator)
        with pytest.raises(DatasetError, match="loader of numbers is closed"):
            iter(loader)

    @workers
    def test_two_iterators_live_side_by_side(self, num_workers: int) -> None:
        loader = self.make_loader(
            numbers(10), ListBatcher(), batch_size=4, shuffle=1, num_workers=num_workers
        )
        first, second = iter(loader), iter(loader)
        pairs = list(zip(first, second, strict=True))
        assert [a for a, _ in pairs] == [loader.batch(n, epoch=0) for n in range(3)]
        assert [b for _, b in pairs] == [loader.batch(n, epoch=1) for n in range(3)]

    @workers
    def test_progress_counts_items_and_reaches_the_total(self, num_workers: int) -> None:
        loader = self.make_loader(numbers(10), ListBatcher(), batch_size=4, num_workers=num_workers)
        iterator = iter(loader)
        seen = [iterator.progress]
        for _ in iterator:
            seen.append(iterator.progress)
        assert seen == [Progress(done, 10, "items") for done in (0, 4, 8, 10)]

    def test_a_slice_is_shuffled_within_itself(self) -> None:
        loader = self.make_loader(numbers(20), ListBatcher(), batch_size=3, shuffle=5)
        part = loader.slice(5, 12)
        assert sorted(joined(part)) == list(range(5, 12))
        assert part.num_items() == 7
        assert len(loader.slice(18, 40)) == 1

    def test_a_split_gives_the_rest_to_the_last(self) -> None:
        parts = self.make_loader(numbers(11), ListBatcher()).split(2)
        assert [joined(part) for part in parts] == [list(range(5)), list(range(5, 11))]

    @workers
    @pytest.mark.parametrize("done", range(7))
    def test_the_rest_is_the_same_after_any_restart(self, done: int, num_workers: int) -> None:
        settings = {"batch_size": 4, "shuffle": 9}
        whole = self.batches_of(23, **settings)
        loader = self.make_loader(numbers(23), ListBatcher(), **settings, num_workers=2)
        iterator = iter(loader)
        for _ in range(done):
            next(iterator)
        iterator.close()
        state = json.loads(json.dumps(loader.state_dict()))
        again = self.make_loader(numbers(23), ListBatcher(), **settings, num_workers=num_workers)
        again.load_state_dict(state)
        assert again.state_dict() == state
        rest = list(again) if done < 6 else []
        assert rest == whole[done:]
        assert again.epoch == 1
        assert list(again) == [again.batch(n, epoch=1) for n in range(6)]

    def test_a_second_restart_goes_on_from_the_first(self) -> None:
        settings = {"batch_size": 2, "shuffle": 3}
        whole = self.batches_of(12, **settings)
        found, state = [], None
        for _ in range(6):
            loader = self.make_loader(numbers(12), ListBatcher(), **settings, num_workers=1)
            if state is not None:
                loader.load_state_dict(state)
            for batch in loader:
                found.append(batch)
                break
            state = loader.state_dict()
        assert found == whole
        assert state is not None
        assert state["sampler"]["epoch"] == 1

    OTHERS = [
        pytest.param({"count": 11}, "dataset length 10", id="length"),
        pytest.param({"shuffle": 4}, "shuffle seed 3", id="seed"),
        pytest.param({"shuffle": None}, "shuffle seed 3", id="no shuffle"),
        pytest.param({"batch_size": 3}, "batch size 2", id="batch size"),
        pytest.param({"drop_last": True}, "drop_last False", id="drop last"),
    ]

    @pytest.mark.parametrize(("change", "told"), OTHERS)
    def test_a_position_of_another_loader_is_refused(
        self, change: dict[str, Any], told: str
    ) -> None:
        settings = {"batch_size": 2, "shuffle": 3}
        state = self.make_loader(numbers(10), ListBatcher(), **settings).state_dict()
        other = {"count": 10, **settings, **change}
        loader = self.make_loader(numbers(other.pop("count")), ListBatcher(), **other)
        before = loader.state_dict()
        with pytest.raises(StateMismatchError, match=told):
            loader.load_state_dict(state)
        assert loader.state_dict() == before

    def test_a_position_of_other_data_is_refused_unless_told_otherwise(self) -> None:
        state = self.make_loader(numbers(10), ListBatcher()).state_dict()
        loader = self.make_loader(InMemDataset(range(1, 11)), ListBatcher())
        with pytest.raises(StateMismatchError, match="dataset fingerprint"):
            loader.load_state_dict(state)
        loader.load_state_dict(state, strict=False)
        assert next(iter(loader)) == [1]

    SETTINGS = [
        pytest.param({"batch_size": 0}, "batch_size is at least 1, got 0", id="batch size"),
        pytest.param({"num_workers": -1}, "num_workers is at least 0, got -1", id="workers"),
        pytest.param({"prefetch": 0}, "prefetch is at least 1, got 0", id="prefetch"),
        pytest.param({"shuffle": 1 << 64}, "a seed is a whole number", id="seed"),
    ]

    @pytest.mark.parametrize(("settings", "told"), SETTINGS)
    def test_settings_are_checked_at_once(self, settings: dict[str, Any], told: str) -> None:
        with pytest.raises(SettingError, match=told):
            self.make_loader(numbers(3), ListBatcher(), **settings)
