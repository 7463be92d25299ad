"""Decisions and policies of a recipe file; relative files of ``take`` count from its folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ruda.store.castable import cast_target
from ruda.store.decisions import Action, Change, Decision, Pad, Reshape, Slice, Take, Transpose
from ruda.store.entries import EntryReader, Place
from ruda.store.recipe import DTypePolicy, Recipe

T = TypeVar("T")


def decision_data(decision: Decision) -> dict[str, Any]:
    """The decision as plain values."""
    data: dict[str, Any] = {"key": decision.key, "action": decision.action.value}
    if decision.to is not None:
        data["to"] = str(decision.to)
    change = decision.change
    if isinstance(change, Transpose):
        data["axes"] = list(change.axes)
    elif isinstance(change, Slice):
        data |= {"axis": change.axis, "start": change.start, "stop": change.stop}
    elif isinstance(change, Pad):
        data |= {"axis": change.axis, "before": change.before, "after": change.after}
        data["value"] = change.value
    elif isinstance(change, Reshape):
        data["shape"] = list(change.shape)
    elif isinstance(change, Take):
        data |= {"file": change.file, "from": change.key}
    return data


def policy_data(policy: DTypePolicy) -> dict[str, Any]:
    """The policy as plain values."""
    data: dict[str, Any] = {"match": policy.pattern, "action": policy.action.value}
    if policy.to is not None:
        data["to"] = str(policy.to)
    return data


def read_decision(reader: EntryReader, value: Any, place: Place) -> Decision:
    """The decision of a table. Raises RecipeError with its place."""
    if not isinstance(value, dict):
        raise reader.refuse(place, f"expected a table, found {value!r}")
    action = _action(reader, value, place, {member.value: member for member in Action})
    more, make = _CHANGES.get(action, ((), None))
    table = reader.table(value, place, ("key", "action", "to", *more))
    key = reader.needed(table, "key", place)
    to = reader.dtype(table, "to", place, cast_target) if "to" in table else None
    change = None if make is None else reader.placed(place, lambda: make(reader, table, place))
    return reader.placed(place, lambda: Decision(key, action, to, change))


def read_policy(reader: EntryReader, value: Any, place: Place) -> DTypePolicy:
    """The policy of a table. Raises RecipeError with its place."""
    table = reader.table(value, place, ("match", "action", "to"))
    pattern = reader.needed(table, "match", place)
    allowed = {a.value: a for a in (Action.KEEP, Action.CAST, Action.CLAMP)}
    action = _action(reader, table, place, allowed)
    to = reader.dtype(table, "to", place, cast_target) if "to" in table else None
    return reader.placed(place, lambda: DTypePolicy(pattern, action, to))


def with_files_in(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe as read from a folder: relative files of ``take`` count from there."""
    return _with_files(recipe, lambda file: os.path.join(folder, file))


def with_files_from(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe as written into a folder: files below it are relative, others absolute."""
    inside = os.path.abspath(folder)

    def told(file: str) -> str:
        full = os.path.abspath(file)
        near = full.startswith(os.path.join(inside, ""))
        return Path(full[len(inside) :].lstrip(os.sep) if near else full).as_posix()

    return _with_files(recipe, told)


def with_absolute_files(recipe: Recipe) -> Recipe:
    """The recipe with whole paths of the files it takes from, for a text that is kept elsewhere."""
    return _with_files(recipe, os.path.abspath)


def _with_files(recipe: Recipe, told: Callable[[str], str]) -> Recipe:
    if not recipe.takes:
        return recipe
    return replace(
        recipe,
        decide=tuple(
            replace(d, change=replace(d.change, file=told(d.change.file)))
            if isinstance(d.change, Take)
            else d
            for d in recipe.decide
        ),
    )


def _action(
    reader: EntryReader, table: dict[str, Any], place: Place, known: dict[str, Action]
) -> Action:
    word = reader.needed(table, "action", place)
    if word not in known:
        raise reader.refuse((*place, "action"), f"expected {' or '.join(known)}, found {word!r}")
    return known[word]


def _transpose(reader: EntryReader, table: dict[str, Any], place: Place) -> Change:
    return Transpose(reader.numbers(table, "axes", place))


def _slice(reader: EntryReader, table: dict[str, Any], place: Place) -> Change:
    axis, start, stop = (reader.number(table, name, place) for name in ("axis", "start", "stop"))
    return Slice(axis, start, stop)


def _pad(reader: EntryReader, table: dict[str, Any], place: Place) -> Change:
    value = table.get("value")
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        found = "none is there" if value is None else f"found {value!r}"
        raise reader.refuse((*place, "value"), f"pad needs the number to fill with; {found}")
    before = reader.typed(table, "before", int, place) or 0
    after = reader.typed(table, "after", int, place) or 0
    return Pad(reader.number(table, "axis", place), before, after, value)


def _reshape(reader: EntryReader, table: dict[str, Any], place: Place) -> Change:
    if "shape" not in table:
        raise reader.refuse(place, "the entry 'shape' is missing")
    return Reshape(reader.numbers(table, "shape", place))


def _take(reader: EntryReader, table: dict[str, Any], place: Place) -> Change:
    return Take(reader.needed(table, "file", place), reader.needed(table, "from", place))


_CHANGES: dict[
    Action, tuple[tuple[str, ...], Callable[[EntryReader, dict[str, Any], Place], Change]]
] = {
    Action.TRANSPOSE: (("axes",), _transpose),
    Action.SLICE: (("axis", "start", "stop"), _slice),
    Action.PAD: (("axis", "before", "after", "value"), _pad),
    Action.RESHAPE: (("shape",), _reshape),
    Action.TAKE: (("file", "from"), _take),
}
