"""NumPy's files: what is saved is what ``np.load`` gives, without pickles."""

import io
import zipfile

import numpy as np
import pytest

from ruda.errors import SaveError
from ruda.store import TensorIndex, TensorSnapshot, open_store, plan_save, save
from ruda.store.snapshot import ArraySource
from ruda.tensor import DType

KINDS = [
    "<f8",
    "<f4",
    "<f2",
    "<i8",
    "<i4",
    "<i2",
    "i1",
    "<u8",
    "<u4",
    "<u2",
    "u1",
    "?",
    "<c8",
    "<c16",
]


def index_of(arrays):
    made = [TensorSnapshot.from_array(key, array) for key, array in arrays.items()]
    return TensorIndex.of(made, format="memory")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 1)])
def test_every_type_and_shape_is_loaded_by_numpy(tmp_path, kind, shape):
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
    save(index_of({"é/a": array, "b": array}), tmp_path / "m.npz", verify=True)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as found:
        assert sorted(found) == ["b", "é/a"]
        np.testing.assert_array_equal(found["b"], array)
        assert found["b"].dtype == array.dtype


def test_a_single_array_is_written_as_numpy_writes_it(tmp_path):
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    save(index_of({"w": array}), tmp_path / "m.npy", verify=True)
    expected = io.BytesIO()
    np.save(expected, array)
    assert (tmp_path / "m.npy").read_bytes() == expected.getvalue()


def test_values_are_aligned_and_headers_complete(tmp_path):
    path = tmp_path / "m.npz"
    arrays = {f"k{n}": np.arange(n, dtype="u1") for n in range(9)}
    save(index_of(arrays), path)
    raw = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            local = raw[info.header_offset : info.header_offset + 30]
            assert int.from_bytes(local[14:18], "little") == info.CRC
            assert int.from_bytes(local[22:26], "little") == info.file_size
            assert info.flag_bits & 8 == 0
    with open_store(path) as index:
        assert {s.origin.offset % 64 for s in index.values() if s.nbytes} == {0}


def test_a_large_array_gets_its_checksum_afterwards(tmp_path):
    array = np.arange(1 << 20, dtype="<f4")
    save(index_of({"w": array, "v": array[::-1]}), tmp_path / "m.npz", verify=True)
    with np.load(tmp_path / "m.npz") as found:
        np.testing.assert_array_equal(found["v"], array[::-1])


REFUSED = [
    pytest.param(
        {"a": np.ones(1), "b": np.ones(1)}, ".npy", "holds one array, and these", id="two"
    ),
    pytest.param({}, ".npz", "an archive without arrays", id="none"),
    pytest.param({"a\0b": np.ones(1)}, ".npz", "cut a name at its NUL", id="nul"),
    pytest.param(
        {"a": np.ones(1), "a.npy": np.ones(1)}, ".npz", "NumPy takes it for 'a'", id="npy"
    ),
    pytest.param({"x" * 65535: np.ones(1)}, ".npz", "too long for a name", id="long"),
    pytest.param({"../a": np.ones(1)}, ".npz", "points outside", id="outside"),
    pytest.param({"/a": np.ones(1)}, ".npz", "points outside", id="absolute"),
    pytest.param({"c:a": np.ones(1)}, ".npz", "points outside", id="drive"),
    pytest.param({"a\\b": np.ones(1)}, ".npz", "points outside", id="backslash"),
    pytest.param({"\ud800": np.ones(1)}, ".npz", "not valid Unicode", id="surrogate"),
]


@pytest.mark.parametrize(("arrays", "suffix", "message"), REFUSED)
def test_what_the_file_cannot_hold_is_refused(tmp_path, arrays, suffix, message):
    with pytest.raises(SaveError, match=message):
        save(index_of(arrays), tmp_path / f"m{suffix}")
    assert list(tmp_path.iterdir()) == []


MISSING = [
    pytest.param(DType.BF16, "cast it to f32, or save as safetensors or Rudapack", id="bf16"),
    pytest.param(DType.F8_E4M3FN, "save as safetensors or PyTorch", id="fp8"),
    pytest.param(DType.F4_E2M1, "save as safetensors or PyTorch", id="fp4"),
    pytest.param(DType.BOOL_U32, "save as Rudapack", id="bool_u32"),
]


@pytest.mark.parametrize(("dtype", "remedy"), MISSING)
def test_types_that_numpy_does_not_have_are_refused(tmp_path, dtype, remedy):
    snapshot = TensorSnapshot("t", dtype, (8,), dtype.nbytes(8), ArraySource(np.zeros(8, "u1")))
    with pytest.raises(SaveError, match=f"NumPy's files have no {dtype}; {remedy}"):
        save(TensorIndex.of([snapshot], format="memory"), tmp_path / "m.npz")


def test_the_format_is_one_and_the_suffix_says_which(tmp_path):
    index = index_of({"w": np.ones(2)})
    assert plan_save(index, tmp_path / "m.npy", format="numpy").header[:6] == b"\x93NUMPY"
    assert plan_save(index, tmp_path / "m.x", format="numpy").header == b""
