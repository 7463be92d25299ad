"""open_dataset: the kind of a dataset is found by looking at its folder or file.

Sources of other distributions are found by the entry point group ``ruda.datasets`` and loaded on
first use.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from ruda._plugins import plugged_in
from ruda.data.dataset import Dataset
from ruda.data.sources.idx import (
    IdxDataset,
    idx_splits,
    is_idx_images,
    labels_beside,
    split_of,
)
from ruda.errors import DatasetError, FileAccessError, SettingError
from ruda.progress import SILENT, Monitor

ENTRY_POINTS = "ruda.datasets"


class DatasetSource(Protocol):
    """One kind of folder or file that is a dataset."""

    name: str
    """Short name: ``idx``."""
    title: str
    """What a person reads: ``IDX images and labels (MNIST)``."""

    def matches(self, path: Path) -> bool:
        """True if this folder or file is of this kind; looks at names and first bytes only."""

    def splits(self, path: Path) -> tuple[str, ...]:
        """Names of the parts it has, sorted; one name where it is in one piece."""

    def open(
        self, path: Path, *, split: str | None = None, monitor: Monitor = SILENT
    ) -> Dataset[Any]:
        """The dataset. Raises DatasetError, FormatError, FileAccessError, SettingError."""


class IdxSource:
    """A folder with MNIST's file names, or one images file with its labels beside it."""

    name = "idx"
    title = "IDX images and labels (MNIST)"

    def matches(self, path: Path) -> bool:
        """True for a folder with an images file, or for an images file."""
        return bool(idx_splits(path)) if path.is_dir() else is_idx_images(path)

    def splits(self, path: Path) -> tuple[str, ...]:
        """``test``, ``train``, … as the files are named; ``all`` for a file without prefix.

        Raises FileAccessError.
        """
        return tuple(idx_splits(path)) if path.is_dir() else (split_of(path),)

    def open(
        self, path: Path, *, split: str | None = None, monitor: Monitor = SILENT
    ) -> Dataset[Any]:
        """Images and labels in memory. Raises as IdxDataset."""
        if path.is_dir():
            return IdxDataset.open(path, split=split, monitor=monitor)
        if split is not None:
            raise SettingError(f"{path} is one file and has no split {split!r}; open its folder")
        return IdxDataset(path, labels_beside(path), monitor=monitor)


BUILT_IN: tuple[DatasetSource, ...] = (IdxSource(),)


def available_sources() -> tuple[DatasetSource, ...]:
    """Every kind of dataset that can be opened: the built-in ones, then those of plug-ins.

    Raises DatasetError if two have one name. A plug-in that fails to load warns and is left out.
    """
    found = {source.name: source for source in BUILT_IN}
    for source in plugged_in(ENTRY_POINTS, "dataset source"):
        if source.name in found:
            raise DatasetError(f"two dataset sources are called {source.name!r}")
        found[source.name] = source
    return tuple(found.values())


def find_source(path: Path | str) -> DatasetSource:
    """The source that recognises this path.

    Raises FileAccessError if there is nothing at the path, DatasetError if none recognises it.
    """
    place = Path(path)
    try:
        place.stat()
    except FileNotFoundError:
        raise FileAccessError("there is no such file or folder", path=place) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or error
        raise FileAccessError(f"cannot be reached: {why}", path=place) from error
    for source in available_sources():
        if source.matches(place):
            return source
    known = "; ".join(source.title for source in available_sources())
    what = "folder" if place.is_dir() else "file"
    raise DatasetError(f"{place}: no dataset source recognises this {what}; known: {known}")


def dataset_splits(path: Path | str) -> tuple[str, ...]:
    """Names of the parts that a dataset has, sorted. Raises as find_source."""
    return find_source(path).splits(Path(path))


def open_dataset(
    path: Path | str, *, split: str | None = None, monitor: Monitor = SILENT
) -> Dataset[Any]:
    """The dataset in this folder or file; ``split`` chooses a part where there are several.

    Raises FileAccessError, DatasetError where no source recognises it or its files do not belong
    together, FormatError for damaged files, SettingError for a split that is not there.
    """
    return find_source(path).open(Path(path), split=split, monitor=monitor)
