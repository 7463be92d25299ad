"""Where saves go: paths on this machine, and what is said of addresses."""

from pathlib import Path

import numpy as np
import pytest

from ruda import nn
from ruda.errors import SaveError
from ruda.store import SafetensorsStore, collect, open_store, plan_save, save
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.store.uri import Uri, target_of


def index_of():
    return TensorIndex.of([TensorSnapshot.from_array("w", np.ones(3, np.float32))], format="memory")


ADDRESSES = [
    pytest.param("s3://bucket/out.safetensors", "copy the file there with `aws s3 cp`", id="s3"),
    pytest.param("gs://bucket/out.safetensors", "with `gcloud storage cp`", id="gs"),
    pytest.param("hf://me/model/out.safetensors", "with `hf upload`", id="hf"),
    pytest.param("https://h/out.safetensors", "with the tool of its service", id="web"),
]


@pytest.mark.parametrize(("text", "advice"), ADDRESSES)
@pytest.mark.parametrize("made", [str, Uri])
def test_nothing_is_saved_to_an_address(tmp_path, monkeypatch, text, advice, made):
    monkeypatch.chdir(tmp_path)
    sentence = rf"^{text}: is an address, and a save goes to a file on this machine; .*{advice}$"
    with pytest.raises(SaveError, match=sentence) as caught:
        plan_save(index_of(), made(text))
    assert caught.value.stage == "plan"
    with pytest.raises(SaveError, match=sentence):
        save(index_of(), made(text))
    with pytest.raises(SaveError, match=sentence):
        nn.Linear(2, 1, seed=0).save_into(SafetensorsStore.from_file(made(text)))
    assert list(tmp_path.iterdir()) == []


def test_a_file_address_is_a_path(tmp_path):
    save(index_of(), (tmp_path / "a b.safetensors").as_uri())
    with open_store(tmp_path / "a b.safetensors") as index:
        assert list(index) == ["w"]
    assert target_of("C://m.bpk") == Path("C://m.bpk")


def test_a_module_is_loaded_from_an_address(tmp_path, monkeypatch):
    import fsspec

    system = fsspec.filesystem("memory")
    monkeypatch.setattr(type(system), "store", {})
    monkeypatch.setattr(type(system), "pseudo_dirs", [""])
    model = nn.Linear(2, 1, seed=3)
    model.save_into(SafetensorsStore.from_file(tmp_path / "m.safetensors"))
    system.pipe_file("/m.safetensors", (tmp_path / "m.safetensors").read_bytes())
    other = nn.Linear(2, 1, seed=4)
    result = other.load_from(SafetensorsStore.from_file("memory://m.safetensors"))
    assert len(result.applied) == 2
    before, after = (
        {key: snapshot.read().tolist() for key, snapshot in collect(each).items()}
        for each in (model, other)
    )
    assert before == after
