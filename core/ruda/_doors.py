"""Front doors that open a room's modules when their names are first asked for.

A room such as ``ruda.store`` has a hundred public names in forty modules, and a script that opens
one file needs a few of them. The names and their modules stand in a table; type checkers read the
imports beside it, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_door(
    room: dict[str, Any], homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a room. ``room`` is its ``globals()``.

    ``homes`` maps the name of a module of the room to the public names that are in it. A name that
    was asked for once is an ordinary attribute afterwards.
    """
    package = room["__name__"]
    where = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        module = where.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        room[name] = found = getattr(import_module(f"{package}.{module}"), name)
        return found

    def names() -> list[str]:
        return sorted(where)

    return get, names
