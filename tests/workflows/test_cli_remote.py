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


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--shard-size", "1GB"]])
def test_convert_to_an_address(tmp_path, monkeypatch, capsys, more):
    monkeypatch.chdir(tmp_path)
    assert main(["convert", SOURCE, "s3://bucket/out.safetensors", *more]) == 2
    said = capsys.readouterr().err
    assert "s3://bucket/out.safetensors: is an address, and a save goes to a file on this" in said
    assert "copy the file there with `aws s3 cp`" in said
    assert list(tmp_path.iterdir()) == []


TWICE = [
    pytest.param(["--metadata", "k=1", "--metadata", "k=2"], "k", id="two values"),
    pytest.param(["--metadata", "k=1", "--metadata", "k=1"], "k", id="the same value"),
    pytest.param(["--drop-metadata", "k", "--metadata", "k=1"], "k", id="and dropped"),
    pytest.param(
        [*["--drop-metadata", "x"] * 2, "--metadata", "k=1", "--metadata", "k=2"], "k", id="later"
    ),
]


@pytest.mark.parametrize(("words", "key"), TWICE)
def test_an_entry_of_metadata_is_given_once(tmp_path, capsys, words, key):
    assert main(["convert", SOURCE, str(tmp_path / "out.safetensors"), *words]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"--metadata and --drop-metadata name '{key}' twice; say it once" in said
    assert list(tmp_path.iterdir()) == []


def test_entries_of_metadata_with_several_signs(tmp_path):
    out = tmp_path / "out.safetensors"
    words = [
        "--metadata",
        "a=b=c",
        "--metadata",
        "b=",
        "--drop-metadata",
        "x",
        "--drop-metadata",
        "x",
    ]
    assert main(["convert", SOURCE, str(out), *words]) == 0
    with open_store(out) as index:
        assert dict(index.metadata) == {"a": "b=c", "b": ""}
