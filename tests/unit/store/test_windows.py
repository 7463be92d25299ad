"""The rules of Windows, simulated: open files stay, names mean other things, paths are short.

Files of Linux take the part: a rename or removal is refused while anyone of this process has one
of the files open, as Windows refuses it.
"""

import errno
import os
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import pytest

from ruda.errors import SaveError
from ruda.store import _processes as processes
from ruda.store import edit_metadata, open_store, plan_save, save, write
from ruda.store._disk import is_abandoned
from ruda.store._sibling import RENAME_PAUSES, Sibling, remove_stale
from ruda.store._windows import extended, is_in_use, name_problem
from ruda.store.index import TensorIndex
from ruda.store.plan import path_problems
from ruda.store.sharding import stale_beside
from ruda.store.snapshot import TensorSnapshot

linux = pytest.mark.skipif(sys.platform != "linux", reason="who has a file open is read in /proc")
DEAD = 2**22 + 1


def index_of(start, count=2, path=None):
    return TensorIndex.of(
        [
            TensorSnapshot.from_array(f"t{n}", np.full(10, start + n, np.float32))
            for n in range(count)
        ],
        format="memory",
        path=path,
    )


def values(path):
    with open_store(path) as index:
        return [float(snapshot.read()[0]) for snapshot in index.values()]


class Windows:
    """Refuses what Windows refuses, and writes down which processes there are."""

    def __init__(self):
        self.refused = []
        self.processes = {os.getpid(): 1.0}
        """When each began."""

    def renaming(self, real):
        def rename(source, target, **more):
            self._require_closed(source, target)
            if real is os.rename and str(source) != str(target) and os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, "exists", str(source), 183, str(target))
            real(source, target, **more)

        return rename

    def removing(self, real):
        def unlink(path, **more):
            self._require_closed(path)
            real(path, **more)

        return unlink

    def _require_closed(self, *paths):
        for path in paths:
            if os.fspath(os.path.realpath(path)) in self.open_files():
                self.refused.append(Path(path).name)
                raise PermissionError(errno.EACCES, "Access is denied", str(path))

    def open_files(self):
        found = set()
        for handle in os.listdir("/proc/self/fd"):
            try:
                found.add(os.readlink(f"/proc/self/fd/{handle}"))
            except OSError:
                continue
        return found


@pytest.fixture
def windows(monkeypatch):
    system = Windows()
    monkeypatch.setattr("ruda.store._windows._SYSTEM", "nt")
    monkeypatch.setattr(os, "replace", system.renaming(os.replace))
    monkeypatch.setattr(os, "rename", system.renaming(os.rename))
    monkeypatch.setattr(os, "unlink", system.removing(os.unlink))
    monkeypatch.setattr(
        processes,
        "_windows_times",
        lambda number: (
            None
            if (began := system.processes.get(number)) is None
            else int((began + 11_644_473_600) * 1e7)
        ),
    )
    return system


def hidden(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


# --- whole saves ---------------------------------------------------------------------------------


@linux
@pytest.mark.parametrize("name", ["m.safetensors", "m.bpk", "m.pt", "m.npz"])
@pytest.mark.parametrize("verify", [False, True])
def test_a_save_over_a_file(tmp_path, windows, name, verify):
    for start in (1, 5):
        save(index_of(start), tmp_path / name, overwrite=True, verify=verify)
    assert values(tmp_path / name) == [5.0, 6.0]
    assert os.listdir(tmp_path) == [name]
    assert windows.refused == []


@linux
def test_a_new_file_does_not_replace_one(tmp_path, windows):
    save(index_of(1), tmp_path / "m.bpk")
    assert values(tmp_path / "m.bpk") == [1.0, 2.0]


@linux
@pytest.mark.parametrize("shards", [None, 40])
def test_a_file_that_we_have_open_is_let_go_of(tmp_path, windows, shards):
    """The source is the target: its own handles stand in the way, and only ours."""
    save(index_of(1), tmp_path / "m.safetensors", shard_size=shards)
    place = tmp_path / ("m.safetensors.index.json" if shards else "m.safetensors")
    pauses = []
    with open_store(place) as index:
        plan = plan_save(index, tmp_path / "m.safetensors", shard_size=shards, overwrite=True)
        write(plan, sleep=pauses.append)
    assert windows.refused
    assert pauses == [RENAME_PAUSES[0]]
    assert values(place) == [1.0, 2.0]
    assert hidden(tmp_path) == []


@linux
@pytest.mark.parametrize("shards", [None, 40])
def test_a_file_that_another_has_open(tmp_path, windows, shards):
    """It is waited for, then said; the new files of a set stay, and are put in place later."""
    save(index_of(1), tmp_path / "m.safetensors", shard_size=shards)
    place = tmp_path / ("m.safetensors.index.json" if shards else "m.safetensors")
    name = "m-00002-of-00002.safetensors" if shards else "m.safetensors"
    pauses = []
    plan = plan_save(index_of(7), tmp_path / "m.safetensors", shard_size=shards, overwrite=True)
    with open(tmp_path / name, "rb"):  # noqa: SIM117 - it is the other program
        with pytest.raises(SaveError, match=r"another program holds the file open") as caught:
            write(plan, sleep=pauses.append)
    assert pauses == list(RENAME_PAUSES)
    assert caught.value.stage == "rename"
    assert values(place) == ([7.0, 8.0] if shards else [1.0, 2.0])
    assert len(hidden(tmp_path)) == (3 if shards else 0)
    save(index_of(9), tmp_path / "m.safetensors", shard_size=shards, overwrite=True)
    assert values(place) == [9.0, 10.0]
    assert hidden(tmp_path) == []


@linux
def test_a_set_that_cannot_be_finished_yet_is_not_saved_over(tmp_path, windows):
    target = tmp_path / "m.safetensors"
    save(index_of(1), target, shard_size=40)
    with open(tmp_path / "m-00002-of-00002.safetensors", "rb"):
        for start, sentence in ((7, "another program holds"), (9, "an earlier save of this set")):
            with pytest.raises(SaveError, match=sentence):
                write(
                    plan_save(index_of(start), target, shard_size=40, overwrite=True),
                    sleep=lambda pause: None,
                )
    assert values(tmp_path) == [7.0, 8.0]
    save(index_of(3), tmp_path / "other.npz")
    assert values(tmp_path) == [7.0, 8.0]
    assert hidden(tmp_path) == []


@linux
def test_metadata_is_edited(tmp_path, windows):
    save(index_of(1), tmp_path / "m.safetensors")
    for text in ("a" * 600, "b" * 600, "c"):
        edit_metadata(tmp_path / "m.safetensors", {"k": text})
    assert values(tmp_path / "m.safetensors") == [1.0, 2.0]
    assert os.listdir(tmp_path) == ["m.safetensors"]


@linux
def test_metadata_is_edited_in_a_file_that_we_let_go(tmp_path, windows):
    path = tmp_path / "m.safetensors"
    save(index_of(1), path)
    with open_store(path) as index:
        assert edit_metadata(path, {"k": "a" * 600}, release=index.close).metadata == {
            "k": "a" * 600
        }
    assert set(windows.refused) == {"m.safetensors"}
    assert values(path) == [1.0, 2.0]


# --- what was left behind ------------------------------------------------------------------------


@linux
def test_a_writer_that_lives_keeps_its_file_open_or_just_closed(tmp_path, windows):
    """It closes the file just before the rename, and may wait a second for that to succeed."""
    with Sibling(tmp_path / "m.bpk") as sibling:
        remove_stale(tmp_path)
        assert sibling.path.exists()
        sibling.finish(forget=False)
        sibling.file.close()
        remove_stale(tmp_path)
        assert sibling.path.exists(), "another save took the file between closing and renaming"
        sibling.rename_over(release=lambda: None)
    assert os.listdir(tmp_path) == ["m.bpk"]


LEFT = [
    pytest.param(None, True, id="its writer ended"),
    pytest.param(1e9, False, id="its writer runs"),
    pytest.param(4e9, True, id="another process has its number by now"),
]


@linux
@pytest.mark.parametrize(("began", "abandoned"), LEFT)
def test_whose_a_file_is(tmp_path, windows, began, abandoned):
    left = tmp_path / f".m.bpk.ruda-{DEAD}-0123abcd.tmp"
    left.write_bytes(b"x")
    os.utime(left, (2e9, 2e9))
    if began is not None:
        windows.processes[DEAD] = began
    assert is_abandoned(left, DEAD) is abandoned
    with open(left, "rb"):
        assert not is_abandoned(left, DEAD)
    remove_stale(tmp_path)
    assert left.exists() is not abandoned


@linux
def test_a_file_that_is_open_to_its_end_needs_no_process(tmp_path, windows):
    """A journal is closed when its set is in place: that it could not be removed says nothing."""
    journal = tmp_path / ".m.ruda-set-1"
    journal.write_bytes(b"{}")
    assert is_abandoned(journal, os.getpid(), stays_open=True)
    with open(journal, "rb"):
        assert not is_abandoned(journal, DEAD, stays_open=True)


class Kernel:
    """kernel32, as far as it is asked."""

    def __init__(self, *, handle=7, code=259, ticks=(2_000_000_000 + 11_644_473_600) * 10**7):
        self._handle, self._code, self._ticks = handle, code, ticks
        self.held = 0

    def OpenProcess(self, rights, inherit, process):
        assert rights == 0x1000
        self.held += bool(self._handle)
        return self._handle

    def GetExitCodeProcess(self, handle, code):
        code._obj.value = self._code
        return 1

    def GetProcessTimes(self, handle, began, *others):
        began._obj.value = self._ticks
        return 1

    def CloseHandle(self, handle):
        self.held -= 1


PROCESSES = [
    pytest.param({}, True, 2e9, id="runs"),
    pytest.param({"handle": 0}, False, None, id="none"),
    pytest.param({"code": 1}, False, None, id="ended, and someone asks for its code"),
]


@pytest.mark.parametrize(("facts", "runs", "began"), PROCESSES)
def test_what_windows_says_of_a_process(monkeypatch, facts, runs, began):
    kernel = Kernel(**facts)
    monkeypatch.setattr("ruda.store._windows._SYSTEM", "nt")
    monkeypatch.setattr(processes, "_kernel32", lambda: kernel)
    assert processes.is_running(5) is runs
    assert processes.began_at(5) == began
    assert processes.may_be_writing(5, 2e9) is runs
    assert not processes.may_be_writing(5, 1e9), "it began after that"
    assert kernel.held == 0


@linux
def test_what_linux_says_of_a_process():
    began = processes.began_at(os.getpid())
    assert began is not None
    assert 0 <= os.stat("/proc/self").st_ctime - began < 3600 * 24 * 365
    assert processes.may_be_writing(os.getpid(), began)
    assert not processes.may_be_writing(os.getpid(), began - 60)
    assert not processes.is_running(DEAD)
    assert processes.began_at(DEAD) is None


# --- what it says --------------------------------------------------------------------------------


class WindowsError(OSError):
    """An error as Windows gives it: with a number of its own."""

    def __init__(self, number, code):
        super().__init__(number, "no")
        self.winerror = code


ERRORS = [
    pytest.param(WindowsError(errno.EACCES, 5), True, id="access denied"),
    pytest.param(WindowsError(errno.EACCES, 32), True, id="open elsewhere"),
    pytest.param(WindowsError(errno.EACCES, 33), True, id="locked"),
    pytest.param(WindowsError(errno.EINVAL, 1224), True, id="mapped"),
    pytest.param(WindowsError(errno.EINVAL, 87), False, id="wrong parameter"),
    pytest.param(PermissionError(errno.EACCES, "no"), True, id="no number"),
    pytest.param(OSError(errno.EIO, "no"), False, id="disk"),
]


@pytest.mark.parametrize(("error", "in_use"), ERRORS)
def test_which_errors_mean_that_a_file_is_in_use(error, in_use):
    assert is_in_use(error) is in_use


def test_a_mapped_file_is_waited_for(tmp_path):
    """Its error is none of permissions: 1224, in other words EINVAL."""
    path = tmp_path / "m.bpk"
    path.write_bytes(b"old")
    left = [WindowsError(errno.EINVAL, 1224)] * 2
    released = []

    def replace(source, target):
        if left:
            raise left.pop()
        os.replace(source, target)

    plan = plan_save(index_of(1), path, overwrite=True)
    write(plan, replace=replace, release=lambda: released.append(1), sleep=lambda pause: None)
    assert released == [1, 1]
    assert values(path) == [1.0, 2.0]


# --- names and paths -----------------------------------------------------------------------------


NAMES = [
    *(pytest.param(name, "is the name of a device", id=name) for name in
      ("CON", "con.safetensors", "Nul.bpk", "aux .pt", "COM1.npz", "lpt9.tar.pt", "COM¹", "prn")),
    pytest.param("model.", "ends in a space or a dot", id="dot"),
    pytest.param("model.bpk ", "ends in a space or a dot", id="space"),
    pytest.param("model:v2.bpk", "has a colon, which Windows takes for a hidden part", id="colon"),
    pytest.param("a?.bpk", r"has '\?', which is in no file name", id="question mark"),
    pytest.param("a\tb.bpk", r"has '\\t', which is in no file name", id="tab"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "why"), NAMES)
def test_names_that_are_something_else_there(tmp_path, monkeypatch, name, why):
    assert path_problems(tmp_path / name, overwrite=True) == ()
    monkeypatch.setattr("ruda.store._windows._SYSTEM", "nt")
    with pytest.raises(SaveError, match=rf"cannot be saved: the name .* {why}.*; choose another"):
        save(index_of(1), tmp_path / name, format="rudapack", overwrite=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    ["console.bpk", "com10.pt", "null.npz", "nul-1.pt", ".bpk", "a.b.pt", "é ü.bpk", "com.pt"],
)
def test_names_that_are_fine_there(name):
    assert name_problem(name) is None


LONG = "\\".join(["f" * 50] * 6)
PATHS = [
    pytest.param(rf"C:\{LONG}\m.bpk", rf"\\?\C:\{LONG}\m.bpk", id="long"),
    pytest.param(r"C:\short\m.bpk", r"C:\short\m.bpk", id="short"),
    pytest.param(rf"\\host\share\{LONG}", rf"\\?\UNC\host\share\{LONG}", id="network"),
    pytest.param(rf"\\?\C:\{LONG}", rf"\\?\C:\{LONG}", id="extended already"),
]


@pytest.mark.parametrize(("path", "shown"), PATHS)
def test_long_paths_are_said_in_the_extended_form(monkeypatch, path, shown):
    assert extended(PurePosixPath(path)) == PurePosixPath(path)
    monkeypatch.setattr("ruda.store._windows._SYSTEM", "nt")
    assert extended(PureWindowsPath(path)) == PureWindowsPath(shown)


def test_names_in_large_letters_are_the_same_shards_there(tmp_path, monkeypatch):
    """A set that is replaced is not also called stale; removing it would remove the new one."""
    for name in ("M-00001-of-00002.safetensors", "M-00002-of-00002.safetensors"):
        (tmp_path / name).touch()
    (tmp_path / "m-00003-of-00003.safetensors").touch()
    target = tmp_path / "m.safetensors"
    assert [path.name for path in stale_beside(target, 2)] == sorted(os.listdir(tmp_path))
    monkeypatch.setattr(
        os.path, "samefile", lambda a, b: os.fspath(a).lower() == os.fspath(b).lower()
    )
    assert [path.name for path in stale_beside(target, 2)] == ["m-00003-of-00003.safetensors"]
