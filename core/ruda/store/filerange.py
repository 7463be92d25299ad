"""FileRange: a tensor whose bytes lie in one piece of a file, row-major and little-endian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.errors import OffsetError
from ruda.store.bytefile import ByteFile
from ruda.store.snapshot import TOGETHER, Origin, TensorSnapshot
from ruda.tensor import DType

MAX_ELEMENTS = 1 << 59
"""More elements than this cannot be addressed with 64 bits at 16 bytes each."""
MAX_RANK = 64
"""Most axes that NumPy takes."""


@dataclass(frozen=True, slots=True)
class FileRange:
    """Source that reads ``nbytes`` bytes at ``offset`` by position; nothing is cached."""

    file: ByteFile
    offset: int
    nbytes: int
    dtype: DType
    shape: tuple[int, ...]

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype; copies. Packed and quantized: one axis of raw bytes."""
        raw = np.empty(self.nbytes, np.uint8)
        self.file.read_into(self.offset, raw.data)
        return shaped(raw, self.dtype, self.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes in pieces of at most ``size``, each valid until the next is asked for."""
        return self.file.stream(self.offset, self.nbytes, size)

    def snapshot(self, key: str, **fields: Any) -> TensorSnapshot:
        """Snapshot of this range; ``fields`` are further fields of TensorSnapshot."""
        return TensorSnapshot(
            key=key,
            dtype=self.dtype,
            shape=self.shape,
            nbytes=self.nbytes,
            source=self,
            origin=Origin(self.file.path, self.offset, self.nbytes),
            **fields,
        )


def count_elements(shape: tuple[int, ...], name: str) -> int:
    """Number of elements, after proving that memory of this shape can be addressed at all.

    Raises OffsetError naming the tensor; empty axes do not hide sizes that are too large.
    """
    count, full = 1, 1
    for size in shape:
        count *= size
        full *= max(size, 1)
        if full >= MAX_ELEMENTS:
            raise OffsetError(f"{name} has a shape whose size does not fit in 64 bits")
    return count


def shaped(raw: np.ndarray[Any, Any], dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """View one axis of bytes as values; packed and quantized bytes stay as they are."""
    if dtype.kind in TOGETHER:
        return raw
    return raw.view(dtype.carrier).reshape(shape)
