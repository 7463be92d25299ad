"""Plain values: what a record keeps of a program's own, and gets back exactly as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from ruda.errors import HeaderError, Place, SettingError

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""A value that survives text: numbers of any size, NaN and the infinities included."""


def to_text(name: str, values: Mapping[str, Any]) -> str:
    """A table of plain values as JSON. Raises SettingError naming the first that is not plain."""
    for key, value in values.items():
        _check(value, f"{name}[{key!r}]")
    return json.dumps(dict(values), ensure_ascii=False)


def from_text(name: str, text: str, path: Place | None) -> dict[str, Any]:
    """The table again. Raises HeaderError if the text is not one."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise HeaderError(f"the {name} of the record is not JSON: {error}", path=path) from error
    if not isinstance(found, dict):
        raise HeaderError(f"the {name} of the record is no table: {text[:40]}", path=path)
    return found


def _check(value: object, place: str) -> None:
    """Exact types only: a tuple would come back as a list, a NumPy number as Python's."""
    if value is None or type(value) in (bool, int, float, str):
        return
    if type(value) is list:
        for at, entry in enumerate(value):
            _check(entry, f"{place}[{at}]")
        return
    if type(value) is dict:
        for key, entry in value.items():
            if type(key) is not str:
                raise SettingError(f"{place} has the key {key!r}; keys are text")
            _check(entry, f"{place}[{key!r}]")
        return
    raise SettingError(
        f"{place} is of type {type(value).__name__}; a record keeps bool, int, float, str, None, "
        "and lists and dicts of these"
    )
