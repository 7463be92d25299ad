"""What HDF5 files of all ages keep where, compared with what h5py reads; it is the oracle."""

import struct
import zipfile
from pathlib import Path

import h5py  # noqa: TID253 - tests have every extra
import numpy as np
import pytest

from ruda.errors import UnsupportedContentError
from ruda.store import open_store
from ruda.testing.foreign_bytes import H5_F32, H5_SLOT, h5_link, h5_message, h5_raw, h5_shape

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "hdf5"
DATA = 3 * H5_SLOT
GRID = np.arange(40 * 30, dtype="f4").reshape(40, 30)
LINE = np.arange(20_000, dtype="f4")
PLAIN = {}
PACKED = {"compression": 1, "shuffle": True, "fletcher32": True}
VERSIONS = ["earliest", "v108", "v110", "latest"]


def compared(path, key=None):
    """The index of a file, after every dataset was found as h5py reads it."""
    index = open_store(path)
    with h5py.File(path) as file:
        names = []
        file.visititems(lambda name, one: names.append(name) if hasattr(one, "shape") else None)
        assert sorted(index) == sorted(names)
        for name in names:
            expected = np.asarray(file[name][()])
            found = index[name]
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found.read(), expected)
            assert b"".join(map(bytes, found.chunks(999))) == found.read().tobytes()
    return index


def in_file(tmp_path, write, libver, **options):
    path = tmp_path / "file.h5"
    bounds = libver if libver == "latest" else (libver, "latest")
    with h5py.File(path, "w", libver=bounds, **options) as file:
        write(file)
    return path


GROWING = [
    pytest.param(GRID, (40, 30), (7, 4), id="one chunk in each place"),
    pytest.param(GRID, (60, 55), (7, 4), id="room to grow to"),
    pytest.param(GRID, (None, 30), (7, 4), id="no limit along the first axis"),
    pytest.param(GRID, (40, None), (7, 4), id="no limit along the last axis"),
    pytest.param(GRID, (60, None), (7, 4), id="no limit along one, room along the other"),
    pytest.param(GRID[:36].reshape(6, 6, 30), (9, None, 33), (4, 2, 7), id="in the middle"),
    pytest.param(GRID, (None, None), (7, 4), id="no limit at all"),
    pytest.param(GRID, (40, 30), (40, 30), id="a single chunk"),
    pytest.param(LINE, (None,), (3,), id="pages of blocks"),
    pytest.param(LINE[:9000], (9000,), (2,), id="pages of a fixed list"),
    pytest.param(LINE[:12000].reshape(120, 100), (None, None), (2, 2), id="a deep tree"),
]


@pytest.mark.parametrize("packing", [PLAIN, PACKED], ids=["plain", "packed"])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize(("values", "limits", "chunks"), GROWING)
def test_chunks_are_found_in_every_list(tmp_path, values, limits, chunks, libver, packing):
    options = {"data": values, "maxshape": limits, "chunks": chunks, **packing}
    path = in_file(tmp_path, lambda file: file.create_dataset("w", **options), libver)
    compared(path).close()


@pytest.mark.parametrize("limits", [(None,), (100_000,)], ids=["extensible", "fixed"])
def test_chunks_that_nobody_wrote_are_the_fill_value(tmp_path, limits):
    def write(file):
        options = {"dtype": ">f4", "chunks": (10,), "maxshape": limits, "fillvalue": 3}
        held = file.create_dataset("w", shape=(100_000,), **options)
        held[5:8], held[50_000:50_020], held[99_990:] = 1, 5, 2

    compared(in_file(tmp_path, write, "latest")).close()


@pytest.mark.parametrize("limits", [(None, 8), (None, None), (64, 8)], ids=str)
def test_chunks_of_a_dataset_that_shrank_and_grew(tmp_path, limits):
    def write(file):
        held = file.create_dataset("w", data=GRID[:40, :8], chunks=(4, 4), maxshape=limits)
        held.resize((13, 7))
        held.resize((33, 8))

    compared(in_file(tmp_path, write, "latest")).close()


@pytest.mark.parametrize("limits", [(40, 30), (80, 33)], ids=str)
def test_chunks_one_behind_the_other(tmp_path, limits):
    def write(file):
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk((7, 4))
        create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple(GRID.shape, limits)
        held = h5py.h5d.create(file.id, b"w", h5py.h5t.IEEE_F32LE, space, create)
        held.write(h5py.h5s.ALL, h5py.h5s.ALL, GRID)

    compared(in_file(tmp_path, write, "latest")).close()


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("*.h5")))
def test_what_h5py_has_no_setting_for(name):
    with compared(GOLDEN / name) as index, h5py.File(GOLDEN / name) as file:
        assert sorted(index.metadata) == sorted(file.attrs)
        assert index.metadata.get("n", "") == ", ".join(map(str, file.attrs.get("n", [])))


@pytest.mark.parametrize("libver", VERSIONS)
def test_many_and_large_attributes(tmp_path, libver):
    large = 3_000 if libver == "earliest" else 200_000

    def write(file):
        file.create_dataset("w", data=GRID)
        for number in range(40):
            file.attrs[f"a{number:02}"] = f"text {number}"
        file.attrs.create("config", np.bytes_(b"z" * large))

    with compared(in_file(tmp_path, write, libver)) as index:
        assert index.metadata["config"] == "z" * large
        assert {key: index.metadata[key] for key in ("a00", "a39")} == {
            "a00": "text 0",
            "a39": "text 39",
        }
        assert len(index.metadata) == 41
        assert index.notes == ()


@pytest.mark.parametrize("libver", VERSIONS)
def test_groups_whose_names_fill_heaps_of_heaps(tmp_path, libver):
    def write(file):
        for number in range(150):
            file.create_dataset(f"g/{number:04}" + "n" * 8_000, data=np.float32(number))

    compared(in_file(tmp_path, write, libver)).close()


@pytest.mark.parametrize("libver", VERSIONS)
def test_datatypes_with_a_name_of_their_own(tmp_path, libver):
    def write(file):
        file["type"] = np.dtype(">f4")
        for name in ("v", "w"):
            file.create_dataset(name, shape=(3, 4), dtype=file["type"])[...] = GRID[:3, :4]
        file.attrs.create("rate", 1.5, dtype=file["type"])

    with compared(in_file(tmp_path, write, libver)) as index:
        assert index.metadata == {"rate": "1.5"}


@pytest.mark.parametrize("size", [512, 4096, 1 << 16])
@pytest.mark.parametrize("name", ["file.h5", "file.data"])
def test_a_block_of_the_user_comes_first(tmp_path, size, name):
    def write(file):
        file.create_dataset("v", data=GRID)
        file.create_dataset("w", data=GRID, chunks=(7, 4), maxshape=(None, 30))

    path = in_file(tmp_path, write, "latest", userblock_size=size)
    compared(path.rename(tmp_path / name)).close()


LAYOUTS = [
    pytest.param(1, 2, 1, struct.pack("<Q2I", DATA, 2, 3), bytes(0), id="version 1, in one piece"),
    pytest.param(2, 2, 1, struct.pack("<Q2I", DATA, 2, 3), bytes(0), id="version 2, in one piece"),
    pytest.param(2, 2, 0, struct.pack("<3I", 2, 3, 24), GRID[1, :6].tobytes(), id="compact"),
    pytest.param(1, 3, 2, struct.pack("<Q3I", DATA, 2, 3, 4), bytes(0), id="chunks"),
    pytest.param(1, 2, 1, struct.pack("<Q2I", 2**64 - 1, 2, 3), bytes(0), id="nobody wrote it"),
]


@pytest.mark.parametrize(("version", "axes", "kind", "rest", "inside"), LAYOUTS)
def test_layouts_of_the_first_versions(tmp_path, version, axes, kind, rest, inside):
    layout = h5_message(8, struct.pack("<BBB5x", version, axes, kind) + rest + inside)
    values = GRID[1, :6].tobytes()
    key = struct.pack("<IIQQQ", 24, 0, 0, 0, 0)
    end = struct.pack("<IIQQQ", 0, 0, 2, 0, 0)
    tree = b"TREE" + struct.pack("<BBHQQ", 1, 0, 1, 2**64 - 1, 2**64 - 1) + key
    tree += struct.pack("<Q", DATA + 4096) + end
    data = values if kind == 1 else tree.ljust(4096, b"\0") + values
    path = tmp_path / "file.h5"
    no_fill = h5_message(5, bytes([2, 2, 2, 1]) + bytes(4))
    messages = [h5_shape(2, 3), h5_message(3, H5_F32), no_fill, layout]
    group = [h5_message(2, bytes(2) + b"\xff" * 16), h5_message(10, bytes(2)), h5_link(b"w", 2)]
    path.write_bytes(h5_raw(group, messages, data=data))
    with compared(path) as index:
        assert index["w"].shape == (2, 3)


def keras(tmp_path, *, method=zipfile.ZIP_STORED, weights=True, libver="earliest"):
    """An archive as Keras 3 saves it."""
    inner = in_file(
        tmp_path,
        lambda file: file.create_dataset("layers/dense/vars/0", data=GRID, chunks=(7, 4)),
        libver,
    )
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.8.0", "date_saved": "today"}')
        archive.writestr("config.json", '{"class_name": "Lambda"}')
        if weights:
            archive.write(inner, "model.weights.h5")
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("name", ["model.keras", "model.zip"])
def test_an_archive_of_keras(tmp_path, method, libver, name):
    path = keras(tmp_path, method=method, libver=libver).rename(tmp_path / name)
    with open_store(path) as index:
        assert index.format == "keras"
        np.testing.assert_array_equal(index["layers/dense/vars/0"].read(), GRID)
        assert dict(index.metadata) == {"keras_version": "3.8.0", "date_saved": "today"}
        assert index.notes == (
            "config.json describes the layers; it is not read, as it can hold code",
        )


def test_values_of_an_archive_are_placed_in_the_archive(tmp_path):
    inner = in_file(tmp_path, lambda file: file.create_dataset("w", data=GRID), "earliest")
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(inner, "model.weights.h5")
    with open_store(path) as index:
        origin = index["w"].origin
        start = origin.offset
        assert path.read_bytes()[start : start + origin.nbytes] == GRID.tobytes()


def test_an_archive_without_weights_is_refused(tmp_path):
    with pytest.raises(
        UnsupportedContentError, match=r"has no model.weights.h5 in it, only config"
    ):
        open_store(keras(tmp_path, weights=False))
