"""A pickle machine that can only build inert values: protocols 0 to 5, nothing executed.

It is an explicit stack machine over the bytes. Names stay names, calls of the few functions that
PyTorch's files need are computed here, calls of classes become ``Opaque`` objects, and everything
else is noted and refused at the end, so that the error can list all of it. Work, nesting and
memory are bounded by counting; no content makes it recurse.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from ruda.errors import (
    FormatError,
    HeaderError,
    TruncatedFileError,
    UnsafeContentError,
    UnsupportedContentError,
)
from ruda.progress import SILENT, Monitor
from ruda.store.formats._pickle_names import (
    GlobalName,
    acts,
    current,
    forbidden_state,
    may_be_called,
)
from ruda.store.formats._pickle_values import PLAIN, Opaque, Rebuild, Table

MAX_PROTOCOL = 5
MAX_WORK = 40_000_000
"""Instructions and copied items that one pickle may take; a million tensors need so many."""
MAX_INT_BYTES = 1024
MAX_DIGITS = 2500
_CHECK_EVERY = 1 << 16
_MARK = object()
_NEW = frozenset(("copyreg._reconstructor", "copyreg.__newobj__", "copyreg.__newobj_ex__"))
_SCALARS = (str, int, float, bool, bytes, type(None), GlobalName)


def unsafe(names: Mapping[str, int], cause: FormatError | None = None) -> UnsafeContentError:
    """The error that lists what a pickle wanted to run."""
    listed = ", ".join(sorted(names))
    error = UnsafeContentError(
        f"the pickle in it asks for {listed}, which could run code; nothing was run, and the file "
        "is refused",
        names=sorted(names),
        offset=min(names.values()),
    )
    error.__cause__ = cause
    return error


class PickleMachine:
    """Runs one pickle out of ``raw``; ``run`` gives the value and leaves ``at`` behind STOP.

    ``rebuild`` maps full names to functions that compute the result of a call; ``persistent``
    turns persistent ids into values; ``base`` is added to offsets in errors.
    """

    def __init__(
        self,
        raw: bytes,
        *,
        at: int = 0,
        base: int = 0,
        rebuild: Mapping[str, Rebuild] | None = None,
        persistent: Callable[[Any], Any] | None = None,
        known: Callable[[str], bool] = lambda _: False,
        monitor: Monitor = SILENT,
    ) -> None:
        self.raw = raw
        self.at = at
        self.base = base
        self.work = 0
        self.foreign: dict[str, int] = {}
        """Names that mean nothing here, with the place of their first use."""
        self._start = at
        self._rebuild = {**PLAIN, **(rebuild or {})}
        self._persistent = persistent
        self._known = known
        self._monitor = monitor
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._refused: dict[str, int] = {}
        self._names: dict[tuple[str, str], GlobalName] = {}

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
        while True:
            if self.at >= end:
                raise self._short("an instruction")
            op = raw[self.at]
            self.at += 1
            if op == 0x2E:  # STOP
                value = self._pop()
                if stack:
                    self._bad("the pickle ends with values left over")
                return value
            step = table[op]
            if step is None:
                self.at -= 1
                self._bad(f"{op:#04x} is no pickle instruction")
            self.charge(1)
            step(self)

    def charge(self, amount: int) -> None:
        """Count work; raises UnsupportedContentError beyond the limit, Cancelled when asked to."""
        before = self.work
        self.work += amount
        if self.work > MAX_WORK:
            raise UnsupportedContentError(
                f"the pickle takes more than {MAX_WORK} steps to read", offset=self.base + self.at
            )
        if before // _CHECK_EVERY != self.work // _CHECK_EVERY:
            self._monitor.check()

    # Bytes

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.raw):
            raise self._short(f"{count} bytes")
        found = self.raw[self.at : end]
        self.at = end
        return found

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def _counted(self, size: int) -> bytes:
        return self._take(self._number(size))

    def _line(self) -> str:
        end = self.raw.find(b"\n", self.at)
        if end < 0:
            raise self._short("a line")
        found = self.raw[self.at : end]
        self.at = end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            return found.decode("latin-1")

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self._bad("text is not valid UTF-8")

    def _old_text(self, raw: bytes) -> str | bytes:
        """Python 2's ``str``: text where it is ASCII, bytes where it is not."""
        try:
            return raw.decode("ascii")
        except UnicodeDecodeError:
            return raw

    def _bad(self, why: str) -> NoReturn:
        raise HeaderError(f"the pickle is damaged: {why}", offset=self.base + self.at)

    def _short(self, what: str) -> TruncatedFileError:
        return TruncatedFileError(
            f"the pickle ends early: {what} should follow",
            offset=self.base + min(self.at, len(self.raw)),
        )

    # Stack

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            self._bad("an instruction finds no value to work on")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            self._bad("an instruction finds no value to work on")
        return self._stack[-1]

    def _since_mark(self) -> list[Any]:
        stack = self._stack
        at = len(stack) - 1
        while at >= 0 and stack[at] is not _MARK:
            at -= 1
        if at < 0:
            self._bad("an instruction needs a mark, and there is none")
        found = stack[at + 1 :]
        del stack[at:]
        return found

    def _key(self, value: Any) -> Any:
        """A dict key that can be hashed without walking into nested content."""
        if isinstance(value, (*_SCALARS, Opaque)):
            return value
        if isinstance(value, tuple) and all(isinstance(v, _SCALARS) for v in value):
            self.charge(len(value))
            return value
        if isinstance(value, tuple):
            return Opaque("builtins.tuple", value)
        self._bad(f"a {type(value).__name__} is used as a dict key")

    # Names, calls, objects

    def _name(self, module: str, name: str) -> GlobalName:
        module = current(module)
        found = self._names.get((module, name))
        if found is None:
            found = self._names[module, name] = GlobalName(module, name)
            if acts(found):
                self.refuse(found.full)
            elif found.full not in self._rebuild and not self._known(found.full):
                self.foreign.setdefault(found.full, self.base + self.at)
        return found

    def refuse(self, name: str) -> None:
        """Note that the pickle asks for this; ``run`` raises in the end."""
        self._refused.setdefault(name, self.base + self.at)

    def call(self, func: Any, args: Any) -> Any:
        """The result of calling a name: computed, or an inert object, or noted as refused."""
        if not isinstance(func, GlobalName):
            self._bad(f"a {type(func).__name__} is called")
        if not isinstance(args, tuple):
            self._bad(f"{func.full} is called with a {type(args).__name__}, expected a tuple")
        rebuild = self._rebuild.get(func.full)
        if rebuild is not None:
            for value in args[:2]:
                if isinstance(value, (list, dict, tuple)):
                    self.charge(len(value))
                elif isinstance(value, (str, bytes)):
                    self.charge(len(value) >> 6)
            try:
                with self._placed():
                    return rebuild(args)
            except FormatError:
                raise
            except (ValueError, TypeError, LookupError):
                self._bad(f"{func.full} is called with unexpected values")
        if func.full in _NEW and args:
            return self.new(args[0], args[1:])
        if not may_be_called(func):
            self.refuse(func.full)
        return Opaque(func.full, args)

    def new(self, cls: Any, args: Any) -> Any:
        """An inert object of a class; a plain container where the class is one."""
        if not isinstance(cls, GlobalName):
            self._bad(f"a {type(cls).__name__} is used as a class")
        if not isinstance(args, tuple):
            self._bad(f"{cls.full} is made from a {type(args).__name__}, expected a tuple")
        if cls.full in self._rebuild:
            return self.call(cls, args)
        return Opaque(cls.full, args)

    def build(self, target: Any, state: Any) -> None:
        """Give an object its state; one that would change its class is noted as refused."""
        changed = forbidden_state(state)
        if changed is not None:
            cls = target.cls if isinstance(target, Opaque) else type(target).__name__
            self.refuse(f"{cls}.{changed}")
        if isinstance(target, Opaque):
            target.state = state if target.state is None else (target.state, state)
        elif isinstance(target, Table):
            target.attributes = state
        elif isinstance(target, GlobalName):
            self.refuse(f"{target.full}.__dict__")
        elif target is None or isinstance(target, _SCALARS):
            self._bad(f"a {type(target).__name__} is given a state")

    def fill(self, target: Any, pairs: list[Any]) -> None:
        """Put keys and values, alternating, into a dict or a dict-like object."""
        if len(pairs) % 2:
            self._bad("a dict gets a key without a value")
        table = target.table if isinstance(target, Opaque) else target
        if not isinstance(table, dict):
            self._bad(f"a {type(target).__name__} is filled like a dict")
        for at in range(0, len(pairs), 2):
            table[self._key(pairs[at])] = pairs[at + 1]

    def extend(self, target: Any, values: list[Any]) -> None:
        """Append values to a list or a list-like object."""
        entries = target.entries if isinstance(target, Opaque) else target
        if not isinstance(entries, list):
            self._bad(f"a {type(target).__name__} is extended like a list")
        entries.extend(values)

    def resolve(self, value: Any) -> Any:
        """What a persistent id stands for."""
        if self._persistent is None:
            self._bad("a persistent id has no meaning here")
        with self._placed():
            return self._persistent(value)

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Give an error of what a call stands for the place of the call."""
        try:
            yield
        except FormatError as error:
            if error.offset is not None or isinstance(error, UnsafeContentError):
                raise
            raise type(error)(error.reason, offset=self.base + self.at) from error

    # Instructions

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
        line = self._line().strip()
        if len(line) < 2 or line[0] not in "\"'" or line[-1] != line[0]:
            self._bad("a string has no quotes")
        try:
            raw = line[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1")
        except UnicodeError:
            self._bad("a string has an escape that is not valid")
        self._push(self._old_text(raw))

    def _raw_unicode(self) -> None:
        line = self._line()
        try:
            self._push(line.encode("latin-1").decode("raw_unicode_escape"))
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


def _table() -> list[Callable[[PickleMachine], Any] | None]:
    """The instruction set: one function for each of the 256 bytes, or None."""
    m = PickleMachine
    double = struct.Struct(">d")
    steps: dict[bytes, Callable[[PickleMachine], Any]] = {
        b"\x80": m._proto,
        b"\x95": m._frame,
        b"N": lambda s: s._push(None),
        b"\x88": lambda s: s._push(True),
        b"\x89": lambda s: s._push(False),
        b"I": m._int,
        b"L": m._long,
        b"F": m._float,
        b"J": lambda s: s._push(int.from_bytes(s._take(4), "little", signed=True)),
        b"K": lambda s: s._push(s._number(1)),
        b"M": lambda s: s._push(s._number(2)),
        b"\x8a": lambda s: s._big_int(1),
        b"\x8b": lambda s: s._big_int(4),
        b"G": lambda s: s._push(double.unpack(s._take(8))[0]),
        b"S": m._quoted,
        b"T": lambda s: s._push(s._old_text(s._counted(4))),
        b"U": lambda s: s._push(s._old_text(s._counted(1))),
        b"V": m._raw_unicode,
        b"X": lambda s: s._push(s._text(s._counted(4))),
        b"\x8c": lambda s: s._push(s._text(s._counted(1))),
        b"\x8d": lambda s: s._push(s._text(s._counted(8))),
        b"B": lambda s: s._push(s._counted(4)),
        b"C": lambda s: s._push(s._counted(1)),
        b"\x8e": lambda s: s._push(s._counted(8)),
        b"\x96": lambda s: s._push(s._counted(8)),
        b"\x97": m._buffer,
        b"\x98": m._buffer,
        b")": lambda s: s._push(()),
        b"t": lambda s: s._push(tuple(s._since_mark())),
        b"\x85": lambda s: s._tuple_of(1),
        b"\x86": lambda s: s._tuple_of(2),
        b"\x87": lambda s: s._tuple_of(3),
        b"]": lambda s: s._push([]),
        b"l": lambda s: s._push(s._since_mark()),
        b"a": m._append,
        b"e": m._appends,
        b"}": lambda s: s._push({}),
        b"d": m._since_mark_pairs,
        b"s": m._setitem,
        b"u": m._setitems,
        b"\x8f": lambda s: s._push(Opaque("builtins.set")),
        b"\x90": m._appends,
        b"\x91": lambda s: s._push(Opaque("builtins.frozenset", entries=s._since_mark())),
        b"(": lambda s: s._stack.append(_MARK),
        b"0": m._drop,
        b"1": lambda s: s._since_mark(),
        b"2": lambda s: s._push(s._top()),
        b"g": lambda s: s._get(s._slot()),
        b"h": lambda s: s._get(s._number(1)),
        b"j": lambda s: s._get(s._number(4)),
        b"p": lambda s: s._put(s._slot()),
        b"q": lambda s: s._put(s._number(1)),
        b"r": lambda s: s._put(s._number(4)),
        b"\x94": lambda s: s._put(len(s._memo)),
        b"\x82": lambda s: s._extension(1),
        b"\x83": lambda s: s._extension(2),
        b"\x84": lambda s: s._extension(4),
        b"c": m._global,
        b"\x93": m._stack_global,
        b"R": m._reduce,
        b"b": m._build,
        b"i": m._inst,
        b"o": m._obj,
        b"\x81": m._newobj,
        b"\x92": m._newobj_ex,
        b"P": lambda s: s._push(s.resolve(s._line())),
        b"Q": lambda s: s._push(s.resolve(s._pop())),
    }
    table: list[Callable[[PickleMachine], Any] | None] = [None] * 256
    for code, step in steps.items():
        table[code[0]] = step
    return table


_TABLE = _table()
