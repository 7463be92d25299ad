"""Random access to the bytes of one file: positioned reads, and a memory map where one helps.

Both ways return the same bytes. Positioned reads are the default: they survive a file that is cut
while it is open, and work where a map cannot be had (network folders, files larger than the
address space). Thread-safe: positioned reads share no cursor.
"""

from __future__ import annotations

import mmap
import os
import stat
import threading
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path

from ruda.errors import FileAccessError, FileChangedError, StoreError, TruncatedFileError
from ruda.store._absent import absence
from ruda.store._windows import extended
from ruda.store.stamp import Stamp
from ruda.store.uri import Place

READ_BYTES = 1 << 30
"""Largest single read: one call may not exceed 2 GiB on Linux."""


class ByteFile:
    """An open file whose ranges are read by position. Close it, or use it in ``with``.

    ``bytes_read`` counts every byte handed out, by whatever method, so that a test can show that
    opening an index reads headers only.
    """

    path: Place
    note: str | None = None
    """What a person should know of how the file is read."""
    _stamp: Stamp | None = None
    """What the file was when it was opened; None for one that is not on a disk."""
    """The file as it was opened; None for bytes that nobody else can write."""

    def __init__(self, path: Path | str) -> None:
        self.path = path = Path(path)
        try:
            place = extended(path)
            if not stat.S_ISREG(mode := os.stat(place).st_mode) and not stat.S_ISDIR(mode):
                raise FileAccessError(
                    "is a pipe or a device, and a file is needed; save it to disk first",
                    path=self.path,
                )
            self._file = open(place, "rb", buffering=0)  # noqa: SIM115 - closed by close()
            self._stamp = Stamp.of_open(path, self._file.fileno())
            self.size = self._stamp.nbytes
        except FileNotFoundError as error:
            raise FileAccessError(absence(path), path=path) from error
        except IsADirectoryError as error:
            raise FileAccessError(
                "is a folder, and a file is needed; name the file inside it", path=self.path
            ) from error
        except FileAccessError:
            raise
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise FileAccessError(f"cannot be opened: {why}", path=self.path) from error
        # An index that a script simply drops gives its handle back without a ResourceWarning.
        weakref.finalize(self, self._file.close)
        self.bytes_read = 0
        self._lock = threading.Lock()
        self._map: mmap.mmap | None = None

    def __enter__(self) -> ByteFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """True once ``close`` was called."""
        return self._file.closed

    def close(self) -> None:
        """Release the handle. Arrays that view the map keep the map itself alive."""
        self._map = None
        self._file.close()

    def read_at(self, offset: int, count: int) -> bytes:
        """Exactly ``count`` bytes from ``offset``; copies.

        Raises TruncatedFileError if the file ends before, FileAccessError if it cannot be read.
        """
        buffer = bytearray(self._checked(offset, count))
        self.read_into(offset, memoryview(buffer))
        return bytes(buffer)

    def read_into(self, offset: int, buffer: memoryview) -> None:
        """Fill ``buffer`` (one axis of bytes, writable) from ``offset``, all of it.

        Raises TruncatedFileError if the file ends before, FileAccessError if it cannot be read.
        """
        count = self._checked(offset, len(buffer))
        done = 0
        while done < count:
            try:
                got = self._read_some(offset + done, buffer[done : done + READ_BYTES])
            except StoreError:
                raise
            except (OSError, ValueError) as error:
                why = "the file was closed" if self.closed else error
                raise FileAccessError(f"cannot be read: {why}", path=self.path) from error
            if not got:
                raise TruncatedFileError(
                    f"the file ends here, but had {count - done} more bytes when it was opened",
                    path=self.path,
                    offset=offset + done,
                )
            done += got
        self.check_unchanged()
        with self._lock:
            self.bytes_read += count

    def stream(self, offset: int, count: int, size: int) -> Iterator[memoryview]:
        """The same bytes in pieces of at most ``size``, each valid until the next is asked for.

        One buffer serves all pieces. Raises like ``read_into``.
        """
        self._checked(offset, count)
        buffer = memoryview(bytearray(min(size, count)))
        for start in range(0, count, size):
            piece = buffer[: min(size, count - start)]
            self.read_into(offset + start, piece)
            yield piece

    def copy_to(self, handle: int, offset: int, count: int) -> int:
        """Let the system copy a range to where an open file is being written, past our memory.

        Returns the bytes it copied, which may be fewer; 0 where it does not do that, or the file
        ends, or the other one is full: reading and writing the range says what is wrong.
        """
        self._checked(offset, count)
        if not hasattr(os, "copy_file_range"):
            return 0
        try:
            copied = os.copy_file_range(self._file.fileno(), handle, count, offset)
        except (OSError, ValueError):
            return 0
        self.check_unchanged()
        with self._lock:
            self.bytes_read += copied
        return copied

    def prefetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Be told of many small reads (offset, count) that come next; a file on disk ignores it."""

    def forget(self) -> None:
        """Let go of what ``prefetch`` fetched."""

    def map_range(self, offset: int, count: int) -> memoryview:
        """The same bytes as ``read_at`` without a copy where a map can be had; read-only.

        They are what the file holds whenever they are looked at: that it is still the one that was
        opened is asked once, here.
        """
        self._checked(offset, count)
        if count == 0:
            return memoryview(b"")
        self.check_unchanged()
        mapped = self._ensure_map()
        if mapped is None:
            return memoryview(self.read_at(offset, count))
        with self._lock:
            self.bytes_read += count
        return memoryview(mapped)[offset : offset + count]

    def check_unchanged(self) -> None:
        """Raises FileChangedError if the file was written to since it was opened.

        Asked after each read: a program that writes its checkpoint over the open one would give
        new bytes under the old header. A file that took its place by a rename is another one, and
        this one is read on.
        """
        if self._stamp is None:
            return
        try:
            same = self._stamp.is_of_open(self._file.fileno())
        except (OSError, ValueError) as error:
            why = "the file was closed" if self.closed else error
            raise FileAccessError(f"cannot be read: {why}", path=self.path) from error
        if not same:
            raise FileChangedError(self.path)

    def _read_some(self, position: int, buffer: memoryview) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [buffer], position)
        with self._lock:  # Windows has no positioned read
            self._file.seek(position)
            return self._file.readinto(buffer) or 0

    def _ensure_map(self) -> mmap.mmap | None:
        with self._lock:
            if self._map is None and self.size:
                try:
                    self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
                except (OSError, ValueError):
                    return None  # no map on this file system: positioned reads serve
            return self._map

    def _checked(self, offset: int, count: int) -> int:
        if offset < 0 or count < 0 or offset + count > self.size:
            raise TruncatedFileError(
                f"{count} bytes are needed here, but the file has {self.size} bytes in all",
                path=self.path,
                offset=max(offset, 0),
            )
        return count


class MemoryFile(ByteFile):
    """Bytes that are in memory already, read like a file; ``path`` is where they came from."""

    def __init__(self, raw: bytes, path: Place) -> None:
        self.path = path
        self.size = len(raw)
        self.bytes_read = 0
        self._raw = memoryview(raw)
        self._lock = threading.Lock()
        self._map = None
        self._is_closed = False

    @property
    def closed(self) -> bool:
        """True once ``close`` was called."""
        return self._is_closed

    def close(self) -> None:
        """Let go of the bytes."""
        self._is_closed = True

    def copy_to(self, handle: int, offset: int, count: int) -> int:
        """Copy nothing: the bytes are in no file."""
        return 0

    def _read_some(self, position: int, buffer: memoryview) -> int:
        if self._is_closed:
            raise ValueError("closed")
        piece = self._raw[position : position + len(buffer)]
        buffer[: len(piece)] = piece
        return len(piece)

    def _ensure_map(self) -> mmap.mmap | None:
        return None


class FilePart(ByteFile):
    """A run of bytes of another file, read like a file of its own; the other one stays open."""

    def __init__(self, whole: ByteFile, offset: int, size: int) -> None:
        self.path = whole.path
        self.size = size
        self.bytes_read = 0
        self._whole = whole
        self._offset = offset
        self._lock = threading.Lock()
        self._map = None

    @property
    def closed(self) -> bool:
        """True once the other file is closed."""
        return self._whole.closed

    def close(self) -> None:
        """Do nothing: the other file is not this one's to close."""

    def check_unchanged(self) -> None:
        """As the other file does it."""
        self._whole.check_unchanged()

    def copy_to(self, handle: int, offset: int, count: int) -> int:
        """As the other file does it."""
        self._checked(offset, count)
        return self._whole.copy_to(handle, self._offset + offset, count)

    def _read_some(self, position: int, buffer: memoryview) -> int:
        return self._whole._read_some(self._offset + position, buffer)

    def _ensure_map(self) -> mmap.mmap | None:
        return None
