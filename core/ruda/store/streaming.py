"""The bytes of a layout on their way into a file: counted, checked, and summed while they pass."""

from __future__ import annotations

import hashlib
import io
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from typing import Protocol

from ruda._kernels import aside, thread_count
from ruda.errors import SaveError
from ruda.progress import SILENT, Monitor, Progress
from ruda.store.adapted import counts_of
from ruda.store.bytefile import ByteFile
from ruda.store.checksum import ASIDE_LEAST, begin_crc, joined
from ruda.store.filerange import FileRange
from ruda.store.layout import PIECE_BYTES, Frame, Layout, PlannedTensor
from ruda.store.mapped import MappedRange
from ruda.store.moving import remarks_in
from ruda.store.snapshot import TensorSource
from ruda.tensor import CastCounts

_ZEROS = bytes(1 << 16)
TAKE_BYTES = 8 << 20
"""Bytes that the system is asked to copy at once; between two such steps a save can be stopped."""
TAKE_LEAST = 256 << 10
"""A smaller tensor is read and written: many of them fit in one write."""


@dataclass(slots=True)
class Record:
    """What is learned of the tensors while they pass by."""

    sha256: dict[str, str] = field(default_factory=dict)
    casts: dict[str, CastCounts] = field(default_factory=dict)
    remarks: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Sink(Protocol):
    """Where the bytes go."""

    def write(self, piece: bytes | memoryview, /) -> object:
        """Append bytes. Raises OSError."""

    def take(self, file: ByteFile, offset: int, count: int) -> int:
        """Append a range of a file by the system's own copying; returns how much of it.

        0 where that cannot be done. Raises OSError for what was written before.
        """

    def patch(self, offset: int, piece: bytes) -> None:
        """Replace bytes that were written before. Raises OSError."""


class MemorySink:
    """Bytes in memory."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()

    def write(self, piece: bytes | memoryview) -> None:
        """Append bytes."""
        self.bytes.write(piece)

    def take(self, file: ByteFile, offset: int, count: int) -> int:
        """Take nothing: this is no file."""
        return 0

    def patch(self, offset: int, piece: bytes) -> None:
        """Replace bytes that were written before."""
        self.bytes.getbuffer()[offset : offset + len(piece)] = piece


@dataclass(slots=True)
class Tally:
    """Progress over all the files of one save."""

    total: int
    monitor: Monitor = SILENT
    before: int = 0


class Stream:
    """Writes header, frames, tensors and zeros to one sink, counting every byte.

    A frame whose checksum is not known yet is written without it and patched at the end.
    """

    def __init__(self, sink: Sink, layout: Layout, tally: Tally, *, digests: bool = False) -> None:
        self.position = 0
        self.record = Record()
        self._sink = sink
        self._layout = layout
        self._tally = tally
        self._digests = digests
        self._sums: dict[str, int] = {}
        self._late: list[Frame] = []
        self._hashing: deque[tuple[str, Callable[[], str]]] = deque()
        self._is_over = False

    def write_all(self) -> None:
        """Every byte of the layout. Raises SaveError, Cancelled, and what a source raises."""
        try:
            self._write_parts()
            self._await_digests(0)
        finally:
            self._is_over = True
            for _, wait in self._hashing:
                with suppress(Exception):  # what went wrong first is what is raised
                    wait()

    def _write_parts(self) -> None:
        layout = self._layout
        self._tally.monitor.check()
        self._put(layout.header)
        parts: tuple[Iterable[Frame | PlannedTensor], ...] = (layout.frames, layout.blocks)
        for part in merge(*parts, key=_offset):
            self._pad_to(part.offset)
            if isinstance(part, Frame):
                self._put_frame(part)
            else:
                self._put_tensor(part)
        self._pad_to(layout.file_size)
        self._patch()

    def _put_frame(self, frame: Frame) -> None:
        known = None if frame.checksum_of is None else self._sums.get(frame.checksum_of)
        if known is not None:
            self._put(frame.sealed(known))
            return
        if frame.checksum_of is not None:
            self._late.append(frame)
        self._put(frame.content)

    def _patch(self) -> None:
        try:
            for frame in self._late:
                checksum = self._sums[frame.checksum_of or ""]
                self._sink.patch(frame.offset + frame.place, checksum.to_bytes(4, "little"))
        except OSError as error:
            raise self.failure(error) from error

    def _put_tensor(self, entry: PlannedTensor) -> None:
        digest = hashlib.sha256() if self._digests else None
        sums = self._layout.checksums
        checksum = None if sums is None else sums[entry.key]
        known = None if sums is None else _stated(entry)
        monitor, tally = self._tally.monitor, self._tally
        got = self._take(entry) if checksum is None else 0
        if got:
            digest = None  # of what the system copied, another thread has it
        for chunk in _rest(entry, got):
            monitor.check()
            got += len(chunk)
            if got > entry.nbytes:
                break
            hashed = None if digest is None else _begin(partial(digest.update, chunk), chunk)
            summed = None if checksum is None or known is not None else begin_crc(chunk, checksum)
            try:
                self._put(chunk)
            finally:  # the next chunk may take the place of this one
                if hashed is not None:
                    hashed()
                if summed is not None:
                    checksum = summed()
            monitor.report(Progress(tally.before + self.position, tally.total, "bytes"))
        if got != entry.nbytes:
            raise SaveError(
                f"{entry.key!r} gave {got} bytes{' or more' * (got > entry.nbytes)}, "
                f"but its shape and dtype need {entry.nbytes}",
                stage="write",
            )
        if checksum is not None:
            self._sums[entry.key] = checksum if known is None else joined(checksum, known, got)
        self._note(entry, digest.hexdigest() if digest else None)

    def _take(self, entry: PlannedTensor) -> int:
        """Bytes of a tensor, from its first, that the system has copied from file to file."""
        plain, total = _plain(entry.snapshot.source), entry.nbytes
        if plain is None or plain.nbytes != total or total < TAKE_LEAST:
            return 0
        done, monitor, tally = 0, self._tally.monitor, self._tally
        try:
            while done < total:
                monitor.check()
                place, count = plain.offset + done, min(TAKE_BYTES, total - done)
                taken = self._sink.take(plain.file, place, count)
                if not taken:
                    break
                if self._digests and not done:
                    self._hashing.append((entry.key, aside(partial(self._digest_of, plain))))
                done += taken
                self.position += taken
                monitor.report(Progress(tally.before + self.position, tally.total, "bytes"))
        except OSError as error:
            raise self.failure(error) from error
        self._await_digests(2 * thread_count())
        return done

    def _digest_of(self, plain: FileRange) -> str:
        """The sha256 of a range, read by itself: if it changed since, verifying will tell."""
        digest = hashlib.sha256()
        for piece in plain.stream(PIECE_BYTES):
            if self._is_over:
                break
            self._tally.monitor.check()
            digest.update(piece)
        return digest.hexdigest()

    def _await_digests(self, most: int) -> None:
        """Wait for digests until ``most`` are not there yet: copying must not run far ahead."""
        while len(self._hashing) > most:
            key, wait = self._hashing.popleft()
            self.record.sha256[key] = wait()

    def _note(self, entry: PlannedTensor, digest: str | None) -> None:
        if digest is not None:
            self.record.sha256[entry.key] = digest
        counts = counts_of(entry.snapshot)
        if counts is not None:
            self.record.casts[entry.key] = counts
        remarks = remarks_in(entry.snapshot.source)
        if remarks:
            self.record.remarks[entry.key] = remarks

    def _pad_to(self, offset: int) -> None:
        while self.position < offset:
            self._put(_ZEROS[: offset - self.position])

    def _put(self, piece: bytes | memoryview) -> None:
        try:
            self._sink.write(piece)
        except OSError as error:
            raise self.failure(error) from error
        self.position += len(piece)

    def failure(self, error: OSError) -> SaveError:
        """The error of a disk that does not take the bytes."""
        size = self._layout.file_size
        return SaveError(
            f"writing stopped near byte {self.position} of {size}: {error.strerror or error}",
            stage="write",
        )


def _begin(task: Callable[[], None], chunk: memoryview) -> Callable[[], None]:
    """Begin a task of a chunk in another thread if it is worth that; waits for it when called."""
    return aside(task) if len(chunk) >= ASIDE_LEAST else task


def _plain(source: TensorSource) -> FileRange | None:
    """The range of a file that is the bytes of a source, where nothing is done to them."""
    if isinstance(source, MappedRange):
        return source.range
    return source if isinstance(source, FileRange) else None


def _stated(entry: PlannedTensor) -> int | None:
    """CRC-32 that the source's file states for the bytes of a tensor, and that reading compares."""
    stated: int | None = getattr(entry.snapshot.source, "checksum", None)
    return stated


def _rest(entry: PlannedTensor, done: int) -> Iterable[memoryview]:
    """The bytes of a tensor from ``done`` on, in pieces."""
    plain = _plain(entry.snapshot.source)
    if not done or plain is None:
        return entry.snapshot.chunks(PIECE_BYTES)
    return plain.file.stream(plain.offset + done, plain.nbytes - done, PIECE_BYTES)


def _offset(part: Frame | PlannedTensor) -> int:
    return part.offset


def to_bytes(layout: Layout, *, monitor: Monitor = SILENT) -> bytes:
    """The whole file in memory, byte for byte as ``write`` would make it."""
    sink = MemorySink()
    Stream(sink, layout, Tally(layout.file_size, monitor)).write_all()
    return sink.bytes.getvalue()
