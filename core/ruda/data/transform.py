"""Datasets made from datasets: mapped, joined, shuffled, sampled, windowed. All of them lazy.

Order is fixed at construction from a seed, never from a call: the same index is the same item in
any thread, however often it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TypeVar

import numpy as np

from ruda.data.dataset import (
    Dataset,
    DerivedDataset,
    IndexArray,
    Indices,
    ItemOrigin,
    SelectionDataset,
)
from ruda.data.features import Feature
from ruda.data.fingerprint import fingerprint
from ruda.data.sampler import check_seed, derive, draws, permutation
from ruda.errors import ItemError, RudaError, SettingError
from ruda.progress import Cancelled

S = TypeVar("S")
T = TypeVar("T")


class MapperDataset(DerivedDataset[S, T]):
    """``mapper`` applied to each item when it is asked for; nothing is kept.

    The mapper may be called from several threads. ``name`` stands for it in fingerprints; without
    one its module and qualified name do, so give a name where a lambda's meaning changes.
    """

    def __init__(
        self,
        dataset: Dataset[S],
        mapper: Callable[[S], T],
        *,
        name: str | None = None,
        features: Mapping[str, Feature] | None = None,
    ) -> None:
        super().__init__(dataset)
        self.mapper = mapper
        self.name = _callable_name(mapper) if name is None else name
        self._features = dict(features or {})

    def __len__(self) -> int:
        return len(self.dataset)

    def get(self, index: int) -> T:
        """The mapped item. Raises as Dataset.get, and ItemError where the mapper fails."""
        return self._map(self.check_index(index), self.dataset._read(index))

    def get_many(self, indices: Indices) -> list[T]:
        """One ``get_many`` below, then the mapper on each item. Raises as ``get``."""
        chosen = self.check_indices(indices)
        items = self.dataset.get_many(chosen)
        return [self._map(int(i), item) for i, item in zip(chosen, items, strict=True)]

    def origin(self, index: int) -> ItemOrigin:
        """That of the item below."""
        return self.dataset.origin(index)

    @property
    def features(self) -> Mapping[str, Feature]:
        """The features given at construction: what a mapper makes of an item is not known."""
        return self._features

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the fingerprint below and the mapper's name."""
        return fingerprint("mapper", self.dataset.fingerprint, self.name)

    def _map(self, index: int, item: S) -> T:
        try:
            return self.mapper(item)
        except (RudaError, Cancelled):
            raise
        except Exception as error:
            origin = self.origin(index)
            raise ItemError(
                f"{self.name} raised {type(error).__name__}: {error}",
                index=origin.index,
                source=origin.source,
            ) from error


class ComposedDataset(Dataset[T]):
    """Several datasets one after the other. Features and classes are kept where all agree."""

    def __init__(self, datasets: Iterable[Dataset[T]]) -> None:
        self.datasets = tuple(datasets)
        lengths = np.array([len(d) for d in self.datasets], dtype=np.int64)
        self._ends = np.cumsum(lengths)
        self._starts = self._ends - lengths

    def __len__(self) -> int:
        return int(self._ends[-1]) if self.datasets else 0

    def get(self, index: int) -> T:
        """The item of the dataset that this index falls into. Raises as Dataset.get."""
        part, local = self._locate(np.array([self.check_index(index)], dtype=np.int64))
        return self.datasets[int(part[0])]._read(int(local[0]))

    def get_many(self, indices: Indices) -> list[T]:
        """One ``get_many`` for each dataset concerned; the items come back in request order."""
        chosen = self.check_indices(indices)
        parts, locals_ = self._locate(chosen)
        found: dict[int, T] = {}
        for part in np.unique(parts):
            places = np.flatnonzero(parts == part)
            items = self.datasets[int(part)].get_many(locals_[places])
            found.update(zip(places.tolist(), items, strict=True))
        return [found[place] for place in range(chosen.size)]

    def origin(self, index: int) -> ItemOrigin:
        """That of the dataset which this index falls into."""
        part, local = self._locate(np.array([index], dtype=np.int64))
        return self.datasets[int(part[0])].origin(int(local[0]))

    @property
    def features(self) -> Mapping[str, Feature]:
        """The features of the datasets where all have the same, else none."""
        return _agreed([d.features for d in self.datasets]) or {}

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The class names of the datasets where all have the same, else None."""
        return _agreed([d.class_names for d in self.datasets])

    @property
    def source_id(self) -> str:
        """The source ids joined by ``+``."""
        return " + ".join(d.source_id for d in self.datasets) or "ComposedDataset"

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the fingerprints, in order."""
        return fingerprint("composed", [d.fingerprint for d in self.datasets])

    def _locate(self, chosen: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Which dataset each index falls into, and the index inside it."""
        parts = np.searchsorted(self._ends, chosen, side="right")
        return parts, chosen - self._starts[parts]


class ShuffledDataset(SelectionDataset[T]):
    """Every item once, in the ``fy64-v1`` order of (seed, epoch): the same on every machine."""

    def __init__(self, dataset: Dataset[T], seed: int, *, epoch: int = 0) -> None:
        """Raises SettingError for a seed outside 64 bits or a negative epoch."""
        super().__init__(dataset, permutation(len(dataset), seed, epoch))
        self.seed = seed
        self.epoch = epoch


class SamplerDataset(SelectionDataset[T]):
    """``size`` items drawn from another dataset, fixed by (seed, epoch).

    With replacement every draw is uniform. Without, each item comes floor or ceil of size / n
    times, in mixed order. ``ratio`` sets the size as a multiple of the dataset's length, rounded
    down; without either, the size is the dataset's.
    """

    def __init__(
        self,
        dataset: Dataset[T],
        seed: int,
        *,
        size: int | None = None,
        ratio: float | None = None,
        replacement: bool = True,
        epoch: int = 0,
    ) -> None:
        """Raises SettingError for both size and ratio, a negative one, or draws from nothing."""
        wanted = _sample_size(len(dataset), size, ratio)
        if wanted and not len(dataset):
            raise SettingError(f"{wanted} items cannot be drawn from an empty dataset")
        if epoch < 0:
            raise SettingError(f"epochs count from 0, got {epoch}")
        check_seed(seed)
        draw = _with_replacement if replacement else _without_replacement
        super().__init__(dataset, draw(len(dataset), wanted, seed, epoch))
        self.seed = seed
        self.epoch = epoch
        self.replacement = replacement


class WindowsDataset(DerivedDataset[T, list[T]]):
    """Each item is a list of ``size`` items of another dataset; windows overlap by default.

    Window i starts at i · stride; its members lie ``dilation`` apart. Only whole windows count.
    """

    def __init__(
        self, dataset: Dataset[T], size: int, *, stride: int = 1, dilation: int = 1
    ) -> None:
        """Raises SettingError if a number is below 1."""
        if min(size, stride, dilation) < 1:
            raise SettingError(
                f"size, stride and dilation start at 1, got {size}, {stride} and {dilation}"
            )
        super().__init__(dataset)
        self.size = size
        self.stride = stride
        self.dilation = dilation

    def __len__(self) -> int:
        last_start = len(self.dataset) - ((self.size - 1) * self.dilation + 1)
        return 0 if last_start < 0 else last_start // self.stride + 1

    def get(self, index: int) -> list[T]:
        """The members of one window, in order. Raises as Dataset.get."""
        return self.get_many([self.check_index(index)])[0]

    def get_many(self, indices: Indices) -> list[list[T]]:
        """One ``get_many`` below for all members of all windows. Raises as Dataset.get_many."""
        starts = self.check_indices(indices) * self.stride
        members = starts[:, None] + np.arange(self.size, dtype=np.int64) * self.dilation
        items = self.dataset.get_many(members.reshape(-1))
        return [items[at : at + self.size] for at in range(0, len(items), self.size)]

    @property
    def features(self) -> Mapping[str, Feature]:
        """None: an item is a list."""
        return {}

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the fingerprint below and the three numbers."""
        return fingerprint(
            "windows", self.dataset.fingerprint, self.size, self.stride, self.dilation
        )


def _callable_name(function: Callable[..., object]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _agreed(values: list[T]) -> T | None:
    return values[0] if values and all(v == values[0] for v in values[1:]) else None


def _sample_size(length: int, size: int | None, ratio: float | None) -> int:
    if size is not None and ratio is not None:
        raise SettingError("give a size or a ratio, not both")
    if ratio is not None:
        if not 0 <= ratio < float("inf"):
            raise SettingError(f"a ratio is a finite number of at least 0, got {ratio}")
        return int(length * ratio)
    if size is not None and size < 0:
        raise SettingError(f"a size is at least 0, got {size}")
    return length if size is None else size


def _with_replacement(length: int, size: int, seed: int, epoch: int) -> IndexArray:
    if not size:
        return np.empty(0, dtype=np.int64)
    return draws(length, size, derive(seed, epoch))


def _without_replacement(length: int, size: int, seed: int, epoch: int) -> IndexArray:
    """floor(size / n) full copies and the rest as distinct draws, then all of it shuffled."""
    if not size:
        return np.empty(0, dtype=np.int64)
    copies, rest = divmod(size, length)
    pool = np.concatenate(
        [
            np.tile(np.arange(length, dtype=np.int64), copies),
            permutation(length, derive(seed, epoch, 1))[:rest],
        ]
    )
    return pool[permutation(size, derive(seed, epoch, 2))]
