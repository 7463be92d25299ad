"""Fractal heaps of HDF5: objects of any size in blocks whose sizes double from row to row."""

from __future__ import annotations

from ruda.errors import ChecksumError, HeaderError, UnsupportedContentError
from ruda.store.formats._hdf5_header import Bytes, Hdf5Reader
from ruda.store.formats._hdf5_sums import lookup3
from ruda.store.formats._hdf5_trees import tree2

BLOCK_LIMIT = 64 << 20
OBJECT_LIMIT = 64 << 20
_MANAGED, _HUGE, _TINY = 0, 1, 2
_SUMMED = 2
"""Flag: blocks with objects have checksums."""
_RECORD = 1
"""Kind of the records of the tree that lists huge objects."""


class Heap:
    """One heap; ``get`` finds an object by the identifier that a record of a tree has."""

    def __init__(self, reader: Hdf5Reader, address: int, what: str) -> None:
        self.reader = reader
        self.what = what
        self._address = address
        size = 22 + 12 * reader.lengths + 3 * reader.offsets
        head = reader.block(address, size, what)
        head.expect(b"FRHP")
        head.take(3)
        if head.number(2):
            raise UnsupportedContentError(
                f"{what} is packed, which Ruda does not read", offset=head.offset
            )
        head = reader.checked(address, size, what)
        head.take(5)
        self._ident = head.number(2)
        head.take(2)
        self._flags = head.number(1)
        largest = head.number(4)
        reader.length(head)
        self._huge_tree = reader.address(head)
        head.take(9 * reader.lengths + reader.offsets)
        self._width = head.number(2)
        self._first, self._largest = reader.length(head), reader.length(head)
        bits = head.number(2)
        head.take(2)
        self._root, self._rows = reader.address(head), head.number(2)
        self._check(bits, head)
        self._place_bytes = (bits + 7) // 8
        self._size_bytes = (min(largest, self._largest).bit_length() + 7) // 8
        self._tables: dict[int, Bytes] = {}
        self._last: tuple[int, bytes] = (-1, b"")
        self._huge: dict[int, tuple[int, int]] | None = None

    def _check(self, bits: int, head: Bytes) -> None:
        sizes = (self._width, self._first, self._largest)
        if bits > 64 or self._largest > BLOCK_LIMIT or any(n < 1 or n & (n - 1) for n in sizes):
            raise HeaderError(
                f"{self.what} has rows of {self._width} blocks of {self._first} to "
                f"{self._largest} bytes",
                offset=head.offset,
            )

    def get(self, ident: bytes) -> Bytes:
        """The object of this identifier. Raises HeaderError where the heap has no such place."""
        name = Bytes(ident, self.reader.base + self._address, self.what)
        first = name.number(1)
        kind = first >> 4 & 3
        if kind == _MANAGED:
            return self._managed(name.number(self._place_bytes), name.number(self._size_bytes))
        if kind == _HUGE:
            return self._huge_object(name)
        if kind == _TINY and len(ident) <= 17:
            return Bytes(name.take((first & 15) + 1), name.offset, self.what)
        raise UnsupportedContentError(
            f"{self.what} has an object of kind {kind}, which Ruda does not read",
            offset=name.offset,
        )

    def _managed(self, place: int, size: int) -> Bytes:
        address, length, within = self._block_of(place)
        if address != self._last[0]:
            self._last = (address, self._direct(address, length))
        raw = self._last[1]
        if within + size > length:
            raise self._nowhere(place)
        return Bytes(raw[within : within + size], self.reader.base + address + within, self.what)

    def _block_of(self, place: int) -> tuple[int, int, int]:
        """Address and size of the block that an offset of the heap lies in, and where in it."""
        address, rows, whole = self._root, self._rows, place
        if not rows and address is not None and place < self._first:
            return address, self._first, place
        row_bytes = self._first * self._width
        while rows and address is not None:
            row = (place // row_bytes).bit_length()
            size = self._first << max(row - 1, 0)
            start = row_bytes << (row - 1) if row else 0
            column, within = divmod(place - start, size)
            if row >= rows:
                break
            table = self._table(address, rows)
            table.at = 5 + self.reader.offsets + self._place_bytes
            table.take((row * self._width + column) * self.reader.offsets)
            address = self.reader.address(table)
            if size <= self._largest:
                if address is None:
                    break
                return address, size, within
            # Rows of larger blocks hold tables again, each of as many rows as fill its place.
            place, rows = within, size.bit_length() - row_bytes.bit_length() + 1
        raise self._nowhere(whole)

    def _nowhere(self, place: int) -> HeaderError:
        return HeaderError(f"{self.what} has an object at {place}, where it has no block")

    def _table(self, address: int, rows: int) -> Bytes:
        """The table of blocks at an address, checked once."""
        if address not in self._tables:
            size = 5 + self.reader.offsets + self._place_bytes
            count = rows * self._width * self.reader.offsets
            table = self.reader.checked(address, size + count, self.what)
            table.expect(b"FHIB")
            self._tables[address] = table
        return self._tables[address]

    def _direct(self, address: int, length: int) -> bytes:
        """A block with objects, checked."""
        block = self.reader.block(address, length, self.what)
        block.expect(b"FHDB")
        at = 5 + self.reader.offsets + self._place_bytes
        if self._flags & _SUMMED and length >= at + 4:
            stated = int.from_bytes(block.raw[at : at + 4], "little")
            found = lookup3(block.raw[:at] + bytes(4) + block.raw[at + 4 :])
            if found != stated:
                raise ChecksumError(
                    f"{self.what} is damaged: its checksum is {found:08x}, the file says "
                    f"{stated:08x}",
                    offset=block.offset,
                )
        return block.raw

    def _huge_object(self, name: Bytes) -> Bytes:
        """An object that is too large for a block, and lies by itself."""
        reader = self.reader
        if self._ident > reader.offsets + reader.lengths:
            address, size = reader.needed(name), reader.length(name)
        else:
            key = name.number(min(self._ident - 1, reader.lengths))
            if self._huge is None:
                self._huge = self._huge_places()
            if key not in self._huge:
                raise HeaderError(f"{self.what} has no large object {key}", offset=name.offset)
            address, size = self._huge[key]
        if size > OBJECT_LIMIT:
            raise UnsupportedContentError(
                f"{self.what} has an object of {size} bytes, the limit is {OBJECT_LIMIT}",
                offset=name.offset,
            )
        return reader.block(address, size, self.what)

    def _huge_places(self) -> dict[int, tuple[int, int]]:
        if self._huge_tree is None:
            return {}
        reader, found = self.reader, dict[int, tuple[int, int]]()
        tree = tree2(reader, self._huge_tree, self.what, _RECORD)
        for raw in tree.records():
            record = Bytes(raw, reader.base + self._huge_tree, self.what)
            address, size = reader.needed(record), reader.length(record)
            found[reader.length(record)] = (address, size)
        return found
