"""A model over a dataset from the command line."""

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
    code, out, err = ruda(*words, "--allow-partial")
    assert code == 0
    assert err == "warning: 1 parameter keeps its initial value: fc2.bias\n"
    assert "accuracy" in out


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
    assert "nothing was loaded" in err_of("burn-mnist", *tail)
