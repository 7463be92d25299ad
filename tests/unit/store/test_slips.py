"""Slips of the pen are said: a path at which there is nothing, rules that are found in no key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ruda.errors import FileAccessError, RecipeError
from ruda.store import (
    Decision,
    KeyRemapper,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    convert,
    diff,
    open_store,
)

NAMES = ("resnet20.th", "model.safetensors.index.json", "model-00001-of-00002.safetensors")

SAID = [
    pytest.param("resnet2.th", r"no file here; did you mean 'resnet20\.th'\?", id="alike"),
    pytest.param("model.safetensors", r"mean 'model\.safetensors\.index\.json'\?", id="sharded"),
    pytest.param("other.pt", "no file here; check the spelling of the path", id="nothing alike"),
    pytest.param("no/x.pt", "no file here, and no folder .*no; check the", id="no folder"),
]


@pytest.mark.parametrize(("name", "said"), SAID)
def test_the_name_that_may_have_been_meant(tmp_path: Path, name: str, said: str) -> None:
    for there in NAMES:
        (tmp_path / there).write_bytes(b"")
    with pytest.raises(FileAccessError, match=said):
        open_store(tmp_path / name)


def index(*keys: str) -> TensorIndex:
    made = (TensorSnapshot.from_array(key, np.zeros(2, np.float32)) for key in keys)
    return TensorIndex.of(made, format="memory")


RULES = [
    pytest.param([("^modul\\.", "")], r"'^modul\.' is found in no key", id="a slip"),
    pytest.param([("^x", ""), ("^y", "")], "'^x' or '^y' is found in no key", id="two"),
    pytest.param(
        [(letter, "") for letter in "qrstv"],
        "'q' or 'r' or 's' or 2 more rules is found in no key",
        id="many",
    ),
    pytest.param([("^module\\.", "")], None, id="found"),
    pytest.param([("^x", ""), ("^module\\.", "")], None, id="one of two"),
    pytest.param([("module", "module")], None, id="found and the same after it"),
]


@pytest.mark.parametrize(("rules", "said"), RULES)
def test_rules_that_are_found_nowhere(rules: list[tuple[str, str]], said: str | None) -> None:
    recipe = Recipe(remap=KeyRemapper.of(*rules))
    expected = [] if said is None else [f"nothing is renamed: {said}"]
    source = index("module.a", "module.b")
    for notes in (convert(source, recipe=recipe).notes, diff(source, source, recipe=recipe).notes):
        assert [note for note in notes if "renamed" in note] == expected


def test_a_transpose_that_moves_nothing_is_refused() -> None:
    said = "'transpose 0,1' leaves every axis where it is; say which axis comes first"
    with pytest.raises(RecipeError, match=said):
        Decision.parse("w", "transpose 0,1")
    assert Decision.parse("w", "transpose 0,2,1").text == "transpose 0,2,1"
