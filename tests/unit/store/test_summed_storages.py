"""Checksums of large storages: compared while they are read in pieces, and taken over by a save."""

import io
import os
import zipfile

import h5py  # noqa: TID253 - tests have every extra
import numpy as np
import pytest

from ruda.errors import ChecksumError
from ruda.store import TensorIndex, TensorSnapshot, open_store, save
from ruda.store.formats._torch_source import FILL_BYTES
from ruda.testing import counted_reads
from ruda.testing.file_bytes import (
    archive_bytes,
    script,
    table,
    torch_storage,
    torch_tensor,
    torch_zip_raw,
)

COUNT = 3 * FILL_BYTES // 4 + 5  # four pieces, the last of them small
VALUES = np.arange(COUNT, dtype=np.float32)
FILES = ["m.pt", "m.npz"]


def made(path, values=VALUES):
    save(TensorIndex.of([TensorSnapshot.from_array("w", values)], format="memory"), path)
    return path


def damaged(path, at):
    """The file with one bit of the tensor turned."""
    with open_store(path) as index:
        origin = index["w"].origin
    raw = bytearray(path.read_bytes())
    raw[origin.offset + at] ^= 4
    rotten(path, raw)


def rotten(path, raw):
    """Other bytes in a file that nobody has written to, as a failing disk has them."""
    before = path.stat()
    path.write_bytes(raw)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("name", FILES)
def test_a_large_storage_is_read_in_pieces(tmp_path, name):
    path = made(tmp_path / name)
    with open_store(path) as index:
        for _ in range(2):  # the second time without its checksum
            np.testing.assert_array_equal(index["w"].read(), VALUES)


@pytest.mark.parametrize("at", [0, FILL_BYTES - 1, FILL_BYTES, 4 * COUNT - 1])
@pytest.mark.parametrize("name", FILES)
def test_one_bit_of_damage_is_seen_in_every_piece(tmp_path, name, at):
    path = made(tmp_path / name)
    damaged(path, at)
    with open_store(path) as index, pytest.raises(ChecksumError, match=r"is damaged: its checksum"):
        index["w"].read()


def test_damage_before_the_values_is_seen(tmp_path):
    path = made(tmp_path / "m.npz")
    with open_store(path) as index:
        start = index["w"].origin.offset
        raw = bytearray(path.read_bytes())
        raw[start - 2] = ord("\t")  # the header is padded with spaces
        rotten(path, raw)
        with pytest.raises(ChecksumError, match=r"is damaged: its checksum"):
            index["w"].read()


@pytest.mark.parametrize("target", ["o.pt", "o.npz", "o.safetensors", "o.bpk"])
@pytest.mark.parametrize("name", FILES)
def test_what_is_saved_of_such_a_file_has_right_checksums(tmp_path, name, target):
    path = made(tmp_path / name)
    out = tmp_path / target
    with open_store(path) as index:
        save(index, out, verify=True)
    if zipfile.is_zipfile(out):
        with zipfile.ZipFile(out) as archive:
            assert archive.testzip() is None
    assert out.read_bytes() == made(tmp_path / f"again-{target}").read_bytes()


@pytest.mark.parametrize("target", ["o.pt", "o.npz", "o.safetensors"])
@pytest.mark.parametrize("name", FILES)
def test_damage_is_not_saved(tmp_path, name, target):
    path = made(tmp_path / name)
    damaged(path, 2 * COUNT)
    out = tmp_path / target
    out.write_bytes(b"the old file")
    with open_store(path) as index, pytest.raises(ChecksumError, match=r"is damaged: its checksum"):
        save(index, out, overwrite=True)
    assert out.read_bytes() == b"the old file"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, target])


def test_damage_that_comes_after_a_first_reading_is_not_saved(tmp_path):
    path = made(tmp_path / "m.pt")
    with open_store(path) as index:
        index["w"].read()
        damaged(path, 2 * COUNT)
        with pytest.raises(ChecksumError, match=r"is damaged: its checksum"):
            save(index, tmp_path / "o.pt")
    assert [p.name for p in tmp_path.iterdir()] == ["m.pt"]


def test_a_part_of_a_storage_is_checked_from_half_of_it_on(tmp_path):
    path = made(tmp_path / "m.pt", np.arange(2 * COUNT, dtype=np.float32))
    with open_store(path) as index:
        whole = index["w"].source
        for start, count in [(0, COUNT), (COUNT, COUNT), (3, COUNT + 7), (1, 5)]:
            raw = np.empty(4 * count, np.uint8)
            whole.storage.verified = False
            whole.storage.fill(4 * start, raw.data)
            assert whole.storage.verified is (2 * count >= 2 * COUNT)
            np.testing.assert_array_equal(
                raw.view(np.float32), np.arange(start, start + count, dtype=np.float32)
            )
        assert whole.storage.checksum(0, 8 * COUNT) == whole.checksum
        assert whole.storage.checksum(0, 4) is None


def read_all(index):
    return [snapshot.read() for snapshot in index.values()]


def cut_up(path, parts, nbytes):
    """A checkpoint of one storage that many tensors share out."""
    storage = np.arange(parts * nbytes // 4, dtype="<f4")
    held = torch_storage("0", storage.size)
    items = {
        f"w{n}": torch_tensor(held, (nbytes // 4,), offset=n * nbytes // 4) for n in range(parts)
    }
    path.write_bytes(torch_zip_raw(script(table(items)), {"0": storage.tobytes()}))
    return storage.tobytes()


@pytest.mark.parametrize("nbytes", [40, 20_000], ids=["small", "large"])
def test_damage_to_a_storage_is_seen_by_who_reads_it_in_parts(tmp_path, nbytes):
    path = tmp_path / "m.pt"
    storage = cut_up(path, 20, nbytes)
    raw = path.read_bytes()
    at = raw.index(storage) + 3 * nbytes
    path.write_bytes(raw[:at] + b"\x77" + raw[at + 1 :])
    with open_store(path) as index, pytest.raises(ChecksumError, match=r"data/0 is damaged"):
        read_all(index)
    with open_store(path) as index, pytest.raises(ChecksumError, match=r"data/0 is damaged"):
        save(index, tmp_path / "o.safetensors")
    assert [p.name for p in tmp_path.iterdir()] == ["m.pt"]


def test_a_storage_in_parts_is_read_no_more_than_twice(tmp_path):
    path = tmp_path / "m.pt"
    storage = cut_up(path, 20, 20_000)
    with open_store(path) as index, counted_reads() as counter:
        assert b"".join(s.read().tobytes() for s in index.values()) == storage
        assert counter.bytes == 2 * len(storage) - 20_000


def keras(path, arrays):
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        for key, array in arrays.items():
            file[key] = array
    path.write_bytes(archive_bytes({"config.json": b"{}", "model.weights.h5": out.getvalue()}))


@pytest.mark.parametrize("target", ["o.safetensors", "o.pt"])
def test_damage_to_the_weights_of_keras_is_seen(tmp_path, target):
    path = tmp_path / "m.keras"
    parts = {f"layers/dense_{n}/vars/0": np.full(40_000, n, "<f4") for n in range(1, 9)}
    keras(path, parts)
    turned(path, np.full(40_000, 5, "<f4").tobytes())
    with open_store(path) as index, pytest.raises(ChecksumError, match=r"weights\.h5 is damaged"):
        read_all(index)
    with open_store(path) as index, pytest.raises(ChecksumError, match=r"weights\.h5 is damaged"):
        save(index, tmp_path / target)
    assert [p.name for p in tmp_path.iterdir()] == ["m.keras"]


@pytest.mark.parametrize("count", [8, 40_000], ids=["small", "large"])
def test_damage_that_hides_the_weights_of_keras_is_seen(tmp_path, count):
    """What a damaged header no longer lists would never be read, so nobody would compare it."""
    path = tmp_path / "m.keras"
    keras(path, {f"vars/{n}": np.full(count, n, "<f4") for n in range(1, 9)})
    turned(path, b"SNOD\x01\0\x08")
    with pytest.raises(ChecksumError, match=r"weights\.h5 is damaged"):
        open_store(path)


def turned(path, found):
    """The file with a zero for the last byte of what stands in it."""
    raw = path.read_bytes()
    at = raw.index(found) + len(found)
    path.write_bytes(raw[: at - 1] + b"\0" + raw[at:])


def test_opening_keras_reads_headers_only(tmp_path):
    path = tmp_path / "m.keras"
    keras(path, {"layers/dense/vars/0": np.ones(100_000, "<f4")})
    with counted_reads() as counter, open_store(path) as index:
        assert counter.bytes < 100_000
        assert index["layers/dense/vars/0"].origin.nbytes == 400_000
        with index["layers/dense/vars/0"].source.file as file:
            assert bytes(file.map_range(file.size - 2, 2)) == path.read_bytes()[-2:]
            file.check_unchanged()
        assert not file.closed
    assert file.closed
