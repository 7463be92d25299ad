"""Reading the values of a PyTorch tensor: views of storages that lie in a file or a zip member."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ruda.store.bytefile import ByteFile
from ruda.store.checksum import begin_crc, joined
from ruda.store.filerange import shaped
from ruda.store.formats._member_sums import SMALL_BYTES, is_due
from ruda.store.formats._torch_refs import TensorRef, element_bytes
from ruda.store.formats._zip import STORED, Member, ZipDirectory
from ruda.store.snapshot import Origin
from ruda.tensor import DType

READ_BYTES = 8 << 20
FILL_BYTES = 512 << 10
"""Bytes of a checked storage that are summed while the next are read."""


class StorageBytes(Protocol):
    """The bytes of one storage."""

    def stream(self, start: int, count: int, size: int) -> Iterator[memoryview]:
        """A range in pieces of at most ``size``, each valid until the next is asked for."""

    def place(self, start: int, count: int) -> Origin | None:
        """Where the range lies plainly in a file, or None."""

    def fill(self, start: int, target: memoryview) -> None:
        """Read a range that is as long as ``target`` into it."""

    def checksum(self, start: int, count: int) -> int | None:
        """CRC-32 that the file states for just this range, or None.

        ``stream`` has compared it by the time that all of it has passed.
        """


@dataclass(frozen=True, slots=True)
class PlainBytes:
    """A storage that lies in one piece in a file."""

    file: ByteFile
    offset: int

    def stream(self, start: int, count: int, size: int) -> Iterator[memoryview]:
        """See StorageBytes."""
        return self.file.stream(self.offset + start, count, size)

    def place(self, start: int, count: int) -> Origin | None:
        """See StorageBytes."""
        return Origin(self.file.path, self.offset + start, count)

    def fill(self, start: int, target: memoryview) -> None:
        """See StorageBytes."""
        self.file.read_into(self.offset + start, target)

    def checksum(self, start: int, count: int) -> int | None:
        """See StorageBytes; None."""
        return None


class EmbeddedBytes(PlainBytes):
    """A storage whose bytes were inside a pickle, and are in memory."""

    __slots__ = ()

    def place(self, start: int, count: int) -> Origin | None:
        """See StorageBytes; the file only."""
        return Origin(self.file.path)


@dataclass(slots=True)
class MemberBytes:
    """A storage that is a member of a zip archive.

    Its checksum is compared once reads have covered half of it, in one or in many, so that no
    more than twice is read of what was asked for; at once if it is small; and every time that all
    of it is streamed, as a save does, which takes the checksum over.
    """

    archive: ZipDirectory
    member: Member
    verified: bool = field(default=False)
    head: tuple[int, int] = (0, 0)
    """How many bytes at the start were read before, as a header, and their CRC-32.

    Beside a few values a header is long, so it is not read again for them.
    """
    unchecked: int = field(default=0, repr=False, compare=False)
    """Bytes that were read since it was opened, or compared last."""

    def stream(self, start: int, count: int, size: int) -> Iterator[memoryview]:
        """See StorageBytes. Raises ChecksumError after the last piece if the storage is damaged."""
        if self._is_unchecked(count) and self.checksum(start, count) is None:
            return self.archive.file.stream(self.member.offset + start, count, size)
        return self._checked(start, count, size)

    def _is_unchecked(self, count: int) -> bool:
        """True if a read of so many bytes takes them from the file as they are."""
        if self.member.method != STORED:
            return False
        if self.verified or not self.archive.checked:
            return True
        self.unchecked += count
        if not is_due(self.member.size - self.head[0], self.unchecked):
            return True
        self.unchecked = 0  # one thread compares, the others read on
        return False

    def fill(self, start: int, target: memoryview) -> None:
        """See StorageBytes. Raises ChecksumError if the storage is damaged."""
        member, count = self.member, len(target)
        if self._is_unchecked(count):
            self.archive.file.read_into(member.offset + start, target)
            return
        if member.method != STORED:
            at = 0
            for piece in self._checked(start, count, READ_BYTES):
                target[at : at + len(piece)] = piece
                at += len(piece)
            return
        sums: list[tuple[Callable[[], int], int]] = []
        for at in range(0, count, FILL_BYTES):
            piece = target[at : at + FILL_BYTES]
            self.archive.file.read_into(member.offset + start + at, piece)
            sums.append((begin_crc(piece), len(piece)))
        known, crc = self.head if member.size <= SMALL_BYTES and start >= self.head[0] else (0, 0)
        crc = self._crc(known, start, crc)
        for summed, length in sums:
            crc = joined(crc, summed(), length)
        crc = self._crc(start + count, member.size, crc)
        self.archive.check(member, crc)
        self.verified = True

    def _crc(self, start: int, stop: int, before: int = 0) -> int:
        """Sum of a range that nobody asked for, behind the sum of what precedes it."""
        for piece in self.archive.file.stream(self.member.offset + start, stop - start, READ_BYTES):
            before = zlib.crc32(piece, before)
        return before

    def checksum(self, start: int, count: int) -> int | None:
        """See StorageBytes; None unless the range is the whole member."""
        whole = start == 0 and count == self.member.size
        return self.member.crc if whole and self.archive.checked else None

    def _checked(self, start: int, count: int, size: int) -> Iterator[memoryview]:
        crc, at, stop = 0, 0, start + count
        for piece in self.archive.stream(self.member, size):
            summed = begin_crc(piece, crc)
            try:
                low, high = max(start, at), min(stop, at + len(piece))
                if low < high:
                    yield piece[low - at : high - at]
            finally:
                crc = summed()
            at += len(piece)
        self.archive.check(self.member, crc)
        self.verified = True

    def place(self, start: int, count: int) -> Origin | None:
        """See StorageBytes; None for a deflated member."""
        if self.member.method != STORED:
            return Origin(self.archive.file.path)
        return Origin(self.archive.file.path, self.member.offset + start, count)


@dataclass(frozen=True, slots=True)
class ViewSource:
    """Values of a view, made contiguous and little-endian; reads from first element to last."""

    storage: StorageBytes
    ref: TensorRef
    big_endian: bool = False

    @property
    def is_plain(self) -> bool:
        """True if the bytes in the storage are the bytes of the values."""
        return self.ref.is_contiguous and not self.big_endian and not self.ref.bits

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs."""
        ref = self.ref
        span = 0 if ref.is_contiguous else ref.span * element_bytes(ref.dtype)
        return ref.nbytes + span

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype; copies."""
        values = self._stored()
        if "conj" in self.ref.bits:
            values = np.conjugate(values)
        if "neg" in self.ref.bits:
            values = np.negative(values)
        return values

    def _stored(self) -> np.ndarray[Any, Any]:
        ref = self.ref
        if 0 in ref.shape:
            return shaped(np.empty(0, np.uint8), ref.dtype, ref.shape)
        item = element_bytes(ref.dtype)
        raw = self._fetch(ref.offset * item, ref.span * item)
        if self.big_endian:
            raw = swapped(raw, ref.dtype)
        if ref.is_contiguous:
            return shaped(raw, ref.dtype, ref.shape)
        values = raw.view(np.dtype((np.void, item)))
        strides = tuple(
            stride * item if size > 1 else item
            for size, stride in zip(ref.shape, ref.strides, strict=True)
        )
        seen = np.lib.stride_tricks.as_strided(values, ref.shape, strides, writeable=False)
        packed = np.ascontiguousarray(seen).reshape(-1).view(np.uint8)
        return shaped(packed, ref.dtype, ref.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes in pieces of at most ``size``; a view that is not contiguous is read whole."""
        ref = self.ref
        if self.is_plain:
            item = element_bytes(ref.dtype)
            yield from self.storage.stream(ref.offset * item, ref.nbytes, size)
            return
        flat = self.read().reshape(-1).view(np.uint8).data
        for start in range(0, len(flat), size):
            yield flat[start : start + size]

    def place(self) -> Origin | None:
        """Where the bytes lie just as ``stream`` gives them, or only in which file."""
        ref = self.ref
        item = element_bytes(ref.dtype)
        found = self.storage.place(ref.offset * item, ref.nbytes)
        if found is None or self.is_plain:
            return found
        return Origin(found.path)

    @property
    def checksum(self) -> int | None:
        """CRC-32 of the bytes that ``stream`` gives, where the file states it; compared by then."""
        ref = self.ref
        if not self.is_plain:
            return None
        return self.storage.checksum(ref.offset * element_bytes(ref.dtype), ref.nbytes)

    def _fetch(self, start: int, count: int) -> np.ndarray[Any, Any]:
        raw = np.empty(count, np.uint8)
        self.storage.fill(start, raw.data)
        return raw


def swapped(raw: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """The bytes with every number turned from big- to little-endian; complex parts on their own."""
    unit = element_bytes(dtype)
    if dtype in (DType.C32, DType.C64, DType.C128):
        unit //= 2
    if unit == 1:
        return raw
    return raw.view(f"u{unit}").byteswap().view(np.uint8)
