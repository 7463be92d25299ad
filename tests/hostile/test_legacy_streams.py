"""Legacy PyTorch streams that are damaged or lie, and the sentence that each gets."""

import pickle

import pytest

from ruda.errors import (
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnknownFormatError,
    UnsafeContentError,
    UnsupportedContentError,
)
from ruda.testing.file_bytes import (
    call,
    script,
    table,
    text,
    torch_legacy_raw,
    torch_storage,
    torch_tensor,
)

STATE = script(table({"w": torch_tensor(torch_storage("0", 4), (2, 2))}))
SYSTEM = script(call("os.system", text("touch x")))
GOOD = torch_legacy_raw(STATE, [("0", 4, bytes(16))])

CASES = [
    pytest.param(
        torch_legacy_raw(
            STATE, [("0", 4, bytes(16))], magic=pickle.dumps(0x1950A86A20F9469CFC6D, 2)
        ),
        UnknownFormatError,
        "byte 15: begins like a pickle that ends at byte 15, but 267 bytes follow: "
        "this is no PyTorch file",
        id="another magic number",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", 4, bytes(16))], magic=SYSTEM),
        UnsafeContentError,
        "byte 13: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload for the magic number",
    ),
    pytest.param(
        torch_legacy_raw(STATE, magic=pickle.dumps(0x1950A86A20F9469CFC6C, 2) + SYSTEM),
        UnsafeContentError,
        "byte 28: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload behind the magic number",
    ),
    pytest.param(
        torch_legacy_raw(SYSTEM),
        UnsafeContentError,
        "byte 109: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload for the state",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", 4, bytes(16))], keys=SYSTEM),
        UnsafeContentError,
        "byte 256: the pickle in it asks for os.system, which could run code; nothing "
        "was run, and the file is refused",
        id="a payload for the list of keys",
    ),
    pytest.param(
        GOOD.replace(pickle.dumps(1001, 2), pickle.dumps(1000, 2), 1),
        UnsupportedContentError,
        "byte 21: has protocol 1000, expected 1001",
        id="protocol 1000",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", 4, bytes(16))], keys=pickle.dumps("0", 2)),
        HeaderError,
        "byte 254: the fifth pickle is no list of storage keys",
        id="keys no list",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", 4, bytes(16))], keys=pickle.dumps([None], 2)),
        HeaderError,
        "byte 251: the fifth pickle is no list of storage keys",
        id="keys no texts",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", 4, bytes(16)), ("0", 4, bytes(16))]),
        HeaderError,
        "byte 285: storage '0' is listed twice",
        id="one key twice",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("9", 4, bytes(16)), ("0", 4, bytes(16))]),
        HeaderError,
        "byte 267: storage '9' is listed and not used, so its size is not known",
        id="a key that nobody uses",
    ),
    pytest.param(
        torch_legacy_raw(STATE),
        HeaderError,
        "'w' needs storage '0', which is not in the file",
        id="a storage that is not listed",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", 1 << 40, bytes(16))]),
        OffsetError,
        "byte 258: storage '0' says it has 1099511627776 elements, the pickle says 4",
        id="count too large",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", -4, bytes(16))]),
        OffsetError,
        "byte 258: storage '0' says it has -4 elements, the pickle says 4",
        id="count negative",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", 3, bytes(12))]),
        OffsetError,
        "byte 258: storage '0' says it has 3 elements, the pickle says 4",
        id="count of another tensor",
    ),
    pytest.param(
        torch_legacy_raw(STATE, [("0", 4, bytes(15))]),
        TruncatedFileError,
        "byte 281: storage '0' ends at byte 282, but the file has 281; it is cut "
        "short, get it again",
        id="storage cut short",
    ),
    pytest.param(
        GOOD[:-20],
        TruncatedFileError,
        "byte 258: 8 bytes are needed here, but the file has 262 bytes in all",
        id="count cut short",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".pt") == (kind, text)
