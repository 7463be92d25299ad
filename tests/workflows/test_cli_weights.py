"""A weights file through the command line: look, diff, remap until it fits, convert, back."""

import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

from ruda.cli import main
from ruda.models import architectures, get
from ruda.session import (
    Derived,
    Document,
    SaveOptions,
    TargetChoice,
    command_text,
    convert_command,
    diff_command,
    plan_saving,
)
from ruda.store import (
    CastPolicy,
    PathFilter,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    collect,
    convert,
    open_store,
    save,
    write,
    write_recipe,
)

RULES = ["--remap", r"^net\.", "", "--adapt", "pytorch-to-ruda"]


@pytest.fixture
def source(tmp_path):
    """A digits network as PyTorch would name it, under a prefix, with a counter nobody needs."""
    model = collect(get("digits").build(seed=3))
    recipe = Recipe().with_rule("^", "net.").with_adapt("ruda-to-pytorch")
    path = tmp_path / "digits.safetensors"
    save(convert(model, recipe=recipe), path, metadata={"format": "pt"})
    return str(path)


@pytest.fixture
def ruda(capsys):
    """Run a command; its code, stdout and stderr."""

    def run(*words):
        code = main([str(word) for word in words])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return run


def test_inspect_shows_families_and_json_shows_everything(ruda, source):
    code, out, err = ruda("inspect", source)
    assert (code, err) == (0, "")
    assert "safetensors · 16 tensors · 14 506 values · 58.0 kB" in out
    assert "net.conv*.weight  ×2" in out
    assert "format: pt" in out
    code, out, _ = ruda("inspect", source, "--json", "--sha256", "--keys", r"norm1\.weight$")
    found = json.loads(out)
    assert list(found) == ["path", "format", "metadata", "tensors", "unsafe", "notes"]
    with open_store(source) as index:
        assert found["tensors"] == [
            {
                "key": "net.norm1.weight",
                "dtype": "f32",
                "shape": [8],
                "bytes": 32,
                "sha256": index["net.norm1.weight"].sha256(),
            }
        ]
    assert found["path"] == source


def test_inspect_takes_several_files_and_names_the_refused_one(ruda, source, tmp_path):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"\xff" * 20)
    code, out, err = ruda("inspect", source, broken, source, "--json")
    assert code == 2
    assert len(json.loads(out)) == 2
    assert err.startswith(f"ruda: {broken}: byte 0: ")


def test_inspect_scans_values_on_request(ruda, tmp_path):
    values = np.array([1.0, np.nan, np.inf, -3.0], "f4")
    path = tmp_path / "odd.safetensors"
    snapshots = [TensorSnapshot.from_array("w", values), TensorSnapshot.from_array("e", values[:0])]
    save(TensorIndex.of(snapshots, format="x"), path)
    _, out, _ = ruda("inspect", path, "--stats", "--json")
    stats = {entry["key"]: entry["stats"] for entry in json.loads(out)["tensors"]}
    assert stats["w"] == {
        **{"min": -3.0, "max": 1.0, "mean": -1.0, "std": 2.0},
        **{"zeros": 0, "nan": 1, "inf": 1, "-inf": 0},
    }
    assert stats["e"]["min"] is None
    _, out, _ = ruda("inspect", path, "--stats")
    assert out.splitlines()[-1].split() == [
        *("w", "f32", "[4]", "16", "B"),
        *("-3", "1", "-1", "2", "1", "1"),
    ]


def test_inspect_lists_every_tensor_with_its_hash(ruda, tmp_path):
    path = tmp_path / "odd.safetensors"
    values = np.array([1 + 2j], "c8")
    index = TensorIndex.of([TensorSnapshot.from_array("w\x1b[31m", values)], format="x")
    save(index, path, metadata={"long": "x" * 300})
    _, out, _ = ruda("inspect", path, "--sha256", "--stats")
    assert index["w\x1b[31m"].sha256() in out
    assert "w\\x1b[31m  c64    [1]     8 B" in out
    assert "\x1b" not in out
    assert f"long: {'x' * 197}…" in out
    _, out, _ = ruda("inspect", path, "--keys", "absent")
    assert out.rstrip().endswith("0 of 1 tensor match")


def test_diff_from_red_to_green(ruda, source):
    code, out, _ = ruda("diff", source, "digits")
    assert code == 1
    assert "0 % of elements would load" in out
    assert "Nothing would be loaded: 0 of 16" in out
    assert "■ Unused   net.fc*.weight  ×2" in out
    everything = ruda("diff", source, "digits", "--all")[1]
    assert everything.count("■ Unused") == everything.count("▲ Missing") == 16
    hint = next(line for line in out.splitlines() if line.strip().startswith("try "))
    words = shlex.split(hint.strip().removeprefix("try ").partition("  (")[0])
    assert words == ["--remap", r"^net\.", ""]
    code, out, _ = ruda("diff", source, "digits", *words)
    assert code == 1
    assert "try --adapt pytorch-to-ruda" in out
    assert "`ruda suggest`, on the same file and target" in out
    code, out, err = ruda("diff", source, "digits", *RULES)
    assert (code, err) == (0, "")
    assert "100 % of elements would load · 16 of 16 model tensors" in out
    assert "● Applied  net.fc*.weight  ×2" in out
    assert "×" not in ruda("diff", source, "digits", *RULES, "--all")[1]


def test_diff_as_json_counts_every_row(ruda, source):
    code, out, _ = ruda("diff", source, "digits", *RULES[:3], "--json")
    report = json.loads(out)
    assert code == 1
    assert sum(report["counts"].values()) == len(report["rows"])
    assert report["target"] == "digits"


def test_diff_against_another_file(ruda, source, tmp_path):
    assert ruda("diff", source, source)[0] == 0
    part = tmp_path / "part.safetensors"
    assert ruda("convert", source, part, "--select", "conv")[0] == 0
    code, out, _ = ruda("diff", part, source)
    assert code == 1
    assert "▲ Missing" in out
    assert ruda("diff", part, tmp_path / "absent.bpk")[0] == 2


def test_a_conversion_and_back_is_the_same_values(ruda, source, tmp_path):
    native, back = tmp_path / "native.bpk", tmp_path / "back.safetensors"
    code, out, err = ruda("convert", source, native, *RULES, "--verify")
    assert (code, err) == (0, "")
    assert "transpose 1,0" in out
    assert "read back and compared" in out
    assert "inferred from names and shapes: 2 BatchNorm, 2 Conv2d, 2 Linear" in out
    assert ruda("diff", native, "digits")[0] == 0
    words = ("--adapt", "ruda-to-pytorch", "--remap", "^", "net.")
    assert ruda("convert", native, back, *words, "--target", "digits")[0] == 0
    with open_store(source) as before, open_store(back) as after:
        assert set(before) == set(after)
        for key in before:
            np.testing.assert_array_equal(before[key].read(), after[key].read())


def test_half_precision_keeps_what_it_was_told_to(ruda, source, tmp_path):
    out_file = tmp_path / "half.safetensors"
    words = (*RULES, "--half", "f16", "--keep", "BatchNorm", "--verify")
    code, out, _ = ruda("convert", source, out_file, *words)
    assert code == 0
    assert "overflow 0" in out
    with open_store(out_file) as index:
        kinds = {key: snapshot.dtype.label for key, snapshot in index.items()}
    assert kinds["conv1.weight"] == kinds["fc2.bias"] == "f16"
    assert kinds["norm1.running_var"] == kinds["norm2.gamma"] == "f32"
    assert ruda("convert", out_file, tmp_path / "wide.bpk", "--cast", "f32")[0] == 0
    assert ruda("diff", tmp_path / "wide.bpk", "digits")[0] == 0


def test_an_overflow_is_never_silent(ruda, tmp_path):
    path = tmp_path / "big.safetensors"
    big = TensorSnapshot.from_array("w", np.array([1e6, 1.0], "f4"))
    save(TensorIndex.of([big], format="x"), path)
    code, out, err = ruda("convert", path, tmp_path / "o.safetensors", "--cast", "f16")
    assert code == 1
    assert "w: 2 values cast: overflow 1, underflow 0, subnormal 0" in out
    assert err == "warning: 1 values do not fit the new type and became infinite or NaN\n"
    with open_store(tmp_path / "o.safetensors") as index:
        assert np.isinf(index["w"].read()[0])
    clamped = ["--cast", "f16", "--decide", "w", "clamp f16"]
    code, _, err = ruda("convert", path, tmp_path / "c.safetensors", *clamped)
    assert (code, err) == (0, "")


def test_a_strict_conversion_writes_nothing_that_does_not_fit(ruda, tmp_path):
    path, out_file = tmp_path / "big.safetensors", tmp_path / "o.safetensors"
    big = TensorSnapshot.from_array("w", np.array([1e6, 1.0], "f4"))
    save(TensorIndex.of([big], format="x"), path)
    code, out, err = ruda("convert", path, out_file, "--cast", "f16", "--strict")
    assert code == 1
    assert "w  f32 to f16: max error 0, relative rms 0, exact 1 of 2, overflow 1" in out
    assert err == "warning: values do not fit the new type, and --strict: nothing was written\n"
    assert not out_file.exists()
    assert ruda("convert", path, out_file, "--cast", "bf16", "--strict")[0] == 0
    assert out_file.exists()


def test_the_report_of_a_conversion_as_json(ruda, tmp_path):
    path, out_file = tmp_path / "big.safetensors", tmp_path / "o.safetensors"
    big = TensorSnapshot.from_array("w", np.array([1.0, 2.0, 1e6], "f4"))
    save(TensorIndex.of([big], format="x"), path)
    words = ["convert", path, out_file, "--cast", "f16", "--report", "--json"]
    code, out, _ = ruda(*words)
    (row,) = json.loads(out)["rows"]
    assert (code, row["overflow"], row["sampled"]) == (1, 1, False)
    code, out, _ = ruda(*words, "--sample", "2")
    (row,) = json.loads(out)["rows"]
    assert (code, row["overflow"], row["sampled"]) == (0, 0, True)
    assert not out_file.exists()


def test_a_conversion_that_changes_nothing_writes_the_same_bytes(ruda, source, tmp_path):
    native, copy = tmp_path / "a.bpk", tmp_path / "b.bpk"
    ruda("convert", source, native, *RULES, "--metadata", "note=1")
    assert ruda("convert", native, copy)[0] == 0
    assert native.read_bytes() == copy.read_bytes()
    again = tmp_path / "again.safetensors"
    assert ruda("convert", source, again)[0] == 0
    with open_store(again) as index:
        assert dict(index.metadata) == {"format": "pt"}


def test_nothing_is_written_by_a_dry_run_or_over_a_file(ruda, source, tmp_path):
    out_file = tmp_path / "o.bpk"
    code, out, _ = ruda("convert", source, out_file, "--dry-run")
    assert code == 0
    assert "16 tensors · 58.0 kB → 58.0 kB" in out
    assert not out_file.exists()
    out_file.write_bytes(b"mine")
    code, _, err = ruda("convert", source, out_file, "--dry-run")
    assert code == 2
    assert err.startswith("warning: cannot be saved: ")
    code, _, err = ruda("convert", source, out_file)
    assert (code, err) == (2, f"ruda: {out_file}: the file exists; --overwrite replaces it\n")
    assert out_file.read_bytes() == b"mine"
    assert ruda("convert", source, out_file, "--overwrite")[0] == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["digits.safetensors", "o.bpk"]


def test_a_file_can_be_converted_onto_itself(ruda, source):
    with open_store(source) as index:
        before = index["net.conv1.weight"].read().copy()
    assert ruda("convert", source, source, *RULES, "--overwrite", "--verify")[0] == 0
    with open_store(source) as index:
        np.testing.assert_array_equal(index["conv1.weight"].read(), before)


REFUSED = [
    pytest.param(["out.gguf"], "stands for no format that can be written", id="format"),
    pytest.param(["no/such/out.bpk"], "folder", id="folder"),
    pytest.param(["out.bpk", "--remap", "conv.", "c"], "would both become", id="collision"),
    pytest.param(["out.bpk", "--top-level-key", "x"], "belongs to a PyTorch", id="top-level key"),
    pytest.param(["out.bpk", "--target", "digit"], "did you mean 'digits'", id="target"),
    pytest.param(["out.bpk", "--half", "f16", "--keep", "Batch"], "BatchNorm", id="module"),
]


@pytest.mark.parametrize(("words", "sentence"), REFUSED)
def test_a_conversion_that_cannot_be_done_leaves_nothing(
    ruda, source, tmp_path, monkeypatch, words, sentence
):
    monkeypatch.chdir(tmp_path)
    code, _, err = ruda("convert", source, *words)
    assert code == 2
    assert err.count("\n") == 1
    assert sentence in err
    assert [entry.name for entry in tmp_path.iterdir()] == ["digits.safetensors"]


def test_a_recipe_file_and_its_flags_write_the_same_bytes(ruda, source, tmp_path):
    recipe = (
        Recipe()
        .with_rule(r"^net\.", "")
        .with_adapt("pytorch-to-ruda")
        .with_cast(CastPolicy.half(keep=["BatchNorm"]))
        .with_skip("fc2.bias")
    )
    write_recipe(recipe, tmp_path / "r.toml")
    with open_store(source) as index:
        document = Document(1, index.path, index, recipe, TargetChoice.of("digits"))
        words = convert_command(document, SaveOptions(tmp_path / "flags.bpk"))
        seen = diff_command(document)
    assert ruda(*shlex.split(command_text(words))[1:])[0] == 0
    target = ("--target", "digits")
    made = ruda("convert", source, tmp_path / "file.bpk", "--recipe", tmp_path / "r.toml", *target)
    assert made[0] == 0
    assert (tmp_path / "flags.bpk").read_bytes() == (tmp_path / "file.bpk").read_bytes()
    assert ruda(*seen[1:])[0] == 0


def test_models_and_formats_are_listed(ruda):
    _, out, _ = ruda("models")
    *rows, empty, hint = out.splitlines()
    assert [row.split()[0] for row in rows] == [each.name for each in architectures()]
    assert (empty, hint.startswith("`ruda models NAME` shows")) == ("", True)
    assert "seed=" not in out
    listed = {entry["name"]: entry for entry in json.loads(ruda("models", "--json")[1])}
    assert {"burn-mnist", "import-mnist", "digits", "resnet20", "llama"} <= set(listed)
    digits = listed["digits"]
    assert (digits["input"], digits["classes"], digits["tensors"]) == ([1, 28, 28], 10, 16)
    assert list(digits["settings"][0]) == ["name", "default", "minimum", "maximum", "help"]
    _, out, _ = ruda("formats")
    assert "read, write" in out
    assert "dataset" in out


RECIPES = [
    pytest.param(Recipe(), id="nothing"),
    pytest.param(
        Recipe().with_rule(r"^net\.", "").with_adapt("pytorch-to-ruda"), id="remap and adapt"
    ),
    pytest.param(Recipe().with_cast(CastPolicy.half(keep=["Conv2d"])), id="half"),
    pytest.param(
        Recipe().with_select(PathFilter.of("conv")).with_skip("net.conv1.bias"), id="part"
    ),
]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("target", [None, TargetChoice.of("digits")], ids=["alone", "target"])
@pytest.mark.parametrize("suffix", [".bpk", ".safetensors"])
def test_the_copied_command_writes_what_the_window_writes(
    ruda, source, tmp_path, recipe, target, suffix
):
    options = SaveOptions(tmp_path / f"window{suffix}", metadata=(("by", "a b"),))
    with open_store(source) as index:
        document = Document(1, index.path, index, recipe, target)
        write(plan_saving(Derived().view(document), options))
        words = convert_command(document, replace(options, path=tmp_path / f"command{suffix}"))
    assert ruda(*shlex.split(command_text(words))[1:])[0] == 0
    written = (tmp_path / f"window{suffix}").read_bytes()
    assert (tmp_path / f"command{suffix}").read_bytes() == written


def test_a_set_of_shards_is_written_and_read(ruda, source, tmp_path):
    out = tmp_path / "set" / "digits.safetensors"
    out.parent.mkdir()
    code, text, _ = ruda("convert", source, out, "--shard-size", "20kB", "--verify")
    assert code == 0
    assert re.search(r"Saved digits\.safetensors\.index\.json and \d shards", text)
    code, _, err = ruda("convert", out.parent, tmp_path / "again.safetensors")
    assert (code, err) == (0, "")
    with open_store(source) as before, open_store(tmp_path / "again.safetensors") as after:
        assert {k: s.sha256() for k, s in before.items()} == {
            k: s.sha256() for k, s in after.items()
        }
    code, _, err = ruda("convert", source, out, "--shard-size", "1GB")
    assert code == 0
    assert "files of an earlier set lie beside it" in err
    code, _, err = ruda("convert", source, out, "--shard-size", "much")
    assert (code, "'much' is no size" in err) == (2, True)


def test_metadata_alone_is_changed_in_the_file(ruda, source):
    with open_store(source) as index:
        before = {key: s.sha256() for key, s in index.items()}
    for words, expected in (
        (["--metadata", "note=" + "x" * 80], {"format": "pt", "note": "x" * 80}),
        (["--metadata", "note=short"], {"format": "pt", "note": "short"}),
        (["--drop-metadata", "note"], {"format": "pt"}),
    ):
        code, out, err = ruda("convert", source, source, *words, "--overwrite")
        assert (code, err) == (0, "")
        with open_store(source) as index:
            assert index.metadata == expected
            assert {key: s.sha256() for key, s in index.items()} == before
    assert "written in place" in out
    assert ruda("convert", source, source, "--metadata", "a=b")[0] == 2


def test_a_pytorch_file_of_plain_tensors_is_written(ruda, source, tmp_path):
    out = tmp_path / "digits.pt"
    code, _, err = ruda("convert", source, out, "--verify")
    assert code == 0
    assert "the metadata (1 entries) is not carried over" in err
    with open_store(source) as before, open_store(out) as after:
        assert {k: s.sha256() for k, s in before.items()} == {
            k: s.sha256() for k, s in after.items()
        }
