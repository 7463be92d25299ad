"""The wire format of Protocol Buffers, read from a file field by field.

Nothing is built and nothing recursed into: a caller walks the fields of one message and decides
which of the nested ones to walk. Values are fetched only when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ruda.errors import HeaderError, TruncatedFileError
from ruda.store.bytefile import ByteFile

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
VARINT_BYTES = 10
WINDOW = 8 << 10
"""Bytes that are fetched at a time."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message: its number and kind, and where its payload lies."""

    number: int
    wire: int
    at: int
    """Offset of the field's tag."""
    start: int
    """Offset of the payload."""
    size: int
    value: int = 0
    """The number itself, for varints."""

    @property
    def end(self) -> int:
        """Offset behind the payload."""
        return self.start + self.size


class WireReader:
    """Random access to messages in a file, which is fetched window by window."""

    def __init__(self, file: ByteFile) -> None:
        self.file = file
        self._window = b""
        self._base = 0

    def fields(self, start: int, end: int, what: str) -> Iterator[Field]:
        """The fields of the message in a range.

        Raises TruncatedFileError where one reaches behind the range, HeaderError where the bytes
        are no fields.
        """
        at = start
        while at < end:
            field = self._field(at, end, what)
            yield field
            at = field.end

    def payload(self, field: Field) -> bytes:
        """The bytes of a field."""
        return self.file.read_at(field.start, field.size)

    def text(self, field: Field, what: str, limit: int) -> str:
        """The text of a field. Raises HeaderError for other wire types, sizes and bytes."""
        if field.wire != BYTES:
            raise HeaderError(f"{what} is no text", offset=field.at)
        if field.size > limit:
            raise HeaderError(
                f"{what} has {field.size} bytes, the limit is {limit}", offset=field.at
            )
        raw = self._bytes(field.start, field.size)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise HeaderError(f"{what} is no UTF-8: {raw[:40]!r}", offset=field.at) from None

    def _field(self, at: int, end: int, what: str) -> Field:
        tag, start = self._varint(at, end, what)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise HeaderError(f"{what} has a field of number {number}", offset=at)
        if wire == VARINT:
            value, behind = self._varint(start, end, what)
            return Field(number, wire, at, start, behind - start, value)
        if wire == BYTES:
            size, start = self._varint(start, end, what)
        elif wire in (FIXED32, FIXED64):
            size = 4 if wire == FIXED32 else 8
        else:
            raise HeaderError(f"{what} has a field of wire type {wire}, and none is", offset=at)
        if size > end - start:
            raise TruncatedFileError(
                f"field {number} of {what} has {size} bytes, but {end - start} are left; the file "
                "is damaged or cut short",
                offset=at,
            )
        return Field(number, wire, at, start, size)

    def _varint(self, at: int, end: int, what: str) -> tuple[int, int]:
        raw = self._bytes(at, min(VARINT_BYTES, end - at))
        value = 0
        for place, byte in enumerate(raw):
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                if value >= 1 << 64:
                    raise HeaderError(f"{what} has a number of more than 64 bits", offset=at)
                return value, at + place + 1
        if len(raw) < VARINT_BYTES:
            raise TruncatedFileError(
                f"{what} ends within a number; the file is damaged or cut short", offset=at
            )
        raise HeaderError(f"{what} has a number of more than 10 bytes", offset=at)

    def _bytes(self, at: int, count: int) -> bytes:
        start = at - self._base
        if start < 0 or start + count > len(self._window):
            fetched = min(max(count, WINDOW), self.file.size - at)
            self._window = self.file.read_at(at, fetched)
            self._base, start = at, 0
        return self._window[start : start + count]


def varints(raw: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """All numbers of a packed run of varints, as 64-bit words.

    Raises HeaderError if the run ends within a number or one has more than 64 bits.
    """
    data = np.frombuffer(raw, np.uint8)
    if not data.size:
        return np.empty(0, np.uint64)
    if data[-1] & 0x80:
        raise HeaderError("a list of numbers ends within a number")
    ends = np.flatnonzero(data < 0x80)
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if int(lengths.max()) > VARINT_BYTES:
        raise HeaderError("a list of numbers has one of more than 10 bytes")
    found = np.zeros(ends.size, np.uint64)
    for place in range(int(lengths.max())):
        has = np.flatnonzero(lengths > place)
        part = (data[starts[has] + place] & 0x7F).astype(np.uint64)
        if place == VARINT_BYTES - 1 and int(part.max()) > 1:
            raise HeaderError("a list of numbers has one of more than 64 bits")
        found[has] |= part << np.uint64(7 * place)
    return found
