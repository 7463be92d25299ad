"""SavePlan: everything is known and said before a byte is read or written."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ruda.errors import SaveError, SettingError
from ruda.store import plan_save
from ruda.store.index import TensorIndex
from ruda.store.layout import PIECE_BYTES
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType


@dataclass(frozen=True)
class Unreadable:
    """A source that fails the test when its values are asked for."""

    peak_bytes: Any = None

    def read(self):
        raise AssertionError("planning must not read")


@dataclass(frozen=True)
class Streaming(Unreadable):
    source: Any = None

    def stream(self, size):
        raise AssertionError("planning must not read")


def snapshot(key, count, source=None, trail=()):
    return TensorSnapshot(key, DType.F32, (count,), 4 * count, source or Unreadable(), trail=trail)


def index_of(*snapshots, **fields):
    return TensorIndex.of(snapshots, format=fields.pop("format", "memory"), **fields)


INDEX = index_of(snapshot("b", 3), snapshot("a", 5), metadata={"k": "v"})


def test_the_plan_says_where_every_byte_will_be(tmp_path):
    plan = plan_save(INDEX, tmp_path / "m.bpk")
    assert [(e.key, e.offset, e.nbytes, e.end) for e in plan.entries] == [
        ("b", 256, 12, 268),
        ("a", 512, 20, 532),
    ]
    assert plan.file_size == 532
    assert plan.tensor_bytes == 32
    assert plan.padding == 532 - 32 - len(plan.header)
    assert plan.metadata == {"k": "v"}
    assert plan.problems == ()
    assert list(tmp_path.iterdir()) == []


FORMATS = [
    pytest.param("m.bpk", None, "rudapack", id="bpk"),
    pytest.param("m.SafeTensors", None, "safetensors", id="upper case"),
    pytest.param("m", "safetensors", "safetensors", id="given"),
    pytest.param("m.bpk", "safetensors", "safetensors", id="given wins"),
]


@pytest.mark.parametrize(("name", "given", "expected"), FORMATS)
def test_the_suffix_decides_unless_told(tmp_path, name, given, expected):
    assert plan_save(INDEX, tmp_path / name, format=given).format == expected


NO_FORMAT = [
    pytest.param(
        "m", None, r"no suffix that tells the format; end it in \.bpk or \.safetensors", id="none"
    ),
    pytest.param("m.txt", None, r"\.txt stands for no format that can be", id="unknown"),
    pytest.param("folder.x", None, r"the target is a folder; name a file in it", id="folder"),
    pytest.param("m.safetensors.index.json", None, r"written with a shard size; give", id="index"),
    pytest.param("m.bpk", "zip", r"no format .* 'zip'; known: rudapack, safetensors", id="given"),
]


@pytest.mark.parametrize(("name", "given", "message"), NO_FORMAT)
def test_a_format_that_cannot_be_written(tmp_path, name, given, message):
    (tmp_path / "folder.x").mkdir()
    with pytest.raises(SaveError, match=message) as caught:
        plan_save(INDEX, tmp_path / name, format=given)
    assert caught.value.stage == "plan"
    assert caught.value.path == tmp_path / name


def test_problems_of_path_and_content_stand_together(tmp_path):
    (tmp_path / "m.bpk").touch()
    index = index_of(TensorSnapshot.from_array("c", np.ones(1, np.complex64)))
    plan = plan_save(index, tmp_path / "m.bpk")
    assert len(plan.blockers) == 2
    assert plan.warnings == ()
    with pytest.raises(SaveError, match=r"file exists; pass overwrite=True .*\(and 1 more prob"):
        plan.require_writable()


PATHS = [
    pytest.param("folder", r"the target is a folder; name a file in it", id="folder"),
    pytest.param("none/m.bpk", r"the folder .*none does not exist", id="no folder"),
    pytest.param("file/m.bpk", r"cannot be reached: Not a directory", id="file as folder"),
    pytest.param("pipe", r"not a plain file", id="pipe"),
    pytest.param("m\0.bpk", r"cannot be reached: embedded null byte", id="nul"),
    pytest.param("x" * 300, r"cannot be reached: File name too long", id="long name"),
    pytest.param("dangling", r"the folder .*gone does not exist", id="link into nowhere"),
]


@pytest.mark.skipif(os.name == "nt", reason="pipes and links as POSIX has them")
@pytest.mark.parametrize(("name", "message"), PATHS)
def test_paths_that_cannot_be_written(tmp_path, name, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone" / "m.bpk")
    plan = plan_save(INDEX, tmp_path / name, format="rudapack", overwrite=True)
    with pytest.raises(SaveError, match=message):
        plan.require_writable()


REFUSED = [
    pytest.param("m.bpk", r"the file is read-only; allow writing to it first", id="file"),
    pytest.param("new.bpk", r"the folder .* is read-only", id="folder"),
]


@pytest.mark.parametrize(("name", "message"), REFUSED)
def test_what_may_not_be_written(tmp_path, monkeypatch, name, message):
    (tmp_path / "m.bpk").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anything
    plan = plan_save(INDEX, tmp_path / name, overwrite=True)
    with pytest.raises(SaveError, match=message):
        plan.require_writable()


CARRIED = [
    pytest.param("safetensors", {"format": "pt", "a": "b"}, None, id="kept"),
    pytest.param("rudapack", {"format": "pt", "a": "b"}, None, id="kept across formats"),
    pytest.param("rudapack", {"a": "b"}, "burnpack", id="name of another container dropped"),
    pytest.param("safetensors", {"format": "burnpack", "a": "b"}, "burnpack", id="same container"),
]


@pytest.mark.parametrize(("source", "expected", "named"), CARRIED)
def test_metadata_is_kept(tmp_path, source, expected, named):
    index = index_of(format=source, metadata={"format": named or "pt", "a": "b"})
    assert plan_save(index, tmp_path / "m.safetensors").metadata == expected


@pytest.mark.parametrize(("key", "value"), [("epoch", 5), (b"a", "b"), (None, "x")])
def test_metadata_that_is_no_text_is_refused(tmp_path, key, value):
    index = TensorIndex.of([], format="memory")
    with pytest.raises(SettingError, match=rf"text to text, got {key!r}: {value!r}"):
        plan_save(index, tmp_path / "a.bpk", metadata={key: value})


@pytest.mark.skipif(os.name == "nt", reason="errors as POSIX has them")
def test_a_name_that_is_too_long_is_refused(tmp_path):
    index = TensorIndex.of([], format="memory")
    with pytest.raises(SaveError, match="no suffix that tells the format"):
        plan_save(index, tmp_path / ("x" * 300))
    plan = plan_save(index, tmp_path / f"{'x' * 300}.bpk")
    with pytest.raises(SaveError, match="the target cannot be reached: File name too long"):
        plan.require_writable()


def test_given_metadata_replaces_all(tmp_path):
    plan = plan_save(INDEX, tmp_path / "m.bpk", metadata={"x": "y"})
    assert plan.metadata == {"x": "y"}


BIG = 10 * PIECE_BYTES
PEAKS = [
    pytest.param(Unreadable(), 4 * BIG, id="read whole"),
    pytest.param(Unreadable(peak_bytes=7), 7, id="the source knows"),
    pytest.param(Streaming(), PIECE_BYTES, id="streamed"),
    pytest.param(Streaming(source=Streaming()), 4 * PIECE_BYTES, id="transformed as it streams"),
    pytest.param(
        Streaming(source=Unreadable(peak_bytes=BIG)), BIG + 3 * PIECE_BYTES, id="whole inside"
    ),
]


@pytest.mark.parametrize(("source", "expected"), PEAKS)
def test_predicted_memory(tmp_path, source, expected):
    plan = plan_save(index_of(snapshot("t", BIG, source)), tmp_path / "m.bpk")
    assert plan.peak_bytes - len(plan.header) == expected


def test_predicted_memory_of_arrays(tmp_path):
    matrix = np.zeros((3, 5), np.float32)
    there = index_of(TensorSnapshot.from_array("t", matrix))
    packed = index_of(TensorSnapshot.from_array("t", matrix.T))
    plans = [plan_save(index, tmp_path / "m.bpk") for index in (there, packed)]
    assert [p.peak_bytes - len(p.header) for p in plans] == [0, 60]
