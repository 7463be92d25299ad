"""Sets of shards: opened by index, folder or any shard; the index is checked both ways."""

import json

import numpy as np
import pytest

from ruda.errors import (
    FileAccessError,
    HeaderError,
    KeyCollisionError,
    StoreError,
    UnknownFormatError,
)
from ruda.store import open_store
from ruda.testing.file_bytes import safetensors_bytes, torch_zip_bytes

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"
A, B = np.arange(3, dtype="<f4"), np.arange(4, dtype="<i8")


@pytest.fixture
def folder(tmp_path):
    """A set of two shards, one tensor in each."""
    (tmp_path / FIRST).write_bytes(safetensors_bytes({"a": A}, {"format": "pt", "part": "1"}))
    (tmp_path / SECOND).write_bytes(safetensors_bytes({"b": B}, {"format": "pt", "part": "2"}))
    write(tmp_path, {"a": FIRST, "b": SECOND})
    return tmp_path


def write(folder, weight_map):
    raw = json.dumps({"metadata": {"total_size": 44}, "weight_map": weight_map})
    (folder / INDEX).write_text(raw)


@pytest.mark.parametrize("name", ["", INDEX, FIRST, SECOND], ids=["folder", "index", "1", "2"])
def test_any_part_opens_the_whole(folder, name):
    with open_store(folder / name) as index:
        assert list(index) == ["a", "b"]
        np.testing.assert_array_equal(index["a"].read(), A)
        np.testing.assert_array_equal(index["b"].read(), B)
        assert index.shards == (folder / FIRST, folder / SECOND)
        assert index.metadata == {"format": "pt"}
        assert index.extra["index_metadata"] == {"total_size": 44}
        assert index.notes == ()
    with pytest.raises(FileAccessError, match="closed"):
        index["b"].read()


@pytest.mark.parametrize("name", ["", FIRST, SECOND], ids=["folder", "1", "2"])
def test_a_whole_set_without_an_index_is_found_by_its_names(folder, name):
    (folder / INDEX).unlink()
    with open_store(folder / name) as index:
        assert list(index) == ["a", "b"]
        np.testing.assert_array_equal(index["b"].read(), B)
        assert index.shards == (folder / FIRST, folder / SECOND)
        assert index.notes == ("the set has no index; its 2 files were found by their names",)


def test_a_shard_of_a_set_without_an_index_and_a_file_opens_alone(folder):
    (folder / INDEX).unlink()
    (folder / SECOND).unlink()
    with open_store(folder / FIRST) as index:
        assert list(index) == ["a"]
        assert index.notes == (f"is one of 2 files of a set without an index; {SECOND} is missing",)


def test_two_shards_with_one_key_and_no_index_are_refused(folder):
    (folder / INDEX).unlink()
    (folder / SECOND).write_bytes(safetensors_bytes({"a": A}))
    both = rf"'a in {FIRST}' and 'a in {SECOND}' would both become 'a'"
    with pytest.raises(KeyCollisionError, match=both):
        open_store(folder / FIRST)


@pytest.mark.parametrize("whole", [False, True], ids=["alone", "with the others"])
def test_a_shard_of_an_earlier_set_is_not_the_set_that_is_there_now(folder, whole):
    """A save with other shards leaves the old ones where they are."""
    old = [f"model-{n:05}-of-00003.safetensors" for n in (1, 2, 3)]
    for n, name in enumerate(old if whole else old[:1]):
        (folder / name).write_bytes(safetensors_bytes({f"a{n or ''}": A + 9}))
    with open_store(folder / old[0]) as index:
        assert list(index) == (["a", "a1", "a2"] if whole else ["a"])
        np.testing.assert_array_equal(index["a"].read(), A + 9)
        assert index.notes[0] == f"is not of the set that {INDEX} beside it lists"
    with open_store(folder) as index:
        np.testing.assert_array_equal(index["a"].read(), A)


def test_two_shards_with_one_key_that_the_index_forgot_are_refused(folder):
    raw = safetensors_bytes({"b": A, "c": A})
    (folder / FIRST).write_bytes(safetensors_bytes({"a": A, "c": A}))
    (folder / SECOND).write_bytes(raw)
    with pytest.raises(KeyCollisionError, match=rf"'c in {FIRST}' and 'c in {SECOND}'"):
        open_store(folder / INDEX)


NUMBERS = [
    pytest.param("model-00003-of-00002.safetensors", id="number above the count"),
    pytest.param("model-00000-of-00002.safetensors", id="number nought"),
    pytest.param("model-00001-of-99999999999.safetensors", id="too many"),
    pytest.param("model-00001-of-00001.safetensors", id="a set of one"),
]


@pytest.mark.parametrize("name", NUMBERS)
def test_names_that_number_nothing_are_plain_names(tmp_path, name):
    (tmp_path / name).write_bytes(safetensors_bytes({"a": A}))
    with open_store(tmp_path / name) as index:
        assert (list(index), index.notes, index.shards) == (["a"], (), ())


def test_shards_of_pytorch_are_opened_alike(tmp_path):
    name = "pytorch_model-00001-of-00001.bin"
    (tmp_path / name).write_bytes(torch_zip_bytes({"a": A}))
    index = {"weight_map": {"a": name}}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    with open_store(tmp_path) as found:
        assert found.format == "pytorch"
        np.testing.assert_array_equal(found["a"].read(), A)


def test_a_tensor_that_the_index_forgot_is_listed_with_a_note(folder):
    (folder / SECOND).write_bytes(safetensors_bytes({"b": B, "more": A}))
    with open_store(folder) as index:
        assert list(index) == ["a", "b", "more"]
        assert index.notes == (f"{SECOND} has 1 tensors that are not in the index: 'more'",)


def test_a_stale_copy_in_another_shard_is_left_out_with_a_note(folder):
    (folder / SECOND).write_bytes(safetensors_bytes({"b": B, "a": B}))
    with open_store(folder) as index:
        np.testing.assert_array_equal(index["a"].read(), A)
        assert index.notes == (f"{SECOND} has 'a', which the index puts into {FIRST}",)


WRONG = [
    pytest.param(
        {"a": FIRST, "b": SECOND, "ghost": FIRST},
        HeaderError,
        rf"puts 'ghost' into {FIRST}, which has no such tensor",
        id="a key that its shard lacks",
    ),
    pytest.param(
        {"a": FIRST, "b": "model-3.safetensors"},
        FileAccessError,
        r"names the shard model-3\.safetensors, which is not beside it",
        id="a shard that is not there",
    ),
    pytest.param(
        {"a": "../secret.pt"}, HeaderError, r"'\.\./secret\.pt', which is no file", id="parent"
    ),
    pytest.param({"a": "/etc/passwd"}, HeaderError, r"'/etc/passwd', which is no", id="absolute"),
    pytest.param({"a": "sub\\x"}, HeaderError, r"which is no file beside it", id="backslash"),
    pytest.param({"a": ".."}, HeaderError, r"which is no file beside it", id="the folder above"),
    pytest.param({"a": 1}, HeaderError, r"puts 'a' into 1", id="a number"),
    pytest.param([], UnknownFormatError, r"has no weight_map", id="no map"),
]


@pytest.mark.parametrize(("weight_map", "error", "sentence"), WRONG)
def test_a_wrong_index_is_refused(folder, weight_map, error, sentence):
    write(folder, weight_map)
    with pytest.raises(error, match=rf"{INDEX}: .*{sentence}"):
        open_store(folder)


TEXTS = [
    pytest.param("{", r"is not valid JSON", id="cut"),
    pytest.param("[" * 100_000, r"is not valid JSON", id="deep"),
    pytest.param('{"weight_map": {"a": "x", "a": "y"}}', r"a name appears twice", id="twice"),
]


@pytest.mark.parametrize(("raw", "sentence"), TEXTS)
def test_an_index_that_is_no_json_is_refused(folder, raw, sentence):
    (folder / INDEX).write_text(raw)
    with pytest.raises(HeaderError, match=sentence):
        open_store(folder)


def test_a_damaged_shard_is_named_and_the_others_are_closed(folder):
    (folder / SECOND).write_bytes(b"\x02\0\0\0\0\0\0\0{}extra")
    with pytest.raises(StoreError, match=rf"{SECOND}: byte 10: 5 bytes follow"):
        open_store(folder)
