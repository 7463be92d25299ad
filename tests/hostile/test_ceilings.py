"""No hostile file gets more memory than its own size allows, and none gets many steps for free."""

import tracemalloc

import pytest

from ruda.errors import FormatError
from ruda.testing.file_bytes import (
    LIST,
    number,
    rudapack_raw,
    safetensors_raw,
    script,
    table,
    torch_legacy_raw,
    torch_storage,
    torch_tensor,
    torch_zip_raw,
)
from ruda.testing.foreign_bytes import (
    H5_F32,
    H5_SLOT,
    gguf_entry,
    gguf_list,
    gguf_pair,
    gguf_raw,
    h5_chunked,
    h5_link,
    h5_message,
    h5_plain,
    h5_raw,
    h5_shape,
    onnx_raw,
    onnx_tensor,
    proto,
)
from ruda.testing.foreign_bytes import (
    LIST as GGUF_LIST,
)
from ruda.testing.foreign_bytes import (
    TEXT as GGUF_TEXT,
)
from ruda.testing.foreign_bytes import (
    U32 as GGUF_U32,
)
from ruda.testing.formats import read_all

HUGE = 1 << 40
F32 = h5_message(3, H5_F32)
VIEW = table({"w": torch_tensor(torch_storage("0", HUGE), (HUGE,))})
CASES = [
    pytest.param(".safetensors", safetensors_raw("{}", length=HUGE), id="header of 2^40 bytes"),
    pytest.param(
        ".bpk", rudapack_raw(b"\x9b" + HUGE.to_bytes(8, "big")), id="array of 2^40 values"
    ),
    pytest.param(".bpk", rudapack_raw(b"\x7b" + HUGE.to_bytes(8, "big")), id="text of 2^40 bytes"),
    pytest.param(".bpk", rudapack_raw(b"\x81" * 500_000), id="half a million CBOR arrays"),
    pytest.param(
        ".safetensors", safetensors_raw('{"a":' + "[" * 500_000), id="half a million JSON arrays"
    ),
    pytest.param(".pt", torch_zip_raw(script(VIEW), {"0": bytes(16)}), id="storage of 2^40"),
    pytest.param(
        ".pt", torch_legacy_raw(script(VIEW), [("0", HUGE, bytes(16))]), id="legacy storage of 2^40"
    ),
    pytest.param(
        ".pt",
        torch_zip_raw(script(b"\x8d" + HUGE.to_bytes(8, "little"), protocol=4)),
        id="pickled text of 2^40 bytes",
    ),
    pytest.param(
        ".pt",
        torch_zip_raw(script(torch_tensor(torch_storage("0", 4), (HUGE,), (0,))), {"0": bytes(16)}),
        id="expanded to 2^40",
    ),
    pytest.param(
        ".pt",
        torch_zip_raw(script(number(1) + b"".join(b"q\0\x30(h\0h\0t" for _ in range(40)))),
        id="2^40 paths through tuples",
    ),
    pytest.param(".pt", torch_zip_raw(script(LIST * 100_000)), id="a hundred thousand lists"),
    pytest.param(
        ".gguf", gguf_raw([gguf_entry("w", (HUGE,), 0, 0)], bytes(32)), id="GGUF tensor of 2^40"
    ),
    pytest.param(
        ".gguf",
        gguf_raw(pairs=[gguf_pair("a", GGUF_LIST, gguf_list(GGUF_TEXT, HUGE, bytes(500_000)))]),
        id="GGUF list of 2^40 texts",
    ),
    pytest.param(
        ".gguf",
        gguf_raw(
            pairs=[gguf_pair("a", GGUF_LIST, gguf_list(GGUF_LIST, 1) * 50_000)],
        ),
        id="GGUF lists 50000 deep",
    ),
    pytest.param(
        ".gguf", gguf_raw(pairs=[gguf_pair("a", GGUF_U32, b"")] * 40_000), id="GGUF pairs"
    ),
    pytest.param(
        ".onnx",
        onnx_raw(onnx_tensor("w", 7, (HUGE,), proto(7, bytes(500_000)))),
        id="ONNX list of 2^40 numbers",
    ),
    pytest.param(
        ".onnx", onnx_raw(proto(1, proto(5, proto(6, b"")) * 50_000), tail=b""), id="ONNX nodes"
    ),
    pytest.param(
        ".h5",
        h5_raw([h5_link(b"w", 2)], [h5_shape(HUGE), F32, h5_plain((1 << 64) - 1, 0)]),
        id="HDF5 values of 2^40 that nobody wrote",
    ),
    pytest.param(
        ".h5",
        h5_raw([h5_link(b"w", 2)], [h5_shape(4), F32, h5_chunked(3 * H5_SLOT, 1 << 31)]),
        id="HDF5 chunk of 2^31 values",
    ),
]


@pytest.mark.parametrize(("suffix", "raw"), CASES)
def test_memory_is_bounded_by_the_size_of_the_file(tmp_path, suffix, raw):
    path = tmp_path / f"file{suffix}"
    path.write_bytes(raw)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"file\."):
            read_all(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (32 << 20) + 100 * len(raw)
