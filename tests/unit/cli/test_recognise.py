"""``ruda models --for FILE``: the architectures that a file is complete for, ready to be run."""

import json
import shlex
from dataclasses import replace

import pytest

from ruda.cli import main
from ruda.models import get
from ruda.store import CastPolicy, KeyRemapper, TensorIndex, collect, convert, open_store, save
from ruda.store.recipe import Recipe
from ruda.tensor import DType

SIZES = {"hidden": 6, "layers": 1, "heads": 2, "ff": 7, "vocab": 9, "positions": 5}


@pytest.fixture
def folder(tmp_path):
    """A BERT as Hugging Face saves it, without the config.json."""
    made = convert(
        collect(get("bert-base").build(**SIZES)), recipe=Recipe(adapt=("ruda-to-hf-bert",))
    )
    save(made, tmp_path / "model.safetensors")
    return tmp_path


def test_the_command_that_loads_it_is_printed(folder, capsys):
    config = {"num_attention_heads": 2, "layer_norm_eps": 1e-12}
    (folder / "config.json").write_text(json.dumps(config))
    path = folder / "model.safetensors"
    assert main(["models", "--for", str(path)]) == 0
    first, command, said = capsys.readouterr().out.splitlines()
    assert first == "bert-base: all of its 23 tensors are there"
    assert said == "  config.json says heads, eps"
    words = shlex.split(command)
    assert words[:4] == ["ruda", "diff", str(path), "bert-base"]
    assert words[-2:] == ["--adapt", "hf-bert-to-ruda"]
    assert main(words[1:]) == 0
    assert "100 %" in capsys.readouterr().out


def test_what_nothing_says_is_said(folder, capsys):
    assert main(["models", "--for", str(folder / "model.safetensors")]) == 0
    out = capsys.readouterr().out
    assert "  nothing says heads: it is taken as 1, and results depend on it" in out


def test_as_json(folder, capsys):
    assert main(["models", "--for", str(folder / "model.safetensors"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["name"], found["adapter"], found["tensors"]) == (
        "bert-base",
        "hf-bert-to-ruda",
        23,
    )
    assert found["settings"] == {**SIZES, "heads": 1}
    assert found["left"] == ["heads", "eps"]
    assert found["cast"] is None


def test_halves_are_to_be_cast(folder, tmp_path, capsys):
    half = tmp_path / "half.safetensors"
    with open_store(folder / "model.safetensors") as index:
        save(convert(index, recipe=Recipe(cast=CastPolicy.every(DType.BF16))), half)
    assert main(["models", "--for", str(half)]) == 0
    command = capsys.readouterr().out.splitlines()[1]
    assert command.endswith("--adapt hf-bert-to-ruda --cast f32")
    assert main(shlex.split(command)[1:]) == 0


def test_files_of_nobody(tmp_path, capsys):
    save(TensorIndex.of([], format="safetensors"), tmp_path / "none.safetensors")
    assert main(["models", "--for", str(tmp_path / "none.safetensors")]) == 1
    assert "no architecture finds all that it wants in this file" in capsys.readouterr().out


def test_a_name_beside_it_is_refused(folder, capsys):
    assert main(["models", "gpt2", "--for", str(folder / "model.safetensors")]) == 2
    assert "--for looks at all architectures; name none beside it" in capsys.readouterr().err


def test_a_broken_configuration_is_refused(folder, capsys):
    (folder / "config.json").write_text("[")
    assert main(["models", "--for", str(folder / "model.safetensors")]) == 2
    assert "config.json: no JSON object" in capsys.readouterr().err


OWN = ["digits", "digit-recognizer", "import-mnist", "burn-mnist", "resnet20", "mtcnn-pnet"]


def wrapped(name: str, *, prefix: str = "", cast: CastPolicy | None = None) -> TensorIndex:
    recipe = Recipe(remap=KeyRemapper.of(("^", prefix)), cast=cast)
    return convert(collect(get(name).build()), recipe=recipe)


@pytest.mark.parametrize("name", OWN)
def test_networks_of_one_size_are_found_below_a_name_that_nobody_knows(name, tmp_path, capsys):
    path = tmp_path / "net.safetensors"
    save(wrapped(name, prefix="my.net."), path)
    assert main(["models", "--for", str(path)]) == 0
    first, command = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{name}: all of its ")
    assert first.endswith(" are there · with 1 rule")
    words = shlex.split(command)
    assert words[4:] == ["--remap", "^my\\.net\\.", ""]
    assert main(words[1:]) == 0
    assert "100 % of elements would load" in capsys.readouterr().out


def test_halves_of_a_network_of_one_size_are_to_be_cast(tmp_path, capsys):
    path = tmp_path / "half.safetensors"
    save(wrapped("digits", cast=CastPolicy.half(DType.F16)), path)
    assert main(["models", "--for", str(path)]) == 0
    first, command = capsys.readouterr().out.splitlines()
    assert first == "digits: all of its 16 tensors are there · with f32"
    assert main(shlex.split(command)[1:]) == 0


def test_a_network_of_one_size_as_json(tmp_path, capsys):
    path = tmp_path / "net.safetensors"
    save(wrapped("digits", prefix="my.net."), path)
    assert main(["models", "--for", str(path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["name"], found["tensors"], found["adapter"]) == ("digits", 16, None)
    assert found["options"] == ["--remap", "^my\\.net\\.", ""]


def test_the_right_sizes_alone_make_no_network(tmp_path, capsys):
    """Names that say nothing, and several tensors of one shape: nothing is certain."""
    keys = iter(range(100))
    made = (replace(s, key=f"t{next(keys)}") for s in wrapped("digits").values())
    save(TensorIndex.of(made, format="memory"), tmp_path / "net.safetensors")
    assert main(["models", "--for", str(tmp_path / "net.safetensors")]) == 1
    assert "`ruda suggest FILE NAME` looks for steps" in capsys.readouterr().out
