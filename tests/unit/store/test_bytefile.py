"""Random access to files: both ways of reading give the same bytes, and say what went wrong."""

import gc
import os
import tempfile
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import FileAccessError, FileChangedError, TruncatedFileError
from ruda.store.bytefile import ByteFile, FilePart, MemoryFile

RAW = bytes(range(256)) * 4


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "file.bin"
    file.write_bytes(RAW)
    return file


@given(st.integers(0, len(RAW)), st.integers(0, len(RAW)), st.integers(1, 300))
def test_all_ways_give_the_same_bytes(tmp_path_factory, start, stop, size):
    start, stop = sorted((start, stop))
    path = tmp_path_factory.getbasetemp() / "same.bin"
    path.write_bytes(RAW)
    expected = RAW[start:stop]
    for file in (ByteFile(path), MemoryFile(RAW, path)):
        with file:
            count = stop - start
            assert file.read_at(start, count) == expected
            assert bytes(file.map_range(start, count)) == expected
            assert b"".join(map(bytes, file.stream(start, count, size))) == expected
            buffer = bytearray(count)
            file.read_into(start, memoryview(buffer))
            assert buffer == expected
            assert file.bytes_read == 4 * count


OUTSIDE = [
    pytest.param(-1, 1, 0, id="before the start"),
    pytest.param(0, 1025, 0, id="too many"),
    pytest.param(1024, 1, 1024, id="at the end"),
    pytest.param(0, -1, 0, id="a negative count"),
    pytest.param(1 << 80, 1, 1 << 80, id="far away"),
]


@pytest.mark.parametrize(("offset", "count", "place"), OUTSIDE)
def test_a_range_outside_the_file_is_refused(path, offset, count, place):
    with (
        ByteFile(path) as file,
        pytest.raises(TruncatedFileError, match=rf"file\.bin: byte {place}: .* has 1024 bytes"),
    ):
        file.read_at(offset, count)


def test_a_file_that_shrinks_is_refused_where_it_ends(path):
    with ByteFile(path) as file:
        path.write_bytes(RAW[:100])
        with pytest.raises(TruncatedFileError, match=r"byte 100: the file ends here, but had 924"):
            file.read_at(0, 1024)


def rewritten(path):
    path.write_bytes(RAW[::-1])


def longer(path):
    with path.open("ab") as file:
        file.write(b"more")


def shorter(path):
    os.truncate(path, 1000)


def one_byte(path):
    with path.open("r+b") as file:
        file.write(b"!")


WAYS = {
    "read": lambda file: file.read_at(0, 10),
    "stream": lambda file: list(file.stream(0, 100, 30)),
    "map": lambda file: file.map_range(0, 10),
    "a part": lambda file: FilePart(file, 10, 100).read_at(0, 5),
    "copy": lambda file: copied(file),
}


def copied(file):
    with tempfile.TemporaryFile(dir=Path(file.path).parent) as target:
        if not file.copy_to(target.fileno(), 0, 100):
            file.read_at(0, 100)  # where the system copies nothing, the range is read


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("write", [rewritten, longer, shorter, one_byte])
def test_a_file_that_was_written_to_is_refused(path, write, way):
    with ByteFile(path) as file:
        WAYS[way](file)
        write(path)
        later = path.stat().st_mtime_ns + 1_000_000_000  # a clock may be coarse
        os.utime(path, ns=(later, later))
        with pytest.raises(FileChangedError, match=r"file\.bin: has changed since it was opened"):
            WAYS[way](file)


def test_a_file_that_was_replaced_is_read_on(path):
    """A save by rename makes another file; the open one is whole."""
    with ByteFile(path) as file:
        path.with_name("new").write_bytes(RAW[::-1])
        path.with_name("new").replace(path)
        assert file.read_at(0, 1024) == RAW


def test_a_file_that_is_dropped_lets_go_without_a_warning(path):
    file = ByteFile(path)
    handle = file._file
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del file
        gc.collect()
    assert handle.closed
    assert caught == []


def test_a_closed_file_says_so(path):
    file = ByteFile(path)
    file.close()
    assert file.closed
    with pytest.raises(FileAccessError, match=r"file\.bin: cannot be read: the file was closed"):
        file.read_at(0, 1)


UNOPENED = [
    pytest.param("absent", r"absent: there is no file here; check the spelling", id="missing"),
    pytest.param(".", r"is a folder, and a file is needed", id="folder"),
    pytest.param("nul\0name", r"cannot be opened: embedded null byte", id="a name that cannot be"),
]


@pytest.mark.parametrize(("name", "sentence"), UNOPENED)
def test_what_cannot_be_opened_says_why(tmp_path, name, sentence):
    with pytest.raises(FileAccessError, match=sentence):
        ByteFile(tmp_path / name)


def test_a_device_is_refused_before_it_is_waited_for():
    with pytest.raises(FileAccessError, match=r"is a pipe or a device|cannot be opened"):
        ByteFile(os.devnull)


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "locked").touch()
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileAccessError, match=r"cannot be opened: Permission denied"):
        ByteFile(tmp_path / "locked")


def test_reading_from_many_threads_mixes_nothing(path):
    with ByteFile(path) as file:
        wrong = []

        def read(start):
            for _ in range(50):
                if file.read_at(start, 100) != RAW[start : start + 100]:
                    wrong.append(start)

        threads = [threading.Thread(target=read, args=(n * 37,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert file.bytes_read == 8 * 50 * 100


def test_without_positioned_reads_the_bytes_are_the_same(path, monkeypatch):
    monkeypatch.delattr(os, "preadv")
    with ByteFile(Path(path)) as file:
        assert file.read_at(10, 20) == RAW[10:30]
        assert b"".join(map(bytes, file.stream(0, 1024, 100))) == RAW


def test_a_dropped_file_closes_itself_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(b"x")
    opened = ByteFile(path)
    handle = opened._file
    del opened
    gc.collect()
    assert handle.closed
