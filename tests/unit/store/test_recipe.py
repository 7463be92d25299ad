from __future__ import annotations

import os
from pathlib import Path

import pytest

from ruda.errors import FileAccessError, RecipeError, SaveError
from ruda.store import (
    CastPolicy,
    CastScope,
    Decision,
    KeyRemapper,
    PathFilter,
    PyTorchToRuda,
    Recipe,
    RemapRule,
    read_recipe,
    recipe_from_json,
    recipe_from_toml,
    recipe_to_json,
    recipe_to_toml,
    write_recipe,
)
from ruda.tensor import DType

FULL = Recipe(
    select=(PathFilter.of("^enc").without("bias") | ~PathFilter.from_paths(["x"])),
    remap=KeyRemapper(
        (RemapRule(r"^module\.", ""), RemapRule("a", "$$", enabled=False)), True, "^layers$"
    ),
    adapt=("pytorch-to-ruda",),
    cast=CastPolicy.half(DType.BF16, keep=["Embedding"], add=["Mine"]),
    decide=(Decision("head.weight"),),
)

RECIPES = [
    pytest.param(Recipe(), id="empty"),
    pytest.param(FULL, id="everything"),
    pytest.param(Recipe(cast=CastPolicy.every(DType.F32, keep=["BatchNorm"])), id="cast"),
    pytest.param(Recipe(select=PathFilter.all()), id="all"),
]


@pytest.mark.parametrize("recipe", RECIPES)
def test_files_hold_the_whole_recipe(recipe: Recipe, tmp_path: Path) -> None:
    assert recipe_from_toml(recipe_to_toml(recipe)) == recipe
    assert recipe_from_json(recipe_to_json(recipe)) == recipe
    for name in ("r.toml", "r.json"):
        write_recipe(recipe, tmp_path / name)
        assert read_recipe(tmp_path / name) == recipe


HEAD = 'format = "ruda-recipe"\nversion = 1\n'

BAD_TOML = [
    pytest.param(HEAD + "x = 1", r"line 3: x: unknown entry; known: format", id="unknown"),
    pytest.param(
        HEAD + "\nslect = {}",
        r"line 4: slect: unknown entry \(did you mean 'select'\?\)",
        id="slip of the pen",
    ),
    pytest.param(
        HEAD + '[[remap]]\nfrom="a"\nto="b"\n[[remap]]\nfrom="a"\nform="b"',
        r"line 8: remap\[2\].form: unknown entry",
        id="in the second rule",
    ),
    pytest.param(
        HEAD + '[[remap]]\nto="b"',
        r"line 3: remap\[1\]: the entry 'from' is missing",
        id="half a rule",
    ),
    pytest.param(
        HEAD + '[[remap]]\nfrom="("\nto="b"',
        r"line 3: remap\[1\]: remap '\(' -> 'b': the pattern '\(' is not",
        id="regex",
    ),
    pytest.param(
        HEAD + '[select]\nregexes=["["]', r"line 3: select: .*the pattern '\['", id="filter regex"
    ),
    pytest.param(
        HEAD + '[select]\nregexes="a"', r"line 4: select.regexes: expected list", id="not a list"
    ),
    pytest.param(
        HEAD + "[select]\nkeys=[1]", r"line 4: select.keys: expected text, found 1", id="not text"
    ),
    pytest.param(
        HEAD + '[cast]\nto="f17"', r"line 4: cast.to: no dtype is called 'f17'", id="dtype"
    ),
    pytest.param(HEAD + '[cast]\nto="i32"', r"line 3: cast: .*not to i32", id="integer dtype"),
    pytest.param(
        HEAD + '[cast]\nto="f16"\nscope="some"',
        r"line 5: cast.scope: expected modules or all, found 'some'",
        id="scope",
    ),
    pytest.param(
        HEAD + '[cast]\nto="f16"\nscope="modules"\nkeep=["Linaer"]',
        r"line 3: cast: .*no kind of module is called 'Linaer'",
        id="keep",
    ),
    pytest.param(HEAD + 'adapt=["torch"]', "line 3: adapt: no adapter is called", id="adapter"),
    pytest.param(
        HEAD + '# by hand\nadapt = [\n  "pytorh-to-ruda",\n]',
        r"^line 4: adapt: no adapter is called 'pytorh-.*'; did you mean 'pytorch-to-ruda'\?$",
        id="nearly an adapter",
    ),
    pytest.param(
        HEAD + 'merge = ["scale"]',
        r"^line 3: merge: no merge is called 'scale'; did you mean 'scales'\?$",
        id="nearly a merge",
    ),
    pytest.param(
        HEAD + 'remap = [\n  { from = "a", to = "b" },\n  { from = "a", tp = "b" },\n]',
        r"^line 5: remap\[2\].tp: unknown entry",
        id="unknown in a list",
    ),
    pytest.param(
        HEAD + 'remap = [ # two\n{ from = "a", to = "b" },\n{ from = "(", to = "b" },\n]\ncast=3',
        r"^line 5: remap\[2\]: .* at position 0$",
        id="regex in a list",
    ),
    pytest.param(
        HEAD + 'remap = [\n  { from = "a", to = "b" },\n]\n[select]\nkeys = [\n  1,\n]',
        r"^line 7: select.keys: expected text",
        id="after a list",
    ),
    pytest.param(
        HEAD + '[[decide]]\nkey="a"\naction="drop"',
        r"line 5: decide\[1\].action: expected skip or keep or cast or .* or take, found 'drop'",
        id="action",
    ),
    pytest.param(
        HEAD + '[[decide]]\nkey="a"\naction="skip"\n[[decide]]\nkey="a"\naction="skip"',
        "two decisions for 'a'",
        id="two decisions",
    ),
    pytest.param(
        HEAD + "[indices]\ncontiguous=1",
        "line 4: indices.contiguous: expected bool",
        id="not a bool",
    ),
    pytest.param(HEAD + "remap=3", "line 3: remap: expected a list of tables", id="not a list"),
    pytest.param(HEAD + "cast=3", "line 3: cast: expected a table, found 3", id="not a table"),
    pytest.param('format="x"\nversion=1', "line 1: format: expected 'ruda-recipe'", id="format"),
    pytest.param("version=1", "format: expected 'ruda-recipe', found None", id="no format"),
    pytest.param(
        'format="ruda-recipe"\nversion=2',
        "line 2: version: this Ruda reads version 1",
        id="version",
    ),
    pytest.param('format="ruda-recipe"\nversion=true', "version 1, found True", id="true is not 1"),
    pytest.param("a = = 1", "not a TOML file: .*line 1", id="syntax"),
    pytest.param("a = " + "[" * 90_000, "nested too deeply", id="deep"),
]


@pytest.mark.parametrize(("text", "message"), BAD_TOML)
def test_bad_toml_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipe_from_toml(text)


BAD_JSON = [
    pytest.param("{", "not a JSON file: .*line 1", id="syntax"),
    pytest.param("[]", r"expected a table, found \[\]", id="not an object"),
    pytest.param("[" * 90_000, "nested too deeply", id="deep"),
    pytest.param('{"version": ' + "9" * 5000 + "}", "not a JSON file: .*digits", id="digits"),
    pytest.param(
        '{\n"format": "ruda-recipe", "version": 1,\n"x": 2}',
        "line 3: x: unknown entry",
        id="unknown",
    ),
    pytest.param(
        '{"format": "ruda-recipe", "format": "ruda-recipe"}',
        "the entry 'format' is there twice",
        id="twice",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_JSON)
def test_bad_json_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipe_from_json(text)


def test_reading_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(HEAD + "x = 1")
    with pytest.raises(RecipeError, match=r"r\.toml: line 3: x: unknown entry"):
        read_recipe(path)
    path.write_bytes(b"\xff")
    with pytest.raises(RecipeError, match=r"r\.toml: not UTF-8 text at byte 0"):
        read_recipe(path)
    with pytest.raises(FileAccessError, match=r"absent\.toml: there is no file here"):
        read_recipe(tmp_path / "absent.toml")


def test_reading_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(RecipeError, match=r"large\.toml: 1073741824 bytes; a recipe has at most"):
        read_recipe(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.toml")
        with pytest.raises(FileAccessError, match=r"pipe\.toml: is a pipe or a device"):
            read_recipe(tmp_path / "pipe.toml")


def test_a_byte_order_mark_is_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(b"\xef\xbb\xbf" + HEAD.encode())
    assert read_recipe(path) == Recipe()


def test_a_place_is_named_once() -> None:
    with pytest.raises(RecipeError, match=r"^line \d+: select: the pattern '\('"):
        recipe_from_toml(HEAD + '[select]\nregexes = ["("]')


def test_writing_half_a_character_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_recipe(Recipe(), path)
    before = path.read_bytes()
    with pytest.raises(RecipeError, match=r"r\.json: '\\ud83d' is half of a character"):
        write_recipe(Recipe(select=PathFilter.of("\ud83d")), path)
    assert path.read_bytes() == before


def test_writing_replaces_the_file_or_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    write_recipe(FULL, path)
    before = path.read_bytes()
    with pytest.raises(RecipeError, match="a filter with a predicate cannot be written"):
        write_recipe(Recipe(select=PathFilter.from_predicate(lambda k, c: True)), path)
    assert path.read_bytes() == before
    write_recipe(Recipe(), path)
    assert read_recipe(path) == Recipe()
    with pytest.raises(SaveError, match=r"none.r\.toml: no file can be made in"):
        write_recipe(FULL, tmp_path / "none" / "r.toml")


def test_what_a_file_cannot_hold() -> None:
    with pytest.raises(RecipeError, match="a filter with a predicate cannot be written"):
        recipe_to_toml(Recipe(select=PathFilter.from_predicate(lambda k, c: True)))
    with pytest.raises(RecipeError, match="'pytorch-to-ruda' is an object"):
        recipe_to_json(Recipe(adapt=(PyTorchToRuda(),)))


def test_edits_make_new_recipes() -> None:
    first = Recipe().with_rule("a", "b").with_rule("c", "d").with_rule("x", "y", at=0)
    assert [r.pattern for r in first.remap.rules] == ["x", "a", "c"]
    assert first.with_rules([RemapRule("n", "m")]).remap.rules == (RemapRule("n", "m"),)
    assert [r.pattern for r in first.remap.rules] == ["x", "a", "c"]


def test_decisions() -> None:
    recipe = Recipe().with_skip("a", "b").with_skip("a")
    assert recipe.skipped_keys == {"a", "b"}
    assert recipe.without_decision("a").skipped_keys == {"b"}


IDENTITIES = [
    pytest.param(Recipe(), True, id="empty"),
    pytest.param(Recipe(remap=KeyRemapper((RemapRule("a", "b", enabled=False),))), True, id="off"),
    pytest.param(Recipe(remap=KeyRemapper.of(("a", "b"))), False, id="rule"),
    pytest.param(Recipe(select=PathFilter.of("a")), False, id="filter"),
    pytest.param(Recipe(adapt=("pytorch-to-ruda",)), False, id="adapter"),
    pytest.param(Recipe(decide=(Decision("a"),)), False, id="decision"),
]


@pytest.mark.parametrize(("recipe", "expected"), IDENTITIES)
def test_is_identity(recipe: Recipe, expected: bool) -> None:
    assert recipe.is_identity == expected


def test_cast_of_all_has_no_kinds_to_add() -> None:
    with pytest.raises(RecipeError, match="cast: a cast of all tensors has no kinds to add"):
        CastPolicy(DType.F16, CastScope.ALL, add=frozenset({"Mine"}))
