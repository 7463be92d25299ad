"""FormatContract: what every reader of a file format has to keep, as tests to inherit.

class TestMyFormat(FormatContract):
    model_format = MyFormat()

    def build(self, arrays):
        return bytes_of_a_file_with(arrays)
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ruda.errors import (
    FileAccessError,
    FileChangedError,
    FormatError,
    MissingKeyError,
    RudaError,
    TruncatedFileError,
)
from ruda.progress import Cancelled, Progress
from ruda.store import ByteFile, ModelFormat, TensorSnapshot, open_store
from ruda.tensor import DType
from ruda.testing.strategies import named_arrays

Arrays = Mapping[str, np.ndarray[Any, Any]]

STRANGE_HEADS = (
    pytest.param(b"", id="empty"),
    pytest.param(bytes(4096), id="zeros"),
    pytest.param(b"\xff" * 4096, id="ones"),
    pytest.param(b"<!DOCTYPE html><html>", id="html page"),
    pytest.param(b"version https://git-lfs.github.com/spec/v1\n", id="lfs pointer"),
    pytest.param(b"just some text, as in a note\n", id="text"),
)


class Counter:
    """Bytes that were read from files while it was watching."""

    def __init__(self) -> None:
        self.bytes = 0


@contextmanager
def counted_reads() -> Iterator[Counter]:
    """Count the bytes that positioned reads fetch from any file meanwhile."""
    counter = Counter()
    original = ByteFile.read_into

    def read_into(self: ByteFile, offset: int, buffer: memoryview) -> None:
        counter.bytes += len(buffer)
        original(self, offset, buffer)

    with patch.object(ByteFile, "read_into", read_into):
        yield counter


class Stopper:
    """A monitor that stops the work at its first stop point."""

    def report(self, progress: Progress) -> None:
        """Take no note."""

    def check(self) -> None:
        raise Cancelled


def read_all(path: Path) -> dict[str, bytes]:
    """Bytes of every tensor in a file."""
    with open_store(path) as index:
        return {key: index[key].read().tobytes() for key in index}


class FormatContract:
    """Tests of one format. Inherit, set ``model_format``, and say how a file is built."""

    model_format: ModelFormat
    dtypes: Sequence[DType] = tuple(DType)
    keeps_any_key = True
    """False for formats whose keys are less than any text."""
    cuts_are_seen = True
    """False for formats that cannot tell a file that was cut at every byte."""

    def build(self, arrays: Arrays) -> bytes:
        """Bytes of a file that holds these arrays under these keys."""
        raise NotImplementedError

    def small(self) -> bytes:
        """A small file with more than one tensor, for tests that cut it at every byte."""
        return self.build(
            {
                "a.weight": np.arange(1, 7, dtype="<f4").reshape(2, 3),
                "a.bias": np.arange(1, 4, dtype="<i8"),
            }
        )

    def put(self, folder: Path, raw: bytes) -> Path:
        """A file of these bytes under the format's first suffix."""
        path = folder / f"file{self.model_format.suffixes[0]}"
        path.write_bytes(raw)
        return path

    def test_it_has_a_name_a_title_and_suffixes(self) -> None:
        assert isinstance(self.model_format, ModelFormat)
        assert self.model_format.name == self.model_format.name.lower().strip()
        assert self.model_format.title
        assert all(s.startswith(".") and s == s.lower() for s in self.model_format.suffixes)

    def test_it_knows_its_own_files_whatever_they_are_called(self, tmp_path: Path) -> None:
        path = tmp_path / "file.unheard-of"
        path.write_bytes(self.small())
        assert self.model_format.matches(self.small()[:4096], path)
        with open_store(path) as index:
            assert index.format == self.model_format.name

    @pytest.mark.parametrize("head", STRANGE_HEADS)
    def test_it_does_not_claim_what_is_not_its_own(self, head: bytes) -> None:
        assert not self.model_format.matches(head, Path("file.dat"))

    @pytest.mark.parametrize("head", STRANGE_HEADS)
    def test_it_refuses_what_is_not_its_own_with_a_sentence(
        self, head: bytes, tmp_path: Path
    ) -> None:
        path = self.put(tmp_path, head)
        with pytest.raises(FormatError, match=r"file\."):
            self.model_format.open(path)

    @settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_what_is_written_is_read(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        arrays = data.draw(named_arrays(self.dtypes))
        if not self.keeps_any_key:
            arrays = {f"k{n}": array for n, array in enumerate(arrays.values())}
        path = self.put(tmp_path_factory.mktemp("contract"), self.build(arrays))
        with self.model_format.open(path) as index:
            assert set(index) == set(arrays)
            for key, array in arrays.items():
                self._assert_same(index[key], key, array)

    def _assert_same(self, found: TensorSnapshot, key: str, expected: np.ndarray[Any, Any]) -> None:
        assert found.key == key
        assert found.shape == expected.shape
        assert found.dtype is DType.from_numpy(expected.dtype)
        assert found.nbytes == expected.nbytes
        values = found.read()
        assert values.shape == found.shape
        assert values.dtype == found.dtype.carrier
        assert values.flags.c_contiguous
        assert values.tobytes() == expected.tobytes()

    def test_opening_reads_no_values(self, tmp_path: Path) -> None:
        size = 1 << 20
        path = self.put(tmp_path, self.build({"big": np.ones(size, "<f4"), "b": np.ones(3, "<f4")}))
        with counted_reads() as counter, self.model_format.open(path) as index:
            opened = counter.bytes
            assert opened < size
            index["b"].read()
            assert counter.bytes - opened <= 64

    def test_reading_a_tensor_reads_its_bytes_once(self, tmp_path: Path) -> None:
        path = self.put(tmp_path, self.build({"w": np.arange(1000, dtype="<f4")}))
        with self.model_format.open(path) as index, counted_reads() as counter:
            index["w"].read()
            assert counter.bytes == 4000

    @pytest.mark.parametrize("size", [1, 7, 4096, 1 << 24])
    def test_pieces_joined_are_the_whole(self, size: int, tmp_path: Path) -> None:
        array = np.arange(999, dtype="<i4")
        path = self.put(tmp_path, self.build({"w": array, "none": np.empty((0, 3), "<f4")}))
        with self.model_format.open(path) as index:
            pieces = [bytes(piece) for piece in index["w"].chunks(size)]
            assert b"".join(pieces) == array.tobytes()
            assert max(map(len, pieces)) <= size
            assert list(index["none"].chunks(size)) == []
            assert index["w"].sha256() == hashlib.sha256(array.tobytes()).hexdigest()

    def test_an_absent_key_is_named_with_the_nearest(self, tmp_path: Path) -> None:
        with (
            self.model_format.open(self.put(tmp_path, self.small())) as index,
            pytest.raises(MissingKeyError, match=r"'a\.wieght'; did you mean 'a\.weight'\?"),
        ):
            index["a.wieght"]

    def test_a_closed_index_reads_nothing(self, tmp_path: Path) -> None:
        index = self.model_format.open(self.put(tmp_path, self.small()))
        index.close()
        index.close()
        with pytest.raises(FileAccessError, match="closed"):
            index["a.weight"].read()

    def test_a_missing_file_is_said_to_be_missing(self, tmp_path: Path) -> None:
        with pytest.raises(FileAccessError, match=r"absent\.x: there is no file here"):
            self.model_format.open(tmp_path / "absent.x")

    def test_a_file_cut_at_any_byte_is_refused(self, tmp_path: Path) -> None:
        whole = self.small()
        for length in range(len(whole)):
            path = self.put(tmp_path, whole[:length])
            try:
                values = read_all(path)
            except FormatError as error:
                found = str(error)
            else:
                pytest.fail(f"cut to {length} of {len(whole)} bytes and read as {values}")
            assert str(path) in found

    def test_a_file_cut_while_it_is_open_is_refused(self, tmp_path: Path) -> None:
        array = np.arange(5000, dtype="<f4")
        path = self.put(tmp_path, self.build({"w": array}))
        with self.model_format.open(path) as index:
            path.write_bytes(path.read_bytes()[:600])
            refused = (TruncatedFileError, FileChangedError)
            with pytest.raises(refused, match=r"file\..*(when|since) it was opened"):
                index["w"].read()

    def test_a_file_written_over_while_it_is_open_gives_no_new_values(self, tmp_path: Path) -> None:
        old = np.arange(5000, dtype="<f4")
        path = self.put(tmp_path, self.build({"w": old}))
        with self.model_format.open(path) as index:
            path.write_bytes(self.build({"w": old + 5000}))
            later = path.stat().st_mtime_ns + 1_000_000_000  # a clock may be coarse
            os.utime(path, ns=(later, later))
            for read in (index["w"].read, lambda: b"".join(map(bytes, index["w"].chunks(4096)))):
                try:
                    found = read()
                except FileChangedError:
                    continue
                # A file that had to be unpacked is in memory since.
                assert np.array_equal(np.frombuffer(found, "<f4"), old)

    @settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_a_changed_file_is_read_or_refused_and_nothing_else(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        raw = bytearray(self.small())
        for _ in range(data.draw(st.integers(1, 4))):
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        path = self.put(tmp_path_factory.getbasetemp(), bytes(raw))
        said = ""
        try:
            read_all(path)
        except RudaError as error:
            said = str(error)
        assert not said or str(path) in said

    def test_opening_can_be_stopped(self, tmp_path: Path) -> None:
        path = self.put(tmp_path, self.build({f"k{n}": np.ones(1, "<f4") for n in range(3000)}))
        with pytest.raises(Cancelled, match=r"^$"):
            self.model_format.open(path, monitor=Stopper())
