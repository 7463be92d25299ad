"""SwappedRange: values that lie big-endian in a file and are handed out little-endian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.store.filerange import FileRange, shaped
from ruda.store.snapshot import Origin, TensorSnapshot
from ruda.tensor import DType, Kind


@dataclass(frozen=True, slots=True)
class SwappedRange:
    """Source over a range of big-endian numbers of ``width`` bytes each; nothing is cached.

    A complex number is two numbers of half its size.
    """

    inner: FileRange
    width: int

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype; copies."""
        raw = np.empty(self.inner.nbytes, np.uint8)
        self.inner.file.read_into(self.inner.offset, raw.data)
        raw.view(f"u{self.width}").byteswap(inplace=True)
        return shaped(raw, self.inner.dtype, self.inner.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The little-endian bytes in pieces of at most ``size``, each valid until the next."""
        step = max(self.width, size - size % self.width)
        for piece in self.inner.stream(step):
            # The piece is the buffer of the stream, which is filled anew for the next one.
            np.frombuffer(piece, f"u{self.width}").byteswap(inplace=True)
            for start in range(0, len(piece), size):
                yield piece[start : start + size]

    def snapshot(self, key: str, **fields: Any) -> TensorSnapshot:
        """Snapshot of this range; its origin names the file only, the bytes differ there."""
        return TensorSnapshot(
            key=key,
            dtype=self.inner.dtype,
            shape=self.inner.shape,
            nbytes=self.inner.nbytes,
            source=self,
            origin=Origin(self.inner.file.path),
            **fields,
        )


def range_of(place: FileRange, *, big_endian: bool) -> FileRange | SwappedRange:
    """The source of plain numbers in a file of this byte order."""
    if not big_endian or place.dtype.itemsize == 1:
        return place
    return SwappedRange(place, number_bytes(place.dtype))


def number_bytes(dtype: DType) -> int:
    """Bytes that are turned together: those of a value, or of each half of a complex one."""
    return dtype.itemsize // (2 if dtype.kind is Kind.COMPLEX else 1)
