"""Sets taking their places: stopped by hand, meeting each other, unfinished, unreadable, long."""

import errno
import json
import os

import numpy as np
import pytest

from ruda.errors import FileAccessError, SaveError
from ruda.store import edit_metadata, open_store, plan_save, save, write
from ruda.store._set_commit import settle
from ruda.store._set_journal import finish_interrupted, journal_path, journal_text, pending_indexes
from ruda.store._sibling import remove_stale
from ruda.store.formats import sharded
from ruda.store.index import TensorIndex
from ruda.store.opening import open_file
from ruda.store.snapshot import TensorSnapshot

DEAD = 2**22 + 1
"""A process number that Linux does not give out."""
NAME = "m.safetensors"


def index_of(start, count=2):
    return TensorIndex.of(
        [
            TensorSnapshot.from_array(f"t{n}", np.full(10, start + n, np.float32))
            for n in range(count)
        ],
        format="memory",
    )


def plan(folder, start, count=2, **more):
    more = {"shard_size": 40, "overwrite": True, **more}
    return plan_save(index_of(start, count), folder / NAME, **more)


def values(path):
    with open_store(path) as index:
        return [float(snapshot.read()[0]) for snapshot in index.values()]


def hidden(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


def interrupted(folder, start=7, count=2, *, process=DEAD):
    """A set whose writer died after it had written the renames down and done none."""
    pairs = []
    for part in (*(p := plan(folder, start, count)).parts, p):
        temporary = folder / f".{part.path.name}.ruda-{process}-{len(pairs):08x}.tmp"
        stored = folder / "apart"
        stored.mkdir(exist_ok=True)
        pairs.append((temporary, part.path))
    write(plan(stored, start, count))
    for temporary, final in pairs:
        os.rename(stored / final.name, temporary)
    stored.rmdir()
    journal = folder / f".{p.path.name}.ruda-set-{process}-0123abcd"
    journal.write_bytes(journal_text(pairs, replacing=True))
    return journal


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("done", range(4))
def test_stopped_by_hand_between_two_renames(tmp_path, stop, done):
    write(plan(tmp_path, 0))
    left = done

    def replace(source, target):
        nonlocal left
        if not left:
            raise stop
        left -= 1
        os.replace(source, target)

    if done < 3:
        with pytest.raises(stop, match=r"^$"):
            write(plan(tmp_path, 7), replace=replace)
    else:
        write(plan(tmp_path, 7), replace=replace)
    assert values(tmp_path) == ([7.0, 8.0] if done else [0.0, 1.0])
    save(index_of(1), tmp_path / "other.npz")
    (tmp_path / "other.npz").unlink()
    assert values(tmp_path) == ([7.0, 8.0] if done else [0.0, 1.0])
    assert hidden(tmp_path) == []


def test_stopped_just_behind_the_first_rename(tmp_path):
    """The signal comes before the save has taken note of the rename."""
    write(plan(tmp_path, 0))

    def replace(source, target):
        os.replace(source, target)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        write(plan(tmp_path, 7), replace=replace)
    assert values(tmp_path) == [7.0, 8.0]


def test_a_disk_that_takes_the_journal_in_parts(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, raw: real(handle, raw[:7]))
    seen = []

    def replace(source, target):
        if not seen:
            (journal,) = tmp_path.glob(".*ruda-set-*")
            seen.append(json.loads(journal.read_bytes())["renames"])
        os.replace(source, target)

    write(plan(tmp_path, 7), replace=replace)
    assert [after for _, after in seen[0]] == sorted(os.listdir(tmp_path))


def test_a_journal_that_stays_is_no_failure(tmp_path, monkeypatch):
    real = os.unlink

    def refuse(path, **more):
        if "ruda-set" in os.fspath(path):
            raise OSError(errno.EIO, "Input/output error")
        real(path, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        write(plan(tmp_path, 7))
    assert values(tmp_path) == [7.0, 8.0]
    assert len(hidden(tmp_path)) == 1
    write(plan(tmp_path, 9))
    assert values(tmp_path) == [9.0, 10.0]
    assert hidden(tmp_path) == []


# --- two at once ---------------------------------------------------------------------------------


def test_two_that_save_the_same_set_do_not_mix(tmp_path, monkeypatch):
    """The second begins while the first is between its renames, and gives way."""
    refused = []

    def replace(source, target):
        if not refused:
            with pytest.raises(SaveError, match=r"another program is replacing the same") as found:
                write(plan(tmp_path, 7), sleep=lambda pause: None)
            refused.append(found.value.stage)
        os.replace(source, target)

    write(plan(tmp_path, 3), replace=replace)
    assert refused == ["rename"]
    assert values(tmp_path) == [3.0, 4.0]
    assert hidden(tmp_path) == []


def test_the_one_that_was_not_seen_gives_way_too(tmp_path, monkeypatch):
    """Both looked before either had written its renames down."""
    write(plan(tmp_path, 0))
    monkeypatch.setattr("ruda.store._set_commit.settle", lambda *_, **__: None)
    monkeypatch.setattr("ruda.store.writer.settle", lambda *_, **__: None)
    monkeypatch.setattr("ruda.store._set_journal.is_abandoned", lambda *_, **__: False)
    other = journal_path(tmp_path / f"{NAME}.index.json")
    other.touch()  # it is not even filled yet
    with pytest.raises(SaveError, match=r"wait for it, and save again; the old file is unchanged"):
        write(plan(tmp_path, 7))
    monkeypatch.undo()
    other.unlink()
    assert values(tmp_path) == [0.0, 1.0]
    assert hidden(tmp_path) == []


def test_it_waits_for_one_that_is_nearly_done(tmp_path, monkeypatch):
    journal = interrupted(tmp_path)
    monkeypatch.setattr("ruda.store._set_journal.is_abandoned", lambda *_, **__: False)
    pauses = []

    def sleep(pause):
        pauses.append(pause)
        monkeypatch.undo()

    settle(tmp_path, [f"{NAME}.index.json"], sleep=sleep)
    assert len(pauses) == 1
    assert not journal.exists()
    assert values(tmp_path) == [7.0, 8.0]


def test_a_set_of_other_names_is_not_waited_for(tmp_path, monkeypatch):
    interrupted(tmp_path)
    monkeypatch.setattr("ruda.store._set_journal.is_abandoned", lambda *_, **__: False)
    save(index_of(1), tmp_path / "other.safetensors", shard_size=40)
    assert values(tmp_path / "other.safetensors.index.json") == [1.0, 2.0]


# --- an earlier save that is not finished --------------------------------------------------------


def stubborn(monkeypatch, name):
    """As if someone had this file open, on Windows."""
    real = os.replace

    def refuse(source, target):
        if os.path.basename(target) == name:
            raise PermissionError(errno.EACCES, "Access is denied", source, None, target)
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)


@pytest.mark.parametrize("target", [NAME, "m-00002-of-00002.safetensors"])
def test_nothing_is_saved_over_files_that_an_earlier_save_would_replace(
    tmp_path, monkeypatch, target
):
    write(plan(tmp_path, 0))
    interrupted(tmp_path)
    with monkeypatch.context() as patch:
        stubborn(patch, "m-00001-of-00002.safetensors")
        size = 40 if target == NAME else None
        newer = plan_save(index_of(9), tmp_path / target, shard_size=size, overwrite=True)
        sentence = (
            r"an earlier save of this set was interrupted, and .* m-00001-of-00002\.safetensors: "
            r"Access is denied; close the programs that have it open, and save again"
        )
        with pytest.raises(SaveError, match=sentence):
            write(newer, sleep=lambda pause: None)
    assert values(tmp_path) == [7.0, 8.0]
    write(plan(tmp_path, 9))
    save(index_of(1), tmp_path / "other.npz")
    assert values(tmp_path) == [9.0, 10.0], "the earlier save came back"


def test_an_edit_goes_into_the_file_that_is_to_be(tmp_path):
    write(plan(tmp_path, 0))
    interrupted(tmp_path)
    edit_metadata(tmp_path / "m-00001-of-00002.safetensors", {"by": "hand"})
    save(index_of(1), tmp_path / "other.npz")
    assert values(tmp_path) == [7.0, 8.0]
    with open_store(tmp_path / "m-00001-of-00002.safetensors") as index:
        assert index.metadata == {}  # only what all shards say is the set's
    with open_file(tmp_path / "m-00001-of-00002.safetensors") as index:
        assert index.metadata == {"by": "hand"}


def test_a_process_number_that_came_round_again(tmp_path):
    """In a container the next program often has the number of the one that was killed."""
    write(plan(tmp_path, 0))
    interrupted(tmp_path, process=os.getpid())
    empty = tmp_path / f".{NAME}.index.json.ruda-set-{os.getpid()}"
    empty.touch()
    os.utime(empty, (1e9, 1e9))
    write(plan(tmp_path, 9))
    assert values(tmp_path) == [9.0, 10.0]
    assert hidden(tmp_path) == []


def test_a_journal_that_may_not_be_read_keeps_its_files(tmp_path, monkeypatch):
    journal = interrupted(tmp_path)
    real = os.access
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: path != journal and real(path, mode))
        remove_stale(tmp_path)
    assert len(hidden(tmp_path)) == 4
    assert finish_interrupted(tmp_path) == (
        "m-00001-of-00002.safetensors",
        "m-00002-of-00002.safetensors",
        "m.safetensors.index.json",
    )


def test_a_journal_that_may_not_be_read_concerns_its_own_set_only(tmp_path, monkeypatch):
    """Another user's set was interrupted in a folder that we share; ours has other names."""
    foreign = tmp_path / ".theirs.safetensors.index.json.ruda-set-1-0123abcd"
    foreign.write_bytes(b"cannot be read")
    monkeypatch.setattr("ruda.store._set_journal.is_abandoned", lambda *_, **__: False)
    write(plan(tmp_path, 7), sleep=lambda pause: None)
    assert values(tmp_path / f"{NAME}.index.json") == [7.0, 8.0]
    theirs = plan_save(index_of(1), tmp_path / "theirs.safetensors", shard_size=40)
    with pytest.raises(SaveError, match=r"another program is replacing the same files"):
        write(theirs, sleep=lambda pause: None)


# --- opening -------------------------------------------------------------------------------------


PLACES = [".", "m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"]


@pytest.mark.parametrize("place", PLACES)
def test_a_set_without_an_index_that_is_half_replaced(tmp_path, place):
    write(plan(tmp_path, 0))
    (tmp_path / f"{NAME}.index.json").unlink()
    interrupted(tmp_path)
    first = next(tmp_path.glob(".m-00001*"))
    os.replace(first, tmp_path / "m-00001-of-00002.safetensors")
    assert pending_indexes(tmp_path) == {f"{NAME}.index.json"}
    assert values(tmp_path / place) == [7.0, 8.0]


@pytest.mark.parametrize("with_index", [True, False])
def test_a_set_that_is_replaced_while_it_is_opened(tmp_path, monkeypatch, with_index):
    write(plan(tmp_path, 0))
    if not with_index:
        (tmp_path / f"{NAME}.index.json").unlink()
    left = 1

    def racing(path):
        nonlocal left
        if "00002" in path.name and left:
            left -= 1
            write(plan(tmp_path, 7))
        return open_file(path)

    monkeypatch.setattr("ruda.store.opening.open_file", lambda path, **_: racing(path))
    assert values(tmp_path) == [7.0, 8.0]


def test_a_set_that_is_replaced_again_and_again(tmp_path, monkeypatch):
    write(plan(tmp_path, 0))
    opened = []

    def racing(path):
        opened.append(path)
        write(plan(tmp_path, len(opened)))
        return open_file(path)

    with pytest.raises(FileAccessError, match=r"is just being replaced; open it in a moment"):
        sharded.open_sharded(tmp_path / f"{NAME}.index.json", racing)
    assert len(opened) == 6


def test_other_files_that_come_and_go_do_not_matter(tmp_path, monkeypatch):
    write(plan(tmp_path, 0))

    def busy(path):
        (tmp_path / f"log-{path.name}.txt").touch()
        return open_file(path)

    with sharded.open_sharded(tmp_path / f"{NAME}.index.json", busy) as index:
        assert list(index) == ["t0", "t1"]


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_set_of_the_longest_names(tmp_path, letter):
    """Shards whose names have 255 bytes: temporary files and the journal need shorter ones."""
    rest = 255 - len("-00001-of-00002.safetensors")
    stem = letter * (rest // len(letter.encode()))
    path = tmp_path / f"{stem}.safetensors"
    save(index_of(0), path, shard_size=40)
    left = 1

    def die(source, target):
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        os.replace(source, target)

    newer = plan_save(index_of(7), path, shard_size=40, overwrite=True)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        write(newer, replace=die)
    assert values(tmp_path) == [7.0, 8.0]
    write(plan_save(index_of(9), path, shard_size=40, overwrite=True))
    assert values(tmp_path) == [9.0, 10.0]
    assert hidden(tmp_path) == []
