"""The bones of HDF5: superblock, object headers and their messages, heaps of texts.

Every address and length of the file is compared with its size before anything is read; a block
is visited once. The layout is that of the HDF5 file format specification, versions 1 to 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from ruda.errors import ChecksumError, HeaderError, TruncatedFileError, UnsupportedContentError
from ruda.store.bytefile import ByteFile
from ruda.store.formats._hdf5_sums import lookup3

SIGNATURE = b"\x89HDF\r\n\x1a\n"
PLACES = (0, *(512 << n for n in range(20)))
"""Where the superblock may stand: at the start, or behind a block of the user's."""
HEADER_LIMIT = 64 << 20
TEXT_LIMIT = 16 << 20
_OFFSET_SIZES = (2, 4, 8)


class Kind(IntEnum):
    """Kinds of message in an object header, as far as they are looked at."""

    DATASPACE = 0x01
    LINK_INFO = 0x02
    DATATYPE = 0x03
    OLD_FILL = 0x04
    FILL = 0x05
    LINK = 0x06
    EXTERNAL = 0x07
    LAYOUT = 0x08
    FILTERS = 0x0B
    ATTRIBUTE = 0x0C
    SHARED_TABLE = 0x0F
    CONTINUATION = 0x10
    SYMBOL_TABLE = 0x11
    ATTRIBUTE_INFO = 0x15


class Bytes:
    """A cursor over bytes that were read already; runs out with a TruncatedFileError."""

    def __init__(self, raw: bytes, offset: int, what: str) -> None:
        self.raw = raw
        self.offset = offset
        """Where the bytes lie in the file."""
        self.what = what
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes behind the cursor."""
        return len(self.raw) - self.at

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if not 0 <= count <= self.left:
            raise HeaderError(
                f"{self.what} needs {count} bytes where {self.left} are left",
                offset=self.offset + self.at,
            )
        self.at += count
        return self.raw[self.at - count : self.at]

    def number(self, size: int) -> int:
        """The next whole number, little-endian and without a sign."""
        return int.from_bytes(self.take(size), "little")

    def text(self, *, padded: bool) -> bytes:
        """A text that ends with a zero, which is passed over, with more of them if padded."""
        end = self.raw.find(b"\0", self.at)
        if end < 0:
            raise HeaderError(f"{self.what} has a text without an end", offset=self.offset)
        found = self.raw[self.at : end]
        size = end + 1 - self.at
        self.take(-(-size // 8) * 8 if padded else size)
        return found

    def expect(self, signature: bytes) -> None:
        """Refuse anything else than these bytes."""
        at = self.offset + self.at
        found = self.take(len(signature))
        if found != signature:
            raise HeaderError(
                f"{self.what} begins with {found!r}, expected {signature!r}", offset=at
            )


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an object header."""

    kind: int
    flags: int
    raw: bytes
    offset: int

    def body(self, what: str) -> Bytes:
        """A cursor over it. Raises UnsupportedContentError where it is kept elsewhere."""
        if self.flags & 2:
            raise UnsupportedContentError(
                f"{what} is shared with other objects, which such messages never are",
                offset=self.offset,
            )
        return Bytes(self.raw, self.offset, what)


class Hdf5Reader:
    """Reads the blocks of one file by their addresses."""

    def __init__(self, file: ByteFile, start: int = 0, stop: int | None = None) -> None:
        self.file = file
        self.start = start
        self.stop = file.size if stop is None else stop
        """Where the file begins and ends in a larger one, such as an archive."""
        self.base = start
        self.offsets = 8
        """Bytes per address."""
        self.lengths = 8
        """Bytes per length."""
        self.extension: int | None = None
        """Address of an object with messages about the whole file."""
        self.root = self._superblock()

    def block(self, address: int, count: int, what: str) -> Bytes:
        """Some bytes at an address. Raises TruncatedFileError where they are not in the file."""
        start = self.base + address
        if start + count > self.stop:
            raise TruncatedFileError(
                f"{what} lies at byte {start} to {start + count}, but the file has "
                f"{self.stop} bytes; it is damaged or cut short",
                offset=min(start, self.stop),
            )
        return Bytes(self.file.read_at(start, count), start, what)

    def checked(self, address: int, count: int, what: str) -> Bytes:
        """Some bytes at an address that their checksum follows. Raises ChecksumError."""
        block = self.block(address, count + 4, what)
        stated = int.from_bytes(block.raw[count:], "little")
        _check_sum(block.raw[:count], stated, what, block.offset)
        block.raw = block.raw[:count]
        return block

    def address(self, block: Bytes) -> int | None:
        """The next address of a block, or None where it is undefined."""
        found = block.number(self.offsets)
        return None if found == (1 << 8 * self.offsets) - 1 else found

    def needed(self, block: Bytes) -> int:
        """The next address of a block, which must be one. Raises HeaderError."""
        found = self.address(block)
        if found is None:
            raise HeaderError(f"{block.what} points nowhere", offset=block.offset + block.at)
        return found

    def length(self, block: Bytes) -> int:
        """The next length of a block."""
        return block.number(self.lengths)

    def _superblock(self) -> int:
        """Address of the root group, after the sizes that everything else is read with."""
        place = self._find()
        what = "the superblock"
        head = self.block(place - self.start, min(128, self.stop - place), what)
        head.expect(SIGNATURE)
        version = head.number(1)
        if version > 3:
            raise UnsupportedContentError(
                f"{what} has version {version}, and Ruda reads 0 to 3", offset=place + 8
            )
        if version < 2:
            head.take(4)
        self.offsets, self.lengths = head.number(1), head.number(1)
        if self.offsets not in _OFFSET_SIZES or self.lengths not in _OFFSET_SIZES:
            raise HeaderError(
                f"{what} has addresses of {self.offsets} bytes and lengths of {self.lengths}",
                offset=place + head.at - 2,
            )
        head.take(1 if version > 1 else (9 if version == 0 else 13))
        base = self.needed(head)
        extension = self.address(head)
        self.extension = extension if version > 1 else None
        end = self.needed(head)
        self.address(head) if version < 2 else None
        root = self.needed(head) if version > 1 else self._root_of_entry(head)
        if version > 1:
            _check_sum(head.raw[: head.at], head.number(4), what, place)
        if self.start + base != place:
            raise HeaderError(
                f"{what} stands at byte {place} and says {base}; something was put before it",
                offset=place,
            )
        size = self.stop - self.start
        if size < max(end, base):
            raise TruncatedFileError(
                f"the file should have {end} bytes, but has {size}; it is cut short, get it again",
                offset=self.stop,
            )
        self.base = place
        return root

    def _root_of_entry(self, head: Bytes) -> int:
        head.take(self.offsets)
        return self.needed(head)

    def _find(self) -> int:
        for at in PLACES:
            place = self.start + at
            if place + len(SIGNATURE) > self.stop:
                break
            if self.file.read_at(place, len(SIGNATURE)) == SIGNATURE:
                return place
        raise HeaderError("has no HDF5 signature, so it is no HDF5 file", offset=self.start)

    def messages(self, address: int) -> list[Message]:
        """All messages of the object at an address, of its header and what continues it."""
        start = self.base + address
        first = self.block(address, min(16, max(self.stop - start, 4)), "an object header")
        return list(
            self._new_messages(address) if first.raw[:4] == b"OHDR" else self._old_messages(address)
        )

    def _old_messages(self, address: int) -> Iterator[Message]:
        head = self.block(address, 16, "an object header")
        version = head.number(1)
        if version != 1:
            raise HeaderError(
                f"an object header has version {version}, expected 1", offset=head.offset
            )
        head.take(1)
        count = head.number(2)
        head.take(4)
        pieces, seen = [(address + 16, head.number(4))], {address}
        while pieces:
            at, size = pieces.pop(0)
            if size > HEADER_LIMIT:
                raise HeaderError(f"an object header has {size} bytes", offset=self.base + at)
            block = self.block(at, size, "an object header")
            while block.left >= 8 and count:
                count -= 1
                kind, length, flags = block.number(2), block.number(2), block.number(1)
                block.take(3)
                where = block.offset + block.at
                message = Message(kind, flags, block.take(length), where)
                if kind == Kind.CONTINUATION:
                    pieces.append(self._continued(message, seen))
                else:
                    yield message

    def _continued(self, message: Message, seen: set[int]) -> tuple[int, int]:
        body = message.body("the continuation of an object header")
        address, size = self.needed(body), self.length(body)
        if address in seen:
            raise HeaderError("an object header continues in itself", offset=message.offset)
        seen.add(address)
        return address, size

    def _new_messages(self, address: int) -> Iterator[Message]:
        what = "an object header"
        start = self.base + address
        head = self.block(address, min(40, self.stop - start), what)
        head.expect(b"OHDR")
        version, flags = head.number(1), head.number(1)
        if version != 2:
            raise HeaderError(f"{what} has version {version}, expected 2", offset=head.offset)
        head.take((16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0))
        size = head.number(1 << (flags & 3))
        pieces, seen = [(address, head.at + size + 4, head.at)], {address}
        while pieces:
            at, whole, skip = pieces.pop(0)
            if not skip + 4 <= whole <= HEADER_LIMIT:
                raise HeaderError(f"{what} has {whole} bytes", offset=self.base + at)
            block = self.block(at, whole, what)
            if at != address:
                block.expect(b"OCHK")
            _check_sum(block.raw[:-4], int.from_bytes(block.raw[-4:], "little"), what, block.offset)
            block.at, block.raw = skip, block.raw[:-4]
            fixed = 6 if flags & 4 else 4
            while block.left >= fixed:
                kind, length, marks = block.number(1), block.number(2), block.number(1)
                block.take(fixed - 4)
                where = block.offset + block.at
                message = Message(kind, marks, block.take(length), where)
                if kind == Kind.CONTINUATION:
                    pieces.append((*self._continued(message, seen), 4))
                else:
                    yield message

    def heap_text(self, address: int, index: int, size: int) -> bytes:
        """One object of a global heap, which texts of any length lie in."""
        what = "a heap of texts"
        head = self.block(address, 8 + self.lengths, what)
        head.expect(b"GCOL")
        head.take(4)
        whole = self.length(head)
        if not 8 + self.lengths <= whole <= TEXT_LIMIT:
            raise HeaderError(f"{what} has {whole} bytes", offset=head.offset)
        block = self.block(address, whole, what)
        block.take(8 + self.lengths)
        while block.left >= 8 + self.lengths:
            number = block.number(2)
            block.take(6)
            length = self.length(block)
            if not number:
                break
            found = block.take(length)
            if number == index:
                return found[:size]
            block.take(min(-length % 8, block.left))
        raise HeaderError(f"{what} has no object {index}", offset=head.offset)


def _check_sum(raw: bytes, stated: int, what: str, offset: int) -> None:
    found = lookup3(raw)
    if found != stated:
        raise ChecksumError(
            f"{what} is damaged: its checksum is {found:08x}, the file says {stated:08x}",
            offset=offset,
        )
