"""Values of HDF5 datasets that lie in chunks: where the chunks are, and how they were packed."""

from __future__ import annotations

import math
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ruda.errors import ChecksumError, HeaderError, UnsupportedContentError
from ruda.store.filerange import shaped
from ruda.store.format import located
from ruda.store.formats._hdf5_chunk_lists import (
    EXTENSIBLE,
    FIXED,
    IMPLICIT,
    SINGLE,
    TREE,
    TREE2,
    Chunk,
    ChunkTable,
    Grid,
    Place,
    chunks_at,
)
from ruda.store.formats._hdf5_header import Bytes, Hdf5Reader
from ruda.store.formats._hdf5_sums import fletcher32_fits, lzf
from ruda.store.formats._swapped import number_bytes
from ruda.tensor import DType

DEFLATE, SHUFFLE, FLETCHER, LZF = 1, 2, 3, 32000
_NAMES = {4: "szip", 5: "nbit", 6: "scaleoffset", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle",
          32015: "zstd"}  # fmt: skip
_PLAIN_EDGES, _PACKED_SINGLE = 1, 2
"""Flags of a layout."""
_PARAMETERS = {FIXED: 1, EXTENSIBLE: 5, TREE2: 6}
"""Bytes with sizes of a list of chunks."""
BAND_BYTES = 4 << 20
"""Least bytes that are put together at a time, where they are more than a row of chunks."""


class Filter(NamedTuple):
    """One step of the packing."""

    number: int
    values: tuple[int, ...]


def filters(body: Bytes, key: str) -> tuple[Filter, ...]:
    """The steps of a packing. Raises UnsupportedContentError for those that Ruda does not know."""
    version, count = body.number(1), body.number(1)
    if version not in (1, 2) or count > 32:
        raise HeaderError(f"{key!r} has {count} filters of version {version}", offset=body.offset)
    body.take(6 if version == 1 else 0)
    found: list[Filter] = []
    for _ in range(count):
        number = body.number(2)
        length = body.number(2) if version == 1 or number >= 256 else 0
        body.take(2)
        values = body.number(2)
        name = body.take(-(-length // 8) * 8 if version == 1 else length)
        found.append(Filter(number, tuple(body.number(4) for _ in range(values))))
        body.take(4 if version == 1 and values % 2 else 0)
        if number not in (DEFLATE, SHUFFLE, FLETCHER, LZF):
            said = _NAMES.get(number) or name.rstrip(b"\0").decode("utf-8", "backslashreplace")
            raise UnsupportedContentError(
                f"{key!r} went through the filter {number} ({said[:40] or 'of no name'}), which "
                "Ruda does not read",
                offset=body.offset,
            )
    return tuple(found)


def chunk_table(reader: Hdf5Reader, body: Bytes, version: int, rank: int, key: str) -> ChunkTable:
    """The chunks of a dataset, from behind the class in its layout message."""
    if version <= 3:
        axes = body.number(1)
        address = reader.address(body)
        sizes = tuple(body.number(4) for _ in range(axes))
        return ChunkTable(_chunk(sizes, rank, key, body), TREE, address)
    flags, axes, width = body.number(1), body.number(1), body.number(1)
    sizes = tuple(body.number(width) for _ in range(axes))
    way = body.number(1)
    single: Chunk | None = None
    if way == SINGLE and flags & _PACKED_SINGLE:
        size = reader.length(body)
        single = Chunk(0, size, body.number(4))
    elif way in _PARAMETERS:
        body.take(_PARAMETERS[way])  # the list itself has them again
    elif way not in (SINGLE, IMPLICIT):
        raise UnsupportedContentError(
            f"the chunks of {key!r} are listed in way {way}, which Ruda does not read",
            offset=body.offset,
        )
    chunk = _chunk(sizes, rank, key, body)
    return ChunkTable(chunk, way, reader.address(body), single, bool(flags & _PLAIN_EDGES))


def _chunk(sizes: tuple[int, ...], rank: int, key: str, body: Bytes) -> tuple[int, ...]:
    """The shape of a chunk: all sizes but the last, which is that of a value."""
    if len(sizes) != rank + 1 or not rank or not all(0 < size < 1 << 32 for size in sizes):
        raise HeaderError(
            f"{key!r} has chunks of the shape {list(sizes[:-1])} for {rank} axes",
            offset=body.offset,
        )
    return sizes[:-1]


@dataclass(slots=True, eq=False)
class ChunkSource:
    """Source over a dataset in chunks; where they are is kept once found, values are not."""

    reader: Hdf5Reader
    table: ChunkTable
    steps: tuple[Filter, ...]
    key: str
    dtype: DType
    big_endian: bool
    shape: tuple[int, ...]
    limits: tuple[int | None, ...]
    """The largest shape, which lists of chunks count along; None for an axis without a limit."""
    fill: bytes
    """One value as it lies in the file, for chunks that nobody wrote."""
    _found: list[tuple[Place, Chunk]] | None = field(default=None, init=False)

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs: the values and a chunk on its way."""
        return self.nbytes + 3 * math.prod(self.table.chunk) * self.dtype.itemsize

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype. Raises FormatError where a chunk is damaged."""
        with located(self.reader.file.path):
            raw = self._band(0, self.shape[0]).reshape(-1)
        return shaped(raw, self.dtype, self.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The little-endian bytes in pieces of at most ``size``; rows of chunks are held whole."""
        rows = self.table.chunk[0]
        row_bytes = max(1, self.nbytes // max(self.shape[0], 1))
        step = rows * max(1, BAND_BYTES // (rows * row_bytes))
        for start in range(0, self.shape[0] if self.nbytes else 0, step):
            with located(self.reader.file.path):
                raw = self._band(start, min(start + step, self.shape[0])).reshape(-1)
            for at in range(0, raw.size, size):
                yield raw[at : at + size].data

    def _band(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """The bytes of the rows in a range that begins with a chunk: u8, a value per last axis."""
        size = self.dtype.itemsize
        out = np.empty((stop - start, *self.shape[1:], size), np.uint8)
        out[...] = np.frombuffer(self.fill, np.uint8)
        found = self._chunks() if out.size else []
        for place, chunk in found[bisect_left(found, ((start,),)) : bisect_left(found, ((stop,),))]:
            values = self._unpacked(chunk, self._is_edge(place))
            begin = (place[0] - start, *place[1:])
            ends = (b + c for b, c in zip(begin, self.table.chunk, strict=True))
            into = out[tuple(slice(b, e) for b, e in zip(begin, ends, strict=True))]
            into[...] = values[tuple(slice(0, n) for n in into.shape)]
        if self.big_endian:
            out.reshape(-1).view(f"u{number_bytes(self.dtype)}").byteswap(inplace=True)
        return out

    def _chunks(self) -> list[tuple[Place, Chunk]]:
        """Where each chunk begins among the values, in that order, and where it lies."""
        if self._found is None:
            whole = math.prod(self.table.chunk) * self.dtype.itemsize
            grid = Grid(self.table.chunk, self.limits, whole)
            self._found = chunks_at(self.reader, self.table, grid, self.shape, self.key)
        return self._found

    def _is_edge(self, place: Place) -> bool:
        """True for a chunk that reaches over the end of the values."""
        return any(p + c > s for p, c, s in zip(place, self.table.chunk, self.shape, strict=True))

    def _unpacked(self, chunk: Chunk, is_edge: bool) -> np.ndarray[Any, Any]:
        """The values of one chunk as bytes: u8, a value per last axis."""
        size = self.dtype.itemsize
        whole = math.prod(self.table.chunk) * size
        block = self.reader.block(chunk.address, chunk.size, f"a chunk of {self.key!r}")
        raw = block.raw
        steps = 0 if is_edge and self.table.plain_edges else len(self.steps)
        for place in range(steps - 1, -1, -1):
            if not chunk.mask >> place & 1:
                raw = self._undone(self.steps[place], raw, whole, block.offset)
        if len(raw) != whole:
            raise HeaderError(
                f"a chunk of {self.key!r} has {len(raw)} bytes, expected {whole}",
                offset=block.offset,
            )
        return np.frombuffer(raw, np.uint8).reshape(*self.table.chunk, size)

    def _undone(self, step: Filter, raw: bytes, whole: int, offset: int) -> bytes:
        """The bytes before one step of the packing."""
        what = f"a chunk of {self.key!r}"
        if step.number == DEFLATE:
            # A checksum of four bytes may have been packed along.
            return _inflated(raw, whole + 4, what, offset)
        if step.number == LZF:
            return lzf(raw, whole)
        if step.number == FLETCHER:
            if len(raw) < 4 or not fletcher32_fits(raw[:-4], int.from_bytes(raw[-4:], "little")):
                raise ChecksumError(f"{what} is damaged: its checksum differs", offset=offset)
            return raw[:-4]
        size = step.values[0] if step.values else 0
        if not 0 < size <= max(len(raw), 1):
            raise HeaderError(f"{what} was shuffled in pieces of {size} bytes", offset=offset)
        even = len(raw) - len(raw) % size
        turned = np.frombuffer(raw[:even], np.uint8).reshape(size, -1).T.tobytes()
        return turned + raw[even:]


def _inflated(raw: bytes, limit: int, what: str, offset: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(raw, limit + 1)
    except zlib.error as error:
        raise ChecksumError(f"{what} cannot be inflated: {error}", offset=offset) from error
    if len(found) > limit or not stream.eof:
        raise ChecksumError(
            f"{what} inflates to {len(found)} bytes and more, or ends early", offset=offset
        )
    return found
