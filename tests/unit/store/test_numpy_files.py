"""NumPy's own files: one array or an archive of them; nothing in a header is evaluated."""

import io
import time
import zipfile

import numpy as np
import pytest

from ruda.errors import (
    ChecksumError,
    FormatError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsafeContentError,
    UnsupportedContentError,
)
from ruda.store import open_store
from ruda.testing import counted_reads

KINDS = ["<f2", "<f4", ">f4", "<f8", "<i8", ">i2", "u1", "?", "<c8", ">c16"]
SHAPES = [(), (3,), (2, 3), (0, 3), (2, 1, 3)]


def npy(array, version=None, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version, **options)
    return out.getvalue()


def opened(tmp_path, raw, name="file.npy"):
    path = tmp_path / name
    path.write_bytes(raw)
    return open_store(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_read(tmp_path, kind, shape, order):
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape), kind, order=order)
    with opened(tmp_path, npy(array)) as index:
        found = index["<root>"]
        assert found.shape == shape
        assert found.read().dtype == np.dtype(kind).newbyteorder("<")
        np.testing.assert_array_equal(found.read(), array)
        little = array.astype(np.dtype(kind).newbyteorder("<")).tobytes()
        assert b"".join(map(bytes, found.chunks(7))) == little


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)], ids=str)
def test_every_version_is_read(tmp_path, version):
    with opened(tmp_path, npy(np.arange(3), version)) as index:
        assert index["<root>"].read().tolist() == [0, 1, 2]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed], ids=["stored", "deflated"])
def test_an_archive_is_read(tmp_path, save):
    path = tmp_path / "file.npz"
    save(path, w=np.arange(6.0).reshape(2, 3), b=np.asfortranarray(np.eye(3)), s=np.array(["a"]))
    with open_store(path) as index:
        assert list(index) == ["w", "b"]
        np.testing.assert_array_equal(index["w"].read(), np.arange(6.0).reshape(2, 3))
        np.testing.assert_array_equal(index["b"].read(), np.eye(3))
        assert index.notes == ("s.npy is an array of texts; it is left out",)


def test_bytes_behind_an_array_are_noted(tmp_path):
    with opened(tmp_path, npy(np.arange(3)) + b"more") as index:
        assert index.notes == ("4 bytes follow the array",)


def header(text):
    raw = text.encode() + b"\n"
    return b"\x93NUMPY\x01\0" + len(raw).to_bytes(2, "little") + raw + bytes(64)


def literal(descr="'<f4'", order="False", shape="(2,)"):
    return header(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}")


OBJECTS = npy(np.array([{}], object), allow_pickle=True)
BAD = [
    pytest.param(OBJECTS, UnsafeContentError, r"is an array of Python objects", id="objects"),
    pytest.param(header("__import__('os')"), HeaderError, r"unexpected form", id="expression"),
    pytest.param(literal(shape="(2**40,)"), HeaderError, r"unexpected form", id="shape by power"),
    pytest.param(literal(shape="(-2,)"), HeaderError, r"unexpected form", id="negative size"),
    pytest.param(literal(order="1"), HeaderError, r"unexpected form", id="order a number"),
    pytest.param(literal(shape=f"({1 << 62}, 4)"), OffsetError, r"in 64 bits", id="overflow"),
    pytest.param(literal(shape="(99,)"), TruncatedFileError, r"needs 396 bytes", id="too large"),
    pytest.param(literal(shape="(2)"), HeaderError, r"the shape \(2\)", id="shape a number"),
    pytest.param(literal(shape="(02,)"), HeaderError, r"the shape \(02,\)", id="leading nought"),
    pytest.param(literal(order="True, 'shape': (1,)"), HeaderError, r"unexpected", id="twice"),
    pytest.param(literal(order="True, 'x': 1"), HeaderError, r"unexpected form", id="more fields"),
    pytest.param(header("{'descr': '<f4', 'shape': (1,)}"), HeaderError, r"unexpected", id="fewer"),
    pytest.param(literal("'<f16'"), UnsupportedContentError, r"'<f16'", id="long double"),
    pytest.param(literal("'<V2'"), UnsupportedContentError, r"'<V2'.*bf16 and fp8", id="void"),
    pytest.param(literal("'<M8[D]'"), UnsupportedContentError, r"'<M8\[D\]'", id="dates"),
    pytest.param(literal("'<U3'"), UnsupportedContentError, r"an array of texts", id="texts"),
    pytest.param(
        literal("[('a', '<f4')]"), UnsupportedContentError, r"save each field as an", id="records"
    ),
    pytest.param(
        literal("[('a', '<f4', (2, 2))]"), UnsupportedContentError, r"structured", id="arrays in it"
    ),
    pytest.param(b"\x93NUMPY\x01\0\xff\xff", HeaderError, r"like a NumPy array", id="cut"),
    pytest.param(b"\x93NUMPY\x01\0\xff\x0f{}", TruncatedFileError, r"ends at byte", id="long"),
    pytest.param(b"\x93NUMPY\x09\0\x02\0{}", UnsupportedContentError, r"version 9", id="version"),
]


@pytest.mark.parametrize(("raw", "error", "sentence"), BAD)
def test_a_bad_array_is_refused(tmp_path, raw, error, sentence):
    with pytest.raises(error, match=rf"file\.npy: .*{sentence}"):
        opened(tmp_path, raw)


def test_a_bad_member_is_named(tmp_path):
    path = tmp_path / "file.npz"
    np.savez(path, good=np.ones(1), evil=np.array([{}], object))
    with pytest.raises(UnsafeContentError, match=r"file\.npz: evil\.npy: is an array of Python"):
        open_store(path)


def test_an_array_cut_anywhere_is_refused(tmp_path):
    raw = npy(np.arange(3, dtype="<f4"))
    for length in range(1, len(raw)):
        with pytest.raises(FormatError, match=r"file\.npy: "):
            opened(tmp_path, raw[:length])


@pytest.mark.parametrize("key", ["a/../b", "../b", "/b", "a\\b"])
def test_a_member_whose_name_points_elsewhere_is_refused(tmp_path, key):
    """Nothing is ever unpacked, but other programs would write there."""
    path = tmp_path / "file.npz"
    with zipfile.ZipFile(path, "w") as archive:
        out = io.BytesIO()
        np.save(out, np.ones(2))
        archive.writestr("good.npy", out.getvalue())
        archive.writestr(f"{key}.npy", out.getvalue())
    with pytest.raises(HeaderError, match="points outside it"):
        open_store(path)


def test_objects_in_an_archive_are_refused_by_their_name(tmp_path):
    path = tmp_path / "file.npz"
    np.savez(path, good=np.ones(2), bad=np.array([{}], object))
    with pytest.raises(UnsafeContentError, match=r"bad\.npy: is an array of Python objects"):
        open_store(path)


def test_a_header_of_python_2_is_read(tmp_path):
    text = b"{'descr': '>i8', 'fortran_order': False, 'shape': (3L,), }".ljust(69) + b"\n"
    path = tmp_path / "file.npy"
    path.write_bytes(b"\x93NUMPY\x01\0" + bytes([len(text), 0]) + text + bytes(range(24)))
    with open_store(path) as index:
        expected = np.frombuffer(bytes(range(24)), ">i8")
        np.testing.assert_array_equal(index["<root>"].read(), expected)


@pytest.mark.parametrize(
    "text",
    [
        "{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}",
        "{'fortran_order': False,'shape':(2,3),'descr':'<f4',}",
        '{"descr": "<f4", "fortran_order": False, "shape": (2, 3), }',
    ],
)
def test_a_header_of_another_writer_is_read(tmp_path, text):
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    raw = header(text)[:-64] + values.tobytes()
    with opened(tmp_path, raw) as index:
        np.testing.assert_array_equal(index["<root>"].read(), values)


@pytest.mark.parametrize(
    "text", ["{'shape': (2, 3)", "{'descr': [", "{'descr': []", "{"], ids=["end", "in", "out", "{"]
)
def test_a_header_of_blanks_is_refused_at_once(tmp_path, text):
    raw = header(text + 60_000 * " " + "x")
    began = time.perf_counter()
    with pytest.raises(HeaderError, match="unexpected form"):
        opened(tmp_path, raw)
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize("count", [3, 9])
@pytest.mark.parametrize(
    ("old", "new"), [(b"<f4", b">f4"), (b"\x80\x3f", b"\x81\x3f")], ids=["header", "values"]
)
def test_damage_to_a_small_array_is_seen(tmp_path, count, old, new):
    path = tmp_path / "file.npz"
    np.savez(path, w=np.ones(count, "<f4"))
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with open_store(path) as index, pytest.raises(ChecksumError, match=r"w\.npy is damaged"):
        index["w"].read()


def test_damage_to_the_header_of_an_array_without_values_is_seen(tmp_path):
    path = tmp_path / "file.npz"
    np.savez(path, w=np.zeros((0, 3)))
    path.write_bytes(path.read_bytes().replace(b"(0, 3)", b"(0, 5)"))
    with pytest.raises(ChecksumError, match=r"w\.npy is damaged"):
        open_store(path)


def test_few_values_are_checked_without_reading_more(tmp_path):
    path = tmp_path / "file.npz"
    np.savez(path, w=np.arange(3, dtype="<f4"))
    with open_store(path) as index, counted_reads() as counter:
        index["w"].read()
        assert counter.bytes == 12


def test_an_archive_that_begins_with_a_folder_is_read(tmp_path):
    path = tmp_path / "file.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("block/", b"")
        archive.writestr("block/w:0.npy", npy(np.ones(2)))
    with open_store(path) as index:
        assert list(index) == ["block/w:0"]
        assert index.notes == ()
