"""Values of HDF5 datasets that do not lie plainly in the file, and errors of the library."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ruda.errors import (
    ChecksumError,
    FileAccessError,
    HeaderError,
    RudaError,
    TruncatedFileError,
)
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import shaped
from ruda.store.format import located
from ruda.store.formats._hdf5_types import Stored
from ruda.store.formats._swapped import number_bytes

BLOCK_BYTES = 4 << 20
"""Least bytes that are fetched at a time, so that chunks are not unpacked over and over."""
_SAID = 160
_CUT = re.compile(r"eof = (?P<have>\d+), .*stored_eof = (?P<need>\d+)")
_LIBRARY = (
    OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError, MemoryError,
    AttributeError, SystemError,
)  # fmt: skip


@contextmanager
def library_errors() -> Iterator[None]:
    """Turn what h5py raises, which may be nearly anything for a damaged file, into ours."""
    try:
        yield
    except RudaError:
        raise
    except _LIBRARY as error:
        said = " ".join(str(error).split())
        cut = _CUT.search(said)
        if cut is not None:
            raise TruncatedFileError(
                f"the file should have {cut['need']} bytes, but has {cut['have']}; it is cut "
                "short, get it again",
                offset=int(cut["have"]),
            ) from error
        if "fletcher32" in said.lower():
            raise ChecksumError("a chunk is damaged: its checksum differs") from error
        raise HeaderError(
            f"the HDF5 library cannot read it, so it is damaged: {said[:_SAID]}"
        ) from error


@dataclass(frozen=True, slots=True, eq=False)
class Hdf5Source:
    """Source over a dataset in chunks, in its own header, or never written; nothing is cached."""

    file: ByteFile
    dataset: Any
    stored: Stored
    shape: tuple[int, ...]
    nbytes: int
    chunks: tuple[int, ...] | None

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype. Raises FormatError if the library cannot read them."""
        raw = np.empty(self.nbytes, np.uint8)
        at = 0
        for block in self._blocks(max(BLOCK_BYTES, self.nbytes)):
            raw[at : at + block.size] = block
            at += block.size
        return shaped(raw, self.stored.dtype, self.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The little-endian bytes in pieces of at most ``size``."""
        for block in self._blocks(max(size, BLOCK_BYTES)):
            for start in range(0, block.size, size):
                yield block.data[start : start + size]

    def _blocks(self, limit: int) -> Iterator[np.ndarray[Any, Any]]:
        if not self.nbytes:
            return
        itemsize = self.stored.dtype.itemsize
        chunk = 0 if self.chunks is None else math.prod(self.chunks) * itemsize
        for start, count in blocks(self.shape, itemsize, max(limit, chunk), self.chunks):
            yield self._block(start, count)

    def _block(self, start: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """The bytes of one box of values."""
        if self.file.closed:
            raise FileAccessError("cannot be read: the file was closed", path=self.file.path)
        import h5py

        numel = math.prod(count)
        raw = np.empty(numel * self.stored.dtype.itemsize, np.uint8)
        with located(self.file.path), library_errors():
            space = self.dataset.get_space()
            if count:
                space.select_hyperslab(start, count)
            memory = h5py.h5s.create_simple((numel,))
            # The type of the file is asked for, so that nothing is converted.
            self.dataset.read(memory, space, raw, self.dataset.get_type())
        if self.stored.big_endian:
            raw.view(f"u{number_bytes(self.stored.dtype)}").byteswap(inplace=True)
        return raw


def blocks(
    shape: tuple[int, ...], itemsize: int, limit: int, chunks: tuple[int, ...] | None
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Boxes that tile a shape in row-major order, each of at most ``limit`` bytes where it can be.

    Yields where a box starts and its shape. Boxes end where chunks end, if they are that large.
    """
    axis, inner = len(shape), itemsize
    while axis and inner * shape[axis - 1] <= limit:
        axis -= 1
        inner *= shape[axis]
    if not axis:
        yield (0,) * len(shape), shape
        return
    axis -= 1
    step = max(1, limit // inner)
    if chunks is not None and step > chunks[axis]:
        step -= step % chunks[axis]
    rest = shape[axis + 1 :]
    for outer in product(*(range(size) for size in shape[:axis])):
        for start in range(0, shape[axis], step):
            count = min(step, shape[axis] - start)
            yield (*outer, start, *(0 for _ in rest)), (*(1 for _ in outer), count, *rest)
