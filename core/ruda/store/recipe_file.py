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

[[policy]]
match = "router"
action = "keep"

[[decide]]
key = "fc.weight"
action = "skip"

[[decide]]
key = "embed.weight"
action = "pad"
axis = 0
after = 2
value = 0.0

Further decisions: ``transpose`` with ``axes``; ``slice`` with ``axis``, ``start`` and ``stop``;
``reshape`` with ``shape``; ``take`` with ``file`` (from the folder of the recipe) and ``from``, a
key; ``keep``; ``cast`` and ``clamp`` with ``to``. ``merge = ["scales"]`` computes tensors out of
several, before all other steps. A filter takes ``predicates``, too, by name: ``["norm"]``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from ruda.errors import RecipeError
from ruda.store.adapt import adapter_named
from ruda.store.castable import cast_target
from ruda.store.decision_file import (
    decision_data,
    policy_data,
    read_decision,
    read_policy,
    with_files_from,
    with_files_in,
)
from ruda.store.entries import (
    EntryReader,
    LineOf,
    Place,
    is_json,
    parsed_json,
    parsed_toml,
    recipe_failure,
    text_of,
    write_text,
)
from ruda.store.merging import require_merge
from ruda.store.recipe import CastPolicy, CastScope, Recipe
from ruda.store.remap import KeyRemapper, RemapRule
from ruda.store.select import PathFilter

FORMAT = "ruda-recipe"
VERSION = 1


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
    if recipe.merge:
        data["merge"] = list(recipe.merge)
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
        data["decide"] = [decision_data(decision) for decision in recipe.decide]
    if recipe.policy:
        data["policy"] = [policy_data(policy) for policy in recipe.policy]
    return data


def _filter_data(chosen: PathFilter) -> dict[str, Any]:
    data: dict[str, Any] = {}
    named = [predicate for predicate in chosen.predicates if isinstance(predicate, str)]
    if len(named) < len(chosen.predicates):
        raise RecipeError(
            "a filter with a predicate cannot be written to a file unless the predicate is "
            "registered and given by its name",
            step="select",
        )
    if chosen.regexes:
        data["regexes"] = list(chosen.regexes)
    if chosen.keys:
        data["keys"] = list(chosen.keys)
    if named:
        data["predicates"] = named
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


def recipe_to_toml(recipe: Recipe) -> str:
    """The recipe as TOML text. Raises RecipeError for what a file cannot hold."""
    return tomli_w.dumps(recipe_to_data(recipe))


def recipe_to_json(recipe: Recipe) -> str:
    """The recipe as JSON text. Raises RecipeError for what a file cannot hold."""
    return json.dumps(recipe_to_data(recipe), indent=2, ensure_ascii=False) + "\n"


def recipe_from_toml(text: str) -> Recipe:
    """The recipe of a TOML text. Raises RecipeError naming the line."""
    data, line_of = parsed_toml(text, "recipe", recipe_failure)
    return recipe_from_data(data, line_of=line_of)


def recipe_from_json(text: str) -> Recipe:
    """The recipe of a JSON text. Raises RecipeError naming the line where it can."""
    data, line_of = parsed_json(text, "recipe", recipe_failure)
    return recipe_from_data(data, line_of=line_of)


def read_recipe(path: Path | str) -> Recipe:
    """The recipe of a ``.toml`` or ``.json`` file. Raises RecipeError, FileAccessError."""
    path = Path(path)
    text = text_of(path, "recipe", recipe_failure)
    try:
        found = recipe_from_json(text) if is_json(path, text) else recipe_from_toml(text)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}", position=error.position) from None
    return with_files_in(found, path.parent)


def write_recipe(recipe: Recipe, path: Path | str) -> None:
    """Write a ``.toml`` or ``.json`` file; an old one is replaced in one step.

    Raises RecipeError for what a file cannot hold, SaveError where it cannot be written; the old
    file is untouched then.
    """
    path = Path(path)
    kept = with_files_from(recipe, path.parent)
    text = recipe_to_json(kept) if path.suffix.lower() == ".json" else recipe_to_toml(kept)
    write_text(path, text, recipe_failure)


def recipe_from_data(data: Any, *, line_of: LineOf = lambda place: None) -> Recipe:
    """The recipe of parsed TOML or JSON. Raises RecipeError for anything that is not understood."""
    reader = EntryReader(line_of)
    known = (
        *("format", "version", "merge", "adapt", "select", "remap", "indices"),
        *("cast", "policy", "decide"),
    )
    root = reader.table(data, (), known)
    reader.head(root, FORMAT, VERSION)
    steps: dict[str, Any] = {
        "adapt": _read_names(reader, root, "adapt", adapter_named),
        "merge": _read_names(reader, root, "merge", require_merge),
    }
    if "select" in root:
        steps["select"] = reader.placed(("select",), lambda: _read_filter(reader, root["select"]))
    steps["remap"] = _read_remap(reader, root)
    if "cast" in root:
        steps["cast"] = reader.placed(("cast",), lambda: _read_cast(reader, root["cast"]))
    if "decide" in root:
        entries = enumerate(reader.tables(root["decide"], ("decide",)))
        steps["decide"] = tuple(read_decision(reader, e, ("decide", at)) for at, e in entries)
    if "policy" in root:
        entries = enumerate(reader.tables(root["policy"], ("policy",)))
        steps["policy"] = tuple(read_policy(reader, e, ("policy", at)) for at, e in entries)
    return reader.placed((), lambda: Recipe(**steps))


def _read_names(
    reader: EntryReader, root: Mapping[str, Any], key: str, check: Callable[[str], object]
) -> tuple[str, ...]:
    names = reader.texts(root, key, ())
    reader.placed((key,), lambda: [check(name) for name in names])
    return names


def _read_filter(reader: EntryReader, value: Any, place: Place = ("select",)) -> PathFilter:
    known = ("regexes", "keys", "predicates", "all", "negated", "any_of", "excluded")
    table = reader.table(value, place, known)
    members = reader.tables(table.get("any_of", []), (*place, "any_of"))
    return PathFilter(
        regexes=reader.texts(table, "regexes", place),
        keys=reader.texts(table, "keys", place),
        predicates=reader.texts(table, "predicates", place),
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


def _read_remap(reader: EntryReader, root: Mapping[str, Any]) -> KeyRemapper:
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
    return reader.placed(("indices",), lambda: KeyRemapper(tuple(rules), contiguous, keep))


def _read_cast(reader: EntryReader, value: Any) -> CastPolicy:
    place: Place = ("cast",)
    table = reader.table(value, place, ("to", "scope", "keep", "add"))
    to = reader.dtype(table, "to", place, cast_target)
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
