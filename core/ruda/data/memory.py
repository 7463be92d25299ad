"""InMemDataset: items that are in memory already."""

from __future__ import annotations

import copy as copying
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeVar

from ruda.data.dataset import Dataset, Indices
from ruda.data.features import Feature
from ruda.data.fingerprint import fingerprint
from ruda.progress import SILENT, Monitor, track

T = TypeVar("T")


class InMemDataset(Dataset[T]):
    """A list of items. ``get`` returns the stored object itself; changing it is the caller's risk.

    With ``copy`` each ``get`` returns a deep copy instead. The list is copied at construction.
    """

    def __init__(
        self,
        items: Iterable[T],
        *,
        copy: bool = False,
        features: Mapping[str, Feature] | None = None,
        class_names: Iterable[str] | None = None,
        source_id: str = "InMemDataset",
    ) -> None:
        self._items = list(items)
        self._copy = copy
        self._features = dict(features or {})
        self._class_names = None if class_names is None else tuple(class_names)
        self._source_id = source_id

    @classmethod
    def from_dataset(cls, dataset: Dataset[T], *, monitor: Monitor = SILENT) -> InMemDataset[T]:
        """Every item of another dataset, read once. Raises ItemError for one that fails."""
        return cls(
            track(dataset, monitor, "items", len(dataset)),
            features=dataset.features,
            class_names=dataset.class_names,
            source_id=dataset.source_id,
        )

    def __len__(self) -> int:
        return len(self._items)

    def get(self, index: int) -> T:
        """The stored object, or a deep copy with ``copy``. Raises IndexError."""
        item = self._items[self.check_index(index)]
        return copying.deepcopy(item) if self._copy else item

    def get_many(self, indices: Indices) -> list[T]:
        """The stored objects, or deep copies with ``copy``. Raises IndexError."""
        items = [self._items[index] for index in self.check_indices(indices).tolist()]
        return [copying.deepcopy(item) for item in items] if self._copy else items

    @property
    def features(self) -> Mapping[str, Feature]:
        """The features given at construction."""
        return self._features

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The class names given at construction."""
        return self._class_names

    @property
    def source_id(self) -> str:
        """The source id given at construction."""
        return self._source_id

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the items by value; items of unknown types count by their type only."""
        return fingerprint("in memory", self._items)
