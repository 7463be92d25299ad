"""The directory of a zip archive, read strictly: no extraction, no guessing, no second reading.

A zip has two descriptions of every member, one in the central directory and one before its data,
and tools disagree on which to believe. Here they have to agree.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from ruda.errors import (
    ChecksumError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.store.bytefile import ByteFile
from ruda.store.format import located

LOCAL_MAGIC = b"PK\x03\x04"
MAX_MEMBERS = 4_000_000
STORED, DEFLATED = 0, 8
MAX_RATIO = 1032
"""What deflate can reach; a member that claims more is lying."""
FREE_BYTES = 16 << 20
MAX_WHOLE_RATIO = 100
"""How far a member that is read whole may inflate beyond FREE_BYTES; honest pickles reach 20."""
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_END64_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_END64_FRONT = 12
"""Bytes of it that its own length leaves out."""
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_ENCRYPTED, _SIZES_FOLLOW = 1, 8
_DRIVE = re.compile("[A-Za-z]:")
"""How a path begins on Windows; PyTorch names its folder after the file, ``10:30.pt``, too."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file inside the archive; ``offset`` is where its (maybe deflated) bytes begin."""

    name: str
    offset: int
    packed: int
    size: int
    method: int
    crc: int


class ZipDirectory:
    """Members of the archive by name, in the order of the central directory.

    ``checked`` is False where no member has a checksum: PyTorch can be told to leave them out.
    """

    def __init__(self, file: ByteFile) -> None:
        """Raises FormatError for an archive that is damaged, ambiguous or meant to deceive."""
        self.file = file
        if file.size < 4 or file.read_at(0, 4) != LOCAL_MAGIC:
            raise HeaderError("does not begin with a zip member", offset=0)
        count, size, start = _find_directory(file)
        self.members: dict[str, Member] = {}
        for name, entry in _entries(file.read_at(start, size), count, start):
            if name in self.members:
                raise HeaderError(f"the archive has {name!r} twice", offset=start)
            self.members[name] = entry
        self._place(start)
        self.checked = any(m.crc for m in self.members.values())

    def read(self, member: Member, limit: int) -> bytes:
        """All bytes of a member, checked against its checksum.

        Raises UnsupportedContentError above ``limit`` bytes or for a bomb, ChecksumError on a
        mismatch.
        """
        if member.size > limit:
            raise UnsupportedContentError(
                f"{member.name} has {member.size} bytes, the limit is {limit}", offset=member.offset
            )
        if member.size > max(FREE_BYTES, member.packed * MAX_WHOLE_RATIO):
            raise UnsupportedContentError(
                f"{member.name} would inflate from {member.packed} to {member.size} bytes, more "
                f"than {MAX_WHOLE_RATIO} times; it would only fill the memory",
                offset=member.offset,
            )
        whole = b"".join(bytes(piece) for piece in self.stream(member, 1 << 20))
        self.check(member, zlib.crc32(whole))
        return whole

    def check(self, member: Member, crc: int) -> None:
        """Raise ChecksumError if the archive has checksums and this one is another."""
        if self.checked and crc != member.crc:
            raise ChecksumError(
                f"{member.name} is damaged: its checksum is {crc:08x}, the archive says "
                f"{member.crc:08x}; get the file again",
                path=self.file.path,
                offset=member.offset,
            )

    def stream(self, member: Member, size: int) -> Iterator[memoryview]:
        """The member's bytes in pieces, inflated; never more than its stated size."""
        raw = self.file.stream(member.offset, member.packed, size)
        if member.method == STORED:
            yield from raw
            return
        with located(self.file.path):
            yield from inflated(raw, member, size)

    def _place(self, directory: int) -> None:
        """Turn header offsets into data offsets, and prove that no two members overlap."""
        ordered = sorted(self.members.values(), key=lambda m: m.offset)
        end, previous = 0, "the start"
        self.file.prefetch((m.offset, _local_bytes(m)) for m in ordered)
        for entry in ordered:
            if entry.offset < end:
                raise OffsetError(f"{entry.name} overlaps {previous}", offset=entry.offset)
            data = _local(self.file, entry, directory)
            end, previous = data + entry.packed, entry.name
            if end > directory:
                raise OffsetError(
                    f"{entry.name} ends at byte {end}, behind the directory at {directory}",
                    offset=entry.offset,
                )
            self.members[entry.name] = Member(
                entry.name, data, entry.packed, entry.size, entry.method, entry.crc
            )
        self.file.forget()


def inflated(raw: Iterator[memoryview], member: Member, size: int) -> Iterator[memoryview]:
    """Inflate pieces of a deflated member into pieces of at most ``size``.

    Raises ChecksumError for data that is not deflate or not of the stated size.
    """
    machine = zlib.decompressobj(-15)
    made = 0
    for piece in raw:
        rest: bytes | memoryview = piece
        while made <= member.size:
            try:
                out = machine.decompress(rest, size)
            except zlib.error as error:
                raise ChecksumError(
                    f"{member.name} cannot be inflated: {error}", offset=member.offset
                ) from None
            made += len(out)
            if out and made <= member.size:
                yield memoryview(out)
            rest = machine.unconsumed_tail
            if not rest and len(out) < size:
                break  # a full piece may not be all that this input becomes
        if made > member.size or machine.eof:
            break
    if made != member.size or not machine.eof:
        what = "more than" if made > member.size else f"{made} of"
        raise ChecksumError(
            f"{member.name} inflates to {what} the {member.size} bytes that it states",
            offset=member.offset,
        )


def _find_directory(file: ByteFile) -> tuple[int, int, int]:
    """Member count, size and offset of the central directory."""
    span = min(file.size, _END.size + _FULL16)
    tail = file.read_at(file.size - span, span)
    at = len(tail)
    while (at := tail.rfind(b"PK\x05\x06", 0, at)) >= 0:
        if at + _END.size <= len(tail):
            end = _END.unpack_from(tail, at)
            if at + _END.size + end[7] == len(tail):
                break
    else:
        raise TruncatedFileError(
            "the archive has no directory at its end; the file is cut short, get it again",
            offset=file.size,
        )
    place = file.size - span + at
    _, disk, first_disk, here, count, size, start, _ = end
    limit = place
    if _FULL16 in (here, count) or _FULL32 in (size, start) or _has_locator(file, place):
        disk, first_disk, here, count, size, start, limit = _end64(file, place)
    if disk or first_disk or here != count:
        raise UnsupportedContentError("the archive is split over several files", offset=place)
    if start + size != limit:
        raise OffsetError(
            f"the directory should lie at {start} to {start + size}, but its end is at {limit}",
            offset=place,
        )
    if count > MAX_MEMBERS or count * _CENTRAL.size > size:
        raise HeaderError(f"the directory of {size} bytes claims {count} members", offset=place)
    return count, size, start


def _has_locator(file: ByteFile, place: int) -> bool:
    at = place - _END64_LOCATOR.size
    return at >= 0 and file.read_at(at, 4) == b"PK\x06\x07"


def _end64(file: ByteFile, place: int) -> tuple[int, int, int, int, int, int, int]:
    at = place - _END64_LOCATOR.size
    if at < 0:
        raise TruncatedFileError("the zip64 locator is missing", offset=place)
    magic, _, where, _ = _END64_LOCATOR.unpack(file.read_at(at, _END64_LOCATOR.size))
    if magic != b"PK\x06\x07" or where + _END64.size > at:
        raise HeaderError("the zip64 locator is damaged", offset=at)
    magic, length, _, _, disk, first_disk, here, count, size, start = _END64.unpack(
        file.read_at(where, _END64.size)
    )
    if magic != b"PK\x06\x06" or where + _END64_FRONT + length != at:
        # Anything between the two would be a second archive, or the end of another one.
        raise HeaderError("the zip64 directory end is damaged", offset=where)
    return disk, first_disk, here, count, size, start, where


def _entries(raw: bytes, count: int, base: int) -> Iterator[tuple[str, Member]]:
    at = 0
    for _ in range(count):
        if at + _CENTRAL.size > len(raw):
            raise TruncatedFileError("the directory ends early", offset=base + at)
        fields = _CENTRAL.unpack_from(raw, at)
        magic, _, _, flags, method, _, _, crc, packed, size = fields[:10]
        name_size, extra_size, comment_size = fields[10:13]
        if magic != b"PK\x01\x02":
            raise HeaderError("the directory is damaged", offset=base + at)
        name_at = at + _CENTRAL.size
        extra_at = name_at + name_size
        after = extra_at + extra_size + comment_size
        if after > len(raw):
            raise TruncatedFileError("the directory ends early", offset=base + at)
        name = _name(raw[name_at:extra_at], base + name_at)
        extra = raw[extra_at : extra_at + extra_size]
        size, packed, offset = _wide(extra, size, packed, fields[16], base + extra_at)
        _check_member(name, flags, method, packed, size, base + at)
        yield name, Member(name, offset, packed, size, method, crc)
        at = after
    if at != len(raw):
        raise HeaderError("the directory has more bytes than members", offset=base + at)


def points_outside(name: str) -> bool:
    """True for a member that an unpacking program could put outside the folder it unpacks into."""
    steps_up = "\\" in name or ".." in name.split("/")
    return name.startswith("/") or steps_up or _DRIVE.match(name) is not None


def _name(raw: bytes, offset: int) -> str:
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        name = raw.decode("cp437")
    if "\0" in name or points_outside(name):
        raise HeaderError(
            f"the archive has a member called {name!r}, which points outside it", offset=offset
        )
    return name


def _wide(extra: bytes, size: int, packed: int, offset: int, place: int) -> tuple[int, int, int]:
    """The zip64 values of those fields that are full."""
    values = [size, packed, offset]
    if _FULL32 not in values:
        return size, packed, offset
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
            for slot, value in enumerate(values):
                if value == _FULL32 and len(body) >= 8:
                    values[slot] = int.from_bytes(body[:8], "little")
                    body = body[8:]
            break
        at += 4 + length
    if _FULL32 in values:
        raise HeaderError("a member of 4 GiB or more has no zip64 sizes", offset=place)
    return values[0], values[1], values[2]


def _check_member(name: str, flags: int, method: int, packed: int, size: int, place: int) -> None:
    if flags & _ENCRYPTED:
        raise UnsupportedContentError(f"{name} is encrypted", offset=place)
    if method not in (STORED, DEFLATED):
        raise UnsupportedContentError(
            f"{name} is compressed by method {method}; Ruda reads stored and deflated members",
            offset=place,
        )
    if method == STORED and packed != size:
        raise HeaderError(f"{name} is stored, but has {packed} bytes for {size}", offset=place)
    if method == DEFLATED and size > packed * MAX_RATIO + 64:
        raise HeaderError(
            f"{name} claims to inflate from {packed} to {size} bytes, more than deflate can",
            offset=place,
        )


def _local_bytes(entry: Member) -> int:
    return _LOCAL.size + max(len(entry.name.encode()), 64)


def _local(file: ByteFile, entry: Member, directory: int) -> int:
    """Where the data of a member begins, after comparing both of its descriptions."""
    if entry.offset + _LOCAL.size > directory:
        raise OffsetError(
            f"{entry.name} begins at byte {entry.offset}, behind the directory at {directory}",
            offset=entry.offset,
        )
    raw = file.read_at(entry.offset, min(_local_bytes(entry), file.size - entry.offset))
    fields = _LOCAL.unpack_from(raw)
    magic, _, flags, method, _, _, _, packed, size, name_size, extra_size = fields
    if magic != LOCAL_MAGIC:
        raise HeaderError(f"{entry.name} has no header where it should begin", offset=entry.offset)
    found = raw[_LOCAL.size : _LOCAL.size + name_size]
    sized = flags & _SIZES_FOLLOW or (
        size in (entry.size, _FULL32) and packed in (entry.packed, _FULL32)
    )
    if method != entry.method or not sized or found not in _spellings(entry.name):
        raise HeaderError(
            f"{entry.name} is described differently in the directory and at its data",
            offset=entry.offset,
        )
    return entry.offset + _LOCAL.size + int(name_size) + int(extra_size)


def _spellings(name: str) -> tuple[bytes, ...]:
    try:
        return name.encode(), name.encode("cp437")
    except UnicodeEncodeError:
        return (name.encode(),)
