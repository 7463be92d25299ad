"""HDF5 files, compared with what h5py reads in them; it is the oracle, not the reader."""

import hashlib
import json
from itertools import product

import h5py  # noqa: TID253 - tests have every extra
import ml_dtypes
import numpy as np
import pytest

from ruda.errors import ChecksumError
from ruda.store import open_store
from ruda.store.formats._hdf5_sums import lzf
from ruda.tensor import DType

KINDS = ["<f2", ">f4", "<f8", "u1", ">u2", ">i8", "?", "<c8", ">c16"]
CHUNKS = [(2, 2), (3, 5), (37, 23)]
PACKINGS = [
    {},
    {"compression": "gzip"},
    {"compression": "lzf"},
    {"compression": "gzip", "shuffle": True, "fletcher32": True},
    {"fletcher32": True},
]


def made(tmp_path, write, **options):
    """Path of a file that ``write`` filled."""
    path = tmp_path / "file.h5"
    with h5py.File(path, "w", **options) as file:
        write(file)
    return path


def assert_as_h5py_reads_it(path):
    """Every dataset has the shape and the bytes that h5py finds."""
    with open_store(path) as index, h5py.File(path) as file:
        for key, found in index.items():
            expected = np.asarray(file[key][()])
            little = expected.astype(expected.dtype.newbyteorder("<"))
            assert found.shape == expected.shape
            assert found.read().tobytes() == little.tobytes()
            assert b"".join(map(bytes, found.chunks(101))) == little.tobytes()
        return list(index)


@pytest.mark.parametrize("libver", ["earliest", "v110", "latest"])
@pytest.mark.parametrize("userblock", [0, 512])
def test_every_kind_of_value_is_read(tmp_path, libver, userblock):
    def write(file):
        for kind in KINDS:
            array = np.arange(6).reshape(2, 3).astype(kind)
            file.create_dataset(f"t/{kind[-2:]}{kind[0] == '>'}", data=array)
            file.create_dataset(f"none/{kind[-2:]}", data=array[:0])
        file["scalar"] = np.float32(2.5)
        file.create_dataset("unwritten", shape=(3, 2), dtype=">f4", fillvalue=7)
        file.create_dataset("one unwritten", shape=(), dtype=">f4", fillvalue=7)

    path = made(tmp_path, write, libver=libver, userblock_size=userblock)
    assert len(assert_as_h5py_reads_it(path)) == 2 * len(KINDS) + 3


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize(("chunks", "packing"), list(product(CHUNKS, PACKINGS)))
def test_chunks_are_read(tmp_path, libver, chunks, packing):
    values = np.random.default_rng(1).integers(0, 9, (30, 23))

    def write(file):
        for kind in ("<f4", ">f8", "u1"):
            part = {"shape": (37, 23), "dtype": kind, "chunks": chunks, "fillvalue": 3}
            file.create_dataset(kind, **part, **packing)[:30] = values
        file.create_dataset("cube", data=np.ones((5, 7, 9)), chunks=(2, 3, 4), **packing)

    assert len(assert_as_h5py_reads_it(made(tmp_path, write, libver=libver))) == 4


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("count", [3, 40, 3000])
def test_groups_of_any_size_are_read(tmp_path, libver, count):
    def write(file):
        for number in range(count):
            file[f"g{number % 2}/w{number}"] = np.full(2, number, "<f4")

    assert len(assert_as_h5py_reads_it(made(tmp_path, write, libver=libver))) == count


def test_links_are_not_followed(tmp_path):
    def write(file):
        file["a"] = np.ones(2, "<f4")
        file["again"] = file["a"]
        file["group/loop"] = file["/"]
        file["soft"] = h5py.SoftLink("/a")
        file["outside"] = h5py.ExternalLink("/etc/passwd", "/x")

    with open_store(made(tmp_path, write)) as index:
        assert list(index) == ["a"]
        assert index.notes == (
            "again is another name of a",
            "group/loop is another name of /",
            "outside is a link to another file; it is not followed",
            "soft is a link to another name; it is not followed",
        )


def test_what_are_no_numbers_is_noted(tmp_path):
    def write(file):
        file["text"] = "a text"
        file["bytes"] = np.array([b"ab", b"c"])
        file["record"] = np.zeros(2, [("a", "i4"), ("b", "f4")])
        file["place"] = file["text"].ref
        file["nothing"] = h5py.Empty("f4")
        file["raw"] = np.zeros(2, "V4")
        file["type"] = np.dtype("f8")
        file["w"] = np.ones(2)

    with open_store(made(tmp_path, write)) as index:
        assert list(index) == ["w"]
        assert index.notes == tuple(
            f"{key} holds {what}, which Ruda does not read; left out"
            for key, what in (
                ("bytes", "texts"),
                ("nothing", "nothing: it has no shape"),
                ("place", "references"),
                ("raw", "opaque bytes"),
                ("record", "records"),
                ("text", "lists or texts of varying length"),
            )
        )


def test_bf16_is_what_keras_says_it_is(tmp_path):
    values = np.arange(3).astype(ml_dtypes.bfloat16)

    def write(file):
        file["w"] = values
        file["w"].attrs["dtype"] = "bfloat16"

    with open_store(made(tmp_path, write)) as index:
        assert index["w"].dtype is DType.BF16
        np.testing.assert_array_equal(index["w"].read(), values)


def test_attributes_stay_text(tmp_path):
    def write(file):
        file.attrs["model_config"] = '{"class_name": "Lambda", "function": ["4wEAAA==", null]}'
        file.attrs["backend"] = np.bytes_(b"tensorflow")
        file.attrs["layer_names"] = [b"a", b"bcd"]
        file.attrs["many"] = np.arange(100)
        file.attrs["half"] = np.float32(0.5)
        file.attrs["words"] = ["x", "yy"]
        file.attrs["record"] = np.zeros((), [("a", "i4")])

    with open_store(made(tmp_path, write)) as index:
        assert index.metadata["model_config"].startswith('{"class_name": "Lambda"')
        assert index.metadata["backend"] == "tensorflow"
        assert index.metadata["layer_names"] == "a, bcd"
        assert index.metadata["many"].endswith("62, 63 … (100 in all)")
        assert index.metadata["half"] == "0.5"
        assert index.metadata["words"] == "x, yy"
        assert index.notes == ("the attribute record is no text or number; left out",)


def test_a_damaged_chunk_is_seen(tmp_path):
    values = np.random.default_rng(0).integers(0, 255, 64).astype("u1")

    def write(file):
        file.create_dataset("w", data=values, chunks=(64,), fletcher32=True)

    path = made(tmp_path, write)
    raw = path.read_bytes()
    at = raw.index(values.tobytes())
    path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    with (
        open_store(path) as index,
        pytest.raises(ChecksumError, match=r"file\.h5: byte \d+: a chunk of 'w' is damaged"),
    ):
        index["w"].read()


def test_a_damaged_header_is_seen(tmp_path):
    path = made(tmp_path, lambda file: file.create_dataset("w", data=[1.0]), libver="latest")
    raw = path.read_bytes()
    at = raw.rindex(b"OHDR") + 10
    path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    with pytest.raises(ChecksumError, match="an object header is damaged: its checksum is"):
        open_store(path)


RUNS = [
    pytest.param(b"\x02abc", b"abc", id="plain"),
    pytest.param(b"\x00a\x20\x00", b"aaaa", id="a run over itself"),
    pytest.param(b"\x01ab\xe0\x01\x01", b"ab" * 6, id="a long run"),
]


@pytest.mark.parametrize(("packed", "plain"), RUNS)
def test_lzf(packed, plain):
    assert lzf(packed, len(plain)) == plain


@pytest.mark.cases
def test_real_weights_are_those_of_the_other_file(cases):
    listed = json.loads((cases / "models/index.json").read_text())["crepe_tiny"]["tensors"]
    with open_store(cases / "models/crepe_tiny/weights.h5") as index:
        assert index.metadata["keras_version"] == "2.1.5"
        assert len(index) == 38
        for number in range(1, 7):
            bias = index[f"conv{number}/conv{number}_3/bias:0"].read()
            digest = hashlib.sha256(bias.tobytes()).hexdigest()
            assert digest == listed[f"conv{number}.bias"]["sha256"]
        dense = index["classifier/classifier_3/kernel:0"].read().T
        digest = hashlib.sha256(np.ascontiguousarray(dense).tobytes()).hexdigest()
        assert digest == listed["classifier.weight"]["sha256"]
