"""Editing metadata: in place where that is safe, by a copy where not, tensors never touched."""

import errno
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import SaveError, UnsupportedContentError
from ruda.store import TensorIndex, TensorSnapshot, edit_metadata, open_store, save
from ruda.store.metadata_edit import SECTOR_BYTES


def make(path, metadata=None, tensors=3):
    made = [TensorSnapshot.from_array(f"t{n}", np.full(4, n, "<f4")) for n in range(tensors)]
    save(TensorIndex.of(made, format="memory"), path, metadata=metadata or {}, overwrite=True)
    return path


def facts(path):
    with open_store(path) as index:
        return dict(index.metadata), {k: s.read().tobytes() for k, s in index.items()}


@pytest.fixture
def path(tmp_path):
    return make(tmp_path / "m.safetensors", {"format": "np", "step": "10"})


def test_a_value_of_equal_length_is_written_in_place(path):
    inode, size = path.stat().st_ino, path.stat().st_size
    edit = edit_metadata(path, {"step": "11"})
    assert (edit.in_place, edit.written) == (True, 1)
    assert facts(path)[0] == {"format": "np", "step": "11"}
    assert (path.stat().st_ino, path.stat().st_size) == (inode, size)


def test_less_leaves_room_and_more_uses_it(path):
    before = facts(path)[1]
    assert edit_metadata(path, {"step": None}).in_place
    assert edit_metadata(path, {"k": "12"}).in_place
    assert facts(path) == ({"format": "np", "k": "12"}, before)


def test_what_does_not_fit_is_copied_with_room_for_the_next(path):
    before = facts(path)[1]
    inode = path.stat().st_ino
    edit = edit_metadata(path, {"note": "x" * 100})
    assert (edit.in_place, edit.written) == (False, path.stat().st_size)
    assert path.stat().st_ino != inode
    assert facts(path)[1] == before
    assert edit_metadata(path, {"note": "y" * 200}).in_place
    assert facts(path)[0]["note"] == "y" * 200


def test_without_leave_to_copy_nothing_is_changed(path):
    before = path.read_bytes()
    assert edit_metadata(path, {"note": "x" * 100}, may_copy=False) is None
    assert path.read_bytes() == before


@pytest.mark.parametrize("tensors", [0, 1, 3])
def test_a_file_without_metadata_gets_some(tmp_path, tensors):
    path = make(tmp_path / "m.safetensors", tensors=tensors)
    before = facts(path)[1]
    edit_metadata(path, {"a": "b"})
    assert facts(path) == ({"a": "b"}, before)


def test_metadata_behind_the_tensors_is_found(tmp_path):
    path = tmp_path / "m.safetensors"
    header = json.dumps(
        {
            "__metadata__ ": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
            "__metadata__": {"k": "v"},
        }
    ).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"x")
    assert edit_metadata(path, {"k": "w"}).in_place
    assert facts(path) == ({"k": "w"}, {"__metadata__ ": b"x"})


def test_a_change_across_sectors_is_no_change_in_place(tmp_path):
    path = make(tmp_path / "m.safetensors", {"a": "x" * 600, "b": "1"})
    assert edit_metadata(path, {"b": "2"}).in_place
    edit = edit_metadata(path, {"a": "y" * 600})
    assert not edit.in_place


def test_nothing_to_do_writes_nothing(path):
    before = path.stat().st_mtime_ns
    assert edit_metadata(path, {"step": "10", "absent": None}).written == 0
    assert path.stat().st_mtime_ns == before


def test_a_full_disk_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def full(self, *, forget):
        raise OSError(28, "no space")

    monkeypatch.setattr("ruda.store._sibling.Sibling.finish", full)
    with pytest.raises(SaveError, match=r"no space; the old file is unchanged"):
        edit_metadata(path, {"note": "x" * 100})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_other_files_are_refused(tmp_path):
    made = TensorIndex.of([TensorSnapshot.from_array("a", np.ones(1))], format="memory")
    save(made, tmp_path / "m.bpk")
    with pytest.raises(UnsupportedContentError, match=r"only the metadata of a safetensors file"):
        edit_metadata(tmp_path / "m.bpk", {"a": "b"})


def test_text_that_is_no_unicode_is_refused(path):
    with pytest.raises(SaveError, match=r"metadata .* is not valid Unicode text"):
        edit_metadata(path, {"a": "\ud800"})


def test_a_file_that_is_read_only_is_refused(path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SaveError, match=r"the file is read-only"):
        edit_metadata(path, {"a": "b"})


texts = st.text(max_size=12)


@given(
    st.dictionaries(texts, texts, max_size=3),
    st.lists(st.dictionaries(texts, texts | st.none(), max_size=3), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_edits_are_those_of_a_dict(tmp_path_factory, first, edits, tensors):
    path = make(tmp_path_factory.mktemp("edit") / "m.safetensors", first, tensors)
    before = facts(path)[1]
    expected = dict(first)
    for changes in edits:
        old = path.read_bytes()
        edit = edit_metadata(path, changes)
        expected = {k: v for k, v in {**expected, **changes}.items() if v is not None}
        assert facts(path) == (expected, before)
        assert edit.metadata == expected
        new = path.read_bytes()
        if edit.in_place:
            pairs = enumerate(zip(old, new, strict=True))
            changed = [n // SECTOR_BYTES for n, (a, b) in pairs if a != b]
            assert len(set(changed)) <= 1


def test_a_disk_that_fails_behind_the_write_leaves_a_doubt(path, monkeypatch):
    _, values = facts(path)

    def refuse(handle):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(SaveError, match=r"Input/output error; the file has the old metadata or th"):
        edit_metadata(path, {"step": "11"})
    about, after = facts(path)
    assert about["step"] in ("10", "11")
    assert after == values
