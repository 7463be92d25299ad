"""The Rudapack encoder against bytes worked out by hand, and against a file that Burn wrote."""

import math
import re
import struct

import cbor2
import ml_dtypes
import numpy as np
import pytest

from ruda.nn import ParamId
from ruda.store import save
from ruda.store.formats._write_rudapack import MAX_FILE, MAX_TENSOR, MAX_TENSORS, _limit_problems
from ruda.store.formats.rudapack import RudapackFormat
from ruda.store.index import TensorIndex
from ruda.store.layout import PlannedTensor
from ruda.store.plan import lay_out
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.store.streaming import to_bytes
from ruda.tensor import DType


def index_of(*snapshots, **fields):
    return TensorIndex.of(snapshots, format="memory", **fields)


def tensor(key, values, dtype, **fields):
    return TensorSnapshot.from_array(key, np.array(values, dtype), **fields)


def encode(index):
    return to_bytes(lay_out(index, "rudapack"))


ONE = index_of(tensor("w", [1.0, -2.0], "<f4", param_id=ParamId(7)))
TWO = index_of(
    tensor("b", [True, False, True], "?"),
    tensor("a", [-5], "<i8", param_id=ParamId(0x1122334455667788)),
    metadata={"k": "v"},
)
VECTORS = [
    pytest.param(
        ONE,
        "4e 52 55 42 01 00 39 00 00 00 a1 67 74656e736f7273 a1 61 77 a4 65 6474797065 63 463332"
        "65 7368617065 81 02 6c 646174615f6f666673657473 82 00 08 68 706172616d5f6964 07",
        "00 00 80 3f 00 00 00 c0",
        264,
        id="one tensor with id",
    ),
    pytest.param(
        TWO,
        "4e 52 55 42 01 00 81 00 00 00  a2 67 74656e736f7273 a2"
        "61 61 a4 65 6474797065 63 493634 65 7368617065 81 01 6c 646174615f6f666673657473"
        "82 19 01 00 19 01 08 68 706172616d5f6964 1b 11 22 33 44 55 66 77 88"
        "61 62 a3 65 6474797065 a1 64 426f6f6c 66 4e6174697665 65 7368617065 81 03"
        "6c 646174615f6f666673657473 82 00 03 68 6d65746164617461 a1 61 6b 61 76",
        "01 00 01" + "00" * 253 + "fb ff ff ff ff ff ff ff",
        520,
        id="data in index order, descriptors sorted",
    ),
    pytest.param(
        index_of(), "4e 52 55 42 01 00 0a 00 00 00 a1 67 74656e736f7273 a0", "", 256, id="empty"
    ),
]


@pytest.mark.parametrize(("index", "header", "data", "length"), VECTORS)
def test_known_bytes(index, header, data, length):
    written = encode(index)
    head = bytes.fromhex(header)
    assert written[: len(head)] == head
    assert written[len(head) : 256] == bytes(256 - len(head))
    assert written[256:] == bytes.fromhex(data)
    assert len(written) == length


DTYPES = [
    *("f64", "f32", "flex32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"),
    *("bool", "bool_u32"),
]


@pytest.mark.parametrize("label", DTYPES)
def test_every_dtype_comes_back(tmp_path, label):
    dtype = DType.parse(label)
    values = np.array([[0, 1], [1, 0], [1, 1]], dtype.carrier)
    save(index_of(TensorSnapshot.from_array("t", values, dtype=dtype)), tmp_path / "t.bpk")
    with RudapackFormat().open(tmp_path / "t.bpk") as index:
        assert index["t"].dtype is dtype
        np.testing.assert_array_equal(index["t"].read(), values)


UNSPEAKABLE = [
    pytest.param(
        tensor("t", [1], ml_dtypes.float8_e4m3fn), r"no spelling for f8_e4m3fn; save as", id="fp8"
    ),
    pytest.param(
        tensor("t", [1], "<c16"), r"no spelling for c128; save as PyTorch or NumPy", id="complex"
    ),
    pytest.param(tensor("\udc80", [1], "u1"), r"not valid Unicode text", id="surrogate"),
    pytest.param(
        TensorSnapshot("t", DType.QFLOAT, (4,), 8, ArraySource(np.zeros(8, np.uint8))),
        r"without its scheme",
        id="quantized without scheme",
    ),
    pytest.param(
        TensorSnapshot("t", DType.F32, (4,), 8, ArraySource(np.zeros(8, np.uint8))),
        r"f32 \[4\] needs 16 bytes, but the tensor has 8",
        id="wrong size",
    ),
]


@pytest.mark.parametrize(("snapshot", "message"), UNSPEAKABLE)
def test_what_it_cannot_hold_is_a_problem(snapshot, message):
    (problem,) = lay_out(index_of(snapshot), "rudapack").problems
    assert problem.blocking
    assert problem.key == snapshot.key
    assert re.search(message, problem.message)


def test_metadata_that_is_no_text_is_a_problem():
    (problem,) = lay_out(index_of(), "rudapack", {"\udc80": "v"}).problems
    assert problem.blocking
    assert problem.message.startswith("metadata '\\udc80' is not valid Unicode text")


def test_quantized_bytes_and_scheme_are_carried_over():
    scheme = {"value": "Q8S", "param": "F32", "store": {"PackedU32": 0}, "level": "Tensor"}
    raw = np.arange(12, dtype=np.uint8)
    snapshot = TensorSnapshot("q", DType.QFLOAT, (2, 4), 12, ArraySource(raw), scheme=scheme)
    written = encode(index_of(snapshot))
    size = struct.unpack("<I", written[6:10])[0]
    document = cbor2.loads(written[10 : 10 + size])
    assert document["tensors"]["q"]["dtype"] == {"QFloat": scheme}
    assert written[-12:] == raw.tobytes()


SCALARS = [
    pytest.param({"Float": 0.5}, "f93800", id="half is enough"),
    pytest.param({"Float": 0.1}, "fb3fb999999999999a", id="double is needed"),
    pytest.param({"Float": 100000.0}, "fa47c35000", id="single is enough"),
    pytest.param({"Float": math.inf}, "f97c00", id="infinity"),
    pytest.param({"Int": -500}, "3901f3", id="negative"),
    pytest.param({"UInt": 2**64 - 1}, "1bffffffffffffffff", id="largest"),
    pytest.param({"Bool": True}, "f5", id="bool"),
]


@pytest.mark.parametrize(("scalar", "value"), SCALARS)
def test_scalars_are_written_in_the_shortest_lossless_form(scalar, value):
    index = index_of(extra={"scalars": {"b": scalar, "aa": {"Bool": False}}})
    (kind,) = scalar
    expected = cbor2.dumps("scalars") + b"\xa2" + cbor2.dumps("aa") + cbor2.dumps({"Bool": False})
    expected += cbor2.dumps("b") + b"\xa1" + cbor2.dumps(kind) + bytes.fromhex(value)
    assert expected in encode(index)


def test_many_scalars_have_a_long_map_head():
    scalars = {f"{n:03}": {"UInt": n} for n in range(300)}
    written = encode(index_of(extra={"scalars": scalars}))
    size = struct.unpack("<I", written[6:10])[0]
    assert cbor2.loads(written[10 : 10 + size])["scalars"] == scalars


def test_metadata_is_sorted_by_its_utf8_bytes():
    written = encode(index_of(metadata={"é": "1", "z": "2", "": ""}))
    size = struct.unpack("<I", written[6:10])[0]
    assert list(cbor2.loads(written[10 : 10 + size])["metadata"]) == ["", "z", "é"]


def test_empty_tensors_start_aligned_and_the_last_one_pads_the_file():
    index = index_of(tensor("a", [1], "u1"), tensor("b", [], "<f4"))
    layout = lay_out(index, "rudapack")
    assert [e.offset for e in layout.entries] == [256, 512]
    assert len(encode(index)) == layout.file_size == 512


def test_limits_of_every_reader_are_problems():
    big = PlannedTensor("big", DType.U8, (MAX_TENSOR + 1,), 256, MAX_TENSOR + 1, ONE["w"])
    found = _limit_problems(101 << 20, (big,) * (MAX_TENSORS + 1), MAX_FILE + 1)
    assert sorted({p.message.split("; ")[1] for p in found}) == [
        "a Rudapack file has at most 100000",
        f"a Rudapack file has at most {100 << 20}",
        f"a Rudapack file has at most {MAX_FILE}",
        f"a Rudapack tensor has at most {MAX_TENSOR}",
    ]
    assert all(p.blocking for p in found)


@pytest.mark.cases
def test_rewriting_a_file_of_burn_gives_its_bytes(tmp_path, cases):
    source = cases / "models" / "burn_mnist_bpk" / "model.bpk"
    with RudapackFormat().open(source) as index:
        result = save(index, tmp_path / "again.bpk", verify=True)
    assert result.verified
    assert (tmp_path / "again.bpk").read_bytes() == source.read_bytes()
