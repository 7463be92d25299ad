"""RemoteFile: the ranges of a file at an address, fetched when they are asked for.

Small reads are served from blocks of 64 KiB that are kept for a while, large ones are fetched as
they are; the whole file is never fetched, unless its server cannot serve parts and it is small.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from ruda.errors import FileAccessError, TruncatedFileError
from ruda.store.bytefile import ByteFile
from ruda.store.uri import Place, Uri

BLOCK_BYTES = 64 << 10
KEPT_BLOCKS = 64
FETCH_BYTES = 8 << 20
"""Largest piece that is fetched at a time: what a server sends has to be held somewhere."""
WHOLE_BYTES = 64 << 20
"""Largest file that is fetched whole from a server that cannot serve parts."""
GAP_BYTES = 4 << 10
"""Ranges that are no further apart are fetched as one."""
FETCHERS = 16


class Remote(Protocol):
    """The server's side of a file: how long it is, and how a part of it is had."""

    size: int
    note: str | None
    """What a person should know of how it is read."""

    def fetch(self, offset: int, count: int) -> bytes:
        """Exactly these bytes. Raises FileAccessError or TruncatedFileError."""

    def check(self) -> None:
        """Raise FileAccessError if what was fetched may be of another state of the file."""

    def close(self) -> None:
        """Give the connection back."""


def open_bytes(place: Place) -> ByteFile:
    """The file at a path or an address. Raises FileAccessError."""
    return RemoteFile(place) if isinstance(place, Uri) else ByteFile(place)


def is_there(place: Place) -> bool:
    """True if there is a file. Raises FileAccessError where the server does not say."""
    if not isinstance(place, Uri):
        return place.is_file()
    try:
        RemoteFile(place).close()
    except FileAccessError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return False
        raise
    return True


class RemoteFile(ByteFile):
    """A file at an address, read like one on disk. Thread-safe.

    ``bytes_read`` counts what was handed out, ``bytes_fetched`` what was asked of the server.
    """

    def __init__(self, uri: Uri) -> None:
        """Ask the server for the length. Raises FileAccessError, MissingExtraError."""
        self.path = uri
        self._remote = _connect(uri)
        self.size = self._remote.size
        self.note = self._remote.note
        weakref.finalize(self, self._remote.close)
        self.bytes_read = 0
        self.bytes_fetched = 0
        self._lock = threading.Lock()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._ahead: list[tuple[int, bytes]] = []
        self._is_closed = False

    @property
    def closed(self) -> bool:
        """True once ``close`` was called."""
        return self._is_closed

    def close(self) -> None:
        """Give the connection and the kept blocks back."""
        self._is_closed = True
        with self._lock:
            self._blocks.clear()
            self._ahead.clear()
        self._remote.close()

    def prefetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetch many small ranges at once, and keep them until ``forget``; near ones as one."""
        joined: list[list[int]] = []
        for start, end in sorted((offset, offset + count) for offset, count in ranges):
            end = min(end, self.size)
            if joined and start <= joined[-1][1] + GAP_BYTES and end - joined[-1][0] <= FETCH_BYTES:
                joined[-1][1] = max(end, joined[-1][1])
            elif end > start:
                joined.append([start, end])
        with ThreadPoolExecutor(FETCHERS) as pool:
            found = list(pool.map(lambda r: self._fetched(r[0], r[1] - r[0]), joined))
        if joined:
            self._remote.check()
        with self._lock:
            self._ahead = [(start, raw) for (start, _), raw in zip(joined, found, strict=True)]

    def forget(self) -> None:
        """Let go of what ``prefetch`` fetched."""
        with self._lock:
            self._ahead = []

    def copy_to(self, handle: int, offset: int, count: int) -> int:
        """Copy nothing: the bytes are elsewhere."""
        return 0

    def _read_some(self, position: int, buffer: memoryview) -> int:
        if self._is_closed:
            raise ValueError("closed")
        piece = self._kept(position)
        if piece is None and len(buffer) >= BLOCK_BYTES:
            piece = memoryview(self._fetch(position, min(len(buffer), FETCH_BYTES)))
        elif piece is None:
            number = position // BLOCK_BYTES
            start = number * BLOCK_BYTES
            block = self._fetch(start, min(BLOCK_BYTES, self.size - start))
            with self._lock:
                self._blocks[number] = block
                while len(self._blocks) > KEPT_BLOCKS:
                    self._blocks.popitem(last=False)
            piece = memoryview(block)[position - start :]
        count = min(len(piece), len(buffer))
        buffer[:count] = piece[:count]
        return count

    def _kept(self, position: int) -> memoryview | None:
        """What is here already from this position on, or None."""
        number = position // BLOCK_BYTES
        with self._lock:
            if number in self._blocks:
                self._blocks.move_to_end(number)
                return memoryview(self._blocks[number])[position - number * BLOCK_BYTES :]
            at = bisect_right(self._ahead, position, key=lambda kept: kept[0]) - 1
            if at >= 0:
                start, raw = self._ahead[at]
                if position < start + len(raw):
                    return memoryview(raw)[position - start :]
        return None

    def _fetch(self, offset: int, count: int) -> bytes:
        raw = self._fetched(offset, count)
        self._remote.check()
        return raw

    def _fetched(self, offset: int, count: int) -> bytes:
        raw = self._remote.fetch(offset, count)
        with self._lock:
            self.bytes_fetched += len(raw)
        if len(raw) != count:
            raise TruncatedFileError(
                f"the server said that the file has {self.size} bytes, but it gave {len(raw)} of "
                f"{count} from here",
                path=self.path,
                offset=offset,
            )
        return raw

    def _ensure_map(self) -> None:
        return None


def _connect(uri: Uri) -> Remote:
    if uri.is_web:
        from ruda.store._remote_web import WebRemote

        return WebRemote(uri, whole=WHOLE_BYTES, first=BLOCK_BYTES)
    from ruda.store._remote_fsspec import FsspecRemote

    return FsspecRemote(uri)
