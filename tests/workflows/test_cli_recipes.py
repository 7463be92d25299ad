"""Recipes on the command line: decisions, presets, merges, policies and described targets."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ruda.cli import main
from ruda.store import TensorIndex, TensorSnapshot, open_store, read_recipe, save


@pytest.fixture
def ruda(capsys):
    """Run a command; its code, stdout and stderr."""

    def run(*words):
        code = main([str(word) for word in words])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return run


def written(path: Path, **arrays: np.ndarray) -> Path:
    """A file of these arrays; ``a__b`` is the key ``a.b``."""
    found = [TensorSnapshot.from_array(k.replace("__", "."), v) for k, v in arrays.items()]
    save(TensorIndex.of(found, format="x"), path)
    return path


ARCH = """
format = "ruda-arch"
version = 1
name = "Tagger"

[[module]]
path = "layers.*"
repeat = 2
kind = "Linear"
params = { weight = [4, 3], bias = [3] }

[[module]]
path = "embed"
kind = "Embedding"
params = { weight = [6, 4] }
"""


@pytest.fixture
def tagger(tmp_path):
    """A PyTorch file under a wrapper, whose embedding has a row less than the model wants."""
    arrays = {}
    for at in range(2):
        arrays[f"module__layers__{at}__weight"] = np.full((3, 4), at, "<f4")
        arrays[f"module__layers__{at}__bias"] = np.full(3, at, "<f4")
    arrays["module__embed__weight"] = np.ones((5, 4), "<f4")
    return written(tmp_path / "tagger.safetensors", **arrays)


def test_a_file_is_laid_onto_a_description(ruda, tagger, tmp_path):
    arch = tmp_path / "arch.toml"
    arch.write_text(ARCH)
    words = ["--preset", "ddp", "--adapt", "pytorch-to-ruda"]
    code, out, _ = ruda("diff", tagger, arch, *words)
    assert code == 1
    assert "tagger.safetensors onto arch.toml" in out
    assert "embed.weight" in out
    assert "axis 0: 5 against 6" in out
    words += ["--decide", "embed.weight", "pad 0 0:1 0.5", "--save-recipe", tmp_path / "r.toml"]
    code, out, _ = ruda("diff", tagger, arch, *words)
    assert code == 0
    assert "100 % of elements would load · 5 of 5 model tensors" in out
    assert "pad 0 0:1 0.5" in out
    assert "1 tensor is applied by your decision, 'embed.weight' first" in out
    recipe = tmp_path / "r.toml"
    assert read_recipe(recipe).decide[0].text == "pad 0 0:1 0.5"
    code, _, _ = ruda(
        *("convert", tagger, tmp_path / "o.bpk", "--target", arch, "--recipe", recipe)
    )
    assert code == 0
    with open_store(tmp_path / "o.bpk") as index:
        np.testing.assert_array_equal(index["embed.weight"].read()[5], np.full(4, 0.5, "f4"))
        assert index["layers.1.weight"].shape == (4, 3)


LOSING = [
    pytest.param("tagger.safetensors", "must end in .toml or .json", id="weights"),
    pytest.param("notes.json", "the file exists; name another one", id="another file"),
    pytest.param("old.toml", "the file exists; name another one", id="another recipe"),
]


@pytest.mark.parametrize(("name", "message"), LOSING)
def test_saving_a_recipe_loses_no_file(ruda, tagger, tmp_path, name: str, message: str):
    (tmp_path / "notes.json").write_text("mine")
    (tmp_path / "old.toml").write_text('format = "ruda-recipe"\nversion = 1\n')
    before = (tmp_path / name).read_bytes()
    code, _, err = ruda("diff", tagger, tagger, "--skip", "a", "--save-recipe", tmp_path / name)
    assert code != 0
    assert message in err
    assert (tmp_path / name).read_bytes() == before


def test_the_recipe_that_was_read_may_be_saved_again(ruda, tagger, tmp_path):
    recipe = tmp_path / "r.toml"
    recipe.write_text('format = "ruda-recipe"\nversion = 1\n')
    words = ["--recipe", recipe, "--skip", "module.embed.weight", "--save-recipe", recipe]
    code, _, err = ruda("diff", tagger, tagger, *words)
    assert (code, err) == (0, "")
    assert read_recipe(recipe).skipped_keys == {"module.embed.weight"}


def test_a_bad_description_is_refused_with_its_line(ruda, tagger, tmp_path):
    arch = tmp_path / "arch.toml"
    arch.write_text(ARCH.replace("repeat", "repaet"))
    code, _, err = ruda("diff", tagger, arch)
    assert code == 2
    assert "arch.toml: line 8: module[1].repaet: unknown entry (did you mean 'repeat'?)" in err


def test_a_target_is_saved_and_taken_again(ruda, tmp_path):
    target = tmp_path / "digits.toml"
    code, out, _ = ruda("models", "digits", "--save-target", target)
    assert code == 0
    assert out.startswith("Saved what digits expects, ")
    code, _, err = ruda("models", "digits", "--save-target", target)
    assert code == 2
    assert "the file exists; --overwrite replaces it" in err
    assert ruda("models", "digits", "--save-target", target, "--overwrite")[0] == 0
    sample = Path(__file__).parents[2] / "resources/samples/digits.safetensors"
    words = ["--remap", r"^module\.", "", "--adapt", "pytorch-to-ruda", "--json"]
    one = json.loads(ruda("diff", sample, "digits", *words)[1])
    other = json.loads(ruda("diff", sample, target, *words)[1])
    assert one["rows"] == other["rows"]
    assert one["coverage"] == other["coverage"]
    code, out, _ = ruda("suggest", sample, target)
    assert code == 0
    assert "adapt = [" in out


def test_what_a_model_expects_is_listed(ruda):
    code, out, _ = ruda("models", "digits")
    assert code == 0
    assert "conv1.weight" in out
    for said in ("input [1, 28, 28], 10 classes", "--adapt pytorch-to-ruda", "  seed=0  Seed of"):
        assert said in out
    chosen = ruda("models", "burn-mnist", "hidden=64")[1]
    assert "  hidden=64  Width of the two hidden linear layers. (by default 128)" in chosen
    data = json.loads(ruda("models", "digits", "--json")[1])
    assert data["name"] == "digits"
    assert data["params"][0].keys() == {"key", "dtype", "shape", "containers"}
    assert [each["name"] for each in data["settings"]] == ["seed"]
    assert data["adapters"] == ["pytorch-to-ruda"]
    chosen = json.loads(ruda("models", "burn-mnist", "hidden=64", "--json")[1])
    assert chosen["chosen"] == {"hidden": 64}


def test_what_a_file_expects_is_listed_without_settings(ruda):
    sample = Path(__file__).parents[2] / "resources/samples/digits.safetensors"
    code, out, _ = ruda("models", sample)
    assert (code, out.startswith("module."), "seed=" in out) == (0, True, False)
    data = json.loads(ruda("models", sample, "--json")[1])
    assert data.keys() == {"name", "params", "notes"}


def test_a_target_needs_a_name(ruda, tmp_path):
    code, _, err = ruda("models", "--save-target", tmp_path / "a.toml")
    assert code == 2
    assert "--save-target writes what a NAME expects" in err


def test_presets_are_listed(ruda):
    code, out, _ = ruda("suggest", "--presets")
    assert code == 0
    for word in ("wrappers", "ddp", "lightning", "peft", "weight-norm", "lora_A"):
        assert word in out


def test_scaled_tensors_are_never_cast_blindly(ruda, tmp_path):
    whole = np.full((200, 130), 2, ml_dtypes.float8_e4m3fn)
    scale = np.array([[1, 2], [3, 4]], "<f4")
    path = written(
        tmp_path / "fp8.safetensors", w__weight=whole, w__weight_scale_inv=scale, b=scale[0]
    )
    target = tmp_path / "t.toml"
    target.write_text(
        'format = "ruda-arch"\nversion = 1\n[[module]]\ndtype = "bf16"\n'
        'params = { "w.weight" = [200, 130], b = [2] }\n'
    )
    code, out, _ = ruda("diff", path, target, "--cast", "bf16")
    assert code == 1
    assert "2 tensors that are scaled, or are scales, keep their element type" in out
    assert "f8_e4m3fn ≠ bf16" in out
    code, out, _ = ruda("diff", path, target, "--cast", "bf16", "--merge", "scales")
    assert code == 0
    assert "scale w.weight_scale_inv · cast bf16" in out
    made = tmp_path / "o.safetensors"
    assert ruda("convert", path, made, "--cast", "bf16", "--merge", "scales")[0] == 0
    with open_store(made) as index:
        assert sorted(index) == ["b", "w.weight"]
        values = index["w.weight"].read().astype("f4")
    assert [values[0, 0], values[0, 129], values[199, 0], values[199, 129]] == [2, 4, 6, 8]


def test_policies_by_pattern(ruda, tmp_path):
    big = np.array([1e6, 1.0], "<f4")
    path = written(tmp_path / "p.safetensors", router=big, experts=big, scale=big, n=np.array([3]))
    words = ["--policy", "^router=keep", "--policy", "^exp=bf16", "--policy", "^sc=clamp:f16"]
    code, out, _ = ruda("convert", path, tmp_path / "o.safetensors", "--cast", "f16", *words)
    assert code == 0
    with open_store(tmp_path / "o.safetensors") as index:
        kinds = {key: snapshot.dtype.label for key, snapshot in index.items()}
        assert index["scale"].read()[0] == 65504
    assert kinds == {"router": "f32", "experts": "bf16", "scale": "f16", "n": "i64"}
    assert "clamp f16" in out


def test_whole_numbers_stored_as_floats_are_kept(ruda, tmp_path):
    numbers = np.arange(300, dtype="<f4")
    path = written(tmp_path / "n.safetensors", position_ids=numbers, w=numbers)
    out_file = tmp_path / "o.safetensors"
    code, out, _ = ruda("convert", path, out_file, "--cast", "bf16", "--report")
    assert code == 0
    assert "1 tensor keeps its element type, 'position_ids' first" in out
    assert "all whole numbers, of which some are rounded" in out
    with open_store(out_file) as index:
        assert index["position_ids"].dtype.label == "f32"
        assert index["w"].dtype.label == "bf16"
    decided = ["--cast", "bf16", "--decide", "position_ids", "cast bf16", "--overwrite"]
    assert ruda("convert", path, out_file, *decided)[0] == 0
    with open_store(out_file) as index:
        assert index["position_ids"].dtype.label == "bf16"


BAD = [
    pytest.param(["--decide", "w", "slcie 0 1"], "'slcie 0 1' is no decision", id="decision"),
    pytest.param(["--policy", "(=f16"], "the pattern '(' is not a regular", id="policy regex"),
    pytest.param(["--policy", "f16"], "expected REGEX=keep, REGEX=DTYPE", id="policy"),
    pytest.param(["--preset", "dpp"], "did you mean 'ddp'?", id="preset"),
    pytest.param(["--merge", "scale"], "did you mean 'scales'?", id="merge"),
    pytest.param(["--select-by", "norms"], "did you mean 'norm'?", id="predicate"),
    pytest.param(["--keep-indices", "x"], "add --contiguous", id="indices"),
    pytest.param(["--select", "a(b"], "at position 1", id="regex"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_flags_are_refused_in_a_sentence(ruda, tmp_path, words, message):
    path = written(tmp_path / "w.safetensors", w=np.zeros(2, "f4"))
    code, out, err = ruda("convert", path, tmp_path / "o.bpk", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_filters_by_predicate_and_exception(ruda, tmp_path):
    ones = np.ones(2, "<f4")
    path = written(tmp_path / "w.safetensors", a__norm__weight=ones, a__fc__bias=ones, b__x=ones)
    out_file = tmp_path / "o.safetensors"
    words = ["--except-by", "norm", "--except-key", "b.x"]
    assert ruda("convert", path, out_file, *words)[0] == 0
    with open_store(out_file) as index:
        assert list(index) == ["a.fc.bias"]
    words = ["--select-by", "under:a", "--except", "bias$", "--overwrite"]
    assert ruda("convert", path, out_file, *words)[0] == 0
    with open_store(out_file) as index:
        assert list(index) == ["a.norm.weight"]


@pytest.mark.cases
def test_real_wrappers_and_adapters_lose_their_names(ruda, cases, tmp_path):
    folder = cases / "zoo" / "checkpoints"
    wrapped, out_file = folder / "ddp_compile_fsdp_prefixes.pt", tmp_path / "o.safetensors"
    assert ruda("convert", wrapped, out_file, "--preset", "wrappers")[0] == 0
    with open_store(out_file) as index:
        assert sorted(index)[:2] == ["fc1.bias", "fc1.weight"]
    lora = tmp_path / "lora.safetensors"
    assert ruda("convert", folder / "lora.pt", lora, "--preset", "peft")[0] == 0
    with open_store(lora) as index:
        assert all(key.startswith("layers.") for key in index)
