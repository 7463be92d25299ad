"""Writing: the old file or the new one, whole, whatever happens on the way."""

import errno
import os
import shutil
import stat
import tracemalloc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ruda.errors import SaveError, TruncatedFileError
from ruda.progress import Cancelled, Progress
from ruda.store import plan_save, save, write
from ruda.store._sibling import RENAME_PAUSES
from ruda.store.adapted import cast_to, transposed
from ruda.store.formats.rudapack import RudapackFormat
from ruda.store.formats.safetensors import SafetensorsFormat
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import CastCounts, DType

posix = pytest.mark.skipif(os.name == "nt", reason="limits and permissions as POSIX has them")
OLD = b"the old file"


def index_of(*snapshots, **fields):
    return TensorIndex.of(snapshots, format=fields.pop("format", "memory"), **fields)


def numbers(key="w", count=1000):
    return TensorSnapshot.from_array(key, np.arange(count, dtype=np.float32))


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "m.bpk"
    path.write_bytes(OLD)
    return path


def assert_untouched(target):
    assert target.read_bytes() == OLD
    assert list(target.parent.iterdir()) == [target]


@dataclass
class StopAfter:
    """A monitor that stops the work at its n-th check."""

    checks: int
    seen: int = 0

    def check(self):
        self.seen += 1
        if self.seen > self.checks:
            raise Cancelled

    def report(self, progress):
        pass


@dataclass
class Listening:
    reports: list[Progress]

    def check(self):
        pass

    def report(self, progress):
        self.reports.append(progress)


@dataclass(frozen=True)
class Faulty:
    """A source whose bytes are not those that its snapshot promises, or that fails."""

    pieces: tuple[bytes, ...]
    error: Exception | None = None

    def read(self):
        raise AssertionError("the writer streams")

    def stream(self, size):
        for piece in self.pieces:
            yield memoryview(piece)
        if self.error is not None:
            raise self.error


def faulty(*pieces, error=None):
    return index_of(TensorSnapshot("w", DType.U8, (8,), 8, Faulty(pieces, error)))


def test_a_save_reports_its_bytes_and_says_what_it_did(tmp_path):
    reports: list[Progress] = []
    index = index_of(numbers(), numbers("v", 0))
    result = save(index, tmp_path / "m.bpk", monitor=Listening(reports))
    assert result.path == tmp_path / "m.bpk"
    assert result.nbytes == (tmp_path / "m.bpk").stat().st_size
    assert not result.verified
    assert result.sha256 == {}
    assert reports[-1].done == 256 + 4000
    assert reports[-1].unit == "bytes"


def test_verifying_gives_the_digest_of_every_tensor(tmp_path):
    index = index_of(numbers(), numbers("v", 0))
    reports: list[Progress] = []
    result = save(index, tmp_path / "m.bpk", verify=True, monitor=Listening(reports))
    assert result.verified
    assert result.sha256 == {key: index[key].sha256() for key in index}
    assert reports[-1] == Progress(4000, 4000, "bytes verified")


def test_casts_are_counted_per_tensor(tmp_path):
    wide = TensorSnapshot.from_array("w", np.array([1.0, 1e9, 1e-9, -np.inf], np.float32))
    index = index_of(cast_to(wide, DType.F16), numbers("v"))
    result = save(index, tmp_path / "m.bpk")
    assert set(result.casts) == {"w"}
    counts = result.casts["w"]
    assert isinstance(counts, CastCounts)
    assert (counts.numel, counts.overflow, counts.underflow) == (4, 1, 1)


def test_overwriting_needs_permission(target):
    with pytest.raises(SaveError, match=r"m\.bpk: cannot be saved: the file exists") as caught:
        save(index_of(numbers()), target)
    assert caught.value.stage == "plan"
    assert_untouched(target)


def test_a_folder_is_not_written_over(tmp_path):
    with pytest.raises(SaveError, match=r"the target is a folder"):
        save(index_of(numbers()), tmp_path, format="rudapack", overwrite=True)
    assert list(tmp_path.iterdir()) == []


MEMORY = [
    pytest.param(lambda s: s, 1, id="as it is"),
    pytest.param(lambda s: cast_to(s, DType.F16), 5, id="cast"),
    pytest.param(transposed, 4, id="transposed: two of the largest"),
]


@pytest.mark.parametrize(("change", "megabytes"), MEMORY)
def test_memory_is_that_of_the_plan(tmp_path, change, megabytes):
    values = np.zeros((700, 700), np.float32)  # 1.9 MB
    source = index_of(*(TensorSnapshot.from_array(str(n), values) for n in range(9)))
    save(source, tmp_path / "source.safetensors")
    with SafetensorsFormat().open(tmp_path / "source.safetensors") as opened:
        plan = plan_save(index_of(*map(change, opened.values())), tmp_path / "m.bpk")
        tracemalloc.start()
        try:
            write(plan)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert plan.peak_bytes <= (megabytes << 20) + len(plan.header)
    assert peak <= plan.peak_bytes + (512 << 10)


STOPS = [pytest.param(n, id=f"check {n}") for n in range(4)]


@pytest.mark.parametrize("checks", STOPS)
def test_a_stop_leaves_the_old_file(target, checks):
    plan = plan_save(index_of(numbers(), numbers("v")), target, overwrite=True)
    with pytest.raises(Cancelled):
        write(plan, monitor=StopAfter(checks))
    assert_untouched(target)


def test_there_is_no_stop_after_the_last_check(target):
    write(plan_save(index_of(numbers()), target, overwrite=True), monitor=StopAfter(3))
    assert target.read_bytes() != OLD


FAULTS = [
    pytest.param(
        faulty(b"1234", b"567"),
        SaveError,
        r"m\.bpk: 'w' gave 7 bytes, but its shape and dtype need 8; the old file is unchanged",
        id="too few bytes",
    ),
    pytest.param(
        faulty(b"1234", b"56789"),
        SaveError,
        r"'w' gave 9 bytes or more, but its shape and dtype need 8; the old file is unchanged",
        id="too many bytes",
    ),
    pytest.param(
        faulty(b"1234", error=TruncatedFileError("ends here", path="other.pt", offset=4)),
        TruncatedFileError,
        r"other\.pt: byte 4: ends here",
        id="source cut short",
    ),
    pytest.param(faulty(error=MemoryError("no room")), MemoryError, r"no room", id="memory"),
]


@pytest.mark.parametrize(("index", "error", "message"), FAULTS)
def test_a_source_that_fails_leaves_the_old_file(target, index, error, message):
    with pytest.raises(error, match=message):
        save(index, target, overwrite=True)
    assert_untouched(target)


@posix
def test_a_full_disk_leaves_the_old_file(target):
    import resource

    index = index_of(numbers(count=1 << 19), numbers("v", 1 << 19))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, before[1]))
    try:
        with pytest.raises(
            SaveError, match=r"writing stopped near byte \d+ of 4194560: .*; the old file is unch"
        ) as caught:
            save(index, target, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.stage == "write"
    assert_untouched(target)


@posix
def test_a_disk_that_fails_when_flushing(target, monkeypatch):
    def refuse(handle):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(SaveError, match=r"near byte 4256 of 4256: Disk quota exceeded") as caught:
        save(index_of(numbers()), target, overwrite=True)
    assert caught.value.stage == "write"
    assert_untouched(target)


def test_too_little_space_is_said_before_anything_is_written(target, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(100))
    with pytest.raises(SaveError, match=r"needs 4256 bytes, but .* has 100 left") as caught:
        save(index_of(numbers()), target, overwrite=True)
    assert caught.value.stage == "plan"
    assert_untouched(target)


@dataclass(frozen=True)
class Usage:
    free: Any


def test_unknown_space_is_no_obstacle(tmp_path, monkeypatch):
    def fail(path):
        raise OSError(errno.ENOSYS, "not here")

    monkeypatch.setattr(shutil, "disk_usage", fail)
    save(index_of(numbers()), tmp_path / "m.bpk")


def test_a_folder_that_takes_no_file(target, monkeypatch):
    real = os.open

    def refuse(path, flags, *args, **kwargs):
        if flags & os.O_CREAT:
            raise PermissionError(errno.EROFS, "Read-only file system")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(
        SaveError, match=r"no file can be made in .*: Read-only file system; the old file is unch"
    ) as caught:
        save(index_of(numbers()), target, overwrite=True)
    assert caught.value.stage == "write"
    assert_untouched(target)


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "m.bpk"

    class Racing(StopAfter):
        def check(self):
            path.write_bytes(OLD)

    with pytest.raises(SaveError, match=r"the file exists; .*; the old file is unchanged") as found:
        save(index_of(numbers()), path, monitor=Racing(9))
    assert found.value.stage == "rename"
    assert_untouched(path)


FORMATS = [
    pytest.param("m.bpk", RudapackFormat(), id="rudapack"),
    pytest.param("m.safetensors", SafetensorsFormat(), id="safetensors"),
]


@posix
@pytest.mark.parametrize(("name", "kind"), FORMATS)
def test_saving_over_the_file_that_is_open(tmp_path, name, kind):
    path = tmp_path / name
    save(index_of(numbers("a"), numbers("b", 5)), path)
    with kind.open(path) as index:
        kept = [index["b"].renamed("c"), index["a"]]
        save(TensorIndex.of(kept, format="changed", path=path), path, overwrite=True, verify=True)
        np.testing.assert_array_equal(index["b"].read(), np.arange(5, dtype=np.float32))
    with kind.open(path) as again:
        assert sorted(again) == ["a", "c"]
        np.testing.assert_array_equal(again["c"].read(), np.arange(5, dtype=np.float32))
    assert list(tmp_path.iterdir()) == [path]


@dataclass
class WindowsReplace:
    """os.replace as Windows has it: refused while someone holds the target open."""

    held: set[str]
    calls: int = 0

    def __call__(self, source, target):
        self.calls += 1
        if self.held:
            raise PermissionError(errno.EACCES, "Access is denied")
        os.replace(source, target)


def test_own_handles_are_dropped_before_the_second_attempt(target):
    held = {"index", "caller"}
    index = index_of(numbers(), path=target, closers=(lambda: held.discard("index"),))
    replace = WindowsReplace(held)
    pauses: list[float] = []
    write(
        plan_save(index, target, overwrite=True),
        release=lambda: held.discard("caller"),
        replace=replace,
        sleep=pauses.append,
    )
    assert replace.calls == 2
    assert pauses == [RENAME_PAUSES[0]]
    assert target.read_bytes() != OLD


def test_an_index_of_another_file_stays_open(target):
    held = {"someone"}
    closed: list[str] = []
    index = index_of(
        numbers(), path=target.with_name("other.bpk"), closers=(lambda: closed.append("index"),)
    )
    replace = WindowsReplace(held)
    plan = plan_save(index, target, overwrite=True)
    write(plan, replace=replace, sleep=lambda pause: held.clear())
    assert closed == []


def test_a_file_that_stays_in_use(target):
    pauses: list[float] = []
    with pytest.raises(
        SaveError,
        match=r"another program holds the file open .*Access is denied, after 6 attempts\); the",
    ) as caught:
        write(
            plan_save(index_of(numbers()), target, overwrite=True),
            replace=WindowsReplace({"someone"}),
            sleep=pauses.append,
        )
    assert caught.value.stage == "rename"
    assert pauses == list(RENAME_PAUSES)
    assert_untouched(target)


def test_a_rename_that_fails_otherwise(target):
    def fail(source, target):
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(SaveError, match=r"cannot be put in place: Input/output error") as caught:
        write(plan_save(index_of(numbers()), target, overwrite=True), replace=fail)
    assert caught.value.stage == "rename"
    assert_untouched(target)


def test_damage_between_writing_and_verifying_leaves_the_old_file(target, monkeypatch):
    import ruda.store.writer as writer

    real = writer.verify_file

    def damage(path, *args, **kwargs):
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\xff")
        real(path, *args, **kwargs)

    monkeypatch.setattr(writer, "verify_file", damage)
    with pytest.raises(
        SaveError, match=r"'w' at byte 256 reads back with other values .*; the old file is unch"
    ) as caught:
        save(index_of(numbers()), target, overwrite=True, verify=True)
    assert caught.value.stage == "verify"
    assert_untouched(target)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o666])
def test_permissions_of_the_old_file_are_kept(target, mode):
    target.chmod(mode)
    save(index_of(numbers()), target, overwrite=True)
    assert stat.S_IMODE(target.stat().st_mode) == mode


@posix
def test_a_new_file_has_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        save(index_of(numbers()), tmp_path / "m.bpk")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m.bpk").stat().st_mode) == 0o640


@posix
def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    real = tmp_path / "disk" / "m.bpk"
    real.write_bytes(OLD)
    link = tmp_path / "link.bpk"
    link.symlink_to(real)
    save(index_of(numbers()), link, overwrite=True)
    assert link.is_symlink()
    assert real.read_bytes() != OLD
    assert list(real.parent.iterdir()) == [real]
