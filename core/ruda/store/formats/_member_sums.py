"""When a stored member of a zip archive is compared with its checksum, and a file that does it.

A checksum is of a whole member, and a read may want a small part of a large one. So a member is
compared once as much of it was read as would cost no more than twice to read in all; a small one at
once. Whoever reads everything in it, in however many parts, gets no damaged value unnoticed.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterable

from ruda.store.bytefile import ByteFile
from ruda.store.formats._zip import Member, ZipDirectory

SMALL_BYTES = 64 << 10
"""A member of no more than this is compared the first time that anything of it is read."""
_PIECE = 8 << 20


def is_due(size: int, read: int) -> bool:
    """True if a member of this size is to be compared, after so much of it was read."""
    return size <= max(SMALL_BYTES, 2 * read)


class SummedFile(ByteFile):
    """The file of an archive, with its own offsets, where everything read lies in one member.

    The member is compared from ``watch`` on. Closing it leaves the archive open.
    """

    def __init__(self, archive: ZipDirectory, member: Member) -> None:
        self.path = archive.file.path
        self.size = archive.file.size
        self.bytes_read = 0
        self._archive = archive
        self._member = member
        self._read = 0
        self._settled = True
        self._lock = threading.Lock()
        self._map = None

    def watch(self, expected: int) -> None:
        """Compare from now on: what was read before were headers, and there is so much to read.

        A small member is compared at once, and so is one of which most would never be read:
        damage to a header can hide what lies behind it. Raises ChecksumError if it is damaged.
        """
        self._settled = not self._archive.checked
        size = self._member.size
        if not self._settled and (size <= SMALL_BYTES or size > 2 * expected):
            self._compare()

    @property
    def closed(self) -> bool:
        """True once the archive is closed."""
        return self._archive.file.closed

    def close(self) -> None:
        """Do nothing: the archive is not this one's to close."""

    def check_unchanged(self) -> None:
        """As the archive does it."""
        self._archive.file.check_unchanged()

    def read_into(self, offset: int, buffer: memoryview) -> None:
        """As the archive does it. Raises ChecksumError if the member is damaged."""
        self._archive.file.read_into(offset, buffer)
        self._count(len(buffer))

    def copy_to(self, handle: int, offset: int, count: int) -> int:
        """As the archive does it. Raises ChecksumError if the member is damaged."""
        self._count(count)
        return self._archive.file.copy_to(handle, offset, count)

    def map_range(self, offset: int, count: int) -> memoryview:
        """As the archive does it. Raises ChecksumError if the member is damaged."""
        self._count(count)
        return self._archive.file.map_range(offset, count)

    def prefetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """As the archive does it."""
        self._archive.file.prefetch(ranges)

    def forget(self) -> None:
        """As the archive does it."""
        self._archive.file.forget()

    def _count(self, count: int) -> None:
        with self._lock:
            self.bytes_read += count
            self._read += count
            due = not self._settled and is_due(self._member.size, self._read)
            if due:
                self._read = 0  # one thread compares, the others read on
        if due:
            self._compare()

    def _compare(self) -> None:
        crc = 0
        for piece in self._archive.stream(self._member, _PIECE):
            crc = zlib.crc32(piece, crc)
        self._archive.check(self._member, crc)
        self._settled = True
