"""Laying out a zip archive whose members are stored as they are, each beginning at a multiple.

Two ways to tell a member's checksum, which is known only when its bytes have passed: in a
descriptor behind the data, as PyTorch does it, or in the header before, which is then filled in
last, as NumPy does it. No member has a date, so that equal members give equal archives.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import Enum

from ruda.store.layout import Frame

FULL16, FULL32 = 0xFFFF, 0xFFFFFFFF
ALIGNMENT = 64
DATE = 0x21  # 1 January 1980, the first that a zip can tell
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR = struct.Struct("<4sIQI")
_UTF8, _DESCRIPTOR = 1 << 11, 1 << 3
_LOCAL_CRC, _CENTRAL_CRC, _DESCRIPTOR_CRC = 14, 16, 4


class Checksums(Enum):
    """Where the checksum of a member stands besides the directory."""

    BEFORE = "in the header before the data"
    BEHIND = "in a descriptor behind the data"


@dataclass(slots=True)
class _Member:
    name: bytes
    header: int
    size: int
    crc: int | None
    block: str | None
    flags: int


class ZipLayout:
    """Members are added in file order; ``close`` gives the frames around them and the size."""

    def __init__(self, checksums: Checksums) -> None:
        self._checksums = checksums
        self._members: list[_Member] = []
        self._frames: list[Frame] = []
        self.position = 0

    def add_bytes(self, name: str, content: bytes) -> int:
        """A member of known content; returns the offset of the content."""
        crc = zlib.crc32(content)
        data = self._begin(name, len(content), crc=crc)
        self._put(content)
        self._end(crc)
        return data

    def add_block(self, name: str, nbytes: int, block: str, *, lead: bytes = b"") -> int:
        """A member of ``lead`` followed by a block that is written later.

        Returns the offset of the block, a multiple of 64 where ``lead`` is one.
        """
        crc = None if nbytes else zlib.crc32(lead)
        data = self._begin(name, len(lead) + nbytes, crc=crc, block=block)
        if lead:
            self._put(lead)
        self.position += nbytes
        self._end(crc)
        return data + len(lead)

    def close(self) -> tuple[tuple[Frame, ...], int]:
        """All frames in file order, the directory last, and the size of the file."""
        start = self.position
        for member in self._members:
            self._directory_entry(member)
        self._put(self._ending(start, self.position - start))
        return tuple(self._frames), self.position

    def _put(self, content: bytes, block: str | None = None, place: int = 0) -> None:
        self._frames.append(Frame(self.position, content, block, place))
        self.position += len(content)

    def _begin(self, name: str, size: int, *, crc: int | None, block: str | None = None) -> int:
        raw = name.encode()
        header = self.position
        behind = self._checksums is Checksums.BEHIND and size > 0
        flags = _DESCRIPTOR if behind else 0
        if self._checksums is Checksums.BEHIND or not name.isascii():
            flags |= _UTF8
        # PyTorch computes offsets from the place, too; others want the sizes here only.
        wide = _wide(size, header if self._checksums is Checksums.BEHIND else 0)
        start = header + _LOCAL.size + len(raw) + len(wide) + 4
        padding = -start % ALIGNMENT
        extra = wide + struct.pack("<2sH", b"FB", padding) + bytes(padding)
        told = (0, 0, 0) if behind else (crc or 0, min(size, FULL32), min(size, FULL32))
        content = _LOCAL.pack(
            *(b"PK\x03\x04", 45 if wide else 20, flags, 0, 0, DATE, *told, len(raw), len(extra))
        )
        self._members.append(_Member(raw, header, size, crc, block, flags))
        if crc is None and not behind:
            self._put(content + raw + extra, block, _LOCAL_CRC)
        else:
            self._put(content + raw + extra)
        return self.position

    def _end(self, crc: int | None) -> None:
        member = self._members[-1]
        if not member.flags & _DESCRIPTOR:
            return
        wide = member.size >= FULL32 or member.header >= FULL32
        sizes = struct.pack("<QQ" if wide else "<II", member.size, member.size)
        content = b"PK\x07\x08" + (crc or 0).to_bytes(4, "little") + sizes
        if crc is None:
            self._put(content, member.block, _DESCRIPTOR_CRC)
        else:
            self._put(content)

    def _directory_entry(self, member: _Member) -> None:
        wide = _wide(member.size, member.header)
        size, header = min(member.size, FULL32), min(member.header, FULL32)
        needs = 45 if wide else 20
        content = _CENTRAL.pack(
            *(b"PK\x01\x02", needs, needs, member.flags, 0, 0, DATE, member.crc or 0, size, size),
            *(len(member.name), len(wide), 0, 0, 0, 0, header),
        )
        if member.crc is None:
            self._put(content + member.name + wide, member.block, _CENTRAL_CRC)
        else:
            self._put(content + member.name + wide)

    def _ending(self, start: int, size: int) -> bytes:
        count = len(self._members)
        wide = b""
        if count >= FULL16 or start >= FULL32 or size >= FULL32:
            place = start + size
            wide = _END64.pack(
                b"PK\x06\x06", _END64.size - 12, 45, 45, 0, 0, count, count, size, start
            ) + _LOCATOR.pack(b"PK\x06\x07", 0, place, 1)
        few = min(count, FULL16)
        return wide + _END.pack(
            *(b"PK\x05\x06", 0, 0, few, few, min(size, FULL32), min(start, FULL32), 0)
        )


def _wide(size: int, header: int) -> bytes:
    """The extra field with the numbers that do not fit in 32 bits; empty if all do."""
    values = [size, size] if size >= FULL32 else []
    if header >= FULL32:
        values.append(header)
    if not values:
        return b""
    return struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values)
