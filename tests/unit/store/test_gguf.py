"""GGUF files: typed metadata as text, plain and block-quantised tensors, both byte orders."""

import struct

import numpy as np
import pytest

from ruda.store import open_store
from ruda.store.formats._ggml import GGML_TYPES, GgmlBlocks
from ruda.tensor import DType
from ruda.testing.foreign_bytes import (
    BOOL,
    F32,
    LIST,
    TEXT,
    U32,
    gguf_bytes,
    gguf_entry,
    gguf_list,
    gguf_pair,
    gguf_raw,
    gguf_text,
)

Q4_0, Q6_K = 2, 14


def opened(tmp_path, raw):
    path = tmp_path / "file.gguf"
    path.write_bytes(raw)
    return open_store(path)


NUMBERS = struct.pack("<20I", *range(20))
VALUES = [
    pytest.param(0, b"\xff", "255", id="u8"),
    pytest.param(1, b"\xff", "-1", id="i8"),
    pytest.param(2, b"\x01\x02", "513", id="u16"),
    pytest.param(5, struct.pack("<i", -7), "-7", id="i32"),
    pytest.param(F32, struct.pack("<f", 0.1), "0.1", id="f32"),
    pytest.param(BOOL, b"\x01", "true", id="bool"),
    pytest.param(TEXT, gguf_text("zwei Wörter"), "zwei Wörter", id="text"),
    pytest.param(TEXT, gguf_text(b"\xff"), "\\xff", id="text that is no UTF-8"),
    pytest.param(10, struct.pack("<Q", 1 << 63), "9223372036854775808", id="u64"),
    pytest.param(12, struct.pack("<d", 2.5), "2.5", id="f64"),
    pytest.param(LIST, gguf_list(U32, 3, NUMBERS[:12]), "[0, 1, 2]", id="short list"),
    pytest.param(
        LIST,
        gguf_list(U32, 20, NUMBERS),
        "list of 20 whole numbers: 0, 1, 2, 3, 4, 5, 6, 7, …",
        id="long list",
    ),
    pytest.param(
        LIST,
        gguf_list(TEXT, 17, gguf_text("a") * 17),
        "list of 17 texts: 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', …",
        id="long list of texts",
    ),
    pytest.param(
        LIST,
        gguf_list(LIST, 2, gguf_list(U32, 3, NUMBERS[:12]) + gguf_list(TEXT, 1, gguf_text("b"))),
        "list of 2 lists",
        id="list of lists",
    ),
]


@pytest.mark.parametrize(("kind", "value", "text"), VALUES)
def test_metadata_is_text(tmp_path, kind, value, text):
    pairs = [gguf_pair("a", kind, value), gguf_pair("last", U32, struct.pack("<I", 9))]
    with opened(tmp_path, gguf_raw(pairs=pairs)) as index:
        assert index.metadata == {"a": text, "last": "9"}


def test_a_file_without_tensors_opens(tmp_path):
    with opened(tmp_path, gguf_raw()) as index:
        assert list(index) == []
        assert index.notes == ("the file holds no tensors, only metadata such as a vocabulary",)


def test_a_long_vocabulary_is_read_across_windows(tmp_path):
    words = b"".join(gguf_text(f"word {n} " + "x" * (n % 40)) for n in range(9000))
    pairs = [
        gguf_pair("tokens", LIST, gguf_list(TEXT, 9000, words)),
        gguf_pair("last", U32, struct.pack("<I", 9)),
    ]
    with opened(tmp_path, gguf_raw(pairs=pairs)) as index:
        assert index.metadata["tokens"].startswith("list of 9000 texts: 'word 0 ', 'word 1 x',")
        assert index.metadata["last"] == "9"


def test_blocks_keep_their_bytes_and_are_named_by_their_type(tmp_path):
    raw = bytes(range(36)) + bytes(28) + bytes(210)
    entries = [gguf_entry("q4", (2, 32), Q4_0, 0), gguf_entry("q6", (256,), Q6_K, 64)]
    with opened(tmp_path, gguf_raw(entries, raw)) as index:
        q4, q6 = index.values()
        assert (q4.dtype, q4.dtype_label, q4.shape, q4.nbytes) == (DType.GGML, "q4_0", (2, 32), 36)
        assert (q6.dtype_label, q6.shape, q6.nbytes) == ("q6_k", (256,), 210)
        assert q4.scheme == GgmlBlocks(GGML_TYPES[Q4_0])
        assert q4.read().tobytes() == bytes(range(36))


def test_the_shape_has_the_innermost_axis_last(tmp_path):
    array = np.arange(24, dtype="<f4").reshape(2, 3, 4)
    with opened(tmp_path, gguf_bytes({"w": array})) as index:
        np.testing.assert_array_equal(index["w"].read(), array)


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_alignment_is_that_of_the_metadata(tmp_path, order):
    pair = gguf_pair("general.alignment", U32, struct.pack(f"{order}I", 128), order=order)
    values = np.arange(4, dtype="<f4")
    entry = gguf_entry("w", (4,), 0, 0, order=order)
    data = values.astype(f"{order}f4").tobytes()
    raw = gguf_raw([entry], data, pairs=[pair], alignment=128, order=order)
    with opened(tmp_path, raw) as index:
        np.testing.assert_array_equal(index["w"].read(), values)


def test_what_a_reader_should_know_is_noted(tmp_path):
    pairs = [gguf_pair(f"split.{k}", 2, struct.pack(">H", v), order=">")
             for k, v in (("no", 1), ("count", 3))]  # fmt: skip
    entry = gguf_entry("w", (1,), 0, 0, order=">")
    with opened(tmp_path, gguf_raw([entry], bytes(100), pairs=pairs, order=">")) as index:
        assert index.notes == (
            "the file is big-endian; values are turned, the bytes of blocks kept as they are",
            "this is part 2 of 3; the other tensors are in the other files",
            "68 bytes follow the last tensor",
        )


def test_the_types_are_those_of_the_package():
    import gguf

    for number, (block, size) in gguf.GGML_QUANT_SIZES.items():
        ours = GGML_TYPES[int(number)]
        assert (ours.label, ours.block, ours.block_bytes) == (
            number.name.lower(),
            block,
            size,
        )
