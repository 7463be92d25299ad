"""Recipe files that were made to cost: each is refused, or read, at once.

Every case took minutes, or the whole stack, where a step went through all the others for each.
"""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import RecipeError, SaveError
from ruda.nn import ParamSpec
from ruda.store import PathFilter, Recipe, TensorSnapshot, write_recipe
from ruda.store.nearest import NearestKeys, jaro
from ruda.store.recipe_file import (
    recipe_from_json,
    recipe_from_toml,
    recipe_to_json,
    recipe_to_toml,
)
from ruda.tensor import DType

HEAD = 'format = "ruda-recipe"\nversion = 1\n'


def in_json(**entries: object) -> str:
    return json.dumps({"format": "ruda-recipe", "version": 1, **entries})


COSTLY_TOML = [
    pytest.param("select." + "excluded." * 100_000 + "all = true", "more than 32 parts", id="dots"),
    pytest.param("[select" + ". 'excluded'" * 100_000 + "]", "more than 32 parts", id="quoted"),
    pytest.param("[select" + '."a"' * 100_000 + "]", "more than 32 parts", id="double quoted"),
    pytest.param("x = {" + "a ." * 100_000 + "a = 1}", "more than 32 parts", id="inline"),
    pytest.param("x = " + '{"a" = ' * 300 + "1" + "}" * 300, "nested too deeply", id="tables"),
    pytest.param('"' + "x" * 1_000_000 + '" = 1', "x{80}…: unknown entry; known", id="name"),
    pytest.param(
        "[[remap]]\nfrom = '" + "(a|b)" * 200_000 + "'\nto = ''",
        "line 3: remap.1.: .* has 1000000 characters, and at most 100000 are taken",
        id="pattern",
    ),
    pytest.param('x = """' + '\\"""' * 100_000, "not a TOML file", id="no end of a text"),
]


@pytest.mark.parametrize(("text", "message"), COSTLY_TOML)
def test_costly_toml_is_refused_at_once(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipe_from_toml(HEAD + text)


COSTLY_JSON = [
    pytest.param(in_json(**{"ab" * 1_000_000: 1}), "unknown entry", id="name"),
    pytest.param(
        "{" + ",".join(f'"k{at}": 1' for at in range(300_000)) + ', "k299999": 1}',
        "the entry 'k299999' is there twice",
        id="twice",
    ),
    pytest.param(
        in_json(select=reduce(lambda inner, _: {"excluded": inner}, range(300), {})),
        "nested too deeply",
        id="nested",
    ),
    pytest.param(
        in_json(select=reduce(lambda inner, _: {"any_of": [inner]}, range(90), {"keys": ["a"]})),
        "line 1: select: filters are nested more than 60 deep",
        id="nested filters",
    ),
]


@pytest.mark.parametrize(("text", "message"), COSTLY_JSON)
def test_costly_json_is_refused_at_once(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipe_from_json(text)


def test_many_changes_of_one_tensor() -> None:
    turn = {"key": "w", "action": "transpose", "axes": [1, 0]}
    assert len(recipe_from_json(in_json(decide=[turn] * 20_000)).decide) == 20_000


def test_dots_in_texts_part_no_names() -> None:
    key = "a." * 100 + "b"
    for text in (f'"{key}"', f"'{key}'", f'"""{key}"""', f"'''{key}'''", f"[\n'{key}' # {key}\n]"):
        text = text if text.startswith("[") else f"[{text}]"
        assert recipe_from_toml(f"{HEAD}# {key}\n[select]\nkeys = {text}").select.keys == (key,)


def test_unions_and_exclusions_stay_flat() -> None:
    """A loop over hundreds of filters makes one that can be asked, written and read."""
    parts = [PathFilter.of(f"^{at}$").without("x") for at in range(400)]
    union = reduce(lambda all_, each: all_ | each, parts, PathFilter.of("^first$"))
    left = reduce(lambda all_, each: all_.without(each), parts, PathFilter.all())
    for chosen, taken in ((union, True), (left, False)):
        assert chosen.matches("399") is taken
        assert chosen.matches("400") is not taken
        chosen.guard(["399"])
        recipe = Recipe(select=chosen)
        assert recipe_from_toml(recipe_to_toml(recipe)) == recipe
        assert recipe_from_json(recipe_to_json(recipe)) == recipe
    assert union.matches("first")
    assert not union.matches("x")


def test_filters_too_deep_to_be_asked_are_refused_when_made() -> None:
    deep = reduce(lambda inner, _: PathFilter(excluded=inner), range(59), PathFilter.of("a"))
    assert not deep.matches("a")
    with pytest.raises(RecipeError, match="select: filters are nested more than 60 deep"):
        PathFilter(excluded=deep)


@pytest.mark.parametrize("name", ["a\0b.toml", "\ud800.toml"])
def test_a_name_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="no file can have this name"):
        write_recipe(Recipe(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_keys_of_many_letters_use_up_the_comparisons() -> None:
    values = np.zeros(1, np.float32)
    found = {"a" * 99_000 + str(at): TensorSnapshot.from_array("k", values) for at in range(10)}
    names = [f"{chr(97 + at % 26) * 99_000}.{chr(97 + at // 26)}" for at in range(400)]
    nearest = NearestKeys(found)
    assert [nearest.of(ParamSpec(name, (1,), DType.F32)) for name in names[1:]].count(()) == 399
    assert nearest.of(ParamSpec("a" * 99_000, (1,), DType.F32)) == ()  # nothing is left to ask for


def test_names_of_a_hundred_thousand_letters_are_compared() -> None:
    assert jaro("a" * 100_000 + "!", "?" + "a" * 100_000) == pytest.approx(1, abs=1e-4)
    assert jaro("ab" * 20_000, "c" * 100_000) == 0
