"""GGUF files that are damaged or lie about sizes, and the sentence that each gets."""

import struct

import pytest

from ruda.errors import (
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.testing.foreign_bytes import (
    BOOL,
    LIST,
    TEXT,
    U32,
    gguf_entry,
    gguf_list,
    gguf_pair,
    gguf_raw,
    gguf_text,
)

W = gguf_entry("w", (2, 4), 0, 0)
DATA = bytes(32)
Q4_0 = 2
HUGE = 1 << 60


def one(*pairs, **options):
    """A file of one good tensor and these metadata pairs."""
    return gguf_raw([W], DATA, pairs=pairs, **options)


def aligned(kind, value):
    """A file that states its alignment so."""
    return one(gguf_pair("general.alignment", kind, value))


CASES = [
    pytest.param(
        b"GGUF",
        TruncatedFileError,
        "byte 4: the version needs 4 bytes, but 0 are left; the file is damaged or cut short",
        id="only the magic bytes",
    ),
    pytest.param(
        one(version=1),
        UnsupportedContentError,
        "byte 4: is GGUF of version 1, and Ruda reads 2 and 3; convert the model again "
        "with a current llama.cpp",
        id="version 1",
    ),
    pytest.param(
        one(version=99),
        UnsupportedContentError,
        "byte 4: is GGUF of version 99, and Ruda reads 2 and 3; convert the model again "
        "with a current llama.cpp",
        id="version 99",
    ),
    pytest.param(
        one(counts=(HUGE, 0)),
        TruncatedFileError,
        "byte 8: the header claims 1152921504606846976 tensors, but only 104 bytes follow; "
        "the file is damaged or cut short",
        id="2^60 tensors",
    ),
    pytest.param(
        one(counts=(1, HUGE)),
        TruncatedFileError,
        "byte 8: the header claims 1152921504606846976 metadata pairs, but only 104 bytes "
        "follow; the file is damaged or cut short",
        id="2^60 metadata pairs",
    ),
    pytest.param(
        one(counts=(2, 0)),
        OffsetError,
        "byte 96: 'w' begins at data byte 0 and overlaps '', which ends at 4",
        id="more tensors than there are",
    ),
    pytest.param(
        one(gguf_pair("a", U32, bytes(4)), gguf_pair("a", U32, bytes(4))),
        HeaderError,
        "byte 41: the metadata has 'a' twice",
        id="one key twice",
    ),
    pytest.param(
        one(gguf_pair(b"\xff\xfe", U32, bytes(4))),
        HeaderError,
        "byte 32: a metadata key is no UTF-8: b'\\xff\\xfe'",
        id="a key that is no text",
    ),
    pytest.param(
        gguf_raw(pairs=[struct.pack("<Q", HUGE) + bytes(16)]),
        TruncatedFileError,
        "byte 32: a metadata key needs 1152921504606846976 bytes, but 16 are left; the "
        "file is damaged or cut short",
        id="a key of 2^60 bytes",
    ),
    pytest.param(
        gguf_raw(pairs=[gguf_pair("k" * 70_000, U32, bytes(4))]),
        HeaderError,
        "byte 32: a metadata key has 70000 bytes, the limit is 65536",
        id="a key of 70000 bytes",
    ),
    pytest.param(
        one(gguf_pair("a", 13, bytes(8))),
        HeaderError,
        "byte 37: the value of 'a' has the type number 13, and there is none",
        id="a value of no type",
    ),
    pytest.param(
        one(gguf_pair("a", BOOL, b"\x02")),
        HeaderError,
        "byte 37: the value of 'a' is a truth value of 2, expected 0 or 1",
        id="a truth value of 2",
    ),
    pytest.param(
        one(gguf_pair("a", TEXT, struct.pack("<Q", HUGE))),
        TruncatedFileError,
        "byte 45: the value of 'a' needs 1152921504606846976 bytes, but 83 are left; the "
        "file is damaged or cut short",
        id="a text of 2^60 bytes",
    ),
    pytest.param(
        one(gguf_pair("a", LIST, gguf_list(U32, HUGE))),
        TruncatedFileError,
        "byte 37: the value of 'a' claims 1152921504606846976 items, but only 79 bytes "
        "follow; the file is damaged or cut short",
        id="a list of 2^60 numbers",
    ),
    pytest.param(
        one(gguf_pair("a", LIST, gguf_list(TEXT, HUGE))),
        TruncatedFileError,
        "byte 37: the value of 'a' claims 1152921504606846976 items, but only 79 bytes "
        "follow; the file is damaged or cut short",
        id="a list of 2^60 texts",
    ),
    pytest.param(
        one(gguf_pair("a", LIST, gguf_list(LIST, HUGE))),
        TruncatedFileError,
        "byte 37: the value of 'a' claims 1152921504606846976 items, but only 79 bytes "
        "follow; the file is damaged or cut short",
        id="a list of 2^60 lists",
    ),
    pytest.param(
        one(gguf_pair("a", LIST, gguf_list(99, 1, bytes(8)))),
        HeaderError,
        "byte 37: the value of 'a' is a list of type number 99, and there is none",
        id="a list of no type",
    ),
    pytest.param(
        one(gguf_pair("a", LIST, gguf_list(LIST, 1) * 1000)),
        UnsupportedContentError,
        "byte 133: the value of 'a' is nested deeper than 8 levels",
        id="lists 1000 deep",
    ),
    pytest.param(
        aligned(U32, bytes(4)),
        HeaderError,
        "byte 53: the alignment is 0, expected a power of two up to 1048576",
        id="alignment 0",
    ),
    pytest.param(
        aligned(U32, struct.pack("<I", 24)),
        HeaderError,
        "byte 53: the alignment is 24, expected a power of two up to 1048576",
        id="alignment 24",
    ),
    pytest.param(
        aligned(U32, struct.pack("<I", 1 << 31)),
        HeaderError,
        "byte 53: the alignment is 2147483648, expected a power of two up to 1048576",
        id="alignment 2^31",
    ),
    pytest.param(
        aligned(TEXT, gguf_text("32")),
        HeaderError,
        "byte 53: the alignment is no number, expected a power of two up to 1048576",
        id="alignment as a text",
    ),
    pytest.param(
        gguf_raw([W, gguf_entry("w", (2, 4), 0, 32)], DATA * 2),
        HeaderError,
        "byte 65: the file describes 'w' twice",
        id="one tensor twice",
    ),
    pytest.param(
        gguf_raw([gguf_entry(b"\xff", (2,), 0, 0)], DATA),
        HeaderError,
        "byte 32: the name of a tensor is no UTF-8: b'\\xff'",
        id="a name that is no text",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (1,) * 1000, 0, 0)], DATA),
        HeaderError,
        "byte 24: 'w' has 1000 axes, the limit is 8",
        id="1000 axes",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (2,), 77, 0)], DATA),
        UnsupportedContentError,
        "byte 24: 'w' has the type number 77, which Ruda does not know",
        id="a type of no number",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (32,), 4, 0)], DATA),
        UnsupportedContentError,
        "byte 24: 'w' has the type q4_2, which GGML has given up; quantise the model again",
        id="a type that was given up",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (2, 33), Q4_0, 0)], DATA * 3),
        OffsetError,
        "byte 24: 'w' has rows of 33 values, and q4_0 packs 32 at a time",
        id="rows that are no whole blocks",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (1 << 40, 1 << 40), 0, 0)], DATA),
        OffsetError,
        "'w' has a shape whose size does not fit in 64 bits",
        id="a shape that overflows",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (0, 1 << 62), 0, 0)], DATA),
        OffsetError,
        "'w' has a shape whose size does not fit in 64 bits",
        id="a shape that overflows but for an empty axis",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (2,), 0, 8)], DATA),
        OffsetError,
        "byte 72: 'w' begins at data byte 8, which is no multiple of the alignment 32",
        id="an offset that is not aligned",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (2,), 0, 1 << 40)], DATA),
        TruncatedFileError,
        "byte 96: 'w' ends at byte 1099511627848, but the file has 96 bytes; it is cut "
        "short, get it again",
        id="an offset behind the end",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (8,), 0, (1 << 64) - 32)], DATA),
        TruncatedFileError,
        "byte 96: 'w' ends at byte 18446744073709551680, but the file has 96 bytes; it is "
        "cut short, get it again",
        id="an offset that wraps around",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (0,), 0, 1 << 40)], DATA),
        TruncatedFileError,
        "byte 96: 'w' ends at byte 1099511627840, but the file has 96 bytes; it is cut "
        "short, get it again",
        id="an empty tensor behind the end",
    ),
    pytest.param(
        gguf_raw([W, gguf_entry("x", (4,), 0, 0)], DATA),
        OffsetError,
        "byte 128: 'w' begins at data byte 0 and overlaps 'x', which ends at 16",
        id="two tensors on one place",
    ),
    pytest.param(
        gguf_raw([gguf_entry("w", (16,), 0, 0)], DATA),
        TruncatedFileError,
        "byte 64: 'w' ends at byte 128, but the file has 96 bytes; it is cut short, get it again",
        id="data that is cut",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".gguf") == (kind, text)
