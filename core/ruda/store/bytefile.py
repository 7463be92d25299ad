"""Random access to the bytes of one file: positioned reads, and a memory map where one helps.

Both ways return the same bytes. The map is for large sequential reads; positioned reads serve
everything else, and everywhere that a map cannot be had (network folders, files larger than the
address space). Thread-safe: positioned reads share no cursor.
"""

from __future__ import annotations

import mmap
import os
import threading
from pathlib import Path

from ruda.errors import FileAccessError, TruncatedFileError


class ByteFile:
    """An open file whose ranges are read by position. Close it, or use it in ``with``.

    ``bytes_read`` counts every byte handed out by ``read_at`` and ``map_range``, so that a test
    can show that opening an index reads headers only.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self._file = open(self.path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
            self.size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise FileAccessError(
                f"cannot be opened: {error.strerror or error}", path=self.path
            ) from error
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
        self._check_range(offset, count)
        parts: list[bytes] = []
        position, left = offset, count
        while left:
            try:
                part = self._pread(position, left)
            except (OSError, ValueError) as error:
                raise FileAccessError(f"cannot be read: {error}", path=self.path) from error
            if not part:
                raise self._short(offset, count)
            parts.append(part)
            position += len(part)
            left -= len(part)
        with self._lock:
            self.bytes_read += count
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def map_range(self, offset: int, count: int) -> memoryview:
        """The same bytes as ``read_at`` without a copy where a map can be had; read-only."""
        self._check_range(offset, count)
        if count == 0:
            return memoryview(b"")
        mapped = self._ensure_map()
        if mapped is None:
            return memoryview(self.read_at(offset, count))
        with self._lock:
            self.bytes_read += count
        return memoryview(mapped)[offset : offset + count]

    def _pread(self, position: int, count: int) -> bytes:
        chunk = min(count, 1 << 30)  # one read call may not exceed 2 GiB on Linux
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), chunk, position)
        with self._lock:  # Windows has no positioned read
            self._file.seek(position)
            return self._file.read(chunk)

    def _ensure_map(self) -> mmap.mmap | None:
        with self._lock:
            if self._map is None and self.size:
                try:
                    self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
                except (OSError, ValueError):
                    return None  # no map on this file system: positioned reads serve
            return self._map

    def _check_range(self, offset: int, count: int) -> None:
        if offset < 0 or count < 0 or offset + count > self.size:
            raise self._short(offset, count)

    def _short(self, offset: int, count: int) -> TruncatedFileError:
        return TruncatedFileError(
            f"{count} bytes are needed here, but the file has {self.size} bytes in all",
            path=self.path,
            offset=max(offset, 0),
        )
