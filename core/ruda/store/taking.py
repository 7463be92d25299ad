"""Tensors that decisions take from other files: found by header, read when their values are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ruda.errors import DecisionError, FileChangedError, RudaError
from ruda.progress import SILENT, Monitor
from ruda.store.decisions import Take
from ruda.store.index import TensorIndex
from ruda.store.opening import open_store
from ruda.store.snapshot import Origin, TensorSnapshot
from ruda.store.stamp import Stamp
from ruda.tensor import DType

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class OtherFileSource:
    """The values of one tensor of a file that is opened for each read and closed again.

    So nobody has to close it, however long the view of it lives.
    """

    path: Path
    key: str
    stamps: tuple[Stamp, ...]
    """The file, or all of its set, as they were when the header was read: others are refused."""
    head: tuple[DType, tuple[int, ...]]
    """Type and shape that were found."""
    peak_bytes: int

    def read(self) -> Array:
        """All values. Raises FileChangedError for a file that changed, and as ``open_store``."""
        with closing(self._open()) as index:
            values = self._there(index).read()
            # A map ends with its file; what was read from one has to outlive it.
            return values.copy() if values.base is not None else values

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes in pieces of at most ``size``. Raises as ``read``."""
        with closing(self._open()) as index:
            yield from self._there(index).chunks(size)

    def _open(self) -> TensorIndex:
        for stamp in self.stamps:
            stamp.require_current()
        return open_store(self.path)

    def _there(self, index: TensorIndex) -> TensorSnapshot:
        found = index[self.key]
        if (found.dtype, found.shape) != self.head:
            raise FileChangedError(self.path)
        return found


@dataclass(frozen=True, slots=True)
class TakenTensors:
    """What the ``take`` decisions of a recipe found, by the key of the decision."""

    found: Mapping[str, TensorSnapshot]
    failed: Mapping[str, DecisionError]
    """Why the others cannot be had."""

    def __bool__(self) -> bool:
        return bool(self.found or self.failed)


NOTHING_TAKEN = TakenTensors(MappingProxyType({}), MappingProxyType({}))


def taken_tensors(takes: Mapping[str, Take], monitor: Monitor = SILENT) -> TakenTensors:
    """Look up the tensors of other files; reads headers only, and never raises for a file.

    Each has the key ``FILE:KEY``, and ``take FILE:KEY`` on its trail.
    """
    if not takes:
        return NOTHING_TAKEN
    found: dict[str, TensorSnapshot] = {}
    failed: dict[str, DecisionError] = {}
    wanted: dict[str, list[tuple[str, Take]]] = {}
    for key, take in takes.items():
        wanted.setdefault(take.file, []).append((key, take))
    for file, members in wanted.items():
        path = Path(file)
        try:
            with closing(open_store(path, monitor=monitor)) as index:
                for key, take in members:
                    try:
                        found[key] = _taken(take, index)
                    except RudaError as error:
                        failed[key] = _impossible(key, take, error)
        except (RudaError, OSError) as error:
            failed |= {key: _impossible(key, take, error) for key, take in members}
    return TakenTensors(found, failed)


def _taken(take: Take, index: TensorIndex) -> TensorSnapshot:
    snapshot = index[take.key]
    path = Path(take.file)
    head = snapshot.dtype, snapshot.shape
    peak = 2 * snapshot.nbytes
    name = f"{path.name}:{take.key}"
    return replace(
        snapshot,
        key=name,
        source=OtherFileSource(path, take.key, index.stamps, head, peak),
        origin=Origin(path),
        containers=(),
        param_id=None,
        shared_with=None,
        trail=trail_of(take),
    )


def trail_of(take: Take) -> tuple[str, ...]:
    """The trail of a tensor that was taken, before anything else was done to it."""
    return (f"take {Path(take.file).name}:{take.key}",)


def _impossible(key: str, take: Take, error: Exception) -> DecisionError:
    return DecisionError(f"the decision {take.text!r} cannot be done: {error}", key=key)
