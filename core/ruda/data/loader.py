"""DataLoader: a dataset, an order and a batcher, read ahead on threads.

The order of an epoch is a plan, computed from (seed, epoch) before anything is read. Workers only
make the batches of the plan and they are delivered in its order, so that neither the number of
workers nor their timing ever changes what comes out.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

from ruda.data.batcher import Batcher
from ruda.data.dataset import Dataset, PartialDataset
from ruda.data.iterator import BatchIterator, BatchMaker
from ruda.data.plan import EpochPlan, batch_count
from ruda.data.position import LoaderPosition
from ruda.data.sampler import check_seed, epoch_order, whole_number
from ruda.errors import DatasetError, StateMismatchError
from ruda.tensor import HostDevice

T = TypeVar("T")
B = TypeVar("B")


class DataLoader(Generic[T, B]):
    """Iterable of batches. Every ``iter`` is one epoch and makes the next one due.

    ``shuffle`` is a seed, or None for the dataset's own order. With ``num_workers`` 0 batches are
    made on the calling thread; else that many threads keep up to ``prefetch`` batches ready (two
    per worker unless given). Several iterators may live at once; each has its own progress.
    """

    def __init__(
        self,
        dataset: Dataset[T],
        batcher: Batcher[T, B],
        *,
        batch_size: int = 1,
        shuffle: int | None = None,
        num_workers: int = 0,
        prefetch: int | None = None,
        drop_last: bool = False,
        device: HostDevice | None = None,
    ) -> None:
        """Raises SettingError for a number outside its range."""
        batch_size = whole_number("batch_size", batch_size, 1)
        num_workers = whole_number("num_workers", num_workers, 0)
        if prefetch is not None:
            prefetch = whole_number("prefetch", prefetch, 1)
        self.dataset = dataset
        self.batcher = batcher
        self.batch_size = batch_size
        self.shuffle = None if shuffle is None else check_seed(shuffle)
        self.num_workers = num_workers
        self.prefetch = 2 * max(1, num_workers) if prefetch is None else prefetch
        self.drop_last = drop_last
        self.device = HostDevice() if device is None else device
        self._lock = threading.Lock()
        self._next_epoch = 0
        self._next_start = 0
        self._cursor = _Cursor(0, 0)
        self._live: weakref.WeakSet[BatchIterator[B]] = weakref.WeakSet()
        self._closed = False

    def __iter__(self) -> BatchIterator[B]:
        """One pass over the epoch that is due, from the restored position if there is one.

        The epoch counts as begun, so the next call is the next epoch, also where this pass is
        left early. Raises DatasetError after ``close``.
        """
        with self._lock:
            if self._closed:
                raise DatasetError(f"this loader of {self.dataset.source_id} is closed")
            cursor = _Cursor(self._next_epoch, self._next_start)
            plan = self.plan(cursor.epoch)
            self._cursor = cursor
            self._next_epoch, self._next_start = cursor.epoch + 1, 0
            iterator: BatchIterator[B] = BatchIterator(
                BatchMaker(self.dataset, self.batcher, self.device, plan),
                start=cursor.batches,
                workers=self.num_workers,
                window=self.prefetch,
                save=self._position_at,
                delivered=cursor.move,
            )
            self._live.add(iterator)
            return iterator

    def __len__(self) -> int:
        """Batches in one epoch."""
        return batch_count(len(self.dataset), self.batch_size, drop_last=self.drop_last)

    def num_items(self) -> int:
        """Items that one epoch delivers: all of the dataset's, less what ``drop_last`` drops."""
        return min(len(self) * self.batch_size, len(self.dataset))

    @property
    def epoch(self) -> int:
        """The epoch that the next ``iter`` is a pass over."""
        return self._next_epoch

    def set_epoch(self, epoch: int) -> None:
        """Make this epoch the next one, from its first batch. Raises SettingError below 0."""
        epoch = whole_number("epoch", epoch, 0)
        with self._lock:
            self._next_epoch, self._next_start = epoch, 0
            self._cursor = _Cursor(epoch, 0)

    def plan(self, epoch: int) -> EpochPlan:
        """Which items make which batch of an epoch; a pure function of the settings."""
        order = epoch_order(len(self.dataset), self.shuffle, epoch)
        return EpochPlan(epoch, order, self.batch_size, self.drop_last)

    def batch(self, number: int, *, epoch: int = 0) -> B:
        """One batch by its number, made on the calling thread; moves no position.

        Raises IndexError for a number outside the epoch, ItemError and BatchError as iterating.
        """
        return BatchMaker(self.dataset, self.batcher, self.device, self.plan(epoch))(number)

    def state_dict(self) -> dict[str, Any]:
        """The position of the newest iterator after its last delivered batch; fits into JSON.

        Before the first ``iter`` that is the start of the epoch that is due. A finished epoch is
        the start of the next one. An iterator that is not the newest has a ``state_dict`` of its
        own.
        """
        with self._lock:
            cursor = self._cursor
        return self._position_at(cursor.epoch, cursor.batches)

    def check_state_dict(self, state: Mapping[str, Any], *, strict: bool = True) -> None:
        """Raise StateMismatchError if ``load_state_dict`` would; moves nothing."""
        self._fitting(state, strict=strict)

    def load_state_dict(self, state: Mapping[str, Any], *, strict: bool = True) -> None:
        """Let the next ``iter`` go on where the position stands; workers may differ.

        Raises StateMismatchError for other data or settings and moves nothing then. Without
        ``strict`` the dataset's content may differ, not its length.
        """
        found = self._fitting(state, strict=strict)
        epoch, batches = self._normalised(found.epoch, found.committed)
        with self._lock:
            self._next_epoch, self._next_start = epoch, batches
            self._cursor = _Cursor(epoch, batches)

    def slice(self, start: int, end: int) -> DataLoader[T, B]:
        """A loader of items ``start`` … ``end`` - 1 with the same settings, from its epoch 0.

        Bounds are clamped to the dataset; this loader's own order is not touched. Raises
        SettingError for a negative bound.
        """
        return self._with(PartialDataset(self.dataset, start, end), self.device)

    def to_device(self, device: HostDevice) -> DataLoader[T, B]:
        """A loader with the same settings whose batches are made for this device, from epoch 0."""
        return self._with(self.dataset, device)

    def split(self, parts: int) -> list[DataLoader[T, B]]:
        """``parts`` loaders of floor(n / parts) consecutive items each; the last takes the rest.

        Raises SettingError if ``parts`` is below 1.
        """
        return [self._with(part, self.device) for part in PartialDataset.split(self.dataset, parts)]

    def close(self) -> None:
        """Close every living iterator; ``iter`` raises DatasetError then. May be called again."""
        with self._lock:
            self._closed = True
            living = list(self._live)
        for iterator in living:
            iterator.close()

    def __enter__(self) -> DataLoader[T, B]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _with(self, dataset: Dataset[T], device: HostDevice) -> DataLoader[T, B]:
        return DataLoader(
            dataset,
            self.batcher,
            batch_size=self.batch_size,
            shuffle=self.shuffle,
            num_workers=self.num_workers,
            prefetch=self.prefetch,
            drop_last=self.drop_last,
            device=device,
        )

    def _fitting(self, state: Mapping[str, Any], *, strict: bool) -> LoaderPosition:
        found = LoaderPosition.from_dict(state)
        found.check_fits(self._describe(found.epoch, 0), strict=strict)
        if found.committed > len(self):
            raise StateMismatchError(
                f"the position is after batch {found.committed}, an epoch has {len(self)} batches"
            )
        return found

    def _position_at(self, epoch: int, batches: int) -> dict[str, Any]:
        return self._describe(*self._normalised(epoch, batches)).to_dict()

    def _normalised(self, epoch: int, batches: int) -> tuple[int, int]:
        """A finished epoch is the start of the next one."""
        return (epoch + 1, 0) if batches and batches >= len(self) else (epoch, batches)

    def _describe(self, epoch: int, committed: int) -> LoaderPosition:
        return LoaderPosition(
            length=len(self.dataset),
            fingerprint=self.dataset.fingerprint,
            source_id=self.dataset.source_id,
            seed=self.shuffle,
            batch_size=self.batch_size,
            drop_last=self.drop_last,
            epoch=epoch,
            committed=committed,
        )


class _Cursor:
    """How many batches of an epoch were delivered; outlives the iterator that moves it."""

    def __init__(self, epoch: int, batches: int) -> None:
        self.epoch = epoch
        self.batches = batches

    def move(self, batches: int) -> None:
        self.batches = batches


def split_dataloader(
    loader: DataLoader[T, B], devices: Sequence[HostDevice]
) -> list[DataLoader[T, B]]:
    """One loader per device, each over its consecutive share of the items.

    With at most one device it is the loader itself, unmoved. 11 items over 2 devices are 5 and 6.
    """
    if len(devices) <= 1:
        return [loader]
    parts = loader.split(len(devices))
    return [part.to_device(device) for part, device in zip(parts, devices, strict=True)]
