"""Dataset: a fixed number of items, each reachable by its index; and the two views of it.

A dataset of your own has ``__len__`` and ``get``; where many items can be read at once cheaper
than one by one, it has ``get_many`` too. Everything else follows from these.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ruda.data.features import DatasetSummary, Feature
from ruda.data.fingerprint import fingerprint
from ruda.errors import ItemError, RudaError, SettingError
from ruda.progress import Cancelled

T_co = TypeVar("T_co", covariant=True)
S_co = TypeVar("S_co", covariant=True)

Indices: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]
IndexArray: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ItemOrigin:
    """Where an item comes from in the end: the source id, and the index there."""

    source: str
    index: int


class Dataset(ABC, Generic[T_co]):
    """Random access to a fixed number of items.

    The length never changes while the object lives, the item at an index never depends on what
    was read before, and every method may be called from several threads at once. ``get`` takes
    0 … len - 1; negative indices and slices are for square brackets only. Absence is not failure:
    an index outside raises IndexError, an item that cannot be read raises ItemError.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Number of items."""

    @abstractmethod
    def get(self, index: int) -> T_co:
        """The item at this index.

        Raises IndexError if it is negative or not below the length, ItemError if it cannot be
        read. An implementation starts with ``self.check_index(index)``.
        """

    def get_many(self, indices: Indices) -> list[T_co]:
        """The items at these indices, in this order, repeated where an index is.

        All or nothing: every index is checked before the first item is read. Raises as ``get``.
        """
        return [self._read(int(index)) for index in self.check_indices(indices)]

    def try_get(self, index: int) -> T_co | None:
        """The item, or None where the index is outside; one that cannot be read still raises."""
        return self._read(index) if 0 <= index < len(self) else None

    def check_index(self, index: SupportsIndex) -> int:
        """The index itself. Raises IndexError if it is negative or not below the length."""
        number = operator.index(index)
        if not 0 <= number < len(self):
            raise IndexError(f"{self.source_id} has {len(self)} items, there is no item {number}")
        return number

    def check_indices(self, indices: Indices) -> IndexArray:
        """The indices as int64 (n,). Raises IndexError for the first one outside the dataset.

        Raises SettingError for anything but a one-axis row of whole numbers.
        """
        return _inside(_index_array(indices), len(self), self.source_id)

    @property
    def features(self) -> Mapping[str, Feature]:
        """What the fields of an item are; empty where that is not known."""
        return {}

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes that label numbers mean, or None."""
        return None

    @property
    def source_id(self) -> str:
        """What messages and saved positions call this dataset; unless overridden, its class."""
        return type(self).__name__

    def origin(self, index: int) -> ItemOrigin:
        """Which item of which source this index means, through all views; for messages."""
        return ItemOrigin(self.source_id, index)

    @cached_property
    def fingerprint(self) -> str:
        """Digest by which a saved position knows this data again: same data, same text."""
        return fingerprint(type(self).__name__, self.source_id, len(self))

    def describe(self) -> DatasetSummary:
        """Kind, length, fields and classes in one frozen value."""
        return DatasetSummary(
            kind=type(self).__name__,
            source_id=self.source_id,
            length=len(self),
            fingerprint=self.fingerprint,
            features=self.features,
            class_names=self.class_names,
        )

    def __iter__(self) -> Iterator[T_co]:
        for index in range(len(self)):
            yield self._read(index)

    @overload
    def __getitem__(self, where: slice | Indices) -> Dataset[T_co]: ...
    @overload
    def __getitem__(self, where: SupportsIndex) -> T_co: ...
    def __getitem__(self, where: SupportsIndex | slice | Indices) -> T_co | Dataset[T_co]:
        """One item (negative counts from the end), or a view: a slice or a row of indices."""
        if isinstance(where, slice):
            start, stop, step = where.indices(len(self))
            if step == 1:
                return PartialDataset(self, start, max(start, stop))
            return SelectionDataset(self, np.arange(start, stop, step, dtype=np.int64))
        if isinstance(where, SupportsIndex) and not _is_row(where):
            number = operator.index(where)
            return self._read(self.check_index(number + len(self) if number < 0 else number))
        chosen = _index_array(where)  # type: ignore[arg-type] # an array is a SupportsIndex too
        return SelectionDataset(self, np.where(chosen < 0, chosen + len(self), chosen))

    def _read(self, index: int) -> T_co:
        """``get`` of an index that exists, with every foreign failure told as ItemError."""
        try:
            return self.get(index)
        except (RudaError, Cancelled):
            raise
        except Exception as error:
            origin = self.origin(index)
            raise ItemError(
                f"{type(error).__name__}: {error}", index=origin.index, source=origin.source
            ) from error


class DerivedDataset(Dataset[T_co], Generic[S_co, T_co]):
    """A dataset made from one other; what it says of itself is the other's unless overridden."""

    def __init__(self, dataset: Dataset[S_co]) -> None:
        self.dataset = dataset

    @property
    def features(self) -> Mapping[str, Feature]:
        """The features of the dataset below."""
        return self.dataset.features

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The class names of the dataset below."""
        return self.dataset.class_names

    @property
    def source_id(self) -> str:
        """The source id of the dataset below."""
        return self.dataset.source_id


class PartialDataset(DerivedDataset[T_co, T_co]):
    """Items ``start`` … ``end`` - 1 of another dataset, clamped to its length; a view."""

    start: int
    end: int

    def __init__(self, dataset: Dataset[T_co], start: int, end: int) -> None:
        """Raises SettingError if a bound is negative. A start at or past the end is empty."""
        if start < 0 or end < 0:
            raise SettingError(f"a part needs bounds of at least 0, got {start} and {end}")
        if isinstance(dataset, PartialDataset):  # a part of a part is a part of the whole
            start, end = start + dataset.start, min(end + dataset.start, dataset.end)
            dataset = dataset.dataset
        super().__init__(dataset)
        self.start = min(start, len(dataset))
        self.end = max(self.start, min(end, len(dataset)))

    def __len__(self) -> int:
        return self.end - self.start

    def get(self, index: int) -> T_co:
        """The item of the other dataset at start + index. Raises as Dataset.get."""
        return self.dataset._read(self.start + self.check_index(index))

    def get_many(self, indices: Indices) -> list[T_co]:
        """One ``get_many`` of the other dataset. Raises as Dataset.get_many."""
        return self.dataset.get_many(self.check_indices(indices) + self.start)

    def origin(self, index: int) -> ItemOrigin:
        """That of start + index in the other dataset."""
        return self.dataset.origin(self.start + index)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the other dataset's fingerprint and the bounds."""
        return fingerprint("partial", self.dataset.fingerprint, self.start, self.end)

    @classmethod
    def split(
        cls, dataset: Dataset[T_co], parts: int, *, balanced: bool = False
    ) -> list[PartialDataset[T_co]]:
        """``parts`` consecutive parts of floor(n / parts) items; the last takes the rest.

        ``balanced`` gives the rest to the first parts instead, one each: 27 in 4 is 7, 7, 7, 6
        and not 6, 6, 6, 9. Raises SettingError if ``parts`` is below 1.
        """
        if parts < 1:
            raise SettingError(f"a dataset is split into at least 1 part, got {parts}")
        each, rest = divmod(len(dataset), parts)
        sizes = [each + (1 if balanced and part < rest else 0) for part in range(parts)]
        sizes[-1] = len(dataset) - sum(sizes[:-1])
        return _consecutive(dataset, sizes, cls)

    @classmethod
    def split_chunks(
        cls, dataset: Dataset[T_co], parts: int, batch_size: int
    ) -> list[PartialDataset[T_co]]:
        """At most ``parts`` parts of whole batches; only the last batch of the last part is short.

        Earlier parts take the extra batches and no part is empty: 27 in 4 with batches of 5 is
        10, 10, 5, 2. Raises SettingError if either number is below 1.
        """
        if parts < 1 or batch_size < 1:
            raise SettingError(f"parts and batch_size start at 1, got {parts} and {batch_size}")
        each, rest = divmod(-(-len(dataset) // batch_size), parts)
        batches = [each + (1 if part < rest else 0) for part in range(parts)]
        return _consecutive(dataset, [count * batch_size for count in batches if count], cls)


class SelectionDataset(DerivedDataset[T_co, T_co]):
    """The items of another dataset at these indices, in this order; an index may repeat; a view."""

    def __init__(self, dataset: Dataset[T_co], indices: Indices) -> None:
        """Copies the indices. Raises IndexError naming the first one outside the dataset."""
        chosen = dataset.check_indices(indices).copy()
        if isinstance(dataset, SelectionDataset):  # reading through one row of indices, not two
            chosen = dataset.indices[chosen]
            dataset = dataset.dataset
        super().__init__(dataset)
        chosen.flags.writeable = False
        self.indices: IndexArray = chosen
        """Index in the other dataset for each index of this one; int64 (n,), read-only."""

    @classmethod
    def select_all(cls, dataset: Dataset[T_co]) -> SelectionDataset[T_co]:
        """Every item once, in order."""
        return SelectionDataset(dataset, np.arange(len(dataset), dtype=np.int64))

    def __len__(self) -> int:
        return int(self.indices.size)

    def get(self, index: int) -> T_co:
        """The item of the other dataset at ``indices[index]``. Raises as Dataset.get."""
        return self.dataset._read(int(self.indices[self.check_index(index)]))

    def get_many(self, indices: Indices) -> list[T_co]:
        """One ``get_many`` of the other dataset. Raises as Dataset.get_many."""
        return self.dataset.get_many(self.indices[self.check_indices(indices)])

    def origin(self, index: int) -> ItemOrigin:
        """That of ``indices[index]`` in the other dataset."""
        return self.dataset.origin(int(self.indices[index]))

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the other dataset's fingerprint and the indices."""
        return fingerprint("selection", self.dataset.fingerprint, self.indices)

    def slice(self, start: int, end: int) -> SelectionDataset[T_co]:
        """The selection of ``indices[start:end]``. Raises IndexError if a bound is outside."""
        if not 0 <= start <= end <= len(self):
            raise IndexError(f"{start} … {end} is not a range inside {len(self)} items")
        return SelectionDataset(self.dataset, self.indices[start:end])

    def split(self, parts: int) -> list[SelectionDataset[T_co]]:
        """``parts`` consecutive selections of floor(n / parts) items; the last takes the rest.

        Raises SettingError if ``parts`` is below 1.
        """
        if parts < 1:
            raise SettingError(f"a dataset is split into at least 1 part, got {parts}")
        each = len(self) // parts
        ends = [each * part for part in range(1, parts)] + [len(self)]
        return [self.slice(each * part, end) for part, end in enumerate(ends)]


def _consecutive(
    dataset: Dataset[T_co],
    sizes: Sequence[int],
    make: Callable[[Dataset[T_co], int, int], PartialDataset[T_co]],
) -> list[PartialDataset[T_co]]:
    found, start = [], 0
    for size in sizes:
        found.append(make(dataset, start, start + size))
        start += size
    return found


def _is_row(where: object) -> bool:
    """An array of one element is a SupportsIndex; it still means a view, not an item."""
    return isinstance(where, np.ndarray) and where.ndim > 0


def _index_array(indices: Indices) -> IndexArray:
    array = np.asarray(indices)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise SettingError(
            f"indices are one row of whole numbers, got {array.dtype} of shape {array.shape}"
        )
    if array.dtype == np.uint64 and int(array.max()) >= 1 << 63:
        raise IndexError(f"index {int(array.max())} is outside every dataset")
    return array.astype(np.int64, copy=False)


def _inside(array: IndexArray, length: int, source: str) -> IndexArray:
    if array.size and (array.min() < 0 or array.max() >= length):
        wrong = int(array[(array < 0) | (array >= length)][0])
        raise IndexError(f"{source} has {length} items, there is no item {wrong}")
    return array
