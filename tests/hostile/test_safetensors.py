"""Safetensors files that lie, and the sentence that each gets."""

import json

import pytest

from ruda.errors import (
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnknownFormatError,
    UnsupportedContentError,
)
from ruda.testing.file_bytes import safetensors_raw

BYTE = '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
W = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def header(**tensors):
    return safetensors_raw(json.dumps(tensors), bytes(8))


def one(**changes):
    return header(w={k: v for k, v in {**W, **changes}.items() if v is not None})


CASES = [
    pytest.param(
        safetensors_raw("", length=0),
        UnknownFormatError,
        "begins with zeros only; the download or the disk filled it, get the file again",
        id="length 0",
    ),
    pytest.param(
        safetensors_raw("{", length=1),
        HeaderError,
        "byte 0: the header length is 1, expected at least 2",
        id="length 1",
    ),
    pytest.param(
        safetensors_raw("{}", length=3),
        TruncatedFileError,
        "byte 0: the header claims 3 bytes, but only 2 follow; the file is cut short "
        "or is no safetensors file",
        id="length behind the end",
    ),
    pytest.param(
        safetensors_raw("{}", length=1 << 63),
        TruncatedFileError,
        "byte 0: the header claims 9223372036854775808 bytes, but only 2 follow; the "
        "file is cut short or is no safetensors file",
        id="length 2 to the 63",
    ),
    pytest.param(
        safetensors_raw("{}", length=(1 << 64) - 1),
        TruncatedFileError,
        "byte 0: the header claims 18446744073709551615 bytes, but only 2 follow; the "
        "file is cut short or is no safetensors file",
        id="length 2 to the 64 less 1",
    ),
    pytest.param(
        safetensors_raw("{}", length=(1 << 64) - 8),
        TruncatedFileError,
        "byte 0: the header claims 18446744073709551608 bytes, but only 2 follow; the "
        "file is cut short or is no safetensors file",
        id="length overflows with the eight before",
    ),
    pytest.param(
        b"\x02\x00\x00\x00",
        TruncatedFileError,
        "byte 0: a safetensors file begins with 8 bytes of header length, but this one "
        "has 4 bytes; get the file again",
        id="four bytes",
    ),
    pytest.param(
        safetensors_raw("\ufeff{}"),
        HeaderError,
        "byte 8: the header begins with b'\\xef', expected '{'",
        id="byte order mark",
    ),
    pytest.param(
        safetensors_raw(" {}"),
        HeaderError,
        "byte 8: the header begins with b' ', expected '{'",
        id="leading space",
    ),
    pytest.param(
        safetensors_raw("[1]"),
        HeaderError,
        "byte 8: the header begins with b'[', expected '{'",
        id="an array",
    ),
    pytest.param(
        safetensors_raw("{}\0\0"),
        HeaderError,
        "byte 8: the header is not valid JSON: JSON is malformed: trailing characters (byte 3)",
        id="padded with zeros",
    ),
    pytest.param(
        safetensors_raw(b'{"\xff": 1}'),
        HeaderError,
        "byte 8: the header is not valid JSON: Invalid UTF-8 encoded string",
        id="not UTF-8",
    ),
    pytest.param(
        safetensors_raw("{}{}"),
        HeaderError,
        "byte 8: the header is not valid JSON: JSON is malformed: trailing characters (byte 3)",
        id="text after the object",
    ),
    pytest.param(
        safetensors_raw('{"w": NaN}'),
        HeaderError,
        "byte 8: the header is not valid JSON: JSON is malformed: invalid character (byte 6)",
        id="not a number",
    ),
    pytest.param(
        safetensors_raw('{"w":' + "[" * 100_000 + "]" * 100_000 + "}"),
        HeaderError,
        "byte 8: the header is not valid JSON: maximum recursion depth exceeded while "
        "deserializing an object",
        id="100000 arrays deep",
    ),
    pytest.param(
        safetensors_raw(
            '{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}',
            b"1",
        ),
        HeaderError,
        "byte 8: the header has 'w' twice, which the format forbids",
        id="one tensor twice",
    ),
    pytest.param(
        safetensors_raw(
            '{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\\u0077":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
            b"1",
        ),
        HeaderError,
        "byte 8: the header has 'w' twice, which the format forbids",
        id="one tensor twice in two spellings",
    ),
    pytest.param(
        safetensors_raw('{"w":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}', b"1"),
        HeaderError,
        "byte 8: the header has 'dtype' twice, which the format forbids",
        id="one field twice",
    ),
    pytest.param(
        safetensors_raw('{"__metadata__":{"a":"1"},"__metadata__":{"a":"2"}}'),
        HeaderError,
        "byte 8: the header has '__metadata__' twice, which the format forbids",
        id="metadata twice",
    ),
    pytest.param(
        safetensors_raw('{"__metadata__":{"a":"1","a":"2"}}'),
        HeaderError,
        "byte 8: the header has 'a' twice, which the format forbids",
        id="one metadata key twice",
    ),
    pytest.param(
        safetensors_raw('{"__metadata__":{"a":1}}'),
        HeaderError,
        "byte 8: __metadata__ may only map text to text: Expected `str`, got `int` - at `$[...]`",
        id="metadata number",
    ),
    pytest.param(
        safetensors_raw('{"__metadata__":{"a":{}}}'),
        HeaderError,
        "byte 8: __metadata__ may only map text to text: Expected `str`, got `object` "
        "- at `$[...]`",
        id="metadata nested",
    ),
    pytest.param(
        safetensors_raw('{"__metadata__":[]}'),
        HeaderError,
        "byte 8: __metadata__ may only map text to text: Expected `object`, got `array`",
        id="metadata list",
    ),
    pytest.param(
        safetensors_raw('{"\\ud800":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
        HeaderError,
        "byte 8: the header is not valid JSON: JSON is malformed: unexpected end of "
        "escaped utf-16 surrogate pair (byte 8)",
        id="lone surrogate in a key",
    ),
    pytest.param(
        one(dtype=None),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Object missing required field `dtype`",
        id="no dtype",
    ),
    pytest.param(
        one(shape=None),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Object missing required field `shape`",
        id="no shape",
    ),
    pytest.param(
        one(data_offsets=None),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Object missing required field `data_offsets`",
        id="no offsets",
    ),
    pytest.param(
        one(dtype="Q4_K"),
        UnsupportedContentError,
        "byte 8: 'w' has the dtype 'Q4_K', which is no safetensors dtype that Ruda knows",
        id="unknown dtype",
    ),
    pytest.param(
        one(dtype=1),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Expected `str`, got `int` - at `$.dtype`",
        id="dtype a number",
    ),
    pytest.param(
        one(data_offsets=[0]),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Expected `array` of length 2 - at "
        "`$.data_offsets`",
        id="one offset",
    ),
    pytest.param(
        one(data_offsets=[0, 4, 8]),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Expected `array` of length 2 - at "
        "`$.data_offsets`",
        id="three offsets",
    ),
    pytest.param(
        one(data_offsets=[-8, 0]),
        OffsetError,
        "byte 8: 'w' has the impossible range -8 to 0",
        id="negative offset",
    ),
    pytest.param(
        one(data_offsets=[8, 0]),
        OffsetError,
        "byte 8: 'w' has the impossible range 8 to 0",
        id="offsets reversed",
    ),
    pytest.param(
        one(data_offsets=[(1 << 64) - 8, 1 << 64]),
        OffsetError,
        "byte 8: 'w' has the impossible range 18446744073709551608 to 18446744073709551616",
        id="offset that wraps 64 bits",
    ),
    pytest.param(
        one(data_offsets=[0, 10**100]),
        OffsetError,
        "byte 8: 'w' has the impossible range 0 to 1000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000",
        id="offset of 100 digits",
    ),
    pytest.param(
        one(data_offsets=[0.0, 8.0]),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Expected `int`, got `float` - at "
        "`$.data_offsets[0]`",
        id="offset a float",
    ),
    pytest.param(
        one(shape=[-2]),
        HeaderError,
        "byte 8: 'w' has a negative size in its shape",
        id="negative size",
    ),
    pytest.param(
        one(shape=[2.0]),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Expected `int`, got `float` - at `$.shape[0]`",
        id="size a float",
    ),
    pytest.param(
        one(shape=[True]),
        HeaderError,
        "byte 8: the entry of 'w' cannot be read: Expected `int`, got `bool` - at `$.shape[0]`",
        id="size true",
    ),
    pytest.param(
        one(shape=[1 << 32, 1 << 32]),
        OffsetError,
        "'w' has a shape whose size does not fit in 64 bits",
        id="shape that overflows",
    ),
    pytest.param(
        one(shape=[0, 1 << 62], data_offsets=[0, 0]),
        OffsetError,
        "'w' has a shape whose size does not fit in 64 bits",
        id="empty shape that overflows",
    ),
    pytest.param(
        one(shape=[2] + [1] * 64),
        HeaderError,
        "byte 8: 'w' has 65 axes, the limit is 64",
        id="rank 65",
    ),
    pytest.param(
        one(shape=[3]),
        OffsetError,
        "byte 8: 'w' has 8 bytes, but f32 [3] needs 12",
        id="too few bytes",
    ),
    pytest.param(
        one(shape=[1]),
        OffsetError,
        "byte 8: 'w' has 8 bytes, but f32 [1] needs 4",
        id="too many bytes",
    ),
    pytest.param(
        one(dtype="F4", shape=[3], data_offsets=[0, 2]),
        OffsetError,
        "byte 8: 'w' has 12 bits of f4_e2m1, which do not end on a byte boundary",
        id="half a byte of fp4",
    ),
    pytest.param(
        header(w={**W, "data_offsets": [8, 16]}),
        OffsetError,
        "byte 78: 'w' begins at data byte 8, expected 0: it leaves a hole after the header",
        id="hole at the start",
    ),
    pytest.param(
        header(
            a={"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
            b={"dtype": "U8", "shape": [6], "data_offsets": [2, 8]},
        ),
        OffsetError,
        "byte 130: 'b' begins at data byte 2, expected 1: it leaves a hole after 'a'",
        id="hole between",
    ),
    pytest.param(
        header(a=W, b={"dtype": "U8", "shape": [4], "data_offsets": [4, 8]}),
        OffsetError,
        "byte 133: 'b' begins at data byte 4, expected 8: it overlaps 'a'",
        id="overlap",
    ),
    pytest.param(
        header(a=W, b=W),
        OffsetError,
        "byte 130: 'b' begins at data byte 0, expected 8: it overlaps 'a'",
        id="same bytes twice",
    ),
    pytest.param(
        safetensors_raw(json.dumps({"w": W}), bytes(16)),
        OffsetError,
        "byte 77: 8 bytes follow the last tensor, which the format forbids",
        id="bytes after the last tensor",
    ),
    pytest.param(
        safetensors_raw(json.dumps({"w": W}), bytes(7)),
        TruncatedFileError,
        "byte 76: 'w' ends at data byte 8, but the file has 7 of 8 bytes of data; it "
        "is cut short, get it again",
        id="data cut short",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".safetensors") == (kind, text)
