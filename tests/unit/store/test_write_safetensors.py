"""The safetensors encoder against the official library."""

import json
import re

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as official_save
from safetensors.numpy import save_file as official_save_file

from ruda.nn import ParamId
from ruda.store import Recipe, convert, save
from ruda.store.formats import _write_safetensors
from ruda.store.formats._write_safetensors import _ORDER
from ruda.store.formats.safetensors import SafetensorsFormat
from ruda.store.index import TensorIndex
from ruda.store.plan import lay_out
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.store.streaming import to_bytes
from ruda.tensor import DType


def index_of(tensors, **fields):
    snapshots = [TensorSnapshot.from_array(key, values) for key, values in tensors.items()]
    return TensorIndex.of(snapshots, format="memory", **fields)


def encode(index):
    return to_bytes(lay_out(index, "safetensors"))


TENSORS = {
    "zz": np.arange(6, dtype=np.float32).reshape(2, 3),
    'é\x01"/\\': np.array(3, np.int8),
    "a": np.zeros((0, 2), ml_dtypes.bfloat16),
    "odd": np.ones(3, np.uint8),
    "fp8": np.ones(3, ml_dtypes.float8_e4m3fn),
    "fp8b": np.ones(3, ml_dtypes.float8_e5m2),
    "aa": np.ones((2, 1, 1), np.float32),
    "c": np.ones(2, np.complex64),
    "d": np.ones(2, np.float64),
    "h": np.ones(5, np.float16),
    "b": np.array([True, False]),
    "u64": np.ones(1, np.uint64),
    "i64": np.ones(1, np.int64),
    "i32": np.ones(1, np.int32),
    "u32": np.ones(1, np.uint32),
    "i16": np.ones(1, np.int16),
    "u16": np.ones(1, np.uint16),
}
FRESH = [
    pytest.param(TENSORS, {"format": "pt"}, id="all dtypes"),
    pytest.param(TENSORS, None, id="no metadata"),
    pytest.param({}, None, id="no tensors"),
    pytest.param({"": np.ones(1, np.float32)}, {"": "\n"}, id="empty texts"),
]


@pytest.mark.parametrize(("tensors", "metadata"), FRESH)
def test_fresh_files_are_those_of_the_official_library(tensors, metadata):
    assert encode(index_of(tensors, metadata=metadata)) == official_save(tensors, metadata)


def test_every_tag_has_a_place_in_the_order():
    assert set(_ORDER) == {d.safetensors for d in DType if d.safetensors}


def test_strided_values_are_packed():
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3).T
    swapped = np.arange(3, dtype=">f4")
    written = encode(index_of({"w": matrix, "b": swapped}))
    assert written == official_save({"w": np.ascontiguousarray(matrix), "b": swapped})


PACKED = [
    pytest.param(DType.F4_E2M1, (2, 4), 4, (2, 4), "F4", id="f4"),
    pytest.param(DType.F4_E2M1, (2, 2), 4, (2, 4), "F4", id="f4 in pairs, as PyTorch counts"),
    pytest.param(DType.F4_E2M1, (2, 0), 0, (2, 0), "F4", id="f4 without elements"),
    pytest.param(DType.F6_E2M3, (4,), 3, (4,), "F6_E2M3", id="f6"),
]


@pytest.mark.parametrize(("dtype", "shape", "nbytes", "logical", "tag"), PACKED)
def test_packed_tensors_have_their_logical_shape(tmp_path, dtype, shape, nbytes, logical, tag):
    raw = ArraySource(np.arange(nbytes, dtype=np.uint8))
    index = TensorIndex.of([TensorSnapshot("t", dtype, shape, nbytes, raw)], format="memory")
    save(index, tmp_path / "t.safetensors", verify=True)
    with safe_open(tmp_path / "t.safetensors", "np") as official:
        assert official.get_slice("t").get_dtype() == tag
    with SafetensorsFormat().open(tmp_path / "t.safetensors") as again:
        assert again["t"].dtype is dtype
        assert again["t"].shape == logical
        np.testing.assert_array_equal(again["t"].read(), raw.array)


def header_of(data):
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def test_an_unchanged_file_keeps_its_order(tmp_path):
    odd = b'{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
    odd += b'"a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}'
    odd += b" " * (-len(odd) % 8)
    source = tmp_path / "source.safetensors"
    source.write_bytes(len(odd).to_bytes(8, "little") + odd + b"\x07\x00\x00\x80\x3f")
    with SafetensorsFormat().open(source) as index:
        assert encode(index) == source.read_bytes()
        changed = TensorIndex.of([s.renamed(f"x.{s.key}") for s in index.values()], format="x")
        assert list(header_of(encode(changed))) == ["x.a", "x.b"]


def test_a_file_of_the_official_library_is_copied_byte_for_byte(tmp_path):
    official_save_file(TENSORS, tmp_path / "source.safetensors", {"format": "pt"})
    with SafetensorsFormat().open(tmp_path / "source.safetensors") as index:
        save(index, tmp_path / "copy.safetensors", verify=True)
    assert (tmp_path / "copy.safetensors").read_bytes() == encode(
        index_of(TENSORS, metadata={"format": "pt"})
    )


UNHOLDABLE = [
    pytest.param("__metadata__", np.ones(1), r"reserved in safetensors; rename", id="reserved"),
    pytest.param(
        "c", np.ones(1, np.complex128), r"no tag for c128; save as PyTorch or NumPy", id="dtype"
    ),
    pytest.param("\udc80", np.ones(1), r"not valid Unicode text", id="surrogate"),
]


@pytest.mark.parametrize(("key", "values", "message"), UNHOLDABLE)
def test_what_it_cannot_hold_is_a_problem(key, values, message):
    (problem,) = lay_out(index_of({key: values}), "safetensors").problems
    assert problem.blocking
    assert re.search(message, problem.message)


MISFITS = [
    pytest.param(DType.F32, (2,), 4, r"f32 \[2\] needs 8 bytes, but the tensor has 4", id="size"),
    pytest.param(DType.F6_E2M3, (3,), 3, r"3 elements of f6_e2m3 do not end on a byte", id="f6"),
]


@pytest.mark.parametrize(("dtype", "shape", "nbytes", "message"), MISFITS)
def test_bytes_that_do_not_fit_the_shape(dtype, shape, nbytes, message):
    source = ArraySource(np.zeros(nbytes, np.uint8))
    index = TensorIndex.of([TensorSnapshot("t", dtype, shape, nbytes, source)], format="memory")
    (problem,) = lay_out(index, "safetensors").problems
    assert problem.blocking
    assert re.search(message, problem.message)


def test_metadata_that_is_no_text_is_a_problem():
    (problem,) = lay_out(index_of({}), "safetensors", {"k": "\udc80"}).problems
    assert problem.blocking
    assert problem.message.startswith("metadata '\\udc80' is not valid Unicode text")


def test_a_header_that_the_official_reader_refuses_is_a_warning(monkeypatch):
    monkeypatch.setattr("ruda.store.formats._write_safetensors.READER_HEADER_LIMIT", 50)
    (problem,) = lay_out(index_of({"a": np.ones(1)}), "safetensors").problems
    assert not problem.blocking
    assert re.search(
        r"the header has 56 bytes; the official reader refuses more than 50", str(problem)
    )


def test_a_file_from_pytorch_wants_to_say_so():
    index = TensorIndex.of([], format="pytorch")
    (problem,) = lay_out(index, "safetensors").problems
    assert str(problem) == (
        "there is no metadata entry format=pt, without which transformers refuses a file; "
        "add it to the metadata (--metadata format=pt)"
    )
    assert not problem.blocking
    assert lay_out(index, "safetensors", {"format": "pt"}).problems == ()


@pytest.mark.parametrize(
    ("adapt", "wanted"),
    [
        pytest.param((), 1, id="as-it-is"),
        pytest.param(("pytorch-to-ruda",), 0, id="to-ruda"),
        pytest.param(("pytorch-to-ruda", "ruda-to-pytorch"), 1, id="and-back"),
        pytest.param(("hf-llama-to-ruda:8,4",), 0, id="with-heads"),
    ],
)
def test_a_layout_that_is_not_pytorchs_is_not_to_be_marked_as_its(adapt, wanted):
    index = TensorIndex.of([TensorSnapshot.from_array("x", np.ones(2))], format="pytorch")
    view = convert(index, recipe=Recipe(adapt=adapt).with_rule("x", "y"))
    assert len(lay_out(view, "safetensors").problems) == wanted


def test_what_is_lost_is_a_warning():
    one = TensorSnapshot.from_array("", np.ones(1, np.float32), param_id=ParamId(3))
    two = TensorSnapshot(
        "two", DType.FLEX32, (1,), 4, ArraySource(np.ones(1, np.float32)), shared_with=""
    )
    index = TensorIndex.of([one, two], format="memory", extra={"scalars": {"s": {"Int": 1}}})
    layout = lay_out(index, "safetensors")
    assert [str(p) for p in layout.problems] == [
        "'': an empty key is legal in safetensors, but many loaders refuse it",
        "'two': flex32 is written as F32, which holds the same values",
        "the parameter ids (1) are not carried over: safetensors has no place for them",
        "the scalars (1) are not carried over: safetensors has no place for them",
        "'two': shares memory with ''; both are written in full",
    ]
    assert not any(p.blocking for p in layout.problems)
    assert header_of(to_bytes(layout))["two"]["dtype"] == "F32"


@pytest.mark.parametrize("metadata", [{}, {"format": "pt"}], ids=["plain", "metadata"])
@pytest.mark.parametrize("count", range(6))
def test_a_header_is_the_same_in_pieces(monkeypatch, metadata, count):
    index = TensorIndex.of(
        [TensorSnapshot.from_array(f"k{n}é", np.zeros((n, 2), "f4")) for n in range(count)],
        format="safetensors",
    )
    whole = _write_safetensors.SafetensorsEncoder().lay_out(index, metadata).header
    monkeypatch.setattr(_write_safetensors, "_PIECE", 2)
    assert _write_safetensors.SafetensorsEncoder().lay_out(index, metadata).header == whole
    told = json.loads(whole[8:])
    assert len(whole) % 8 == 0
    assert int.from_bytes(whole[:8], "little") == len(whole) - 8
    assert len(told) == count + bool(metadata)
