"""A pickle machine that can only build inert values: protocols 0 to 5, nothing executed.

It is an explicit stack machine over the bytes. Names stay names, calls of the few functions that
PyTorch's files need are computed here, calls of classes become ``Opaque`` objects, and everything
else is noted and refused at the end, so that the error can list all of it. Work, nesting and
memory are bounded by counting; no content makes it recurse.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from ruda.errors import FormatError, UnsafeContentError, UnsupportedContentError
from ruda.store.formats._pickle_names import GlobalName
from ruda.store.formats._pickle_stack import MARK, PickleStack, unsafe
from ruda.store.formats._pickle_values import Opaque

MAX_PROTOCOL = 5
MAX_INT_BYTES = 1024
MAX_DIGITS = 2500
STOP = 0x2E
BATCH = 256
"""How many instructions are counted, and may be stopped, at a time."""
_DOUBLE = struct.Struct(">d")


class PickleMachine(PickleStack):
    """Runs one pickle out of ``raw``; ``run`` gives the value and leaves ``at`` behind STOP."""

    def run(self) -> Any:
        """The value that the pickle describes.

        Raises UnsafeContentError naming everything that would act, else HeaderError or
        TruncatedFileError for bytes that are no pickle, UnsupportedContentError beyond a limit.
        """
        try:
            value = self._loop()
        except FormatError as error:
            if self._refused and not isinstance(error, UnsafeContentError):
                raise unsafe(self._refused, error) from error
            raise
        if self._refused:
            raise unsafe(self._refused)
        return value

    def _loop(self) -> Any:
        raw, table, stack = self.raw, _TABLE, self._stack
        end = len(raw)
        count = 0
        while True:
            if self.at >= end:
                raise self._short("an instruction")
            op = raw[self.at]
            self.at += 1
            count += 1
            if count == BATCH or op == STOP:
                self.charge(count)
                count = 0
            if op == STOP:
                value = self._pop()
                if stack:
                    self._bad("the pickle ends with values left over")
                return value
            step = table[op]
            if step is None:
                self.at -= 1
                self._bad(f"{op:#04x} is no pickle instruction")
            step(self)

    def _proto(self) -> None:
        version = self._number(1)
        if version > MAX_PROTOCOL:
            raise UnsupportedContentError(
                f"the pickle has protocol {version}, and Ruda reads up to {MAX_PROTOCOL}",
                offset=self.base + self.at,
            )

    def _frame(self) -> None:
        size = self._number(8)
        if size > len(self.raw) - self.at:
            raise self._short(f"a frame of {size} bytes")

    def _int(self) -> None:
        line = self._line()
        if line in ("00", "01"):
            self._push(line == "01")
        else:
            self._push(self._decimal(line))

    def _long(self) -> None:
        self._push(self._decimal(self._line().removesuffix("L")))

    def _decimal(self, line: str) -> int:
        if len(line) > MAX_DIGITS:
            self._bad(f"a whole number has {len(line)} digits")
        try:
            return int(line)
        except ValueError:
            self._bad(f"{line[:40]!r} is no whole number")

    def _float(self) -> None:
        line = self._line()
        try:
            self._push(float(line))
        except ValueError:
            self._bad(f"{line[:40]!r} is no number")

    def _big_int(self, size: int) -> None:
        count = self._number(size)
        if count > MAX_INT_BYTES:
            self._bad(f"a whole number of {count} bytes")
        self._push(int.from_bytes(self._take(count), "little", signed=True))

    def _quoted(self) -> None:
        line = self._raw_line().strip()
        if len(line) < 2 or line[:1] not in (b'"', b"'") or line[-1:] != line[:1]:
            self._bad("a string has no quotes")
        try:
            raw = line[1:-1].decode("unicode_escape").encode("latin-1")
        except UnicodeError:
            self._bad("a string has an escape that is not valid")
        self._push(self._old_text(raw))

    def _raw_unicode(self) -> None:
        line = self._raw_line()
        try:
            self._push(line.decode("raw_unicode_escape"))
        except UnicodeError:
            self._bad("a text has an escape that is not valid")

    def _tuple_of(self, count: int) -> None:
        values = [self._pop() for _ in range(count)]
        self._push(tuple(reversed(values)))

    def _since_mark_pairs(self) -> None:
        pairs = self._since_mark()
        table: dict[Any, Any] = {}
        self.fill(table, pairs)
        self._push(table)

    def _setitem(self) -> None:
        value, key = self._pop(), self._pop()
        self.fill(self._top(), [key, value])

    def _setitems(self) -> None:
        pairs = self._since_mark()
        self.fill(self._top(), pairs)

    def _append(self) -> None:
        value = self._pop()
        self.extend(self._top(), [value])

    def _appends(self) -> None:
        values = self._since_mark()
        self.extend(self._top(), values)

    def _drop(self) -> None:
        if not self._stack:
            self._bad("an instruction finds no value to work on")
        self._stack.pop()

    def _get(self, slot: int) -> None:
        try:
            self._push(self._memo[slot])
        except KeyError:
            self._bad(f"memo slot {slot} is read before it is written")

    def _put(self, slot: int) -> None:
        self._memo[slot] = self._top()

    def _slot(self) -> int:
        return self._decimal(self._line())

    def _extension(self, size: int) -> None:
        self.refuse(f"copyreg.extension({self._number(size)})")
        self._push(GlobalName("copyreg", "extension"))

    def _global(self) -> None:
        module = self._line()
        self._push(self._name(module, self._line()))

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            self._bad("a name is not made of two texts")
        self._push(self._name(module, name))

    def _reduce(self) -> None:
        args, func = self._pop(), self._pop()
        self._push(self.call(func, args))

    def _build(self) -> None:
        state = self._pop()
        self.build(self._top(), state)

    def _inst(self) -> None:
        module = self._line()
        cls = self._name(module, self._line())
        self._push(self.call(cls, tuple(self._since_mark())))

    def _obj(self) -> None:
        values = self._since_mark()
        if not values:
            self._bad("an object has no class")
        self._push(self.call(values[0], tuple(values[1:])))

    def _newobj(self) -> None:
        args, cls = self._pop(), self._pop()
        self._push(self.new(cls, args))

    def _newobj_ex(self) -> None:
        keywords, args, cls = self._pop(), self._pop(), self._pop()
        made = self.new(cls, args)
        if isinstance(made, Opaque) and isinstance(keywords, dict):
            made.state = keywords
        self._push(made)

    def _buffer(self) -> None:
        raise UnsupportedContentError(
            "the pickle keeps data outside itself (out-of-band buffers)", offset=self.base + self.at
        )


_STEPS: dict[bytes, Callable[[PickleMachine], Any]] = {
    b"\x80": PickleMachine._proto,
    b"\x95": PickleMachine._frame,
    b"N": lambda s: s._push(None),
    b"\x88": lambda s: s._push(True),
    b"\x89": lambda s: s._push(False),
    b"I": PickleMachine._int,
    b"L": PickleMachine._long,
    b"F": PickleMachine._float,
    b"J": lambda s: s._push(int.from_bytes(s._take(4), "little", signed=True)),
    b"K": lambda s: s._push(s._byte()),
    b"M": lambda s: s._push(s._number(2)),
    b"\x8a": lambda s: s._big_int(1),
    b"\x8b": lambda s: s._big_int(4),
    b"G": lambda s: s._push(_DOUBLE.unpack(s._take(8))[0]),
    b"S": PickleMachine._quoted,
    b"T": lambda s: s._push(s._old_text(s._counted(4))),
    b"U": lambda s: s._push(s._old_text(s._counted(1))),
    b"V": PickleMachine._raw_unicode,
    b"X": lambda s: s._push(s._text(s._counted(4))),
    b"\x8c": lambda s: s._push(s._text(s._counted(1))),
    b"\x8d": lambda s: s._push(s._text(s._counted(8))),
    b"B": lambda s: s._push(s._counted(4)),
    b"C": lambda s: s._push(s._counted(1)),
    b"\x8e": lambda s: s._push(s._counted(8)),
    b"\x96": lambda s: s._push(s._counted(8)),
    b"\x97": PickleMachine._buffer,
    b"\x98": PickleMachine._buffer,
    b")": lambda s: s._push(()),
    b"t": lambda s: s._push(tuple(s._since_mark())),
    b"\x85": lambda s: s._tuple_of(1),
    b"\x86": lambda s: s._tuple_of(2),
    b"\x87": lambda s: s._tuple_of(3),
    b"]": lambda s: s._push([]),
    b"l": lambda s: s._push(s._since_mark()),
    b"a": PickleMachine._append,
    b"e": PickleMachine._appends,
    b"}": lambda s: s._push({}),
    b"d": PickleMachine._since_mark_pairs,
    b"s": PickleMachine._setitem,
    b"u": PickleMachine._setitems,
    b"\x8f": lambda s: s._push(Opaque("builtins.set")),
    b"\x90": PickleMachine._appends,
    b"\x91": lambda s: s._push(Opaque("builtins.frozenset", entries=s._since_mark())),
    b"(": lambda s: s._stack.append(MARK),
    b"0": PickleMachine._drop,
    b"1": lambda s: s._since_mark(),
    b"2": lambda s: s._push(s._top()),
    b"g": lambda s: s._get(s._slot()),
    b"h": lambda s: s._get(s._byte()),
    b"j": lambda s: s._get(s._number(4)),
    b"p": lambda s: s._put(s._slot()),
    b"q": lambda s: s._put(s._byte()),
    b"r": lambda s: s._put(s._number(4)),
    b"\x94": lambda s: s._put(len(s._memo)),
    b"\x82": lambda s: s._extension(1),
    b"\x83": lambda s: s._extension(2),
    b"\x84": lambda s: s._extension(4),
    b"c": PickleMachine._global,
    b"\x93": PickleMachine._stack_global,
    b"R": PickleMachine._reduce,
    b"b": PickleMachine._build,
    b"i": PickleMachine._inst,
    b"o": PickleMachine._obj,
    b"\x81": PickleMachine._newobj,
    b"\x92": PickleMachine._newobj_ex,
    b"P": lambda s: s._push(s.resolve(s._line())),
    b"Q": lambda s: s._push(s.resolve(s._pop())),
}

_TABLE: list[Callable[[PickleMachine], Any] | None] = [None] * 256
for _code, _step in _STEPS.items():
    _TABLE[_code[0]] = _step
