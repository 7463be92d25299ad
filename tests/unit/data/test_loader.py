"""DataLoader beside its contract: defaults, single batches, splits over devices, odd datasets."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ruda.data import (
    ComposedDataset,
    DataLoader,
    DataLoaderBuilder,
    Dataset,
    EpochPlan,
    InMemDataset,
    StackBatcher,
    split_dataloader,
)
from ruda.errors import BatchError, DatasetError, SettingError, StateMismatchError
from ruda.progress import Cancelled
from ruda.tensor import DType, HostDevice, Tensor
from ruda.testing import ListBatcher


def numbers(count: int) -> InMemDataset[int]:
    return InMemDataset(range(count), source_id="numbers")


def test_defaults() -> None:
    loader = DataLoader(numbers(3), ListBatcher())
    assert list(loader) == [[0], [1], [2]]
    assert (loader.batch_size, loader.num_workers, loader.shuffle) == (1, 0, None)
    assert loader.device == HostDevice()
    assert DataLoader(numbers(3), ListBatcher(), num_workers=3).prefetch == 6


def test_tensors_by_the_stack_batcher() -> None:
    items = [{"image": np.full((2, 2), i, np.uint8), "label": i} for i in range(5)]
    loader = DataLoader(InMemDataset(items), StackBatcher(), batch_size=2, num_workers=2)
    batches = list(loader)
    assert [batch["image"].shape for batch in batches] == [(2, 2, 2), (2, 2, 2), (1, 2, 2)]
    assert batches[0]["image"].dtype is DType.U8
    assert [batch["label"].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]


def test_the_batcher_gets_the_device() -> None:
    seen: list[HostDevice] = []

    class Noting:
        def batch(self, items: Sequence[int], device: HostDevice) -> int:
            seen.append(device)
            return len(items)

    device = HostDevice()
    list(DataLoader(numbers(2), Noting(), device=device).to_device(device))
    assert seen == [device, device]


def test_one_batch_by_its_number_moves_nothing() -> None:
    loader = DataLoader(numbers(10), ListBatcher(), batch_size=4, shuffle=42)
    assert loader.batch(1) == [7, 2, 4, 0]
    assert loader.batch(0, epoch=7) == [0, 2, 1, 7]
    assert loader.state_dict()["committed"] == 0
    with pytest.raises(IndexError, match="epoch 0 has 3 batches, there is no batch 3"):
        loader.batch(3)
    with pytest.raises(IndexError, match="there is no batch -1"):
        loader.batch(-1)


def test_a_plan_is_a_sequence_of_index_rows() -> None:
    plan = DataLoader(numbers(10), ListBatcher(), batch_size=4, drop_last=True).plan(3)
    assert isinstance(plan, EpochPlan)
    assert [row.tolist() for row in plan] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert (plan.epoch, plan.num_items, plan.items_before(1)) == (3, 8, 4)


def test_workers_start_with_the_first_batch() -> None:
    before = threading.active_count()
    iterator = iter(DataLoader(numbers(10), ListBatcher(), num_workers=3))
    assert threading.active_count() == before
    next(iterator)
    assert threading.active_count() == before + 3
    assert len(iterator) == 9
    iterator.close()
    assert threading.active_count() == before


def test_an_iterator_in_a_cycle_is_joined_by_the_collector() -> None:
    before = set(threading.enumerate())

    class Holder:
        iterator: Any
        own: Any

    holder = Holder()
    holder.own = holder
    holder.iterator = iter(DataLoader(numbers(100), ListBatcher(), num_workers=2))
    next(holder.iterator)
    assert set(threading.enumerate()) != before
    del holder
    gc.collect()
    assert set(threading.enumerate()) == before


def test_closing_from_another_thread_wakes_one_that_waits() -> None:
    begun, release = threading.Event(), threading.Event()
    woke = threading.Event()

    class Waiting:
        def batch(self, items: Sequence[int], device: HostDevice) -> int:
            begun.set()
            release.wait(10)
            return 0

    iterator = iter(DataLoader(numbers(5), Waiting(), num_workers=1))

    def consume() -> None:
        with pytest.raises(DatasetError, match="this iterator was closed before batch 0"):
            next(iterator)
        woke.set()

    consumer = threading.Thread(target=consume)
    consumer.start()
    assert begun.wait(10)
    closer = threading.Thread(target=iterator.close)
    closer.start()
    assert woke.wait(10)
    release.set()
    closer.join(10)
    consumer.join(10)


def test_an_exhausted_iterator_stays_exhausted() -> None:
    iterator = iter(DataLoader(numbers(2), ListBatcher(), num_workers=1))
    assert list(iterator) == [[0], [1]]
    assert list(iterator) == []
    iterator.close()
    assert list(iterator) == []


def test_an_older_iterator_has_a_position_of_its_own() -> None:
    loader = DataLoader(numbers(6), ListBatcher(), batch_size=2, shuffle=1)
    old, new = iter(loader), iter(loader)
    next(old)
    next(old)
    next(new)
    assert (old.epoch, new.epoch, loader.epoch) == (0, 1, 2)
    assert old.state_dict()["committed"] == 2
    assert loader.state_dict() == new.state_dict()
    again = DataLoader(numbers(6), ListBatcher(), batch_size=2, shuffle=1)
    again.load_state_dict(old.state_dict())
    assert list(again) == list(old)
    assert again.epoch == 1


def test_progress_goes_on_from_a_restored_position() -> None:
    loader = DataLoader(numbers(5), ListBatcher(), batch_size=2)
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(iterator.state_dict())
    resumed = iter(loader)
    assert (resumed.progress.done, resumed.progress.total) == (2, 5)
    assert list(resumed) == [[2, 3], [4]]
    assert resumed.progress.fraction == 1.0


def test_set_epoch_forgets_a_restored_position() -> None:
    loader = DataLoader(numbers(5), ListBatcher(), batch_size=2)
    next(iter(loader))
    loader.load_state_dict(loader.state_dict())
    loader.set_epoch(4)
    assert loader.state_dict()["sampler"] == {"algorithm": "sequential", "seed": None, "epoch": 4}
    assert len(list(loader)) == 3
    with pytest.raises(SettingError, match="epoch is at least 0, got -1"):
        loader.set_epoch(-1)


class Wrong(Dataset[int]):
    """A dataset whose get_many breaks its contract."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __len__(self) -> int:
        return 4

    def get(self, index: int) -> int:
        return index

    def get_many(self, indices: Any) -> list[int]:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return list(self.answer)


WRONG = [
    pytest.param([1, 2, 3], "get_many was asked for 2 items and returned 3", id="too many"),
    pytest.param([], "get_many was asked for 2 items and returned 0", id="too few"),
    pytest.param(OSError("gone"), "get_many raised OSError: gone", id="raises"),
]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize(("answer", "told"), WRONG)
def test_a_wrong_get_many_is_told(answer: Any, told: str, num_workers: int) -> None:
    loader = DataLoader(Wrong(answer), ListBatcher(), batch_size=2, num_workers=num_workers)
    place = r"batch 0 of epoch 0 \(Wrong, items 0, 1\): "
    with pytest.raises(DatasetError, match=place + told):
        list(loader)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_stop_goes_through_as_it_is(num_workers: int) -> None:
    class Stopping:
        def batch(self, items: Sequence[int], device: HostDevice) -> int:
            raise Cancelled

    with pytest.raises(Cancelled):
        list(DataLoader(Wrong(Cancelled()), ListBatcher(), num_workers=num_workers))
    with pytest.raises(Cancelled):
        list(DataLoader(numbers(2), Stopping(), num_workers=num_workers))


def test_items_that_do_not_stack_are_told_with_field_and_batch() -> None:
    items = [{"x": np.zeros(size)} for size in (2, 2, 2, 3)]
    loader = DataLoader(InMemDataset(items), StackBatcher(), batch_size=2)
    told = r"batch 1 of epoch 0 \(InMemDataset, items 2, 3\): field 'x': item 1 has the shape"
    with pytest.raises(BatchError, match=told) as caught:
        list(loader)
    assert caught.value.field == "x"
    assert caught.value.shapes == ((2,), (3,))


def test_a_message_lists_only_the_first_items() -> None:
    class Refusing:
        def batch(self, items: Sequence[int], device: HostDevice) -> int:
            raise ValueError("no")

    with pytest.raises(BatchError, match="items 0, 1, 2, 3, 4, 5, 6, 7 and 92 more"):
        DataLoader(numbers(100), Refusing(), batch_size=100).batch(0)


def test_a_message_names_items_as_their_sources_count_them() -> None:
    class Refusing:
        def batch(self, items: Sequence[int], device: HostDevice) -> int:
            raise ValueError("no")

    cats = InMemDataset(range(4), source_id="cats")[2:]
    dogs = InMemDataset(range(4), source_id="dogs")[::-1]
    loader = DataLoader(ComposedDataset([cats, dogs]), Refusing(), batch_size=6)
    with pytest.raises(BatchError, match=r"\(cats, items 2, 3; dogs, items 3, 2, 1, 0\)"):
        loader.batch(0)


def test_split_over_devices() -> None:
    loader = DataLoader(numbers(11), ListBatcher(), batch_size=11)
    assert split_dataloader(loader, [HostDevice()]) == [loader]
    assert split_dataloader(loader, []) == [loader]
    halves = split_dataloader(loader, [HostDevice(), HostDevice()])
    assert [list(half) for half in halves] == [[list(range(5))], [list(range(5, 11))]]
    with pytest.raises(SettingError, match="at least 1 part, got 0"):
        loader.split(0)


def test_a_builder_is_never_changed() -> None:
    plain: DataLoaderBuilder[int, list[int]] = DataLoaderBuilder(ListBatcher())
    plain.batch_size(5).shuffle(3).num_workers(2).prefetch(9).drop_last()
    assert list(plain.build(numbers(2))) == [[0], [1]]
    with pytest.raises(SettingError, match="batch_size is at least 1, got 0"):
        plain.batch_size(0).build(numbers(2))


def test_a_loader_inside_a_loader() -> None:
    inner = [DataLoader(numbers(4), ListBatcher(), batch_size=2, num_workers=2) for _ in range(3)]
    outer = DataLoader(InMemDataset(inner), ListBatcher(), num_workers=2)
    assert [[list(loader) for loader in batch] for batch in outer] == [[[[0, 1], [2, 3]]]] * 3


def test_workers_do_not_hold_up_a_program_that_leaves() -> None:
    program = """
from ruda.data import DataLoader, InMemDataset
from ruda.testing import ListBatcher
kept = iter(DataLoader(InMemDataset(range(1000)), ListBatcher(), num_workers=2))
print(next(kept))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[0]", "")


def test_a_tensor_batch_is_a_tensor() -> None:
    loader = DataLoader(InMemDataset([[1, 2], [3, 4]]), StackBatcher(), batch_size=2)
    found = next(iter(loader))
    assert isinstance(found, Tensor)
    assert found.dims() == (2, 2)


NO_WHOLE_NUMBERS = [
    pytest.param({"batch_size": 2.5}, "batch_size is a whole number, got 2.5", id="fraction"),
    pytest.param({"batch_size": True}, "batch_size is a whole number, got True", id="bool"),
    pytest.param({"batch_size": None}, "batch_size is a whole number, got None", id="none"),
    pytest.param({"num_workers": "2"}, "num_workers is a whole number, got '2'", id="text"),
    pytest.param({"prefetch": float("nan")}, "prefetch is a whole number, got nan", id="nan"),
    pytest.param({"shuffle": "x"}, "a seed is a whole number from 0 .* got 'x'", id="seed"),
    pytest.param({"shuffle": False}, "a seed is a whole number from 0 .* got False", id="no seed"),
]


@pytest.mark.parametrize(("options", "told"), NO_WHOLE_NUMBERS)
def test_what_is_no_whole_number_is_refused_at_once(options: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        DataLoader(numbers(3), ListBatcher(), **options)


def test_numbers_of_numpy_become_plain_ones_in_a_position() -> None:
    loader = DataLoader(
        numbers(9), ListBatcher(), batch_size=np.int64(2), shuffle=np.uint64(2**64 - 1)
    )
    state = json.loads(json.dumps(loader.state_dict()))
    other = DataLoader(numbers(9), ListBatcher(), batch_size=2, shuffle=2**64 - 1)
    other.load_state_dict(state)
    assert list(other) == list(loader)


@pytest.mark.parametrize("state", [None, [], "x", 3])
def test_a_position_that_is_no_table_is_refused(state: Any) -> None:
    with pytest.raises(StateMismatchError, match="a loader position is a table, got"):
        DataLoader(numbers(3), ListBatcher()).load_state_dict(state)
