"""ONNX models: initialisers in all places that their values can lie in, and notes on the rest."""

import os
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import FileAccessError, FileChangedError, HeaderError
from ruda.store import open_store
from ruda.store.formats.onnx import OnnxFormat
from ruda.tensor import DType
from ruda.testing.foreign_bytes import (
    onnx_bytes,
    onnx_external,
    onnx_raw,
    onnx_tensor,
    proto,
    varint,
)


def opened(tmp_path, raw):
    path = tmp_path / "model.onnx"
    path.write_bytes(raw)
    return open_store(path)


TYPED = [
    pytest.param(1, proto(4, np.float32([1, -2]).tobytes()), DType.F32, [1, -2], id="floats"),
    pytest.param(
        1, b"\x25\x00\x00\x80\x3f\x25\x00\x00\x00\xc0", DType.F32, [1, -2], id="floats one by one"
    ),
    pytest.param(6, proto(5, varint(5) + varint(-7)), DType.I32, [5, -7], id="i32"),
    pytest.param(6, proto(5, 5) + proto(5, -7 % (1 << 64)), DType.I32, [5, -7], id="one by one"),
    pytest.param(3, proto(5, varint(-128) + varint(127)), DType.I8, [-128, 127], id="i8"),
    pytest.param(9, proto(5, b"\x01\x00"), DType.BOOL, [True, False], id="bool"),
    pytest.param(
        10, proto(5, varint(0x3C00) + varint(0xC000)), DType.F16, [1, -2], id="bits of f16"
    ),
    pytest.param(16, proto(5, varint(0x3F80) + varint(0)), DType.BF16, [1, 0], id="bits of bf16"),
    pytest.param(
        7, proto(7, varint(-1) + varint((1 << 63) - 1)), DType.I64, [-1, (1 << 63) - 1], id="i64"
    ),
    pytest.param(
        13, proto(11, varint(0) + varint((1 << 64) - 1)), DType.U64, [0, (1 << 64) - 1], id="u64"
    ),
    pytest.param(
        12, proto(11, varint(0) + varint((1 << 32) - 1)), DType.U32, [0, (1 << 32) - 1], id="u32"
    ),
    pytest.param(11, proto(10, np.float64([1, -2]).tobytes()), DType.F64, [1, -2], id="doubles"),
]


@pytest.mark.parametrize(("number", "values", "dtype", "expected"), TYPED)
def test_typed_lists_are_read(tmp_path, number, values, dtype, expected):
    with opened(tmp_path, onnx_raw(onnx_tensor("w", number, (2,), values))) as index:
        found = index["w"]
        assert found.dtype is dtype
        assert found.read().tolist() == expected
        assert b"".join(map(bytes, found.chunks(3))) == found.read().tobytes()


def test_a_shape_in_one_run_is_read(tmp_path):
    tensor = proto(5, proto(1, b"\x02\x03") + proto(2, 2) + proto(8, "w") + proto(9, bytes(6)))
    with opened(tmp_path, onnx_raw(tensor)) as index:
        assert index["w"].shape == (2, 3)


def rewritten(path):
    raw = bytearray(path.read_bytes())
    raw[8] ^= 1
    path.write_bytes(raw)
    os.utime(path, ns=(0, 5_000_000_000))  # a clock may be coarse


def replaced(path):
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").replace(path)


@pytest.mark.parametrize("change", [rewritten, replaced])
def test_values_beside_the_model_that_changed_are_refused(tmp_path, change):
    path = tmp_path / "w.bin"
    path.write_bytes(b"12345678" + np.arange(4, dtype="<f4").tobytes())
    (tmp_path / "m.onnx").write_bytes(
        onnx_raw(onnx_tensor("w", 1, (4,), onnx_external("w.bin", offset=8)))
    )
    with open_store(tmp_path / "m.onnx") as index:
        assert [Path(stamp.path) for stamp in index.stamps] == [tmp_path / "m.onnx", path]
        index["w"].read()
        change(path)
        with pytest.raises(FileChangedError, match="has changed since it was opened"):
            index["w"].read()
        with pytest.raises(FileChangedError, match="has changed since it was opened"):
            list(index["w"].chunks(5))


def test_values_beside_the_model_are_read(tmp_path):
    (tmp_path / "sub").mkdir()
    values = np.arange(4, dtype="<f4")
    (tmp_path / "sub" / "w.bin").write_bytes(b"12345678" + values.tobytes() + b"more")
    tensors = [
        onnx_tensor("w", 1, (4,), onnx_external("sub/w.bin", offset=8, length=16)),
        onnx_tensor("v", 1, (2, 2), onnx_external("./sub/w.bin", offset=8)),
    ]
    index = opened(tmp_path, onnx_raw(*tensors))
    np.testing.assert_array_equal(index["w"].read(), values)
    np.testing.assert_array_equal(index["v"].read(), values.reshape(2, 2))
    assert b"".join(map(bytes, index["w"].chunks(5))) == values.tobytes()
    assert index["w"].origin.path == tmp_path / "sub" / "w.bin"
    index.close()
    with pytest.raises(FileAccessError, match="the file was closed"):
        index["w"].read()


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(16))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "w.bin").symlink_to(tmp_path / "secret")
    raw = onnx_raw(onnx_tensor("w", 1, (4,), onnx_external("w.bin")))
    with pytest.raises(HeaderError, match="a link that leads out of the folder of the model"):
        opened(tmp_path / "model", raw)


def test_the_rest_is_noted(tmp_path):
    constant = proto(5, proto(1, "value") + proto(5, proto(1, 2)))
    branch = proto(5, proto(1, "then_branch") + proto(6, proto(2, "inner")))
    raw = onnx_raw(
        proto(1, proto(4, "Constant") + constant),
        proto(1, proto(4, "If") + branch),
        onnx_tensor("names", 8, (1,), proto(6, "text")),
        onnx_tensor("four", 22, (2,), proto(9, b"\x12")),
        onnx_tensor("w", 1, (1,), proto(9, bytes(4))),
    )
    functions = proto(25, b"") + proto(14, proto(1, "author") + proto(2, "me"))
    with opened(tmp_path, raw + functions) as index:
        assert list(index) == ["four", "w"]
        assert index.metadata == {"producer_name": "ruda", "author": "me", "ir_version": "8"}
        assert index.notes == (
            "the model has functions; tensors in them are not listed",
            "'names' holds texts, which Ruda does not read; left out",
            "1 tensors hold 4-bit numbers; they are listed as i8",
            "1 constants in the nodes of the graph are part of the program and not listed",
            "1 graphs in the nodes of the graph have 0 initialisers and 0 constants of their own, "
            "which are not listed",
        )


def test_a_large_model_is_known_by_its_first_bytes(tmp_path):
    raw = onnx_bytes({"w": np.zeros(5000, "<f4")})
    assert OnnxFormat().matches(raw[:4096], tmp_path / "file")


OTHERS = [
    pytest.param(b"\x08\x01\x12\x90\x4e" + bytes(4000), id="saved model of TensorFlow"),
    pytest.param(b"\x08\x01\x12\x05\x0a\x03\x01\x02\x03", id="a message in the place of a text"),
    pytest.param(proto(1, 8) + proto(2, "x"), id="no graph"),
    pytest.param(proto(1, 500) + proto(7, b""), id="version 500"),
    pytest.param(proto(7, b"") + proto(1, 8), id="version not first"),
    pytest.param(b"\x08\x08\x3d\x00\x00\x00\x00", id="a graph of four bytes"),
]


@pytest.mark.parametrize("head", OTHERS)
def test_other_messages_are_not_claimed(head, tmp_path):
    assert not OnnxFormat().matches(head, tmp_path / "file")


@pytest.mark.cases
def test_a_real_model(cases):
    with open_store(cases / "models/burn_onnx_mnist/mnist.onnx") as index:
        assert index.format == "onnx"
        assert index["conv1.weight"].shape == (8, 1, 3, 3)
        assert all(np.isfinite(each.read()).all() for each in index.values())
