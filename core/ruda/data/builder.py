"""DataLoaderBuilder: RUDA's way to spell a DataLoader; the same loader comes out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ruda.data.batcher import Batcher
from ruda.data.dataset import Dataset
from ruda.data.loader import DataLoader
from ruda.tensor import HostDevice

T = TypeVar("T")
B = TypeVar("B")


@dataclass(frozen=True)
class _Settings:
    batch_size: int = 1
    shuffle: int | None = None
    num_workers: int = 0
    prefetch: int | None = None
    drop_last: bool = False
    device: HostDevice | None = None


class DataLoaderBuilder(Generic[T, B]):
    """Collects settings; every method returns a new builder, ``build`` checks them."""

    def __init__(self, batcher: Batcher[T, B], _settings: _Settings | None = None) -> None:
        self._batcher = batcher
        self._settings = _Settings() if _settings is None else _settings

    def batch_size(self, size: int) -> DataLoaderBuilder[T, B]:
        """Items per batch; 1 unless set."""
        return self._with(replace(self._settings, batch_size=size))

    def shuffle(self, seed: int) -> DataLoaderBuilder[T, B]:
        """Shuffle every epoch by this seed; the dataset's own order unless set."""
        return self._with(replace(self._settings, shuffle=seed))

    def num_workers(self, count: int) -> DataLoaderBuilder[T, B]:
        """Threads that make batches; 0, the calling thread, unless set."""
        return self._with(replace(self._settings, num_workers=count))

    def prefetch(self, batches: int) -> DataLoaderBuilder[T, B]:
        """Batches kept ready by the workers; two per worker unless set."""
        return self._with(replace(self._settings, prefetch=batches))

    def drop_last(self) -> DataLoaderBuilder[T, B]:
        """Leave out a last batch that is not full."""
        return self._with(replace(self._settings, drop_last=True))

    def set_device(self, device: HostDevice) -> DataLoaderBuilder[T, B]:
        """The device that batches are made for."""
        return self._with(replace(self._settings, device=device))

    def build(self, dataset: Dataset[T]) -> DataLoader[T, B]:
        """The loader. Raises SettingError for a number outside its range."""
        chosen = self._settings
        return DataLoader(
            dataset,
            self._batcher,
            batch_size=chosen.batch_size,
            shuffle=chosen.shuffle,
            num_workers=chosen.num_workers,
            prefetch=chosen.prefetch,
            drop_last=chosen.drop_last,
            device=chosen.device,
        )

    def _with(self, settings: _Settings) -> DataLoaderBuilder[T, B]:
        return DataLoaderBuilder(self._batcher, settings)
