"""Where the chunks of an HDF5 dataset are listed: trees and arrays of all versions of the format.

The arrays count chunks along the largest shape that the dataset may grow to, not along the one
that it has; an extensible array counts the axis without a limit first. Structures and sizes are
those of the HDF5 file format specification 3.0, sections III.A.1, III.A.2, VII.C and VII.D.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ruda.errors import HeaderError, UnsupportedContentError
from ruda.store.formats._hdf5_header import Bytes, Hdf5Reader
from ruda.store.formats._hdf5_trees import tree2, tree_entries

TREE, SINGLE, IMPLICIT, FIXED, EXTENSIBLE, TREE2 = range(6)
"""Ways to find the chunks; the numbers are those of the format, but for the old tree."""
WHAT = "a list of chunks"
_CHUNKS, _PACKED_CHUNKS = 10, 11
"""Kinds of the records of a tree of version 2."""
MOST_BITS = 64

Place = tuple[int, ...]


class Chunk(NamedTuple):
    """Where one chunk lies, packed."""

    address: int
    size: int
    mask: int
    """Bits of the filters that were left out."""


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """What a layout message says of the chunks of a dataset."""

    chunk: tuple[int, ...]
    way: int
    address: int | None
    single: Chunk | None = None
    """The packed size of a single chunk, where it is packed."""
    plain_edges: bool = False
    """True if chunks that reach over the end of the values are not packed."""


@dataclass(frozen=True, slots=True)
class Grid:
    """How the chunks of a dataset are counted."""

    chunk: tuple[int, ...]
    limits: tuple[int | None, ...]
    """The largest shape; None for an axis without a limit."""
    whole: int
    """Bytes of a chunk that is not packed."""

    def place(self, number: int, first: int = 0) -> Place:
        """Where the chunk of this number begins; ``first`` is the axis that is counted last."""
        found = [0] * len(self.chunk)
        for axis in reversed(range(len(self.chunk))):
            if axis != first:
                limit = self.limits[axis] or 1
                number, found[axis] = divmod(number, max(1, -(-limit // self.chunk[axis])))
        found[first] = number
        return tuple(n * size for n, size in zip(found, self.chunk, strict=True))


def listed(reader: Hdf5Reader, table: ChunkTable, grid: Grid) -> Iterator[tuple[Place, Chunk]]:
    """Every chunk that was written: where it begins among the values, and where it lies."""
    address, way = table.address, table.way
    if address is None:
        return
    if way == TREE:
        yield from _old_tree(reader, address, len(grid.chunk))
    elif way == TREE2:
        yield from _tree(reader, address, grid)
    elif way == SINGLE:
        packed = table.single or Chunk(0, grid.whole, 0)
        yield (0,) * len(grid.chunk), packed._replace(address=address)
    elif way == EXTENSIBLE:
        free = [axis for axis, limit in enumerate(grid.limits) if limit is None]
        if len(free) != 1:
            raise HeaderError(f"{WHAT} grows, but {len(free)} axes have no limit")
        for number, chunk in _extensible(reader, address, grid.whole):
            yield grid.place(number, free[0]), chunk
    else:
        if None in grid.limits:
            raise HeaderError(f"{WHAT} does not grow, but an axis has no limit")
        entries = _implicit if way == IMPLICIT else _fixed
        for number, chunk in entries(reader, address, grid.whole):
            yield grid.place(number), chunk


def _old_tree(reader: Hdf5Reader, address: int, rank: int) -> Iterator[tuple[Place, Chunk]]:
    for raw, at in tree_entries(reader, address, 1, 8 + 8 * (rank + 1)):
        key = Bytes(raw, reader.base + address, "a chunk")
        size, mask = key.number(4), key.number(4)
        yield tuple(key.number(8) for _ in range(rank)), Chunk(at, size, mask)


def _tree(reader: Hdf5Reader, address: int, grid: Grid) -> Iterator[tuple[Place, Chunk]]:
    tree = tree2(reader, address, WHAT, _CHUNKS, _PACKED_CHUNKS)
    fixed = reader.offsets + 8 * len(grid.chunk)
    width = tree.record - fixed - 4 if tree.kind == _PACKED_CHUNKS else 0
    if not (1 <= width <= 8 if tree.kind == _PACKED_CHUNKS else tree.record == fixed):
        raise HeaderError(
            f"{WHAT} has records of {tree.record} bytes", offset=reader.base + address
        )
    for raw in tree.records():
        record = Bytes(raw, reader.base + address, WHAT)
        at, size, mask = reader.address(record), grid.whole, 0
        if width:
            size, mask = record.number(width), record.number(4)
        place = tuple(record.number(8) * size_ for size_ in grid.chunk)
        if at is not None:
            yield place, Chunk(at, size, mask)


def _implicit(reader: Hdf5Reader, address: int, whole: int) -> Iterator[tuple[int, Chunk]]:
    for number in range((reader.stop - reader.base - address) // max(whole, 1)):
        yield number, Chunk(address + number * whole, whole, 0)


class _Entries:
    """Reads the entries of an array: an address each, with size and mask where it is packed."""

    def __init__(self, reader: Hdf5Reader, client: int, width: int, whole: int) -> None:
        least = reader.offsets + (5 if client else 0)
        most = reader.offsets + (12 if client else 0)
        if client > 1 or not least <= width <= most:
            raise HeaderError(f"{WHAT} has entries of {width} bytes of kind {client}")
        self.reader = reader
        self.client = client
        self.width = width
        self.whole = whole
        self.left = reader.stop // width
        """Entries that the file has room for; blocks that overlap would be read without end."""

    def of(self, block: Bytes, count: int, start: int) -> Iterator[tuple[int, Chunk]]:
        """The next entries of a block, those that are written, with their numbers."""
        self.left -= count
        if self.left < 0:
            raise HeaderError(f"{WHAT} has more entries than room", offset=block.offset)
        for number in range(start, start + count):
            address, size, mask = self.reader.address(block), self.whole, 0
            if self.client:
                size, mask = block.number(self.width - self.reader.offsets - 4), block.number(4)
            if address is not None:
                yield number, Chunk(address, size, mask)


def _fixed(reader: Hdf5Reader, address: int, whole: int) -> Iterator[tuple[int, Chunk]]:
    """The entries of a fixed array."""
    head = reader.checked(address, 8 + reader.lengths + reader.offsets, WHAT)
    head.expect(b"FAHD")
    head.take(1)
    client, width, page_bits = head.number(1), head.number(1), head.number(1)
    count, at = reader.length(head), reader.address(head)
    if at is None:
        return
    entries = _Entries(reader, client, width, whole)
    if count > entries.left or page_bits >= MOST_BITS:
        raise HeaderError(f"{WHAT} claims {count} entries", offset=head.offset)
    start = 6 + reader.offsets
    page = 1 << page_bits
    if count <= page:
        block = reader.checked(at, start + count * width, WHAT)
        block.expect(b"FADB")
        block.take(start - 4)
        yield from entries.of(block, count, 0)
        return
    bitmap = (count + 8 * page - 1) // (8 * page)
    block = reader.checked(at, start + bitmap, WHAT)
    block.expect(b"FADB")
    block.take(start - 4)
    marks = block.take(bitmap)
    at += start + bitmap + 4
    for first in range(0, count, page):
        held = min(page, count - first)
        if _is_marked(marks, first // page):
            yield from entries.of(reader.checked(at, held * width, WHAT), held, first)
        at += held * width + 4


def _is_marked(marks: bytes, place: int) -> bool:
    return place // 8 < len(marks) and bool(marks[place // 8] & 0x80 >> place % 8)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What the header of an extensible array says of its blocks."""

    bits: int
    """Of the largest number of an entry."""
    first: int
    """Entries in the index block itself."""
    least: int
    """Entries of the smallest block."""
    pointers: int
    page_bits: int

    @property
    def levels(self) -> int:
        """Number of levels; blocks of one level are of one size."""
        return 1 + self.bits - (self.least.bit_length() - 1)

    @property
    def direct(self) -> int:
        """Levels whose blocks the index block points to itself."""
        return 2 * (self.pointers.bit_length() - 1)

    def blocks(self, level: int) -> int:
        """Number of blocks of a level."""
        return 1 << level // 2

    def entries(self, level: int) -> int:
        """Number of entries in each block of a level."""
        return self.least << (level + 1) // 2

    def pages(self, level: int) -> int:
        """Number of pages of a block, 0 where it has none."""
        count = self.entries(level) >> self.page_bits
        return count if count > 1 else 0


def _extensible(reader: Hdf5Reader, address: int, whole: int) -> Iterator[tuple[int, Chunk]]:
    """The entries of an extensible array: in its index block, in blocks, in blocks of blocks."""
    head = reader.checked(address, 12 + 6 * reader.lengths + reader.offsets, WHAT)
    head.expect(b"EAHD")
    head.take(1)
    entries = _Entries(reader, head.number(1), head.number(1), whole)
    bits, first, least, pointers, page_bits = (head.number(1) for _ in range(5))
    sizes = _Sizes(bits, first, least, pointers, page_bits)
    powers = (least, pointers)
    if any(n < 1 or n & (n - 1) for n in powers) or bits > MOST_BITS or page_bits >= MOST_BITS:
        raise HeaderError(f"{WHAT} has blocks of {least} entries and more", offset=head.offset)
    head.take(6 * reader.lengths)
    root = reader.address(head)
    if sizes.levels < sizes.direct:
        raise HeaderError(f"{WHAT} has fewer levels than its index", offset=head.offset)
    if root is None:
        return
    tables = 2 * (pointers - 1) + sizes.levels - sizes.direct
    size = 6 + reader.offsets + first * entries.width + tables * reader.offsets
    index = _opened(reader, root, size, b"EAIB", address)
    yield from entries.of(index, first, 0)
    start = first
    for level in range(sizes.levels):
        count, each = sizes.blocks(level), sizes.entries(level)
        if level < sizes.direct:
            blocks, marks = index, b""
        else:
            at = reader.address(index)
            if at is None:
                start += count * each
                continue
            blocks, marks = _blocks_of(reader, at, address, sizes, level)
        for number in range(count):
            at = reader.address(blocks)
            if at is not None:
                block = _Block(reader, at, address, sizes, level, start)
                yield from block.read(entries, marks, number)
            start += each


def _opened(reader: Hdf5Reader, at: int, size: int, signature: bytes, owner: int) -> Bytes:
    """A block of an extensible array, behind what all of them begin with."""
    block = reader.checked(at, size, WHAT)
    block.expect(signature)
    block.take(2)
    if reader.needed(block) != owner:
        raise HeaderError(f"{WHAT} has a block of another list", offset=block.offset)
    return block


def _blocks_of(
    reader: Hdf5Reader, at: int, owner: int, sizes: _Sizes, level: int
) -> tuple[Bytes, bytes]:
    """The addresses of the blocks of a level, and which of their pages are there."""
    place = (sizes.bits + 7) // 8
    count = sizes.blocks(level)
    bitmap = count * -(-sizes.pages(level) // 8)
    size = 6 + reader.offsets + place + bitmap + count * reader.offsets
    block = _opened(reader, at, size, b"EASB", owner)
    block.take(place)
    return block, block.take(bitmap)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of entries of an extensible array."""

    reader: Hdf5Reader
    at: int
    owner: int
    sizes: _Sizes
    level: int
    start: int
    """Number of its first entry."""

    def read(self, entries: _Entries, marks: bytes, number: int) -> Iterator[tuple[int, Chunk]]:
        """The entries that are there; ``number`` is that of the block among those of its level."""
        reader, count = self.reader, self.sizes.entries(self.level)
        pages = self.sizes.pages(self.level)
        place = (self.sizes.bits + 7) // 8
        head = 6 + reader.offsets + place
        if not pages:
            size = head + count * entries.width
            block = _opened(reader, self.at, size, b"EADB", self.owner)
            block.take(place)
            yield from entries.of(block, count, self.start)
            return
        if self.level < self.sizes.direct:
            raise UnsupportedContentError(
                f"{WHAT} has pages where nothing says which are there",
                offset=reader.base + self.at,
            )
        _opened(reader, self.at, head, b"EADB", self.owner)
        held = 1 << self.sizes.page_bits
        at = self.at + head + 4
        for page in range(pages):
            if _is_marked(marks, number * pages + page):
                block = reader.checked(at, held * entries.width, WHAT)
                yield from entries.of(block, held, self.start + page * held)
            at += held * entries.width + 4


def chunks_at(
    reader: Hdf5Reader, table: ChunkTable, grid: Grid, shape: tuple[int, ...], key: str
) -> list[tuple[Place, Chunk]]:
    """The chunks that hold values of a dataset of this shape, in the order of their places."""
    found: list[tuple[Place, Chunk]] = []
    room = math.prod(-(-size // step) for size, step in zip(shape, grid.chunk, strict=True))
    for place, chunk in listed(reader, table, grid):
        each = zip(place, grid.chunk, shape, strict=True)
        # Chunks that were cut off when the dataset shrank may still be listed.
        if all(p % c == 0 and p < s for p, c, s in each):
            found.append((place, chunk))
            if len(found) > room:
                break  # two of them are at one place
    found.sort()
    for (place, _), (after, _) in pairwise(found):
        if place == after:
            raise HeaderError(f"{key!r} has two chunks at {list(place)}")
    return found
