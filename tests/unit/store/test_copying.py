"""Tensors that the system copies from file to file, and what happens where it does not."""

import errno
import os
import threading

import numpy as np
import pytest

from ruda.errors import FileAccessError, SaveError, TruncatedFileError
from ruda.progress import Cancelled
from ruda.store import TensorIndex, TensorSnapshot, open_store, save, streaming
from ruda.store import _writeback as writeback
from ruda.store._sibling import Sibling
from ruda.store.bytefile import ByteFile, FilePart, MemoryFile

posix = pytest.mark.skipif(os.name == "nt", reason="Windows copies no ranges")
needs_copying = pytest.mark.skipif(
    not hasattr(os, "copy_file_range"), reason="this system copies no ranges"
)
VALUES = np.arange(3 << 18, dtype=np.float32)  # three steps of TAKE below


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(streaming, "TAKE_BYTES", 1 << 20)
    monkeypatch.setattr(streaming, "TAKE_LEAST", 1 << 12)
    monkeypatch.setattr(writeback, "STEP_BYTES", 1 << 19)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.safetensors"
    made = [TensorSnapshot.from_array(f"t{n}", VALUES + n) for n in range(2)]
    made.append(TensorSnapshot.from_array("small", np.arange(5, dtype=np.int8)))
    save(TensorIndex.of(made, format="memory"), path)
    return path


def saved(source, target, **options):
    """What a save of a file writes, with another header, so that nothing lies where it lay."""
    with open_store(source) as index:
        save(index, target, metadata={"a": "longer header"}, **options)
    return target.read_bytes()


def read_and_written(source, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.delattr(os, "copy_file_range", raising=False)
        return saved(source, tmp_path / "plain.safetensors")


@needs_copying
def test_what_the_system_copies_is_what_is_read_and_written(source, tmp_path, monkeypatch):
    asked = []
    real = os.copy_file_range

    def listen(*arguments):
        asked.append(arguments[2])
        return real(*arguments)

    monkeypatch.setattr(os, "copy_file_range", listen)
    found = saved(source, tmp_path / "m.safetensors")
    assert sum(asked) >= 2 * VALUES.nbytes
    assert max(asked) == 1 << 20
    assert found == read_and_written(source, tmp_path, monkeypatch)


@needs_copying
def test_what_the_system_copies_is_verified_too(source, tmp_path, monkeypatch):
    with open_store(source) as index:
        found = save(index, tmp_path / "m.safetensors", verify=True)
        assert dict(found.sha256) == {key: s.sha256() for key, s in index.items()}
    with monkeypatch.context() as patch:
        patch.delattr(os, "copy_file_range")
        with open_store(source) as index:
            assert save(index, tmp_path / "n.safetensors", verify=True).sha256 == found.sha256


@needs_copying
def test_a_source_that_changes_while_it_is_copied_is_found_out(source, tmp_path, monkeypatch):
    real = os.copy_file_range

    def change(*arguments):
        done = real(*arguments)
        before = source.stat()
        with open(source, "rb+") as file:
            file.seek(-20, os.SEEK_END)
            file.write(os.urandom(10))
        os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))  # as if nobody had written
        return done

    monkeypatch.setattr(os, "copy_file_range", change)
    monkeypatch.setattr(streaming, "TAKE_LEAST", 1)
    monkeypatch.setattr(streaming, "aside", lambda task: task)  # hashes when it is waited for
    with open_store(source) as index, pytest.raises(SaveError, match="reads back with other val"):
        save(index, tmp_path / "m.safetensors", verify=True)
    assert os.listdir(tmp_path) == ["source.safetensors"]


@needs_copying
def test_a_save_that_fails_waits_for_nobody(source, tmp_path, monkeypatch):
    read = []
    real = streaming.Stream._digest_of

    def listen(self, plain):
        read.append(self._is_over)
        return real(self, plain)

    def fail(self):
        raise RuntimeError("stop")

    monkeypatch.setattr(streaming.Stream, "_digest_of", listen)
    monkeypatch.setattr(streaming.Stream, "_patch", fail)
    monkeypatch.setattr(streaming, "aside", lambda task: task)
    with open_store(source) as index, pytest.raises(RuntimeError, match="stop"):
        save(index, tmp_path / "m.safetensors", verify=True)
    assert read == [True, True]


@needs_copying
def test_short_copies_go_on_where_they_ended(source, tmp_path, monkeypatch):
    real = os.copy_file_range

    def short(one, other, count, *offset):
        return real(one, other, min(count, 100_001), *offset)

    monkeypatch.setattr(os, "copy_file_range", short)
    found = saved(source, tmp_path / "m.safetensors")
    assert found == read_and_written(source, tmp_path, monkeypatch)


REFUSALS = [errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EIO]


@posix
@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("refusal", [*REFUSALS, 0], ids=lambda n: errno.errorcode.get(n, "none"))
def test_where_the_system_does_not_copy_the_rest_is_read_and_written(
    source, tmp_path, monkeypatch, refusal, steps
):
    real = getattr(os, "copy_file_range", None)
    left = [steps]

    def refuse(*arguments):
        if left[0] and real is not None:
            left[0] -= 1
            return real(*arguments)
        if not refusal:
            return 0
        raise OSError(refusal, os.strerror(refusal))

    expected = read_and_written(source, tmp_path, monkeypatch)
    monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    assert saved(source, tmp_path / "m.safetensors") == expected


@posix
@pytest.mark.parametrize("kept", [100, 1 << 20, (1 << 21) + 7])
def test_a_source_that_is_cut_short_meanwhile_is_an_error(source, tmp_path, kept):
    target = tmp_path / "m.safetensors"
    target.write_bytes(b"the old file")
    with open_store(source) as index:
        os.truncate(source, kept)
        refused = r"the file ends here, but had \d+ more|has changed since it was opened"
        with pytest.raises((TruncatedFileError, SaveError), match=refused):
            save(index, target, overwrite=True)
    assert target.read_bytes() == b"the old file"
    assert sorted(os.listdir(tmp_path)) == ["m.safetensors", "source.safetensors"]


def test_a_source_that_was_closed_is_an_error(source, tmp_path):
    index = open_store(source)
    index.close()
    with pytest.raises(FileAccessError, match="the file was closed"):
        save(index, tmp_path / "m.safetensors")
    assert os.listdir(tmp_path) == ["source.safetensors"]


@posix
@pytest.mark.parametrize("limit", [0, 1000, 1 << 20, (1 << 21) + 100])
def test_a_full_disk_leaves_the_old_file(source, tmp_path, limit):
    import resource

    target = tmp_path / "m.safetensors"
    target.write_bytes(b"the old file")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_store(source) as index:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with pytest.raises(SaveError, match=r"writing stopped near byte \d+ of \d+: .*large"):
                save(index, target, overwrite=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert target.read_bytes() == b"the old file"
    assert sorted(os.listdir(tmp_path)) == ["m.safetensors", "source.safetensors"]


class StopAfter:
    def __init__(self, reports):
        self.left = reports
        self.seen = []

    def report(self, progress):
        self.seen.append(progress)
        self.left -= 1

    def check(self):
        if self.left <= 0:
            raise Cancelled


def test_it_stops_between_two_steps(source, tmp_path):
    monitor = StopAfter(2)
    with open_store(source) as index, pytest.raises(Cancelled, match=r"^$"):
        save(index, tmp_path / "m.safetensors", monitor=monitor)
    done = [progress.done for progress in monitor.seen]
    assert len(done) == 2
    assert 0 < done[0] < done[1] < VALUES.nbytes
    assert os.listdir(tmp_path) == ["source.safetensors"]


@posix
def test_a_file_can_be_saved_over_itself(source, tmp_path, monkeypatch):
    expected = read_and_written(source, tmp_path, monkeypatch)
    assert saved(source, source, overwrite=True) == expected


@posix
def test_the_thread_ends_with_the_save(source, tmp_path, monkeypatch):
    named = []
    real = writeback.begin_writing

    def listen(handle, offset, count):
        named.append((threading.current_thread().name, offset, count))
        real(handle, offset, count)

    monkeypatch.setattr(writeback, "begin_writing", listen)
    before = threading.active_count()
    saved(source, tmp_path / "m.safetensors")
    assert threading.active_count() == before
    assert {name for name, _, _ in named} <= {"ruda-writeback"}
    ends = [offset + count for _, offset, count in named]
    assert [offset for _, offset, _ in named] == [0, *ends[:-1]][: len(named)]


def test_the_thread_ends_with_a_save_that_fails(tmp_path):
    before = threading.active_count()

    def fail():
        with Sibling(tmp_path / "m.bpk") as sibling:
            for _ in range(8):
                sibling.write(bytes(1 << 18))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert threading.active_count() == before
    assert os.listdir(tmp_path) == []


@needs_copying
def test_what_is_copied_counts_as_read(source, tmp_path):
    with ByteFile(source) as file, open(tmp_path / "out", "wb", buffering=0) as out:
        assert file.copy_to(out.fileno(), 8, 1000) == 1000
        part = FilePart(file, 100, 500)
        assert part.copy_to(out.fileno(), 20, 30) == 30
        assert file.bytes_read == 1030
    raw = source.read_bytes()
    assert (tmp_path / "out").read_bytes() == raw[8:1008] + raw[120:150]


def test_a_part_copies_nothing_that_is_not_its_own(source, tmp_path):
    with ByteFile(source) as file, open(tmp_path / "out", "wb", buffering=0) as out:
        with pytest.raises(TruncatedFileError, match="but the file has 500 bytes in all"):
            FilePart(file, 100, 500).copy_to(out.fileno(), 400, 101)
        assert MemoryFile(b"abc", source).copy_to(out.fileno(), 0, 3) == 0
        assert out.tell() == 0
