"""The temporary file: removed when its writer is gone, left alone while it lives."""

import errno
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from ruda.errors import SaveError
from ruda.store import save
from ruda.store._disk import put_new
from ruda.store._sibling import Sibling, remove_stale, replace_file
from ruda.store.formats.rudapack import RudapackFormat
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot

DEAD = 2**22 + 1
"""A process number that Linux does not give out."""


def index_of(count=10):
    values = np.arange(count, dtype=np.float32)
    return TensorIndex.of([TensorSnapshot.from_array("w", values)], format="memory")


def test_the_name_says_whose_it_is(tmp_path):
    with Sibling(tmp_path / "m.bpk") as sibling:
        assert re.fullmatch(rf"\.m\.bpk\.ruda-{os.getpid()}-[0-9a-f]{{8}}\.tmp", sibling.path.name)
        assert sibling.path.exists()
    assert list(tmp_path.iterdir()) == []


def test_the_longest_file_name_can_be_saved(tmp_path):
    path = tmp_path / ("é" * 125 + ".bpk")
    save(index_of(), path)
    assert list(tmp_path.iterdir()) == [path]


LEFT = [
    pytest.param(f".m.bpk.ruda-{DEAD}-0123abcd.tmp", True, id="dead"),
    pytest.param(f".other.safetensors.ruda-{DEAD}-0123abcd.tmp", True, id="of another target"),
    pytest.param(f".m.bpk.ruda-{os.getpid()}-0123abcd.tmp", False, id="about to be locked"),
    pytest.param(f"m.bpk.ruda-{DEAD}-0123abcd.tmp", False, id="no dot"),
    pytest.param(f".m.bpk.ruda-{DEAD}-0123abc.tmp", False, id="other pattern"),
]


@pytest.mark.parametrize(("name", "removed"), LEFT)
def test_what_the_next_save_removes(tmp_path, name, removed):
    (tmp_path / name).touch()
    save(index_of(), tmp_path / "m.bpk")
    assert (tmp_path / name).exists() is not removed


def test_a_file_of_a_dead_writer_whose_number_lives_on(tmp_path):
    left = tmp_path / f".m.bpk.ruda-{os.getpid()}-0123abcd.tmp"
    left.write_bytes(b"not locked by anyone")
    remove_stale(tmp_path)
    assert not left.exists()


def test_a_live_writer_is_left_alone(tmp_path):
    with Sibling(tmp_path / "m.bpk") as sibling:
        sibling.file.write(b"x")
        sibling.file.flush()
        save(index_of(), tmp_path / "n.bpk")
        assert sibling.path.exists()


NO_LOCKS = [pytest.param(DEAD, True, id="dead"), pytest.param(os.getpid(), False, id="alive")]


@pytest.mark.parametrize(("process", "removed"), NO_LOCKS)
def test_without_locks_the_process_number_decides(tmp_path, monkeypatch, process, removed):
    left = tmp_path / f".m.bpk.ruda-{process}-0123abcd.tmp"
    left.write_bytes(b"x")

    def refuse(handle, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    save(index_of(), tmp_path / "m.bpk")
    assert left.exists() is not removed


def test_a_folder_that_cannot_be_listed_is_none_of_its_business(tmp_path):
    remove_stale(tmp_path / "gone")


def test_a_folder_that_does_not_sync_is_no_failure(tmp_path, monkeypatch):
    real = os.fsync

    def refuse_folders(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(handle)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    save(index_of(), tmp_path / "m.bpk")
    assert (tmp_path / "m.bpk").exists()


def test_a_folder_that_cannot_be_opened_is_no_failure(tmp_path, monkeypatch):
    real = os.open

    def refuse_folders(path, flags, *args, **kwargs):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse_folders)
    save(index_of(), tmp_path / "m.bpk")
    assert (tmp_path / "m.bpk").exists()


def test_a_temporary_file_that_cannot_be_looked_at_stays(tmp_path):
    (tmp_path / "elsewhere").touch()
    link = tmp_path / f".m.bpk.ruda-{DEAD}-0123abcd.tmp"
    link.symlink_to(tmp_path / "elsewhere")
    remove_stale(tmp_path)
    assert link.is_symlink()


def test_a_process_that_may_not_be_asked_is_running(tmp_path, monkeypatch):
    def refuse(process, number):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    (tmp_path / f".m.bpk.ruda-{DEAD}-0123abcd.tmp").touch()
    monkeypatch.setattr(os, "kill", refuse)
    save(index_of(), tmp_path / "m.bpk")
    assert len(list(tmp_path.iterdir())) == 2


def test_the_owner_of_the_old_file_is_kept_where_that_is_allowed(tmp_path, monkeypatch):
    given: list[tuple[int, int]] = []
    target = tmp_path / "m.bpk"
    save(index_of(), target)
    owner = target.stat()
    monkeypatch.setattr(os, "geteuid", lambda: owner.st_uid + 1)
    monkeypatch.setattr(os, "fchown", lambda handle, user, group: given.append((user, group)))
    save(index_of(), target, overwrite=True)
    assert given == [(owner.st_uid, owner.st_gid)]


def test_on_windows_the_file_is_closed_before_it_is_renamed(tmp_path, monkeypatch):
    monkeypatch.setattr("ruda.store._windows._SYSTEM", "nt")
    with Sibling(tmp_path / "m.bpk") as sibling:
        sibling.write(b"whole")
        sibling.finish(forget=False)
        sibling.rename_over(release=lambda: None, replace=closed_first(sibling))
    monkeypatch.undo()
    assert (tmp_path / "m.bpk").read_bytes() == b"whole"


def test_a_new_file_never_replaces_one_that_appeared(tmp_path):
    target = tmp_path / "m.bpk"
    with Sibling(target) as sibling:
        sibling.finish(forget=False)
        target.write_bytes(b"someone else's")
        with pytest.raises(SaveError, match=r"the file exists; pass overwrite=True") as caught:
            sibling.rename_over(release=lambda: None, replace=put_new)
    assert caught.value.stage == "rename"
    assert target.read_bytes() == b"someone else's"
    assert list(tmp_path.iterdir()) == [target]


NEW = [
    pytest.param("posix", None, id="hard links"),
    pytest.param("posix", errno.EPERM, id="no hard links"),
    pytest.param("nt", errno.EPERM, id="windows"),
]


@pytest.mark.parametrize(("system", "refusal"), NEW)
def test_putting_a_new_file_in_place(tmp_path, monkeypatch, system, refusal):
    def refuse(source, target):
        raise OSError(refusal, "no hard links here")

    (tmp_path / "source").write_bytes(b"new")
    with monkeypatch.context() as patch:
        patch.setattr("ruda.store._windows._SYSTEM", system)
        if refusal is not None:
            patch.setattr(os, "link", refuse)
        put_new(tmp_path / "source", tmp_path / "target")
    assert [p.name for p in tmp_path.iterdir()] == ["target"]
    assert (tmp_path / "target").read_bytes() == b"new"


def closed_first(sibling):
    def replace(source, target):
        assert sibling.file.closed
        os.rename(source, target)

    return replace


def test_a_target_in_no_folder(tmp_path):
    with pytest.raises(SaveError, match=r"no file can be made in .*none: No such file"):
        Sibling(tmp_path / "none" / "m.bpk")


def test_a_small_file_is_replaced_through_a_link(tmp_path):
    (tmp_path / "real.txt").write_bytes(b"old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    replace_file(tmp_path / "link.txt", b"new")
    assert (tmp_path / "real.txt").read_bytes() == b"new"
    assert (tmp_path / "link.txt").is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_small_file_that_cannot_be_synced_leaves_the_old_one(tmp_path, monkeypatch):
    def refuse(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(SaveError, match=r"a\.txt: cannot be written: No space left") as caught:
        replace_file(path, b"new")
    assert caught.value.stage == "write"
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


CHILD = """
import sys, time
import numpy as np
from ruda.store import save
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot

class Slow:
    seen = 0
    def check(self):
        self.seen += 1
        if self.seen > int(sys.argv[2]):
            print("ready", flush=True)
            time.sleep(60)
    def report(self, progress):
        pass

values = [np.full(1 << 20, n, np.float32) for n in range(4)]
index = TensorIndex.of(
    [TensorSnapshot.from_array(str(n), v) for n, v in enumerate(values)], format="memory"
)
save(index, sys.argv[1], overwrite=True, monitor=Slow())
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")
@pytest.mark.parametrize(("checks", "tensors"), [(0, 1), (2, 1), (16, 1), (17, 1), (18, 4)])
def test_a_killed_save_leaves_a_whole_file_and_the_next_one_tidies_up(tmp_path, checks, tensors):
    target = tmp_path / "m.bpk"
    save(index_of(), target)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(target), str(checks)], stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
    with RudapackFormat().open(target) as index:
        assert len(index) == tensors
    wait_for_lock_release(tmp_path)
    save(index_of(), tmp_path / "n.bpk")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.bpk", "n.bpk"]


def wait_for_lock_release(folder):
    """The kernel drops the locks of a killed process when its last thread is gone."""
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        remove_stale(folder)
        if not list(folder.glob(".*.tmp")):
            return
        time.sleep(0.01)


@pytest.mark.skipif(os.name == "nt", reason="pipes and devices as POSIX has them")
@pytest.mark.parametrize("kind", ["folder", "pipe", "link to a pipe"])
def test_only_a_plain_file_is_replaced(tmp_path, kind):
    place = tmp_path / "place"
    if kind == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    if kind == "link to a pipe":
        place = tmp_path / "link"
        place.symlink_to("place")
    before = place.stat()
    with pytest.raises(SaveError, match=f"{place.name}: the target is not a plain file") as caught:
        replace_file(place, b"new")
    assert caught.value.stage == "plan"
    assert place.stat() == before
    assert not [each for each in tmp_path.iterdir() if each.suffix == ".tmp"]
