"""The command line over real files: values, bytes and accuracy of the originals."""

import json

import numpy as np
import pytest

from ruda.cli import main

pytestmark = pytest.mark.cases
DTYPES = {"float32": "f32", "int64": "i64"}


@pytest.fixture
def ruda(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        return code, capsys.readouterr().out

    return run


FILES = [
    pytest.param("burn_mnist_bpk", "model.bpk", "", id="rudapack"),
    pytest.param("burn_import_mnist", "mnist.pt", "pt:", id="pytorch"),
    pytest.param("burn_import_mnist", "mnist.safetensors", "safetensors:", id="safetensors"),
]


@pytest.mark.parametrize(("folder", "name", "prefix"), FILES)
def test_inspect_equals_the_list_of_the_originals(ruda, cases, folder, name, prefix):
    known = json.loads((cases / "models" / "index.json").read_text("utf-8"))[folder]["tensors"]
    expected = {
        key.removeprefix(prefix): (DTYPES[entry["dtype"]], entry["shape"], entry["sha256"])
        for key, entry in known.items()
        if key.startswith(prefix)
    }
    code, out = ruda("inspect", cases / "models" / folder / name, "--json", "--sha256")
    tensors = json.loads(out)["tensors"]
    assert code == 0
    assert {t["key"]: (t["dtype"], t["shape"], t["sha256"]) for t in tensors} == expected


def test_a_copy_of_burns_file_is_the_same_file(ruda, cases, tmp_path):
    original = cases / "models" / "burn_mnist_bpk" / "model.bpk"
    assert ruda("convert", original, tmp_path / "new.bpk")[0] == 0
    assert (tmp_path / "new.bpk").read_bytes() == original.read_bytes()


def test_the_adapter_makes_the_load_complete(ruda, cases):
    source = cases / "models" / "burn_import_mnist" / "mnist.pt"
    code, out = ruda("diff", source, "import-mnist")
    assert code == 1
    assert out.count("✖ Error") == 2
    assert "Missing 4" in out
    assert out.count("▲ Missing") == 2  # gamma and beta of both norms, folded
    code, out = ruda("diff", source, "import-mnist", "--adapt", "pytorch-to-ruda", "--all")
    assert code == 0
    assert "Applied 18   Skipped 0   Missing 0   Unused 2   Error 0" in out
    unused = [line for line in out.splitlines() if "■ Unused" in line]
    assert len(unused) == 2
    assert all("num_batches_tracked" in line and "harmless" in line for line in unused)


RUNS = [
    pytest.param(
        "burn-mnist", "burn_mnist_bpk/model.bpk", [], "logits", "logits", id="burn_mnist_bpk"
    ),
    pytest.param(
        "import-mnist",
        "burn_import_mnist/mnist.pt",
        ["--adapt", "pytorch-to-ruda"],
        "log_probs_pt",
        "log_probs",
        id="mnist.pt",
    ),
    pytest.param(
        "import-mnist",
        "burn_import_mnist/mnist.safetensors",
        ["--adapt", "pytorch-to-ruda"],
        "log_probs_safetensors",
        "log_probs",
        id="mnist.safetensors",
    ),
]


@pytest.mark.parametrize(("target", "file", "words", "reference", "array"), RUNS)
def test_the_first_outputs_are_those_of_the_original_program(
    ruda, cases, tmp_path, target, file, words, reference, array
):
    weights = cases / "models" / file
    out_file = tmp_path / "o.npz"
    data = ("--dataset", cases / "data" / "mnist", "--limit", 32, "--logits", out_file)
    assert ruda("run", target, "--weights", weights, *words, *data)[0] == 0
    expected = np.load(weights.parent / "ref.npz")
    found = np.load(out_file)
    np.testing.assert_array_equal(found["labels"], expected["labels"])
    np.testing.assert_allclose(found[array], expected[reference], rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "file", "words", "accuracy"),
    [
        pytest.param("burn-mnist", "burn_mnist_bpk/model.bpk", [], "0.9847", id="burn_mnist_bpk"),
        pytest.param(
            "import-mnist",
            "burn_import_mnist/mnist.pt",
            ["--adapt", "pytorch-to-ruda"],
            "0.9915",
            id="mnist.pt",
        ),
    ],
)
def test_the_accuracy_is_that_of_the_original_program(ruda, cases, target, file, words, accuracy):
    data = ("--dataset", cases / "data" / "mnist")
    code, out = ruda("run", target, "--weights", cases / "models" / file, *words, *data)
    assert code == 0
    assert f"accuracy {accuracy} " in out


def test_half_precision_and_back(ruda, cases, tmp_path):
    source = cases / "models" / "burn_import_mnist" / "mnist.pt"
    half, back = tmp_path / "half.bpk", tmp_path / "back.safetensors"
    words = ("--adapt", "pytorch-to-ruda", "--half", "f16", "--keep", "BatchNorm", "--verify")
    code, out = ruda("convert", source, half, *words)
    assert code == 0
    assert "values cast: overflow 0, underflow " in out
    code, out = ruda(
        "convert", half, back, "--cast", "f32", "--adapt", "ruda-to-pytorch", "--verify"
    )
    assert code == 0
    tensors = {}
    for path in (source, half, back):
        listed = json.loads(ruda("inspect", path, "--json", "--sha256")[1])["tensors"]
        tensors[path] = {entry["key"]: entry for entry in listed}
    assert set(tensors[back]) == set(tensors[source])
    for key, entry in tensors[source].items():
        assert tensors[back][key]["shape"] == entry["shape"]
        if "running" in key:
            assert tensors[half][key] == tensors[back][key] == entry
    assert tensors[half]["fc1.weight"]["dtype"] == "f16"
    assert tensors[back]["fc1.weight"]["dtype"] == "f32"
