"""Rudapack files that lie, and the sentence that each gets."""

import pytest

from ruda.errors import (
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnknownFormatError,
    UnsupportedContentError,
)
from ruda.testing.file_bytes import rudapack_raw

W = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def one(data=bytes(8), **changes):
    return several(data, w={k: v for k, v in {**W, **changes}.items() if v is not None})


def several(data=bytes(8), **tensors):
    return rudapack_raw({"tensors": tensors}, data)


CASES = [
    pytest.param(
        b"NRU",
        UnknownFormatError,
        "is a text file that begins with 'NRU', not the weights",
        id="three bytes",
    ),
    pytest.param(
        rudapack_raw(b"", size=5, aligned=False),
        TruncatedFileError,
        "byte 6: the metadata ends at byte 15, but the file has 10 bytes",
        id="header only",
    ),
    pytest.param(
        rudapack_raw({"tensors": {}}, magic=b"BURN"),
        HeaderError,
        "byte 0: begins with 42 55 52 4e, expected 4e 52 55 42: this is no Rudapack file",
        id="magic of another order",
    ),
    pytest.param(
        rudapack_raw({"tensors": {}}, version=2),
        UnsupportedContentError,
        "byte 4: has version 2, and Ruda reads up to 1",
        id="version 2",
    ),
    pytest.param(
        rudapack_raw({"tensors": {}}, size=1000),
        TruncatedFileError,
        "byte 6: the metadata ends at byte 1010, but the file has 256 bytes",
        id="metadata behind the end",
    ),
    pytest.param(
        rudapack_raw({"tensors": {}}, size=(100 << 20) + 1),
        HeaderError,
        "byte 6: the metadata has 104857601 bytes, the limit is 104857600",
        id="metadata above the limit",
    ),
    pytest.param(
        rudapack_raw(b"\xff\x00\x1c", aligned=False),
        HeaderError,
        "byte 11: the metadata is not valid CBOR: a break ends nothing",
        id="garbage for CBOR",
    ),
    pytest.param(
        rudapack_raw(b"\x1c"),
        HeaderError,
        "byte 11: the metadata is not valid CBOR: the length code 28 is not defined",
        id="undefined length code",
    ),
    pytest.param(
        rudapack_raw(b"\x80"),
        HeaderError,
        "byte 10: the metadata is list, expected a map",
        id="an array at the top",
    ),
    pytest.param(
        rudapack_raw(b"\xa1\x7b" + (1 << 62).to_bytes(8, "big")),
        TruncatedFileError,
        "byte 20: the metadata is not valid CBOR: 4611686018427387904 bytes are "
        "announced, but 0 bytes are left",
        id="text of 2 to the 62 bytes",
    ),
    pytest.param(
        rudapack_raw(b"\x9b" + (1 << 62).to_bytes(8, "big")),
        TruncatedFileError,
        "byte 19: the metadata is not valid CBOR: 4611686018427387904 values are "
        "announced, but 0 bytes are left",
        id="array of 2 to the 62 values",
    ),
    pytest.param(
        rudapack_raw(b"\xbb" + (1 << 63).to_bytes(8, "big")),
        TruncatedFileError,
        "byte 19: the metadata is not valid CBOR: 18446744073709551616 values are "
        "announced, but 0 bytes are left",
        id="map of 2 to the 63 pairs",
    ),
    pytest.param(
        rudapack_raw(b"\x81" * 129 + b"\x00"),
        HeaderError,
        "byte 139: the metadata is not valid CBOR: values are nested deeper than 128 levels",
        id="129 levels",
    ),
    pytest.param(
        rudapack_raw(b"\x81" * 1_000_000),
        HeaderError,
        "byte 139: the metadata is not valid CBOR: values are nested deeper than 128 levels",
        id="a million levels",
    ),
    pytest.param(
        rudapack_raw(b"\xd8\x1c\xa0"),
        HeaderError,
        "byte 12: the metadata is not valid CBOR: CBOR tag 28 has no place in this header",
        id="a shared reference",
    ),
    pytest.param(
        rudapack_raw(b"\xc2\x41\x01"),
        HeaderError,
        "byte 11: the metadata is not valid CBOR: CBOR tag 2 has no place in this header",
        id="a bignum tag",
    ),
    pytest.param(
        rudapack_raw(b"\xc0\x60"),
        HeaderError,
        "byte 11: the metadata is not valid CBOR: CBOR tag 0 has no place in this header",
        id="a date tag",
    ),
    pytest.param(
        rudapack_raw(b"\xff"),
        HeaderError,
        "byte 11: the metadata is not valid CBOR: a break ends nothing",
        id="a stray break",
    ),
    pytest.param(
        rudapack_raw(b"\xa1\x01\x02"),
        HeaderError,
        "byte 13: the metadata is not valid CBOR: a map key is int, expected text",
        id="a number for a key",
    ),
    pytest.param(
        rudapack_raw(b"\xa1\x61\xff\x00"),
        HeaderError,
        "byte 13: the metadata is not valid CBOR: text is not valid UTF-8",
        id="text that is not UTF-8",
    ),
    pytest.param(
        rudapack_raw(b"\xa0\xa0"),
        HeaderError,
        "byte 11: the metadata is not valid CBOR: 1 bytes follow the value",
        id="bytes after the map",
    ),
    pytest.param(
        rudapack_raw(b"\xa1\x67tensors\xa2\x61w\xa0\x61w\xa0"),
        HeaderError,
        "byte 26: the metadata is not valid CBOR: the map key 'w' appears twice",
        id="one tensor twice",
    ),
    pytest.param(
        rudapack_raw(b"\xbf\x61w\xff"),
        HeaderError,
        "byte 14: the metadata is not valid CBOR: a map ends after a key without value",
        id="a map without a value",
    ),
    pytest.param(
        rudapack_raw({}),
        HeaderError,
        "byte 10: the metadata's 'tensors' is missing, expected a map",
        id="no tensors",
    ),
    pytest.param(
        rudapack_raw({"tensors": []}),
        HeaderError,
        "byte 10: the metadata's 'tensors' is list, expected a map",
        id="tensors a list",
    ),
    pytest.param(
        rudapack_raw({"tensors": {}, "metadata": {"a": 1}}),
        HeaderError,
        "byte 10: the user metadata 'a' is int, expected text",
        id="metadata not text",
    ),
    pytest.param(
        rudapack_raw({"tensors": {}, "scalars": {"a": 1}}),
        HeaderError,
        "byte 10: the scalar 'a' is not one of Int, UInt, Float, Bool",
        id="scalar of no kind",
    ),
    pytest.param(
        rudapack_raw({"tensors": {}, "scalars": {"a": {"Int": "1"}}}),
        HeaderError,
        "byte 10: the scalar 'a' is not one of Int, UInt, Float, Bool",
        id="scalar of the wrong kind",
    ),
    pytest.param(
        rudapack_raw({"tensors": {"w": []}}),
        HeaderError,
        "byte 10: 'w' has a descriptor of list, expected a map",
        id="descriptor a list",
    ),
    pytest.param(
        one(dtype=None),
        UnsupportedContentError,
        "byte 10: 'w' has the dtype None, which is no Rudapack dtype that Ruda knows",
        id="no dtype",
    ),
    pytest.param(
        one(dtype=7),
        UnsupportedContentError,
        "byte 10: 'w' has the dtype 7, which is no Rudapack dtype that Ruda knows",
        id="dtype a number",
    ),
    pytest.param(
        one(dtype="F8"),
        UnsupportedContentError,
        "byte 10: 'w' has the dtype 'F8', which is no Rudapack dtype that Ruda knows",
        id="unknown dtype",
    ),
    pytest.param(
        one(dtype={"Bool": "U7"}),
        UnsupportedContentError,
        "byte 10: 'w' has the dtype {'Bool': 'U7'}, which is no Rudapack dtype that Ruda knows",
        id="bool of no kind",
    ),
    pytest.param(
        one(dtype="QFloat"),
        UnsupportedContentError,
        "byte 10: 'w' has the dtype 'QFloat', which is no Rudapack dtype that Ruda knows",
        id="qfloat without a scheme",
    ),
    pytest.param(
        one(shape=2),
        HeaderError,
        "byte 10: 'w' has the shape 2, expected a list of whole numbers",
        id="shape a number",
    ),
    pytest.param(
        one(shape=[-2]),
        HeaderError,
        "byte 10: 'w' has the shape [-2], expected a list of whole numbers",
        id="size negative",
    ),
    pytest.param(
        one(shape=[2.0]),
        HeaderError,
        "byte 10: 'w' has the shape [2.0], expected a list of whole numbers",
        id="size a float",
    ),
    pytest.param(
        one(shape=[2] + [1] * 64),
        HeaderError,
        "byte 10: 'w' has 65 axes, the limit is 64",
        id="rank 65",
    ),
    pytest.param(
        one(shape=[1 << 63, 1 << 63]),
        OffsetError,
        "'w' has a shape whose size does not fit in 64 bits",
        id="shape that overflows",
    ),
    pytest.param(
        one(shape=[1]), OffsetError, "'w' has 8 bytes, but f32 [1] needs 4", id="shape too small"
    ),
    pytest.param(
        one(shape=[3]), OffsetError, "'w' has 8 bytes, but f32 [3] needs 12", id="shape too large"
    ),
    pytest.param(
        one(data_offsets=[0]),
        HeaderError,
        "byte 10: 'w' has 1 data_offsets, expected 2",
        id="one offset",
    ),
    pytest.param(
        one(data_offsets=[8, 0]),
        OffsetError,
        "'w' ends at data byte 0 before it starts at 8",
        id="offsets reversed",
    ),
    pytest.param(
        one(data_offsets=[256, 264]),
        TruncatedFileError,
        "byte 264: 'w' ends at byte 520, but the file has 264 bytes; it is cut short, get it again",
        id="offset behind the end",
    ),
    pytest.param(
        one(data_offsets=[(1 << 64) - 8, 1 << 64]),
        HeaderError,
        "byte 65: the metadata is not valid CBOR: CBOR tag 2 has no place in this header",
        id="offset of 2 to the 64",
    ),
    pytest.param(
        one(dtype="U8", shape=[11 << 30], data_offsets=[0, 11 << 30]),
        HeaderError,
        "byte 10: 'w' has 11811160064 bytes, the limit is 10737418240",
        id="above the limit of one tensor",
    ),
    pytest.param(
        one(param_id=1 << 64),
        HeaderError,
        "byte 67: the metadata is not valid CBOR: CBOR tag 2 has no place in this header",
        id="id of 65 bits",
    ),
    pytest.param(
        one(param_id=-1),
        HeaderError,
        "byte 10: 'w' has the param_id -1, expected a 64-bit number",
        id="id negative",
    ),
    pytest.param(
        one(param_id="0400000000000"),
        HeaderError,
        "byte 10: 'w' has the param_id '0400000000000', expected a 64-bit number",
        id="id a text",
    ),
    pytest.param(
        several(bytes(300), a=W, b={**W, "data_offsets": [4, 12]}),
        OffsetError,
        "byte 260: 'b' begins at data byte 4 and overlaps 'a', which ends at 8",
        id="overlap",
    ),
    pytest.param(
        several(a=W, b=W),
        OffsetError,
        "byte 256: 'b' begins at data byte 0 and overlaps 'a', which ends at 8",
        id="same bytes twice",
    ),
    pytest.param(
        one(data=bytes(8))[:67],
        TruncatedFileError,
        "byte 67: 'w' ends at byte 264, but the file has 67 bytes; it is cut short, get it again",
        id="aligned file cut where a packed one would end",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".bpk") == (kind, text)
