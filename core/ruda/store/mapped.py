"""Values that are views of a memory map instead of copies: what ``zero_copy`` asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ruda.store.filerange import FileRange, shaped
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot


@dataclass(frozen=True, slots=True)
class MappedRange:
    """A range of a file that is read as a read-only view of the file's memory map.

    The views keep the map alive after the file is closed. Whoever cuts the file short while they
    are in use ends the process: that is the price of not copying.
    """

    range: FileRange

    @property
    def peak_bytes(self) -> int:
        """Memory that a read needs: none of its own."""
        return 0

    def read(self) -> np.ndarray[Any, Any]:
        """A read-only view of the map, or a copy where the file cannot be mapped."""
        place = self.range
        raw = np.frombuffer(place.file.map_range(place.offset, place.nbytes), np.uint8)
        return shaped(raw, place.dtype, place.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes in pieces; as the range itself gives them."""
        return self.range.stream(size)


def with_mapped_values(index: TensorIndex) -> TensorIndex:
    """The same index; tensors that lie plainly in a file are read as views of its memory map."""
    return replace(index, snapshots={key: _mapped(s) for key, s in index.snapshots.items()})


def _mapped(snapshot: TensorSnapshot) -> TensorSnapshot:
    if isinstance(snapshot.source, FileRange):
        return replace(snapshot, source=MappedRange(snapshot.source))
    return snapshot
