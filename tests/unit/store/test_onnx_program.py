"""ONNX tensors that are not plain initialisers: small numbers, sparse ones, constants, graphs."""

import numpy as np
import pytest

from ruda.errors import HeaderError, OffsetError, RudaError, UnsupportedContentError
from ruda.store import open_store
from ruda.tensor import DType
from ruda.testing.foreign_bytes import onnx_external, onnx_raw, onnx_tensor, proto, varint

UINT4, INT4, FP4, UINT2, INT2 = 21, 22, 23, 25, 26


def opened(tmp_path, raw):
    path = tmp_path / "model.onnx"
    path.write_bytes(raw)
    return open_store(path)


def listed(*numbers):
    """A typed list of 32-bit numbers."""
    return proto(5, b"".join(varint(n) for n in numbers))


SMALL = [
    pytest.param(INT4, (5,), [1, -2, 7, -8, 3], b"\xe1\x87\x03", DType.I8, id="int4"),
    pytest.param(UINT4, (1, 4), [[1, 14, 7, 8]], b"\xe1\x87", DType.U8, id="uint4"),
    pytest.param(INT2, (2, 3), [[1, -2, -1], [0, 1, -2]], b"\x39\x09", DType.I8, id="int2"),
    pytest.param(UINT2, (4,), [1, 2, 3, 0], b"\x39", DType.U8, id="uint2"),
    pytest.param(INT4, (0, 3), np.zeros((0, 3)), b"", DType.I8, id="none"),
]


@pytest.mark.parametrize("way", ["raw", "typed", "beside"])
@pytest.mark.parametrize(("kind", "shape", "values", "packed", "dtype"), SMALL)
def test_numbers_below_eight_bits(tmp_path, kind, shape, values, packed, dtype, way):
    (tmp_path / "w.bin").write_bytes(b"xx" + packed)
    fields = {
        "raw": proto(9, packed),
        "typed": listed(*packed),
        "beside": onnx_external("w.bin", offset=2, length=len(packed)),
    }
    with opened(tmp_path, onnx_raw(onnx_tensor("w", kind, shape, fields[way]))) as index:
        found = index["w"]
        assert (found.dtype, found.shape) == (dtype, shape)
        np.testing.assert_array_equal(found.read(), np.array(values, dtype.numpy))
        assert b"".join(map(bytes, found.chunks(2))) == found.read().tobytes()
        bits = 2 if kind in (UINT2, INT2) else 4
        assert index.notes == (f"1 tensors hold {bits}-bit numbers; they are listed as {dtype}",)


def test_pairs_of_fp4_in_a_typed_list_are_bytes(tmp_path):
    with opened(tmp_path, onnx_raw(onnx_tensor("w", FP4, (4,), listed(0x21, 0xF7)))) as index:
        assert index["w"].dtype is DType.F4_E2M1
        assert index["w"].read().tobytes() == b"\x21\xf7"


WRONG = [
    pytest.param(onnx_tensor("w", INT4, (5,), proto(9, bytes(2))), OffsetError, "2 bytes",
                 id="too few bytes"),
    pytest.param(onnx_tensor("w", INT4, (4,), listed(1, 256)), HeaderError, "256, which is no u8",
                 id="a pair above a byte"),
    pytest.param(onnx_tensor("w", INT4, (9,), listed(1)), OffsetError, "of varying length",
                 id="too few pairs"),
    pytest.param(onnx_tensor("w", FP4, (4,), listed(1, 256)), HeaderError, "256, which is no u8",
                 id="a pair of fp4 above a byte"),
]  # fmt: skip


@pytest.mark.parametrize(("tensor", "kind", "said"), WRONG)
def test_small_numbers_that_do_not_fit_are_refused(tmp_path, tensor, kind, said):
    with pytest.raises(kind, match=said), opened(tmp_path, onnx_raw(tensor)) as index:
        index["w"].read()


def sparse(values, places, dims, *, name="s", kind=1):
    """A sparse initialiser; places are raw 64-bit numbers of any shape."""
    held = np.array(values, "<f4")
    where = np.array(places, "<i8")
    inner = [proto(1, size) for size in held.shape], [proto(1, size) for size in where.shape]
    first = b"".join(inner[0]) + proto(2, kind) + proto(8, name) + proto(9, held.tobytes())
    second = b"".join(inner[1]) + proto(2, 7) + proto(9, where.tobytes())
    return proto(15, proto(1, first) + proto(2, second) + b"".join(proto(3, n) for n in dims))


SPARSE = [
    pytest.param([5, 6], [1, 5], [[0, 5, 0], [0, 0, 6]], id="one number for each place"),
    pytest.param([5, 6], [[0, 1], [1, 2]], [[0, 5, 0], [0, 0, 6]], id="one for each axis"),
    pytest.param([], np.zeros(0), [[0, 0, 0], [0, 0, 0]], id="nothing but zeros"),
]


@pytest.mark.parametrize(("values", "places", "expected"), SPARSE)
def test_sparse_initialisers_are_filled(tmp_path, values, places, expected):
    with opened(tmp_path, onnx_raw(sparse(values, places, (2, 3)))) as index:
        assert (index["s"].dtype, index["s"].shape, index["s"].nbytes) == (DType.F32, (2, 3), 24)
        np.testing.assert_array_equal(index["s"].read(), np.float32(expected))


BAD_SPARSE = [
    pytest.param([5], [6], (2, 3), r"outside of its shape \[2, 3\]", id="behind the end"),
    pytest.param([5], [-1], (2, 3), "outside of its shape", id="before the start"),
    pytest.param([5], [[0, 3]], (2, 3), "outside of its shape", id="outside of an axis"),
    pytest.param([5, 6], [4, 4], (2, 3), "has two values at one place", id="one place twice"),
    pytest.param([5, 6], [4], (2, 3), "expected one number or one for each axis", id="one place"),
    pytest.param([5], [[0, 1, 2]], (2, 3), "expected one number or one", id="three axes"),
    pytest.param([5], [0], (), "expected one number or one", id="no axes"),
    pytest.param([5], [0], (1 << 62, 4), "does not fit in 64 bits", id="2^64 values"),
]


@pytest.mark.parametrize(("values", "places", "dims", "said"), BAD_SPARSE)
def test_sparse_initialisers_that_do_not_fit_are_refused(tmp_path, values, places, dims, said):
    with (
        pytest.raises(RudaError, match=said),
        opened(tmp_path, onnx_raw(sparse(values, places, dims))) as index,
    ):
        index["s"].read()


def test_a_sparse_tensor_that_would_fill_the_memory_is_left_out(tmp_path):
    with opened(tmp_path, onnx_raw(sparse([5], [0], (1 << 20, 1 << 20)))) as index:
        assert list(index) == []
        assert "sparse and has 1099511627776 values of f32 with its zeros" in index.notes[0]


def constant(output, value, *, operator="Constant"):
    """A node with a tensor of one value."""
    tensor = proto(1, 1) + proto(2, 1) + proto(9, np.float32(value).tobytes())
    attribute = proto(5, proto(1, "value") + proto(5, tensor))
    return proto(1, proto(2, output) + proto(4, operator) + attribute)


def branch(*fields):
    """A node with a graph of these fields."""
    graph = proto(6, b"".join(fields))
    return proto(1, proto(4, "If") + proto(5, proto(1, "then_branch") + graph))


W = onnx_tensor("w", 1, (1,), proto(9, bytes(4)))


def test_constants_of_a_model_without_initialisers_are_its_weights(tmp_path):
    raw = onnx_raw(constant("a", 1), constant("b", 2), constant("c", 3, operator="Shape"))
    with opened(tmp_path, raw) as index:
        assert {key: index[key].read()[0] for key in index} == {"a": 1, "b": 2}
        assert index.notes == (
            "the model has no initialisers; 2 constants in its nodes are listed by the names of "
            "their outputs",
            "1 constants in the nodes of the graph are part of the program and not listed",
        )


def test_tensors_of_inner_graphs_are_counted_at_any_depth(tmp_path):
    inner = branch(W, W, constant("c", 1), branch(W, constant("d", 2)))
    with opened(tmp_path, onnx_raw(W, constant("a", 1), inner)) as index:
        assert list(index) == ["w"]
        assert index.notes == (
            "1 constants in the nodes of the graph are part of the program and not listed",
            "2 graphs in the nodes of the graph have 3 initialisers and 2 constants of their own, "
            "which are not listed",
        )


def test_graphs_nested_without_end_are_refused(tmp_path):
    nested = b""
    for _ in range(5000):
        nested = branch(nested)
    with pytest.raises(UnsupportedContentError, match="graphs are nested deeper than 64 levels"):
        opened(tmp_path, onnx_raw(W, nested))


@pytest.mark.parametrize("place", range(5, 60, 5))
def test_a_cut_sparse_tensor_is_refused(tmp_path, place):
    raw = onnx_raw(sparse([5, 6], [1, 5], (2, 3)))
    with pytest.raises(RudaError, match=r"model\.onnx"), opened(tmp_path, raw[:place]) as index:
        index["s"].read()
