r"""Recipes as TOML or JSON files: versioned, unknown entries refused with their place.

format = "ruda-recipe"
version = 1
adapt = ["pytorch-to-ruda"]

[select]
regexes = ["^encoder"]
excluded = { regexes = ["num_batches_tracked$"] }

[[remap]]
from = "^module\\."
to = ""

[indices]
contiguous = true

[cast]
to = "f16"
scope = "modules"
keep = ["BatchNorm"]

[[decide]]
key = "fc.weight"
action = "skip"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from ruda.errors import DTypeError, RecipeError
from ruda.store._sibling import replace_file
from ruda.store.bytefile import ByteFile
from ruda.store.recipe import Action, CastPolicy, CastScope, Decision, Recipe, nearest_word
from ruda.store.remap import KeyRemapper, RemapRule
from ruda.store.select import PathFilter
from ruda.tensor import DType

FORMAT = "ruda-recipe"
VERSION = 1
FILE_LIMIT = 16 << 20
"""Largest recipe file that is read; real ones have a few thousand bytes."""

T = TypeVar("T")
Place = tuple[str | int, ...]


def recipe_to_data(recipe: Recipe) -> dict[str, Any]:
    """The recipe as plain dicts, lists and strings; defaults are left out.

    Raises RecipeError for what a file cannot hold: a predicate, or an adapter without a name.
    """
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if recipe.adapt:
        unnamed = [a.name for a in recipe.adapt if not isinstance(a, str)]
        if unnamed:
            raise RecipeError(
                f"the adapter {unnamed[0]!r} is an object; a recipe file holds names only",
                step="adapt",
            )
        data["adapt"] = list(recipe.adapt)
    if not recipe.select.is_empty:
        data["select"] = _filter_data(recipe.select)
    if recipe.remap.rules:
        data["remap"] = [_rule_data(rule) for rule in recipe.remap.rules]
    if recipe.remap.contiguous or recipe.remap.keep_indices is not None:
        data["indices"] = {"contiguous": recipe.remap.contiguous}
        if recipe.remap.keep_indices is not None:
            data["indices"]["keep"] = recipe.remap.keep_indices
    if recipe.cast is not None:
        data["cast"] = _cast_data(recipe.cast)
    if recipe.decide:
        data["decide"] = [_decision_data(decision) for decision in recipe.decide]
    return data


def _filter_data(chosen: PathFilter) -> dict[str, Any]:
    if chosen.predicates:
        raise RecipeError("a filter with a predicate cannot be written to a file", step="select")
    data: dict[str, Any] = {}
    if chosen.regexes:
        data["regexes"] = list(chosen.regexes)
    if chosen.keys:
        data["keys"] = list(chosen.keys)
    if chosen.takes_all:
        data["all"] = True
    if chosen.negated:
        data["negated"] = True
    if chosen.any_of:
        data["any_of"] = [_filter_data(member) for member in chosen.any_of]
    if chosen.excluded is not None:
        data["excluded"] = _filter_data(chosen.excluded)
    return data


def _rule_data(rule: RemapRule) -> dict[str, Any]:
    data: dict[str, Any] = {"from": rule.pattern, "to": rule.replacement}
    if not rule.enabled:
        data["enabled"] = False
    return data


def _cast_data(cast: CastPolicy) -> dict[str, Any]:
    data: dict[str, Any] = {"to": str(cast.to), "scope": cast.scope.value}
    if cast.keep:
        data["keep"] = sorted(cast.keep)
    if cast.add:
        data["add"] = sorted(cast.add)
    return data


def _decision_data(decision: Decision) -> dict[str, Any]:
    data: dict[str, Any] = {"key": decision.key, "action": decision.action.value}
    if decision.to is not None:
        data["to"] = str(decision.to)
    return data


def recipe_to_toml(recipe: Recipe) -> str:
    """The recipe as TOML text. Raises RecipeError for what a file cannot hold."""
    return tomli_w.dumps(recipe_to_data(recipe))


def recipe_to_json(recipe: Recipe) -> str:
    """The recipe as JSON text. Raises RecipeError for what a file cannot hold."""
    return json.dumps(recipe_to_data(recipe), indent=2, ensure_ascii=False) + "\n"


def recipe_from_toml(text: str) -> Recipe:
    """The recipe of a TOML text. Raises RecipeError naming the line."""
    try:
        data = tomllib.loads(text)
    except ValueError as error:
        raise RecipeError(f"not a TOML file: {error}") from None
    except RecursionError:
        raise RecipeError("not a recipe: its entries are nested too deeply") from None
    return recipe_from_data(data, line_of=lambda place: _toml_line(text, place))


def recipe_from_json(text: str) -> Recipe:
    """The recipe of a JSON text. Raises RecipeError naming the line where it can."""
    try:
        data = json.loads(text, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise RecipeError(f"not a JSON file: {error.msg} (line {error.lineno})") from None
    except RecipeError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise RecipeError(f"not a JSON file: {error}") from None
    except RecursionError:
        raise RecipeError("not a recipe: its entries are nested too deeply") from None
    return recipe_from_data(data, line_of=lambda place: _json_line(text, place))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise RecipeError(f"the entry {double!r} is there twice")
    return found


def read_recipe(path: Path | str) -> Recipe:
    """The recipe of a ``.toml`` or ``.json`` file. Raises RecipeError, FileAccessError."""
    path = Path(path)
    with ByteFile(path) as file:
        if file.size > FILE_LIMIT:
            raise RecipeError(f"{path}: {file.size} bytes; a recipe has at most {FILE_LIMIT}")
        raw = file.read_at(0, file.size)
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not UTF-8 text at byte {error.start}") from None
    is_json = path.suffix.lower() == ".json" or text.lstrip().startswith("{")
    try:
        return recipe_from_json(text) if is_json else recipe_from_toml(text)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}", position=error.position) from None


def write_recipe(recipe: Recipe, path: Path | str) -> None:
    """Write a ``.toml`` or ``.json`` file; an old one is replaced in one step.

    Raises RecipeError for what a file cannot hold, SaveError where it cannot be written; the old
    file is untouched then.
    """
    path = Path(path)
    is_json = path.suffix.lower() == ".json"
    text = recipe_to_json(recipe) if is_json else recipe_to_toml(recipe)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RecipeError(
            f"{path}: {text[error.start]!r} is half of a character, which no text file can hold"
        ) from None
    replace_file(path, content)


class _Reader:
    """Checks one document; every refusal names the place and, where it is known, the line."""

    def __init__(self, line_of: Callable[[Place], int | None]) -> None:
        self._line_of = line_of

    def refuse(self, place: Place, fact: str) -> RecipeError:
        line = self._line_of(place)
        name = "".join(f"[{p + 1}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
        where = "" if line is None else f"line {line}: "
        return RecipeError(f"{where}{name}: {fact}" if name else f"{where}{fact}", position=line)

    def table(self, value: Any, place: Place, known: Iterable[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.refuse(place, f"expected a table, found {value!r}")
        names = list(known)
        for key in value:
            if key not in names:
                hint = nearest_word(key, names)
                raise self.refuse((*place, key), f"unknown entry{hint}; known: {', '.join(names)}")
        return value

    def tables(self, value: Any, place: Place) -> list[Any]:
        if not isinstance(value, list):
            raise self.refuse(place, f"expected a list of tables, found {value!r}")
        return value

    def typed(self, table: Mapping[str, Any], key: str, kind: type[T], place: Place) -> T | None:
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.refuse((*place, key), f"expected {kind.__name__}, found {value!r}")
        return value

    def needed(self, table: Mapping[str, Any], key: str, place: Place) -> str:
        value = self.typed(table, key, str, place)
        if value is None:
            raise self.refuse(place, f"the entry {key!r} is missing")
        return value

    def texts(self, table: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
        values = self.typed(table, key, list, place) or []
        for value in values:
            if not isinstance(value, str):
                raise self.refuse((*place, key), f"expected text, found {value!r}")
        return tuple(values)


def recipe_from_data(
    data: Any, *, line_of: Callable[[Place], int | None] = lambda place: None
) -> Recipe:
    """The recipe of parsed TOML or JSON. Raises RecipeError for anything that is not understood."""
    reader = _Reader(line_of)
    known = ("format", "version", "adapt", "select", "remap", "indices", "cast", "decide")
    root = reader.table(data, (), known)
    if root.get("format") != FORMAT:
        raise reader.refuse(("format",), f"expected {FORMAT!r}, found {root.get('format')!r}")
    version = root.get("version")
    if version != VERSION or isinstance(version, bool):
        raise reader.refuse(("version",), f"this Ruda reads version {VERSION}, found {version!r}")
    steps: dict[str, Any] = {"adapt": reader.texts(root, "adapt", ())}
    if "select" in root:
        steps["select"] = _placed(reader, ("select",), lambda: _read_filter(reader, root["select"]))
    steps["remap"] = _read_remap(reader, root)
    if "cast" in root:
        steps["cast"] = _placed(reader, ("cast",), lambda: _read_cast(reader, root["cast"]))
    if "decide" in root:
        steps["decide"] = _read_decisions(reader, root["decide"])
    return _placed(reader, (), lambda: Recipe(**steps))


def _placed(reader: _Reader, place: Place, make: Callable[[], T]) -> T:
    """What ``make`` returns; an error of a single rule gets its place in the file."""
    try:
        return make()
    except RecipeError as error:
        if error.step is None:
            raise
        said = str(error).removeprefix(f"{place[-1]}: " if place else "")  # the place names it
        raise reader.refuse(place, said) from None


def _read_filter(reader: _Reader, value: Any, place: Place = ("select",)) -> PathFilter:
    known = ("regexes", "keys", "all", "negated", "any_of", "excluded")
    table = reader.table(value, place, known)
    members = reader.tables(table.get("any_of", []), (*place, "any_of"))
    return PathFilter(
        regexes=reader.texts(table, "regexes", place),
        keys=reader.texts(table, "keys", place),
        takes_all=reader.typed(table, "all", bool, place) or False,
        negated=reader.typed(table, "negated", bool, place) or False,
        any_of=tuple(
            _read_filter(reader, member, (*place, "any_of", at))
            for at, member in enumerate(members)
        ),
        excluded=(
            _read_filter(reader, table["excluded"], (*place, "excluded"))
            if "excluded" in table
            else None
        ),
    )


def _read_remap(reader: _Reader, root: Mapping[str, Any]) -> KeyRemapper:
    rules: list[RemapRule] = []
    for at, value in enumerate(reader.tables(root.get("remap", []), ("remap",))):
        place: Place = ("remap", at)
        table = reader.table(value, place, ("from", "to", "enabled"))
        pattern, text = reader.needed(table, "from", place), reader.needed(table, "to", place)
        enabled = reader.typed(table, "enabled", bool, place)
        on = enabled is None or enabled
        try:
            rules.append(RemapRule(pattern, text, on))
        except RecipeError as error:
            raise reader.refuse(place, str(error)) from None
    table = reader.table(root.get("indices", {}), ("indices",), ("contiguous", "keep"))
    contiguous = reader.typed(table, "contiguous", bool, ("indices",)) or False
    keep = reader.typed(table, "keep", str, ("indices",))
    return _placed(reader, ("indices",), lambda: KeyRemapper(tuple(rules), contiguous, keep))


def _read_cast(reader: _Reader, value: Any) -> CastPolicy:
    place: Place = ("cast",)
    table = reader.table(value, place, ("to", "scope", "keep", "add"))
    to = _read_dtype(reader, table, place)
    scope = reader.typed(table, "scope", str, place)
    scopes = {member.value: member for member in CastScope}
    if scope is not None and scope not in scopes:
        raise reader.refuse((*place, "scope"), f"expected {' or '.join(scopes)}, found {scope!r}")
    return CastPolicy(
        to,
        scopes[scope] if scope is not None else CastScope.ALL,
        frozenset(reader.texts(table, "keep", place)),
        frozenset(reader.texts(table, "add", place)),
    )


def _read_decisions(reader: _Reader, value: Any) -> tuple[Decision, ...]:
    found: list[Decision] = []
    actions = {member.value: member for member in Action}
    for at, entry in enumerate(reader.tables(value, ("decide",))):
        place: Place = ("decide", at)
        table = reader.table(entry, place, ("key", "action", "to"))
        action = reader.needed(table, "action", place)
        if action not in actions:
            raise reader.refuse(
                (*place, "action"), f"expected {' or '.join(actions)}, found {action!r}"
            )
        key = reader.needed(table, "key", place)
        to = None if "to" not in table else _read_dtype(reader, table, place)
        try:
            found.append(Decision(key, actions[action], to))
        except RecipeError as error:
            raise reader.refuse(place, str(error)) from None
    return tuple(found)


def _read_dtype(reader: _Reader, table: Mapping[str, Any], place: Place) -> DType:
    try:
        return DType.parse(reader.needed(table, "to", place))
    except DTypeError as error:
        raise reader.refuse((*place, "to"), str(error)) from None


_HEADER = re.compile(r"^\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")
_ENTRY = re.compile(r"^\s*[\"']?([\w-]+)[\"']?\s*(?:\.|=)")


def _toml_line(text: str, place: Place) -> int | None:
    """Line of the entry at ``place``, of the closest table around it, or None."""
    seen: dict[str, int] = {}
    here: Place = ()
    best, depth = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        entry = None if header else _ENTRY.match(line)
        if header:
            name = header[2].strip("\"'")
            if header[1] == "[[":
                seen[name] = seen.get(name, -1) + 1
                here = (name, seen[name])
            else:
                here = tuple(name.split("."))
            found = here
        elif entry:
            found = (*here, entry[1])
        else:
            continue
        if len(found) > depth and place[: len(found)] == found:
            best, depth = number, len(found)
    return best


def _json_line(text: str, place: Place) -> int | None:
    """Line of the last name in ``place``, if it occurs once as an entry; else None."""
    name = next((part for part in reversed(place) if isinstance(part, str)), None)
    if name is None:
        return None
    found = [m.start() for m in re.finditer(rf'"{re.escape(name)}"\s*:', text)]
    return text.count("\n", 0, found[0]) + 1 if len(found) == 1 else None
