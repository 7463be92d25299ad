"""Zip archives that are damaged or made to deceive, and the sentence that each gets."""

import struct

import pytest

from ruda.errors import (
    ChecksumError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnknownFormatError,
    UnsupportedContentError,
)
from ruda.testing.file_bytes import script, table, torch_storage, torch_tensor, torch_zip_raw

STATE = script(table({"w": torch_tensor(torch_storage("0", 4), (2, 2))}))
GOOD = torch_zip_raw(STATE, {"0": bytes(range(16))})
DEFLATED = torch_zip_raw(STATE, {"0": bytes(16)}, deflate=True)
END = len(GOOD) - 22


def change(raw, at, new):
    """The bytes with some replaced."""
    return raw[:at] + new + raw[at + len(new) :]


def entry(raw, name, field, new):
    """The archive with a field of one member's line in the directory replaced."""
    end = len(raw) - 22
    at = struct.unpack_from("<I", raw, end + 16)[0]
    while raw[at + 46 : at + 46 + len(name)] != name:
        at += 46 + sum(struct.unpack_from("<HHH", raw, at + 28))
    return change(raw, at + field, new)


def twice(name):
    """An archive with one member name twice, the second hidden behind another case."""
    raw = torch_zip_raw(STATE, {"0": bytes(16)}, more={"archive/data/x": bytes(16)})
    return raw.replace(b"archive/data/x", name)


CASES = [
    pytest.param(
        GOOD[: len(GOOD) // 2],
        TruncatedFileError,
        "byte 198: the archive has no directory at its end; the file is cut short, get it again",
        id="cut in the middle",
    ),
    pytest.param(
        GOOD[:-1],
        TruncatedFileError,
        "byte 396: the archive has no directory at its end; the file is cut short, get it again",
        id="cut by one byte",
    ),
    pytest.param(
        GOOD[:4],
        TruncatedFileError,
        "byte 4: the archive has no directory at its end; the file is cut short, get it again",
        id="only the first four bytes",
    ),
    pytest.param(
        b"junk" + GOOD,
        HeaderError,
        "byte 5: the pickle is damaged: memo slot 1349217909 is read before it is written",
        id="junk before",
    ),
    pytest.param(
        GOOD + b"junk",
        TruncatedFileError,
        "byte 401: the archive has no directory at its end; the file is cut short, get it again",
        id="junk behind",
    ),
    pytest.param(
        torch_zip_raw(STATE, folder="x").replace(b"data.pkl", b"data.pkx"),
        UnknownFormatError,
        "is a zip archive without data.pkl, so no PyTorch checkpoint; it holds xdata.pkx",
        id="no data.pkl",
    ),
    pytest.param(
        torch_zip_raw(STATE, {"0": bytes(16)}, more={"other/data.pkl": STATE}),
        HeaderError,
        "the archive holds several checkpoints: archive/data.pkl, other/data.pkl",
        id="two checkpoints",
    ),
    pytest.param(
        twice(b"archive/data/0"),
        HeaderError,
        "byte 313: the archive has 'archive/data/0' twice",
        id="one member twice",
    ),
    pytest.param(
        twice(b"archive/../../"),
        HeaderError,
        "byte 481: the archive has a member called 'archive/../../', which points outside it",
        id="member in the parent folder",
    ),
    pytest.param(
        twice(b"/archive/data/"),
        HeaderError,
        "byte 481: the archive has a member called '/archive/data/', which points outside it",
        id="member at an absolute path",
    ),
    pytest.param(
        twice(b"C:chive/data/x"),
        HeaderError,
        "byte 481: the archive has a member called 'C:chive/data/x', which points outside it",
        id="member on a drive",
    ),
    pytest.param(
        twice(b"archive\\data\\x"),
        HeaderError,
        "byte 481: the archive has a member called 'archive\\\\data\\\\x', which points outside it",
        id="member with backslashes",
    ),
    pytest.param(
        torch_zip_raw(STATE),
        HeaderError,
        "the pickle uses storage '0', which is not in the archive",
        id="storage missing",
    ),
    pytest.param(
        torch_zip_raw(STATE, {"0": bytes(15)}),
        OffsetError,
        "byte 237: storage '0' should have 16 bytes, but archive/data/0 has 15",
        id="storage too short",
    ),
    pytest.param(
        change(GOOD, GOOD.index(bytes(range(16))), b"\x01"),
        ChecksumError,
        "byte 237: archive/data/0 is damaged: its checksum is 60a67319, the archive "
        "says cecee288; get the file again",
        id="a bit of a storage flipped",
    ),
    pytest.param(
        change(GOOD, GOOD.index(b"torch"), b"tO"),
        ChecksumError,
        "byte 46: archive/data.pkl is damaged: its checksum is 7d6a9c40, the archive "
        "says f94c0012; get the file again",
        id="a bit of the pickle flipped",
    ),
    pytest.param(
        change(GOOD, END + 16, struct.pack("<I", 0)),
        OffsetError,
        "byte 375: the directory should lie at 0 to 122, but its end is at 375",
        id="directory before its place",
    ),
    pytest.param(
        change(GOOD, END + 16, struct.pack("<I", 1 << 31)),
        OffsetError,
        "byte 375: the directory should lie at 2147483648 to 2147483770, but its end is at 375",
        id="directory behind the end",
    ),
    pytest.param(
        change(GOOD, END + 12, struct.pack("<I", 1)),
        OffsetError,
        "byte 375: the directory should lie at 253 to 254, but its end is at 375",
        id="directory of another size",
    ),
    pytest.param(
        change(GOOD, END + 8, struct.pack("<HH", 60000, 60000)),
        HeaderError,
        "byte 375: the directory of 122 bytes claims 60000 members",
        id="more members than fit",
    ),
    pytest.param(
        change(GOOD, END + 8, struct.pack("<HH", 1, 1)),
        HeaderError,
        "byte 315: the directory has more bytes than members",
        id="fewer members than there are",
    ),
    pytest.param(
        change(GOOD, END + 4, struct.pack("<HH", 1, 1)),
        UnsupportedContentError,
        "byte 375: the archive is split over several files",
        id="split over two disks",
    ),
    pytest.param(
        change(GOOD, END + 16, b"\xff" * 4),
        HeaderError,
        "byte 355: the zip64 locator is damaged",
        id="zip64 without a locator",
    ),
    pytest.param(
        entry(GOOD, b"archive/data.pkl", 8, b"\x01\0"),
        UnsupportedContentError,
        "byte 253: archive/data.pkl is encrypted",
        id="encrypted",
    ),
    pytest.param(
        entry(GOOD, b"archive/data.pkl", 10, b"\x0c\0"),
        UnsupportedContentError,
        "byte 253: archive/data.pkl is compressed by method 12; Ruda reads stored and "
        "deflated members",
        id="compressed by bzip2",
    ),
    pytest.param(
        entry(GOOD, b"archive/data/0", 24, struct.pack("<I", 17)),
        HeaderError,
        "byte 315: archive/data/0 is stored, but has 16 bytes for 17",
        id="stored with two sizes",
    ),
    pytest.param(
        entry(GOOD, b"archive/data/0", 24, b"\xff" * 4),
        HeaderError,
        "byte 375: a member of 4 GiB or more has no zip64 sizes",
        id="sizes without zip64",
    ),
    pytest.param(
        change(GOOD, 22, struct.pack("<I", 5)),
        HeaderError,
        "byte 0: archive/data.pkl is described differently in the directory and at its data",
        id="another size at the data",
    ),
    pytest.param(
        change(GOOD, 30, b"X"),
        HeaderError,
        "byte 0: archive/data.pkl is described differently in the directory and at its data",
        id="another name at the data",
    ),
    pytest.param(
        change(GOOD, 8, b"\x08\0"),
        HeaderError,
        "byte 0: archive/data.pkl is described differently in the directory and at its data",
        id="another method at the data",
    ),
    pytest.param(
        entry(GOOD, b"archive/data/0", 42, struct.pack("<I", END)),
        OffsetError,
        "byte 375: archive/data/0 begins at byte 375, behind the directory at 253",
        id="member behind the directory",
    ),
    pytest.param(
        entry(GOOD, b"archive/data/0", 42, struct.pack("<I", 60)),
        OffsetError,
        "byte 60: archive/data/0 overlaps archive/data.pkl",
        id="member where none begins",
    ),
    pytest.param(
        entry(GOOD, b"archive/data/0", 42, struct.pack("<I", 0)),
        OffsetError,
        "byte 0: archive/data/0 overlaps archive/data.pkl",
        id="two members on one place",
    ),
    pytest.param(
        entry(DEFLATED, b"archive/data/0", 24, struct.pack("<I", 1 << 30)),
        HeaderError,
        "byte 283: archive/data/0 claims to inflate from 5 to 1073741824 bytes, more "
        "than deflate can",
        id="a bomb by its numbers",
    ),
    pytest.param(
        entry(
            change(DEFLATED, 22, struct.pack("<I", 20)),
            b"archive/data.pkl",
            24,
            struct.pack("<I", 20),
        ),
        ChecksumError,
        "byte 46: archive/data.pkl inflates to more than the 20 bytes that it states",
        id="inflates to more",
    ),
    pytest.param(
        entry(
            change(DEFLATED, 22, struct.pack("<I", 2000)),
            b"archive/data.pkl",
            24,
            struct.pack("<I", 2000),
        ),
        ChecksumError,
        "byte 46: archive/data.pkl inflates to 147 of the 2000 bytes that it states",
        id="inflates to less",
    ),
    pytest.param(
        change(DEFLATED, DEFLATED.index(b"data.pkl") + 8, b"\xff\xff"),
        ChecksumError,
        "byte 46: archive/data.pkl cannot be inflated: Error -3 while decompressing "
        "data: invalid block type",
        id="not deflate",
    ),
    pytest.param(
        torch_zip_raw(STATE, {"0": bytes(16)}, more={"archive/byteorder": b"middle"}),
        HeaderError,
        "the archive says its byte order is 'middle'",
        id="byte order of no kind",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".pt") == (kind, text)
