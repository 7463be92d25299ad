"""A model over a dataset from the command line."""

import os

import numpy as np
import pytest

from ruda.cli import main
from ruda.data import write_idx
from ruda.models import get
from ruda.store import collect, save


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "digits.bpk"
    save(collect(get("digits").build(seed=3)), path)
    return path


@pytest.fixture
def pictures(tmp_path):
    """Twelve random pictures with labels, as IDX files."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(1)
    write_idx(folder / "t10k-images-idx3-ubyte", rng.integers(0, 256, (12, 28, 28), np.uint8))
    write_idx(folder / "t10k-labels-idx1-ubyte", np.arange(12, dtype=np.uint8) % 10)
    return folder


@pytest.fixture
def ruda(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return run


def test_accuracy_profile_and_outputs(ruda, weights, pictures, tmp_path):
    words = ("run", "digits", "--weights", weights, "--dataset", pictures)
    outputs = tmp_path / "o.npz"
    code, out, err = ruda(*words, "--profile", "--logits", outputs, "--batch-size", 5)
    assert (code, err) == (0, "")
    found = np.load(outputs)
    assert found["logits"].shape == (12, 10)
    right = int((found["predicted"] == found["labels"]).sum())
    assert f"accuracy {right / 12:.4f} ({right} of 12)" in out
    assert "conv1" in out
    assert "ms for 5 items" in out
    code, _, err = ruda(*words, "--logits", outputs)
    assert (code, err) == (2, f"ruda: {outputs}: exists; --overwrite replaces it\n")
    assert ruda(*words, "--logits", outputs, "--overwrite", "--limit", 3)[0] == 0
    assert np.load(outputs)["logits"].shape == (3, 10)


def test_weights_that_fill_too_little_are_refused_unless_asked_for(ruda, weights, pictures):
    words = ("run", "digits", "--weights", weights, "--dataset", pictures, "--skip", "fc2.bias")
    code, out, err = ruda(*words)
    assert (code, out) == (2, "")
    assert "1 parameter keeps its initial value: fc2.bias" in err
    assert err.endswith("; --allow-partial runs it all the same\n")
    code, out, err = ruda(*words, "--allow-partial")
    assert code == 0
    assert err == "warning: 1 parameter keeps its initial value: fc2.bias\n"
    assert "accuracy" in out


def test_a_load_that_one_option_would_mend_names_it(ruda, project):
    samples = project / "resources" / "samples"
    words = ("--weights", samples / "digits.bpk", "--dataset", samples / "digits")
    code, _, err = ruda("run", "digits", *words)
    assert code == 2
    assert err.endswith("; try --remap '^module\\.' ''\n")
    code, _, err = ruda("run", "digits", *words, "--remap", r"^module\.", "")
    assert code == 2
    assert err.endswith("; try --adapt pytorch-to-ruda\n")


def test_what_cannot_be_run_is_told(ruda, weights, pictures, tmp_path):
    def err_of(*words):
        code, out, err = ruda("run", *words)
        assert (code, out) == (2, "")
        return err

    tail = ("--weights", weights, "--dataset", pictures)
    assert "cannot be run" in err_of(weights, *tail)
    assert "did you mean 'digits'" in err_of("digit", *tail)
    assert "there is no" in err_of("digits", "--weights", tmp_path / "no.bpk", *tail[2:])
    assert "no such file" in err_of("digits", *tail[:2], "--dataset", tmp_path / "none")
    err = err_of("burn-mnist", *tail)
    assert "cannot be applied" in err or "nothing would be loaded" in err


SAMPLES = [
    pytest.param("digits-checkpoint.pt", ["--top-level-key", "state_dict"], id="checkpoint"),
    pytest.param("digits.safetensors", [], id="safetensors"),
]


@pytest.mark.parametrize(("name", "words"), SAMPLES)
def test_the_built_in_sample_from_file_to_accuracy(ruda, project, name, words):
    samples = project / "resources" / "samples"
    assert ruda("diff", samples / name, "digits", *words)[0] == 1
    words = [*words, "--remap", r"^module\.", "", "--adapt", "pytorch-to-ruda"]
    code, out, _ = ruda("diff", samples / name, "digits", *words)
    assert code == 0
    assert "100 % of elements would load" in out
    code, out, _ = ruda(
        *("run", "digits", "--weights", samples / name, *words, "--dataset", samples / "digits")
    )
    assert code == 0
    accuracy = next(line for line in out.splitlines() if line.startswith("accuracy "))
    assert float(accuracy.split()[1]) >= 0.97


def test_inspect_shows_the_tree_of_a_checkpoint(ruda, project):
    path = project / "resources" / "samples" / "digits-checkpoint.pt"
    code, out, _ = ruda("inspect", path)
    assert code == 0
    assert "  .: dict of 4" in out
    assert "    state_dict: dict of 18" in out
    assert "    epoch: " in out


def test_outputs_are_never_written_over_what_they_come_from(ruda, weights, pictures, tmp_path):
    words = ("run", "digits", "--weights", weights, "--dataset", pictures, "--overwrite")
    before = weights.read_bytes()
    link = tmp_path / "link.npz"
    link.symlink_to(weights)
    for out in (weights, link):
        code, _, err = ruda(*words, "--logits", out)
        assert (code, err) == (
            2,
            f"ruda: {out}: is read by this very run; name another file for the outputs\n",
        )
    assert weights.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="devices as POSIX has them")
def test_outputs_replace_no_device(ruda, weights, pictures):
    words = ("run", "digits", "--weights", weights, "--dataset", pictures, "--overwrite")
    code, _, err = ruda(*words, "--logits", os.devnull)
    assert (code, err) == (2, "ruda: /dev/null: is not a plain file\n")
