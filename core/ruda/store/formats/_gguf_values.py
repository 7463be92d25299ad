"""Reading the header of a GGUF file: numbers, texts and typed metadata values, as text.

No length, count or depth of the file is trusted: each is compared with the bytes that are left.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ruda.errors import HeaderError, TruncatedFileError, UnsupportedContentError
from ruda.store.bytefile import ByteFile

WINDOW = 64 << 10
"""Bytes that are fetched at a time."""
MAX_DEPTH = 8
"""Deepest nesting of lists; known files have one level."""
NAME_LIMIT = 64 << 10
SHOWN_ITEMS = 8
"""Items of a longer list that its summary shows."""
WHOLE_ITEMS = 16
"""Longest list of numbers that is shown whole."""
SHOWN_TEXT = 40
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d"}
_BOOL, _TEXT, _LIST = 7, 8, 9
_WORDS = {_BOOL: "truth values", _TEXT: "texts", _LIST: "lists", 6: "f32", 12: "f64"}
_LEAST = {_BOOL: 1, _TEXT: 8, _LIST: 12}


class HeaderReader:
    """A cursor over the start of a file, which is fetched window by window."""

    def __init__(self, file: ByteFile) -> None:
        self.file = file
        self.at = 0
        self.big_endian = False
        self._window = b""
        self._base = 0

    @property
    def left(self) -> int:
        """Bytes from the cursor to the end of the file."""
        return self.file.size - self.at

    def take(self, count: int, what: str) -> bytes:
        """The next bytes; copies. Raises TruncatedFileError naming what should stand there."""
        start = self.at - self._base
        if start + count > len(self._window):
            if count > self.left:
                raise TruncatedFileError(
                    f"{what} needs {count} bytes, but {self.left} are left; the file is damaged "
                    "or cut short",
                    offset=self.at,
                )
            self._window = self.file.read_at(self.at, min(max(count, WINDOW), self.left))
            self._base, start = self.at, 0
        self.at += count
        return self._window[start : start + count]

    def skip(self, count: int, what: str) -> None:
        """Go on behind bytes that nobody reads. Raises TruncatedFileError like ``take``."""
        if count > self.left:
            self.take(count, what)
        self.at += count
        if self.at - self._base > len(self._window):
            self._window, self._base = b"", self.at

    def number(self, code: str, what: str) -> Any:
        """One number of a struct code, in the byte order of the file."""
        order = ">" if self.big_endian else "<"
        raw = self.take(struct.calcsize(f"<{code}"), what)
        return struct.unpack(f"{order}{code}", raw)[0]

    def text(self, what: str) -> str:
        """One text that has to be UTF-8: a key or a name. Raises HeaderError if it is not."""
        length = self.number("Q", f"the length of {what}")
        at = self.at
        if length > NAME_LIMIT and length <= self.left:
            raise HeaderError(f"{what} has {length} bytes, the limit is {NAME_LIMIT}", offset=at)
        raw = self.take(length, what)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise HeaderError(f"{what} is no UTF-8: {raw[:40]!r}", offset=at) from None


def read_value(reader: HeaderReader, kind: int, key: str) -> tuple[str, Any]:
    """The text of one metadata value, and the number itself where it is one."""
    what = f"the value of {key!r}"
    if kind == _LIST:
        return _list(reader, what), None
    if kind == _TEXT:
        return _free_text(reader, what), None
    value = _scalar(reader, kind, what)
    return _spelled(kind, value), value


def _spelled(kind: int, value: Any) -> str:
    if kind == 6:
        return str(np.float32(value))
    if kind == _BOOL:
        return "true" if value else "false"
    return str(value)


def _scalar(reader: HeaderReader, kind: int, what: str) -> Any:
    at = reader.at
    if kind == _BOOL:
        (byte,) = reader.take(1, what)
        if byte > 1:
            raise HeaderError(f"{what} is a truth value of {byte}, expected 0 or 1", offset=at)
        return bool(byte)
    code = _FORMATS.get(kind)
    if code is None:
        raise HeaderError(f"{what} has the type number {kind}, and there is none", offset=at)
    return reader.number(code, what)


def _free_text(reader: HeaderReader, what: str) -> str:
    # Pieces of words in a vocabulary need not be whole characters.
    length = reader.number("Q", f"the length of {what}")
    return reader.take(length, what).decode("utf-8", "backslashreplace")


def _list(reader: HeaderReader, what: str) -> str:
    """A list in one line. Lists in lists are passed over one by one, without recursion."""
    kind, count = _list_head(reader, what)
    if kind != _LIST:
        return _flat(reader, kind, count, what)
    open_lists = [count]
    while open_lists:
        if not open_lists[-1]:
            open_lists.pop()
            continue
        open_lists[-1] -= 1
        at = reader.at
        inner, inner_count = _list_head(reader, what)
        if inner != _LIST:
            _flat(reader, inner, inner_count, what)
        elif len(open_lists) >= MAX_DEPTH:
            raise UnsupportedContentError(
                f"{what} is nested deeper than {MAX_DEPTH} levels", offset=at
            )
        else:
            open_lists.append(inner_count)
    return f"list of {count} lists"


def _list_head(reader: HeaderReader, what: str) -> tuple[int, int]:
    at = reader.at
    kind = reader.number("I", f"the item type of {what}")
    count = reader.number("Q", f"the length of {what}")
    least = _LEAST.get(kind) or (struct.calcsize(f"<{_FORMATS[kind]}") if kind in _FORMATS else 0)
    if not least:
        raise HeaderError(f"{what} is a list of type number {kind}, and there is none", offset=at)
    if count * least > reader.left:
        raise TruncatedFileError(
            f"{what} claims {count} items, but only {reader.left} bytes follow; the file is "
            "damaged or cut short",
            offset=at,
        )
    return kind, count


def _flat(reader: HeaderReader, kind: int, count: int, what: str) -> str:
    """A list of numbers or texts: whole if it is short, else its length and first items."""
    shown = count if count <= WHOLE_ITEMS else SHOWN_ITEMS
    if kind == _TEXT:
        texts = [_shortened(_free_text(reader, what)) for _ in range(shown)]
        for _ in range(count - shown):
            reader.skip(reader.number("Q", f"the length of {what}"), what)
    else:
        texts = [_spelled(kind, _scalar(reader, kind, what)) for _ in range(shown)]
        size = 1 if kind == _BOOL else struct.calcsize(f"<{_FORMATS[kind]}")
        reader.skip((count - shown) * size, what)
    listed = ", ".join(texts)
    if shown == count:
        return f"[{listed}]"
    return f"list of {count} {_WORDS.get(kind, 'whole numbers')}: {listed}, …"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= SHOWN_TEXT else text[: SHOWN_TEXT - 1] + "…")
