"""``ruda suggest``: the recipe on stdout, the evidence on stderr, the exit code."""

import json
import shlex

import numpy as np
import pytest

from ruda.cli import main
from ruda.models import get
from ruda.store import (
    ArraySource,
    TensorIndex,
    collect,
    convert,
    read_recipe,
    recipe_from_toml,
    save,
)
from ruda.store.recipe import Recipe
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType


@pytest.fixture
def prefixed(tmp_path):
    """The network of the sample as PyTorch would save it, below a prefix."""
    recipe = Recipe().with_adapt("ruda-to-pytorch").with_rule("^", "module.")
    path = tmp_path / "net.safetensors"
    save(convert(collect(get("digits").build()), recipe=recipe), path)
    return path


def test_a_recipe_is_printed_with_its_evidence(prefixed, tmp_path, capsys):
    assert main(["suggest", str(prefixed), "digits"]) == 0
    out, err = capsys.readouterr()
    recipe = recipe_from_toml(out)
    assert [rule.pattern for rule in recipe.remap.rules] == [r"^module\."]
    assert recipe.adapt == ("pytorch-to-ruda",)
    assert err.startswith("net.safetensors onto Model: 0 of 16 tensors would load, 16 with")
    assert "without 'module.' before them, with the same shapes" in err
    *_, cover, flags = err.splitlines()
    assert cover == "with this recipe 16 of 16 tensors would load"
    head, words = flags.split(": ", 1)
    assert head == "for diff and convert"
    assert main(["diff", str(prefixed), "digits", *shlex.split(words)]) == 0
    path = tmp_path / "found.toml"
    path.write_text(out, "utf-8")
    assert read_recipe(path) == recipe
    assert main(["diff", str(prefixed), "digits", "--recipe", str(path)]) == 0


def test_every_step_is_printed_as_a_shell_takes_it(prefixed, tmp_path, capsys):
    assert main(["suggest", str(prefixed), "digits", "--likely"]) == 0
    _, err = capsys.readouterr()
    steps = [line.split(None, 2)[2] for line in err.splitlines() if line[:9] == "  certain"]
    assert steps == [r"--remap '^module\.' ''", "--adapt pytorch-to-ruda"]
    *_, flags = err.splitlines()
    assert flags == f"for diff and convert: {' '.join(steps)}"
    said = []
    for words in (shlex.split(" ".join(steps)), shlex.split(flags.split(": ", 1)[1])):
        assert main(["diff", str(prefixed), "digits", "--json", *words]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_what_is_renamed_by_nothing_is_said_as_it_was_written(prefixed, capsys):
    assert main(["diff", str(prefixed), "digits", "--remap", r"^other\.", ""]) == 1
    assert r"nothing is renamed: '^other\.' is found in no key" in capsys.readouterr().out


def test_what_is_there_already_is_kept(prefixed, capsys):
    assert main(["suggest", str(prefixed), "digits", "--remap", r"^module\.", ""]) == 0
    recipe = recipe_from_toml(capsys.readouterr().out)
    assert [rule.pattern for rule in recipe.remap.rules] == [r"^module\."]


def test_saved_is_what_is_suggested_on_top_of_what_was_given(prefixed, tmp_path, capsys):
    path = tmp_path / "found.toml"
    words = ["suggest", str(prefixed), "digits", "--half", "f16", "--save-recipe", str(path)]
    assert main(words) == 0
    assert read_recipe(path) == recipe_from_toml(capsys.readouterr().out)
    assert read_recipe(path).adapt == ("pytorch-to-ruda",)
    assert main(["diff", str(prefixed), "digits", "--recipe", str(path)]) == 0
    capsys.readouterr()
    assert main(words) == 2
    assert "the file exists" in capsys.readouterr().err


def test_json(prefixed, capsys):
    assert main(["suggest", str(prefixed), "digits", "--json"]) == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert [step["kind"] for step in data["suggestions"]] == ["prefix", "adapter"]
    assert (data["target"], data["matched_after"], err) == ("digits", 16, "")


def test_an_open_question_is_a_finding(tmp_path, capsys):
    for name, keys in (("a", ("x.first", "x.second")), ("b", ("y.one", "y.two"))):
        source = ArraySource(np.zeros((5, 4), np.float32))
        snapshots = (TensorSnapshot(key, DType.F32, (5, 4), 80, source) for key in keys)
        save(TensorIndex.of(snapshots, format="safetensors"), tmp_path / f"{name}.safetensors")
    words = ["suggest", str(tmp_path / "a.safetensors"), str(tmp_path / "b.safetensors")]
    assert main([*words, "--likely"]) == 1
    out, err = capsys.readouterr()
    assert recipe_from_toml(out).is_identity
    assert "for diff and convert" not in err
    assert "ambiguous" in err
    assert "or x.first -> y.two" in err
