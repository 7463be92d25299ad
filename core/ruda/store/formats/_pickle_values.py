"""Inert values that a pickle is turned into, and the few calls that build plain ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Table(dict[Any, Any]):
    """A dict that a pickle built by name (OrderedDict, defaultdict) and its attributes."""

    __slots__ = ("attributes",)

    def __init__(self, pairs: Any = ()) -> None:
        super().__init__(pairs)
        self.attributes: Any = None

    __hash__ = None


@dataclass(slots=True, eq=False)
class Opaque:
    """An object of a class that is not loaded: what was passed to it, and nothing more."""

    cls: str
    args: tuple[Any, ...] = ()
    state: Any = None
    table: dict[Any, Any] = field(default_factory=dict)
    entries: list[Any] = field(default_factory=list)


Rebuild = Callable[[tuple[Any, ...]], Any]


def _pairs(args: tuple[Any, ...]) -> Table:
    """OrderedDict, from nothing, a dict, or a list of pairs."""
    if not args:
        return Table()
    if isinstance(args[0], dict):
        return Table(args[0])
    table = Table()
    for pair in args[0]:
        key, value = pair
        if not isinstance(key, (str, int, float, bool, bytes)):
            raise TypeError("an unexpected key")
        table[key] = value
    return table


def _codec(args: tuple[Any, ...]) -> bytes:
    text, codec = args[0], args[1] if len(args) > 1 else "utf-8"
    if not isinstance(text, str) or codec not in ("latin1", "latin-1", "utf-8", "utf8", "ascii"):
        raise TypeError("an unexpected codec")
    return text.encode(codec)


def _entries(name: str) -> Rebuild:
    def rebuild(args: tuple[Any, ...]) -> Opaque:
        return Opaque(name, entries=list(args[0]) if args else [])

    return rebuild


def _octets(args: tuple[Any, ...]) -> bytes:
    if not args:
        return b""
    if isinstance(args[0], bytes):
        return args[0]
    if isinstance(args[0], str):
        return _codec(args)
    raise TypeError("bytes are made from something else")


PLAIN: dict[str, Rebuild] = {
    "collections.OrderedDict": _pairs,
    "collections.Counter": _pairs,
    "collections.defaultdict": lambda args: Table(),
    "collections.deque": lambda args: list(args[0]) if args else [],
    "builtins.dict": _pairs,
    "builtins.list": lambda args: list(args[0]) if args else [],
    "builtins.tuple": lambda args: tuple(args[0]) if args else (),
    "builtins.set": _entries("builtins.set"),
    "builtins.frozenset": _entries("builtins.frozenset"),
    "builtins.bytearray": _octets,
    "builtins.bytes": _octets,
    "_codecs.encode": _codec,
    "torch.Size": lambda args: tuple(args[0]) if args else (),
}
