"""Reading Rudapack: worked examples byte for byte, both layouts, every bool, quantized, scalars."""

import cbor2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import HeaderError, TruncatedFileError
from ruda.nn import ParamId
from ruda.store import open_store
from ruda.store.formats import _cbor, rudapack
from ruda.tensor import DType
from ruda.testing.file_bytes import rudapack_bytes, rudapack_raw

ONE = bytes.fromhex(
    "4e525542 0100 39000000 a1 67 74656e736f7273 a1 61 77 a4 65 6474797065 63 463332"
    "65 7368617065 81 02 6c 646174615f6f666673657473 82 00 08 68 706172616d5f6964 07"
)
ONE = ONE + bytes(256 - len(ONE)) + bytes.fromhex("0000803f 000000c0")
TWO = bytes.fromhex(
    "4e525542 0100 81000000 a2 67 74656e736f7273 a2"
    "61 61 a4 65 6474797065 63 493634 65 7368617065 81 01"
    "6c 646174615f6f666673657473 82 190100 190108 68 706172616d5f6964 1b1122334455667788"
    "61 62 a3 65 6474797065 a1 64 426f6f6c 66 4e6174697665 65 7368617065 81 03"
    "6c 646174615f6f666673657473 82 00 03 68 6d65746164617461 a1 61 6b 61 76"
)
TWO = TWO + bytes(256 - len(TWO)) + b"\1\0\1" + bytes(253) + bytes.fromhex("fbffffffffffffff")
PACKED = bytes.fromhex(
    "4e525542 0100 2f000000 a1 67 74656e736f7273 a1 61 77 a3 65 6474797065 63 463332"
    "65 7368617065 81 02 6c 646174615f6f666673657473 82 00 08 0000803f 000000c0"
)
EMPTY = bytes.fromhex("4e525542 0100 0a000000 a1 67 74656e736f7273 a0") + bytes(236)


def opened(tmp_path, raw):
    path = tmp_path / "file.bpk"
    path.write_bytes(raw)
    return open_store(path)


def test_one_tensor_with_an_id(tmp_path):
    assert len(ONE) == 264
    with opened(tmp_path, ONE) as index:
        assert list(index) == ["w"]
        assert index["w"].read().tolist() == [1.0, -2.0]
        assert index["w"].param_id == ParamId(7)
        assert index.extra == {"layout": "aligned", "data_start": 256}


def test_two_tensors_in_data_order_with_metadata(tmp_path):
    assert len(TWO) == 520
    with opened(tmp_path, TWO) as index:
        assert list(index) == ["b", "a"]
        assert index["b"].read().tolist() == [True, False, True]
        assert index["b"].param_id is None
        assert index["a"].read().tolist() == [-5]
        assert index["a"].param_id == ParamId(0x1122334455667788)
        assert index.metadata == {"k": "v"}


def test_the_packed_layout_of_old_writers(tmp_path):
    assert len(PACKED) == 65
    with opened(tmp_path, PACKED) as index:
        assert index["w"].read().tolist() == [1.0, -2.0]
        assert index.extra["layout"] == "packed"


def test_no_tensors(tmp_path):
    assert len(EMPTY) == 256
    with opened(tmp_path, EMPTY) as index:
        assert len(index) == 0


def test_a_packed_file_of_zeros_needs_the_version_of_its_writer(tmp_path):
    zeros = {"w": np.zeros(2, "<f4")}
    with opened(
        tmp_path, rudapack_bytes(zeros, metadata={"version": "0.19.1"}, aligned=False)
    ) as index:
        assert index["w"].read().tolist() == [0.0, 0.0]
    with pytest.raises(TruncatedFileError, match=r"'w' ends at byte 264, but the file has 65"):
        opened(tmp_path, rudapack_bytes(zeros, aligned=False))


@pytest.mark.parametrize("more", [1, 100, 191, 192, 300])
def test_a_packed_file_with_bytes_behind_it_is_not_read_as_an_aligned_one(tmp_path, more):
    with opened(tmp_path, PACKED + bytes(more)) as index:
        assert index["w"].read().tolist() == [1.0, -2.0]
        assert index.notes == (f"{more} bytes follow the last tensor",)


def test_offsets_without_alignment_behind_an_aligned_start(tmp_path):
    tensors = {
        "a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]},
        "b": {"dtype": "F32", "shape": [1], "data_offsets": [12, 16]},
    }
    with opened(
        tmp_path, rudapack_raw({"tensors": tensors}, np.arange(4, dtype="<f4").tobytes())
    ) as ix:
        assert ix.extra["layout"] == "aligned"
        assert ix["b"].read().tolist() == [3.0]


def test_metadata_that_fills_its_block_leaves_one_layout(tmp_path):
    tensors = {"w": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}
    for size in range(180, 260):
        root = {"tensors": tensors, "metadata": {"k": "v" * size}}
        with opened(tmp_path, rudapack_raw(root, b"\7")) as index:
            assert index["w"].read().tolist() == [7]


def test_bytes_behind_the_data_are_noted(tmp_path):
    with opened(tmp_path, ONE + bytes(100)) as index:
        assert index.notes == ("100 bytes follow the last tensor",)


BOOLS = [
    pytest.param("Bool", DType.BOOL, "Bool", b"\1\0", id="text"),
    pytest.param({"Bool": "Native"}, DType.BOOL, None, b"\1\0", id="native"),
    pytest.param({"Bool": "U8"}, DType.BOOL, {"Bool": "U8"}, b"\1\0", id="u8"),
    pytest.param({"Bool": "U32"}, DType.BOOL_U32, None, b"\1\0\0\0\0\0\0\0", id="u32"),
]


@pytest.mark.parametrize(("spelled", "dtype", "scheme", "data"), BOOLS)
def test_every_spelling_of_bool(tmp_path, spelled, dtype, scheme, data):
    tensors = {"w": {"dtype": spelled, "shape": [2], "data_offsets": [0, len(data)]}}
    with opened(tmp_path, rudapack_raw({"tensors": tensors}, data)) as index:
        assert (index["w"].dtype, index["w"].scheme) == (dtype, scheme)
        assert index["w"].read().tobytes() == data


def test_flex32_is_four_bytes(tmp_path):
    tensors = {"w": {"dtype": "Flex32", "shape": [1], "data_offsets": [0, 4]}}
    with opened(tmp_path, rudapack_raw({"tensors": tensors}, np.float32(1.5).tobytes())) as index:
        assert index["w"].dtype is DType.FLEX32
        assert index["w"].read().tolist() == [1.5]


def test_a_quantized_tensor_keeps_its_scheme_and_its_bytes(tmp_path):
    scheme = {
        "value": "Q8S",
        "param": "F32",
        "store": {"PackedU32": 0},
        "level": "Tensor",
        "mode": "Symmetric",
    }
    tensors = {"w": {"dtype": {"QFloat": scheme}, "shape": [2, 3], "data_offsets": [0, 12]}}
    with opened(tmp_path, rudapack_raw({"tensors": tensors}, bytes(range(12)))) as index:
        snapshot = index["w"]
        assert (snapshot.dtype, snapshot.shape, snapshot.nbytes) == (DType.QFLOAT, (2, 3), 12)
        assert list(snapshot.scheme.items()) == list(scheme.items())
        assert snapshot.read().tobytes() == bytes(range(12))


def test_scalars_are_kept_as_they_are(tmp_path):
    scalars = {"step": {"UInt": 7}, "lr": {"Float": 0.5}, "on": {"Bool": True}, "n": {"Int": -1}}
    with opened(tmp_path, rudapack_raw({"tensors": {}, "scalars": scalars})) as index:
        assert index.extra["scalars"] == scalars
        assert list(index.extra["scalars"]) == list(scalars)


def test_indefinite_lengths_and_unknown_fields_are_read(tmp_path):
    tensors = cbor2.dumps({"dtype": "U8", "shape": [1], "data_offsets": [0, 1], "later": None})
    raw = b"\xbf\x67tensors\xbf\x7f\x61w\x61x\xff" + tensors + b"\xff\x65extra\x80\xff"
    with opened(tmp_path, rudapack_raw(raw, b"\7")) as index:
        assert index["wx"].read().tolist() == [7]
        assert index.notes == ("the metadata has fields that Ruda does not know: extra",)


def test_too_many_tensors_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(rudapack, "MAX_TENSORS", 1)
    with pytest.raises(HeaderError, match=r"file\.bpk: the file lists 2 tensors, the limit is 1"):
        opened(tmp_path, TWO)


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(1 << 64), (1 << 64) - 1),
        st.floats(allow_nan=False),
        st.text(),
        st.binary(),
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=20,
)


@given(PLAIN)
def test_cbor_is_decoded_as_by_the_reference_library(value):
    for canonical in (False, True):
        raw = cbor2.dumps(value, canonical=canonical)
        assert _cbor.decode(raw) == cbor2.loads(raw) == value


@given(st.binary(max_size=60))
def test_cbor_of_any_bytes_is_a_value_or_an_error(raw):
    found = None
    try:
        found = _cbor.decode(raw)
    except (HeaderError, TruncatedFileError) as error:
        found = error
    assert not isinstance(found, Exception) or "not valid CBOR" in str(found)


@pytest.mark.cases
def test_the_model_that_burn_wrote_is_read(cases):
    with open_store(cases / "models" / "burn_mnist_bpk" / "model.bpk") as index:
        assert len(index) == 18
        assert index.extra["layout"] == "aligned"
        assert all(s.param_id is not None for s in index.values())
