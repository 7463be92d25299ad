"""Datasets in a session: one that is open, how it is opened, and which batch of it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import RudaError, SettingError
from ruda.progress import SILENT, Monitor

if TYPE_CHECKING:
    from ruda.data import Dataset

DEFAULT_BATCH = 32


@dataclass(frozen=True, slots=True, eq=False)
class OpenDataset:
    """The dataset that the Data and Run screens show."""

    path: Path
    dataset: Dataset[Any]
    split: str | None = None
    """The part that is open; None where the dataset has no parts."""
    splits: tuple[str, ...] = ()
    """Every part that the path has."""
    name: str = ""
    """What a person calls it: the folder's name."""
    kind: str = ""
    """Title of the source that reads it: ``IDX images and labels (MNIST)``."""


@dataclass(frozen=True, slots=True)
class BatchChoice:
    """Which batch of a dataset is looked at, and how its batches are made."""

    number: int = 0
    """From 0."""
    size: int = DEFAULT_BATCH
    shuffle: int | None = None
    """Seed of the order; None for the dataset's own order."""

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SettingError(f"a batch has at least 1 item, got {self.size}")

    def batches(self, length: int) -> int:
        """Number of batches in a dataset of this length; 1 for an empty one."""
        return max(1, -(-length // self.size))

    def within(self, length: int) -> BatchChoice:
        """The nearest batch that a dataset of this length has."""
        number = min(max(0, self.number), self.batches(length) - 1)
        return BatchChoice(number, self.size, self.shuffle)

    def indices(self, dataset: Dataset[Any]) -> tuple[int, ...]:
        """Items of the batch in their order: the same as the loader's batch of this number.

        Raises SettingError for a size below 1 or a seed out of range.
        """
        from ruda.data import EpochPlan

        if not len(dataset):
            return ()
        plan = EpochPlan(0, _order(len(dataset), self.shuffle), self.size)
        return tuple(plan[self.within(len(dataset)).number].tolist())


@lru_cache(maxsize=2)
def _order(length: int, seed: int | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The loader's order of its first epoch; kept, because every page of a dataset asks for it."""
    from ruda.data import epoch_order

    order = epoch_order(length, seed, 0)
    order.flags.writeable = False
    return order


def read_dataset(path: Path, *, split: str | None = None, monitor: Monitor = SILENT) -> OpenDataset:
    """Open a folder or file as a dataset; where it has several parts and none is named, the first.

    Raises FileAccessError, DatasetError, FormatError and SettingError as ``ruda.data``.
    """
    from ruda.data import find_source

    source = find_source(path)
    splits = source.splits(path)
    if split is not None and split not in splits:
        raise SettingError(f"{path} has no split {split!r}; it has {', '.join(splits)}")
    folder = path.is_dir()
    chosen = split if split is not None else splits[0] if splits else None
    dataset = source.open(path, split=chosen if folder else None, monitor=monitor)
    return OpenDataset(
        path=path,
        dataset=dataset,
        split=chosen,
        splits=splits,
        name=(path if folder else path.parent).resolve().name,
        kind=source.title,
    )


def is_dataset(path: Path) -> bool:
    """True if a source recognises the path by its name, or by the names in its folder."""
    from ruda.data import available_sources

    try:
        return path.exists() and any(source.matches(path) for source in available_sources())
    except RudaError:
        return False  # a folder that may not be listed; opening it says so
