"""What the instructions of a pickle work on: bytes, a stack, a memo, names, calls and objects."""

from __future__ import annotations

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

MAX_WORK = 40_000_000
"""Instructions and copied items that one pickle may take; a million tensors need so many."""
CHECK_EVERY = 1 << 14
FREE_COPIES = 16 << 20
ITEM_BYTES = 64
"""What an item of a copied container takes; a pickle needs at least one byte to write it."""
TEXT_WEIGHT = 16
"""Letters and bytes count this much of it: they take in memory what they take in the pickle."""
MARK = object()
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


class PickleStack:
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
        self._copied = 0
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

    def charge(self, amount: int) -> None:
        """Count work; raises UnsupportedContentError beyond the limit, Cancelled when asked to."""
        before = self.work
        self.work += amount
        if self.work > MAX_WORK:
            raise UnsupportedContentError(
                f"the pickle takes more than {MAX_WORK} steps to read", offset=self.base + self.at
            )
        if before // CHECK_EVERY != self.work // CHECK_EVERY:
            self._monitor.check()

    # Bytes

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.raw):
            raise self._short(f"{count} bytes")
        found = self.raw[self.at : end]
        self.at = end
        return found

    def _byte(self) -> int:
        at = self.at
        if at >= len(self.raw):
            raise self._short("a byte")
        self.at = at + 1
        return self.raw[at]

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def _counted(self, size: int) -> bytes:
        return self._take(self._number(size))

    def _raw_line(self) -> bytes:
        end = self.raw.find(b"\n", self.at)
        if end < 0:
            raise self._short("a line")
        found = self.raw[self.at : end]
        self.at = end + 1
        return found

    def _line(self) -> str:
        found = self._raw_line()
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
        if not self._stack or self._stack[-1] is MARK:
            self._bad("an instruction finds no value to work on")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack or self._stack[-1] is MARK:
            self._bad("an instruction finds no value to work on")
        return self._stack[-1]

    def _since_mark(self) -> list[Any]:
        stack = self._stack
        at = len(stack) - 1
        while at >= 0 and stack[at] is not MARK:
            at -= 1
        if at < 0:
            self._bad("an instruction needs a mark, and there is none")
        found = stack[at + 1 :]
        del stack[at:]
        return found

    def _key(self, value: Any) -> Any:
        """A dict key that can be hashed without walking into nested content."""
        if not isinstance(value, (tuple, list, dict)):
            return value  # scalars, and inert things that are known by what they are
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
            self._charge_copies(args[:2])
            try:
                with self._placed():
                    return rebuild(args)
            except FormatError:
                raise
            except (ValueError, TypeError, LookupError, ArithmeticError):
                self._bad(f"{func.full} is called with unexpected values")
        if func.full in _NEW and args:
            return self.new(args[0], args[1:])
        if not may_be_called(func):
            self.refuse(func.full)
        return Opaque(func.full, args)

    def _charge_copies(self, values: tuple[Any, ...]) -> None:
        """Count what a call may copy of its arguments: an honest pickle copies each part once."""
        for value in values:
            if isinstance(value, (list, dict, tuple)):
                self.charge(len(value))
                self._copied += ITEM_BYTES * len(value)
            elif isinstance(value, (str, bytes)):
                self._copied += TEXT_WEIGHT * len(value)
        if self._copied > FREE_COPIES + ITEM_BYTES * len(self.raw):
            raise UnsupportedContentError(
                "the pickle copies its own parts again and again; it would only fill the memory",
                offset=self.base + self.at,
            )

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
