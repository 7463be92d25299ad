"""Decoding the CBOR of Rudapack headers without trusting a length, a depth or a tag.

Only what such a header can hold is decoded: integers, text, byte strings, arrays, maps, floats,
booleans and null, of definite or indefinite length. No recursion, no tags, no shared references.
"""

from __future__ import annotations

import struct
from typing import Any

from ruda.errors import HeaderError, TruncatedFileError

MAX_DEPTH = 128
_FLOATS = {25: struct.Struct(">e"), 26: struct.Struct(">f"), 27: struct.Struct(">d")}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}
_BREAK = object()
_UINT, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _OTHER = range(8)


class _Open:
    """An array or map that is being filled; ``left`` counts items still to come, -1 for unknown."""

    __slots__ = ("is_map", "items", "left")

    def __init__(self, is_map: bool, left: int) -> None:
        self.is_map = is_map
        self.items: list[Any] = []
        self.left = left


def decode(raw: bytes, *, base: int = 0) -> Any:
    """The single value that ``raw`` holds; ``base`` is added to offsets in errors.

    Raises HeaderError, or TruncatedFileError where a length reaches past the end. Allocates no
    more than the bytes that are there.
    """
    return _Decoder(raw, base).run()


class _Decoder:
    def __init__(self, raw: bytes, base: int) -> None:
        self.raw = raw
        self.base = base
        self.at = 0
        self.open: list[_Open] = []

    def run(self) -> Any:
        while True:
            value = self._item()
            if isinstance(value, _Open):
                if len(self.open) >= MAX_DEPTH:
                    raise self._bad(f"values are nested deeper than {MAX_DEPTH} levels")
                self.open.append(value)
                if value.left:
                    continue
                value = self._close()
            elif value is _BREAK:
                if not self.open or self.open[-1].left >= 0:
                    raise self._bad("a break ends nothing")
                value = self._close()
            while self.open:
                top = self.open[-1]
                top.items.append(value)
                top.left -= 1 if top.left > 0 else 0
                if top.left:
                    break
                value = self._close()
            else:
                if self.at != len(self.raw):
                    raise self._bad(f"{len(self.raw) - self.at} bytes follow the value")
                return value

    def _close(self) -> Any:
        done = self.open.pop()
        if not done.is_map:
            return done.items
        if len(done.items) % 2:
            raise self._bad("a map ends after a key without value")
        found: dict[str, Any] = {}
        for key, value in zip(done.items[::2], done.items[1::2], strict=True):
            if not isinstance(key, str):
                raise self._bad(f"a map key is {type(key).__name__}, expected text")
            if key in found:
                raise self._bad(f"the map key {key!r} appears twice")
            found[key] = value
        return found

    def _item(self) -> Any:
        first = self._take(1)[0]
        major, info = first >> 5, first & 31
        if major == _OTHER:
            return self._other(info)
        if info == 31 and major in (_BYTES, _TEXT):
            return self._pieces(major)
        if info == 31 and major in (_ARRAY, _MAP):
            return _Open(major == _MAP, -1)
        number = self._number(info)
        if major == _UINT:
            return number
        if major == _NEGATIVE:
            return -1 - number
        if major == _BYTES:
            return self._take(number)
        if major == _TEXT:
            return self._text(number)
        if major == _TAG:
            raise self._bad(f"CBOR tag {number} has no place in this header")
        count = number * 2 if major == _MAP else number
        if count > len(self.raw) - self.at:
            raise self._short(f"{count} values are announced")
        return _Open(major == _MAP, count)

    def _number(self, info: int) -> int:
        if info < 24:
            return info
        if info > 27:
            raise self._bad(f"the length code {info} is not defined")
        return int.from_bytes(self._take(1 << (info - 24)), "big")

    def _text(self, count: int) -> str:
        try:
            return self._take(count).decode()
        except UnicodeDecodeError:
            raise self._bad("text is not valid UTF-8") from None

    def _pieces(self, major: int) -> Any:
        parts: list[Any] = []
        while True:
            first = self._take(1)[0]
            if first == 0xFF:
                return "".join(parts) if major == _TEXT else b"".join(parts)
            if first >> 5 != major or first & 31 == 31:
                raise self._bad("a string of unknown length holds something else")
            count = self._number(first & 31)
            parts.append(self._text(count) if major == _TEXT else self._take(count))

    def _other(self, info: int) -> Any:
        if info == 31:
            return _BREAK
        if info in _SIMPLE:
            return _SIMPLE[info]
        if info in _FLOATS:
            code = _FLOATS[info]
            return code.unpack(self._take(code.size))[0]
        raise self._bad(f"the simple value {info} is not defined here")

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.raw):
            raise self._short(f"{count} bytes are announced")
        found = self.raw[self.at : end]
        self.at = end
        return found

    def _bad(self, why: str) -> HeaderError:
        return HeaderError(f"the metadata is not valid CBOR: {why}", offset=self.base + self.at)

    def _short(self, what: str) -> TruncatedFileError:
        left = len(self.raw) - self.at
        return TruncatedFileError(
            f"the metadata is not valid CBOR: {what}, but {left} bytes are left",
            offset=self.base + self.at,
        )
