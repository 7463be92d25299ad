"""Saves to places of every kind, by anyone: what is replaced, what is kept, what is said."""

import errno
import os
import shutil
import stat
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import SaveError
from ruda.store import edit_metadata, open_store, plan_save, save, write
from ruda.store._sibling import Sibling
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot

posix = pytest.mark.skipif(os.name == "nt", reason="links, devices and owners as POSIX has them")
as_root = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only root can become someone else"
)
OLD = b"the old file"
NAMES = ["m.safetensors", "m.bpk", "m.pt", "m.npz"]


def index_of(value=1.0, count=1000):
    values = np.full(count, value, np.float32)
    return TensorIndex.of([TensorSnapshot.from_array("w", values)], format="memory")


def value(path):
    with open_store(path) as index:
        return float(index["w"].read()[0])


# --- links and devices ---------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("name", NAMES)
def test_a_hard_link_is_replaced_and_its_other_name_keeps_the_old_file(tmp_path, name):
    (tmp_path / "backup").mkdir()
    backup, target = tmp_path / "backup" / name, tmp_path / name
    save(index_of(1), backup)
    os.link(backup, target)
    save(index_of(2), target, overwrite=True)
    assert (value(target), value(backup)) == (2.0, 1.0)
    assert os.stat(backup).st_nlink == 1


@posix
def test_metadata_of_a_hard_link_changes_under_one_name_only(tmp_path):
    backup, target = tmp_path / "backup.safetensors", tmp_path / "m.safetensors"
    save(index_of(), backup, metadata={"by": "a"})
    os.link(backup, target)
    assert edit_metadata(target, {"by": "b"}, may_copy=False) is None
    edit = edit_metadata(target, {"by": "b"})
    assert edit is not None
    assert not edit.in_place
    with open_store(target) as new, open_store(backup) as old:
        assert (new.metadata, old.metadata) == ({"by": "b"}, {"by": "a"})
    again = edit_metadata(target, {"by": "c"})
    assert again is not None
    assert again.in_place


@posix
def test_a_link_to_nothing_is_filled(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "m.bpk").symlink_to("disk/real.bpk")
    save(index_of(), tmp_path / "m.bpk")
    assert (tmp_path / "m.bpk").is_symlink()
    assert os.listdir(tmp_path / "disk") == ["real.bpk"]


@posix
def test_a_link_into_a_folder_that_is_not_there(tmp_path):
    (tmp_path / "m.bpk").symlink_to("gone/real.bpk")
    with pytest.raises(SaveError, match=r"m\.bpk: cannot be saved: the folder .*gone does not ex"):
        save(index_of(), tmp_path / "m.bpk")
    assert os.listdir(tmp_path) == ["m.bpk"]


@posix
def test_a_link_to_itself(tmp_path):
    (tmp_path / "m.bpk").symlink_to("m.bpk")
    with pytest.raises(SaveError, match=r"m\.bpk: cannot be saved: .*(levels of symbolic|reached)"):
        save(index_of(), tmp_path / "m.bpk", overwrite=True)
    assert os.listdir(tmp_path) == ["m.bpk"]


@posix
def test_shards_that_are_links_are_replaced_where_they_lie(tmp_path):
    """The cache of a hub holds files by digest, and folders of links to them."""
    blobs, folder = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    folder.mkdir()
    two = TensorIndex.of(
        [TensorSnapshot.from_array(k, np.ones(10, np.float32)) for k in "ab"], format="memory"
    )
    save(two, blobs / "m.safetensors", shard_size=40)
    for name in os.listdir(blobs):
        os.rename(blobs / name, blobs / f"{name}.blob")
        (folder / name).symlink_to(blobs / f"{name}.blob")
    twice = TensorIndex.of(
        [TensorSnapshot.from_array(k, np.full(10, 2, np.float32)) for k in "ab"], format="memory"
    )
    save(twice, folder / "m.safetensors", shard_size=40, overwrite=True)
    assert all((folder / name).is_symlink() for name in os.listdir(folder))
    with open_store(folder) as index:
        assert [float(s.read()[0]) for s in index.values()] == [2.0, 2.0]
    assert not [name for name in os.listdir(blobs) if name.startswith(".")]


@posix
@pytest.mark.parametrize("device", ["/dev/null", "/dev/tty"])
def test_a_device_is_not_replaced(device):
    before = os.stat(device).st_mode
    with pytest.raises(SaveError, match=r"cannot be saved: the target is not a plain file"):
        save(index_of(), device, format="rudapack", overwrite=True)
    assert os.stat(device).st_mode == before


# --- what happens meanwhile ----------------------------------------------------------------------


class Meanwhile:
    """A monitor that does something once, at the n-th check."""

    def __init__(self, action, checks=1):
        self.action = action
        self.left = checks

    def check(self):
        self.left -= 1
        if self.left == 0:
            self.action()

    def report(self, progress):
        pass


@posix
@pytest.mark.parametrize("shards", [None, 400])
def test_the_folder_is_removed_during_the_save(tmp_path, shards):
    folder = tmp_path / "folder"
    folder.mkdir()
    two = TensorIndex.of(
        [TensorSnapshot.from_array(k, np.ones(100, np.float32)) for k in "ab"], format="memory"
    )
    with pytest.raises(SaveError, match=r"folder.*(removed|No such|does not exist).*nothing was"):
        save(
            two,
            folder / "m.safetensors",
            shard_size=shards,
            monitor=Meanwhile(lambda: shutil.rmtree(folder), 2),
        )
    assert os.listdir(tmp_path) == []


def test_the_target_becomes_a_folder_during_the_save(tmp_path):
    with pytest.raises(SaveError, match=r"the target is a folder"):
        save(index_of(), tmp_path / "m.bpk", monitor=Meanwhile((tmp_path / "m.bpk").mkdir))
    assert os.listdir(tmp_path) == ["m.bpk"]


@posix
def test_another_document_of_the_file_reads_on(tmp_path):
    """Both open; one saves over it: the other has the file that it opened until it is reopened."""
    path = tmp_path / "m.safetensors"
    save(index_of(1), path)
    with open_store(path) as one, open_store(path) as other:
        save(index_of(2), path, overwrite=True)
        assert float(one["w"].read()[0]) == float(other["w"].read()[0]) == 1.0
    assert value(path) == 2.0


@posix
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [1, 100, 1500, 3000])
def test_a_disk_that_is_full_at_any_byte(tmp_path, monkeypatch, name, limit):
    import resource

    path = tmp_path / name
    path.write_bytes(OLD)
    index = index_of(2, 1000)  # 4000 bytes of values
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(SaveError, match=r"writing stopped near byte \d+ of \d+: File too") as e:
            save(index, path, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(e.value).endswith("; the old file is unchanged")
    assert path.read_bytes() == OLD
    assert os.listdir(tmp_path) == [name]


# --- other people's files ------------------------------------------------------------------------


def as_nobody(code, *words):
    """Run a script in a process of nobody's; what it says."""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", SETTING + textwrap.dedent(code), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


SETTING = """
import os, sys
import numpy as np
from ruda.errors import SaveError
from ruda.store import TensorIndex, TensorSnapshot, save
index = TensorIndex.of([TensorSnapshot.from_array("w", np.zeros(9, np.float32))], format="memory")
os.setgroups([4321])
os.setgid(65534)
os.setuid(65534)
def attempt(path, **more):
    try:
        save(index, path, overwrite=True, **more)
    except SaveError as error:
        print(error.stage, error, sep="|")
    else:
        print("saved")
"""


@pytest.fixture
def shared():
    """A folder that nobody can reach, too; those of pytest are for one user."""
    with tempfile.TemporaryDirectory(prefix="ruda-shared-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@as_root
def test_a_read_only_folder(shared):
    (shared / "m.bpk").write_bytes(OLD)
    (shared / "m.bpk").chmod(0o666)
    said = as_nobody("attempt(sys.argv[1])", shared / "m.bpk")
    assert said.startswith("plan|")
    assert f"cannot be saved: the folder {shared} is read-only" in said
    assert (shared / "m.bpk").read_bytes() == OLD


@as_root
def test_a_read_only_file(shared):
    shared.chmod(0o777)
    (shared / "m.bpk").write_bytes(OLD)
    said = as_nobody("attempt(sys.argv[1])", shared / "m.bpk")
    assert "cannot be saved: the file is read-only; allow writing to it first" in said
    assert (shared / "m.bpk").read_bytes() == OLD
    assert os.listdir(shared) == ["m.bpk"]


@as_root
def test_another_users_file_in_a_folder_that_keeps_it_theirs(shared):
    """A folder like /tmp: everyone may make files, and replace their own only."""
    shared.chmod(0o1777)
    (shared / "m.bpk").write_bytes(OLD)
    (shared / "m.bpk").chmod(0o666)
    said = as_nobody("attempt(sys.argv[1])", shared / "m.bpk")
    assert said.startswith("rename|")
    assert "m.bpk is another user's or may not be changed, and its folder keeps it so" in said
    assert said.endswith("save under another name; the old file is unchanged")
    assert (shared / "m.bpk").read_bytes() == OLD
    assert os.listdir(shared) == ["m.bpk"]


OWNERS = [
    pytest.param(0o664, 4321, 0o664, 4321, id="a group of ours"),
    pytest.param(0o660, 1234, 0o600, 65534, id="a group that is not ours"),
    pytest.param(0o674, 1234, 0o644, 65534, id="and others may read"),
    pytest.param(0o6775, 1234, 0o755, 65534, id="and runs as its owner"),
]


@as_root
@pytest.mark.parametrize(("mode", "group", "after", "group_after"), OWNERS)
def test_another_users_file_that_may_be_replaced(shared, mode, group, after, group_after):
    """The new file is ours; its old group keeps it or nobody's group gets its rights."""
    shared.chmod(0o777)
    path = shared / "m.bpk"
    path.write_bytes(OLD)
    os.chown(path, 0, group)
    path.chmod(mode | 0o002)  # so that we may write to it at all
    said = as_nobody("attempt(sys.argv[1])", path)
    assert said == "saved"
    found = path.stat()
    shown = (stat.S_IMODE(found.st_mode) & ~0o022, found.st_gid, found.st_uid)
    assert shown == (after & ~0o022, group_after, 65534)


def test_the_rights_of_a_strange_group_are_not_ours_to_give(tmp_path, monkeypatch):
    path = tmp_path / "m.bpk"
    path.write_bytes(OLD)
    path.chmod(0o664)

    def refuse(handle, user, group):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    real = os.stat
    strange = os.stat_result((0o100664, 1, 1, 1, 4242, 4343, 12, 0, 0, 0))
    with monkeypatch.context() as patch:
        patch.setattr("ruda.store._sibling._status", lambda path: strange)
        patch.setattr(os, "fchown", refuse)
        with Sibling(path) as sibling:
            sibling.write(b"new")
            sibling.finish(forget=False)
            sibling.rename_over(release=lambda: None)
    assert stat.S_IMODE(real(path).st_mode) == 0o644


# --- what renames are refused for ----------------------------------------------------------------


REFUSALS = [
    pytest.param(errno.EPERM, r"m\.bpk is another user's or may not be changed, and", id="sticky"),
    pytest.param(errno.ENOENT, r"the folder .* was removed or moved meanwhile", id="folder gone"),
    pytest.param(errno.EIO, r"the finished file cannot be put in place: Input/output", id="disk"),
    pytest.param(errno.EROFS, r"the finished file cannot be put in place: Read-only", id="ro"),
]


@pytest.mark.parametrize(("number", "sentence"), REFUSALS)
def test_a_rename_that_no_waiting_helps(tmp_path, number, sentence):
    path = tmp_path / "m.bpk"
    path.write_bytes(OLD)

    def refuse(source, target):
        raise OSError(number, os.strerror(number))

    def never(pause):
        raise AssertionError("there is nothing to wait for")

    plan = plan_save(index_of(), path, overwrite=True)
    with pytest.raises(SaveError, match=rf"{sentence}.*; the old file is unchanged") as caught:
        write(plan, replace=refuse, sleep=never)
    assert caught.value.stage == "rename"
    assert path.read_bytes() == OLD
    assert os.listdir(tmp_path) == ["m.bpk"]
