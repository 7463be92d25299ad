"""Tensors that are one: found, owned by a chosen key, noted, and found again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ruda.errors import SaveError
from ruda.store import (
    Aliases,
    CastPolicy,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    convert,
    open_store,
    plan_save,
    save,
)
from ruda.store.alias_note import with_noted_aliases
from ruda.store.aliases import alias_groups, choose_owners
from ruda.store.snapshot import ArraySource
from ruda.tensor import DType

W = np.arange(6, dtype="<f4").reshape(2, 3)


def tied():
    source = ArraySource(W)

    def one(key, shared=None):
        return TensorSnapshot(key, DType.F32, (2, 3), 24, source, shared_with=shared)

    other = TensorSnapshot.from_array("b", np.ones(2, "<f4"))
    return TensorIndex.of([one("wte"), other, one("head", "wte")], format="pytorch")


def test_keys_of_one_tensor_are_a_group():
    assert alias_groups(tied()) == (("wte", "head"),)


def test_a_slice_is_a_tensor_of_its_own():
    part = TensorSnapshot.from_array("part", W[0])
    index = TensorIndex.of(
        [TensorSnapshot.from_array("w", W), replace(part, shared_with="w")], format="pytorch"
    )
    assert alias_groups(index) == ()


def test_they_stay_one_after_the_same_cast():
    view = convert(tied(), recipe=Recipe(cast=CastPolicy.every(DType.F16)))
    assert alias_groups(view) == (("wte", "head"),)
    plan = plan_save(view, "m.pt")
    assert [b.key for b in plan.layout.blocks] == ["wte", "b"]


def test_the_first_owns_unless_another_is_chosen():
    assert choose_owners(tied()) == {"head": "wte"}
    assert choose_owners(tied(), ["head"]) == {"wte": "head"}


def test_an_owner_has_to_be_there_and_the_only_one():
    with pytest.raises(SaveError, match=r"'haed' shall own shared values, but there is no such"):
        choose_owners(tied(), ["haed"])
    with pytest.raises(SaveError, match=r"'wte' and 'head' are one tensor, which has one owner"):
        choose_owners(tied(), ["wte", "head"])


@pytest.mark.parametrize("name", ["m.safetensors", "m.bpk"])
@pytest.mark.parametrize("policy", list(Aliases))
def test_they_come_back_from_formats_without_aliases(tmp_path, name, policy):
    index = tied()
    plan = plan_save(index, tmp_path / name, aliases=policy, owners=["head"])
    result = save(index, tmp_path / name, aliases=policy, owners=["head"], verify=True)
    assert plan.metadata["aliases"] == '{"wte":"head"}'
    assert {e.key for e in plan.entries} == {"b", "head"} | ({"wte"} & set(plan_keys(policy)))
    assert set(result.sha256) == {"wte", "b", "head"}
    with open_store(tmp_path / name) as again:
        assert set(again) == {"wte", "b", "head"}
        assert again["wte"].read().tolist() == W.tolist()
        assert again["wte"].shared_with == (None if policy is Aliases.FULL else "head")


def plan_keys(policy):
    return ("wte",) if policy is Aliases.FULL else ()


def test_a_plan_says_what_is_written_in_full_and_what_once(tmp_path):
    full = plan_save(tied(), tmp_path / "m.safetensors", metadata={"format": "pt"})
    assert [str(p) for p in full.warnings] == [
        "'head': shares memory with 'wte'; both are written in full"
    ]
    once = plan_save(
        tied(), tmp_path / "m.safetensors", metadata={"format": "pt"}, aliases=Aliases.ONCE
    )
    assert [str(p) for p in once.warnings] == [
        "'head': is the same tensor as 'wte', which is written once"
    ]
    assert once.file_size < full.file_size


def test_a_file_that_has_them_once_is_saved_so_again(tmp_path):
    save(tied(), tmp_path / "m.safetensors", aliases=Aliases.ONCE)
    with open_store(tmp_path / "m.safetensors") as index:
        save(index, tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == (
        tmp_path / "m.safetensors"
    ).read_bytes()


def test_numpy_has_no_place_for_the_note(tmp_path):
    with pytest.raises(SaveError, match=r"numpy files have no metadata to note in which keys"):
        save(tied(), tmp_path / "m.npz", aliases=Aliases.ONCE)
    save(tied(), tmp_path / "m.npz", verify=True)


def test_a_note_on_tensors_that_are_not_saved_is_dropped(tmp_path):
    save(tied(), tmp_path / "full.safetensors", aliases=Aliases.FULL)
    with open_store(tmp_path / "full.safetensors") as index:
        kept = TensorIndex.of(
            [index["wte"], index["b"]], format=index.format, metadata=index.metadata
        )
        save(kept, tmp_path / "less.safetensors")
    with open_store(tmp_path / "less.safetensors") as index:
        assert list(index) == ["wte", "b"]
        assert index.metadata == {}


NOTES = [
    pytest.param("no json", "is no alias list", id="text"),
    pytest.param('["a"]', "is no alias list", id="list"),
    pytest.param('{"a": 1}', "is no alias list", id="number"),
    pytest.param('{"a": "gone"}', "'a' stands for 'gone', which is not in the file", id="no owner"),
    pytest.param("[" * 100_000, "is no alias list", id="deep"),
]


@pytest.mark.parametrize(("text", "note"), NOTES)
def test_a_note_that_cannot_be_followed_is_said(text, note):
    index = TensorIndex.of(
        [TensorSnapshot.from_array("b", W)], format="safetensors", metadata={"aliases": text}
    )
    found = with_noted_aliases(index)
    assert list(found) == ["b"]
    assert note in found.notes[-1]


def test_what_is_in_the_file_wins_over_the_note():
    made = [TensorSnapshot.from_array(k, W + n) for n, k in enumerate("ab")]
    note = json.dumps({"b": "a"})
    index = TensorIndex.of(made, format="safetensors", metadata={"aliases": note})
    assert with_noted_aliases(index) is index
