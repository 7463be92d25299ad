"""Addresses wherever the command line takes a source."""

import json

import numpy as np
import pytest

from ruda.cli import main
from ruda.store import open_store
from ruda.testing.file_bytes import safetensors_bytes

W = {"fc.weight": np.arange(12, dtype="<f4").reshape(3, 4)}
SOURCE = "memory://cli/model.safetensors"


@pytest.fixture(autouse=True)
def _files():
    import fsspec

    fsspec.filesystem("memory").pipe_file("/cli/model.safetensors", safetensors_bytes(W))
    fsspec.filesystem("memory").pipe_file("/cli/weights", safetensors_bytes(W))


def test_inspect(capsys):
    assert main(["inspect", SOURCE, "--json", "--sha256", "--stats"]) == 0
    (tensor,) = json.loads(capsys.readouterr().out)["tensors"]
    assert (tensor["shape"], tensor["stats"]["max"]) == ([3, 4], 11.0)


def test_diff_of_two_addresses():
    assert main(["diff", SOURCE, "memory://cli/weights"]) == 0


def test_convert_to_this_machine(tmp_path):
    out = tmp_path / "out.bpk"
    assert main(["convert", SOURCE, str(out), "--verify"]) == 0
    with open_store(out) as index:
        np.testing.assert_array_equal(index["fc.weight"].read(), W["fc.weight"])


def test_an_address_without_a_file_is_one_sentence(capsys):
    assert main(["inspect", "memory://cli/none.pt"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "ruda: memory://cli/none.pt: there is no file at this address; check its spelling\n"
    )
