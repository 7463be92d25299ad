"""HDF5 files that are damaged, lie or point elsewhere, and the sentence that each gets."""

import struct
import zlib

import pytest

from ruda.errors import (
    ChecksumError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.testing.foreign_bytes import (
    H5_F32,
    H5_SLOT,
    h5_chunked,
    h5_link,
    h5_message,
    h5_plain,
    h5_raw,
    h5_shape,
)

DATA = 3 * H5_SLOT
BOMB = zlib.compress(bytes(1 << 20))
F32 = h5_message(3, H5_F32)
ROOT = [h5_link(b"w", 2)]
GOOD = h5_raw(ROOT, [h5_shape(4), F32, h5_plain(DATA, 16)], data=bytes(16))


def dataset(*messages, data=bytes(16)):
    """A file whose only dataset has these messages."""
    return h5_raw(ROOT, messages, data=data)


def change(raw, at, new):
    """The bytes with some replaced."""
    return raw[:at] + new + raw[at + len(new) :]


def packed(number, *values):
    """A message of one filter."""
    head = struct.pack("<BB6xHHHH", 1, 1, number, 0, 0, len(values))
    return h5_message(11, head + struct.pack(f"<{len(values)}I", *values))


def tree(kind, level, *entries):
    """A node of a tree; an entry is a key and an address."""
    head = b"TREE" + struct.pack("<BBHQQ", kind, level, len(entries), 0, 0)
    return head + b"".join(key + struct.pack("<Q", address) for key, address in entries)


def in_chunks(*entries, steps=(), level=0, more=b""):
    """A file whose only dataset has chunks of 4 values, listed so."""
    messages = [h5_shape(4), F32, h5_chunked(DATA, 4), *steps]
    return dataset(*messages, data=tree(1, level, *entries) + more)


def chunk(size, place=0, mask=0):
    """The key of a chunk."""
    return struct.pack("<IIQQ", size, mask, place, 0)


CASES = [
    pytest.param(
        GOOD[:-1],
        TruncatedFileError,
        "byte 3087: the file should have 3088 bytes, but has 3087; it is cut short, get it again",
        id="cut by one byte",
    ),
    pytest.param(
        GOOD[:96],
        TruncatedFileError,
        "byte 96: the file should have 3088 bytes, but has 96; it is cut short, get it again",
        id="cut behind the superblock",
    ),
    pytest.param(
        GOOD[:8],
        HeaderError,
        "byte 8: the superblock needs 1 bytes where 0 are left",
        id="only the signature",
    ),
    pytest.param(
        change(GOOD, 8, b"\x09"),
        UnsupportedContentError,
        "byte 8: the superblock has version 9, and Ruda reads 0 to 3",
        id="version 9",
    ),
    pytest.param(
        change(GOOD, 13, b"\x03"),
        HeaderError,
        "byte 13: the superblock has addresses of 3 bytes and lengths of 8",
        id="addresses of 3 bytes",
    ),
    pytest.param(
        change(GOOD, 24, struct.pack("<Q", 512)),
        HeaderError,
        "byte 0: the superblock stands at byte 0 and says 512; something was put before it",
        id="something before it",
    ),
    pytest.param(
        h5_raw(ROOT, [], root=1 << 40),
        TruncatedFileError,
        "byte 3072: an object header lies at byte 1125899906842624 to 1125899906842628, "
        "but the file has 3072 bytes; it is damaged or cut short",
        id="the root behind the end",
    ),
    pytest.param(
        h5_raw(ROOT, [], root=0),
        HeaderError,
        "byte 0: an object header has version 137, expected 1",
        id="the root where no object is",
    ),
    pytest.param(
        change(GOOD, H5_SLOT + 8, struct.pack("<I", 1 << 31)),
        HeaderError,
        "byte 1040: an object header has 2147483648 bytes",
        id="a header of 2^31 bytes",
    ),
    pytest.param(
        change(GOOD, H5_SLOT + 18, b"\xff\xff"),
        HeaderError,
        "byte 1048: an object header needs 65535 bytes where 16 are left",
        id="a message that is longer than its header",
    ),
    pytest.param(
        h5_raw([h5_message(16, struct.pack("<QQ", H5_SLOT, 64))]),
        HeaderError,
        "byte 1048: an object header continues in itself",
        id="a header that continues in itself",
    ),
    pytest.param(
        h5_raw([h5_message(16, struct.pack("<QQ", 1 << 40, 64))]),
        TruncatedFileError,
        "byte 2048: an object header lies at byte 1099511627776 to 1099511627840, but the "
        "file has 2048 bytes; it is damaged or cut short",
        id="a header that continues behind the end",
    ),
    pytest.param(
        h5_raw([h5_link(b"w", 1 << 40)]),
        TruncatedFileError,
        "byte 2048: an object header lies at byte 1125899906842624 to 1125899906842628, "
        "but the file has 2048 bytes; it is damaged or cut short",
        id="a member that points behind the end",
    ),
    pytest.param(
        h5_raw([*ROOT, *ROOT], []),
        HeaderError,
        "a group has two members called b'w'",
        id="one member twice",
    ),
    pytest.param(
        h5_raw([h5_message(6, bytes(16))]),
        HeaderError,
        "byte 1048: a link has version 0, expected 1",
        id="a link of another version",
    ),
    pytest.param(
        h5_raw(*([h5_link(b"g", n)] for n in range(2, 202)), [h5_link(b"g", 1)]),
        UnsupportedContentError,
        "groups are nested deeper than 128 levels, at "
        "'g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/g/'",
        id="groups 200 deep",
    ),
    pytest.param(
        dataset(F32, h5_plain(DATA, 16)),
        HeaderError,
        "byte 2104: 'w' has no shape",
        id="no shape",
    ),
    pytest.param(
        dataset(h5_shape(4), h5_plain(DATA, 16)),
        HeaderError,
        "byte 2096: 'w' has no datatype",
        id="no datatype",
    ),
    pytest.param(
        dataset(h5_shape(4), h5_message(3, bytes([0x1C]) + bytes(15)), h5_plain(DATA, 16)),
        HeaderError,
        "byte 2096: a datatype has class 12 and version 1, which there is not",
        id="a datatype of no class",
    ),
    pytest.param(
        dataset(h5_shape(4), h5_message(3, H5_F32, flags=2), h5_plain(DATA, 16)),
        UnsupportedContentError,
        "byte 2096: a shared message is shared in way 32 of version 17, which Ruda does not read",
        id="a datatype that is shared in no known way",
    ),
    pytest.param(
        dataset(h5_shape(*[1] * 60), F32, h5_plain(DATA, 4)),
        UnsupportedContentError,
        "byte 2072: a shape has version 1 and 60 axes, and Ruda reads versions 1 and 2 of up to 32",
        id="60 axes",
    ),
    pytest.param(
        dataset(h5_shape(1 << 40, 1 << 40), F32, h5_plain(DATA, 16)),
        OffsetError,
        "'w' has a shape whose size does not fit in 64 bits",
        id="a shape that overflows",
    ),
    pytest.param(
        dataset(h5_shape(1 << 40), F32, h5_plain(DATA, 16)),
        OffsetError,
        "byte 3072: 'w' has 16 bytes, but f32 [1099511627776] needs 4398046511104",
        id="a shape of 2^40 values",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_plain(1 << 40, 16)),
        TruncatedFileError,
        "byte 3088: 'w' ends at byte 1099511627792, but the file has 3088 bytes; it is cut "
        "short, get it again",
        id="values behind the end",
    ),
    pytest.param(
        dataset(h5_shape(1 << 40), F32, h5_plain((1 << 64) - 1, 0)),
        UnsupportedContentError,
        "'w' would fill 4398046511104 bytes out of a file of 3088, more than packing explains",
        id="2^40 values that nobody wrote",
    ),
    pytest.param(
        h5_raw(
            [h5_link(b"v", 2), h5_link(b"w", 3)],
            *[[h5_shape(4), F32, h5_plain(4 * H5_SLOT, 16)]] * 2,
            data=bytes(16),
        ),
        OffsetError,
        "byte 4096: 'w' begins here and overlaps 'v', which ends at 4112",
        id="two datasets on one place",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_message(7, bytes(16)), h5_plain(DATA, 16)),
        UnsupportedContentError,
        "byte 2128: 'w' has its values in another file; no other file is opened",
        id="values in another file",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_message(8, bytes([4, 3]) + bytes(14))),
        UnsupportedContentError,
        "byte 2128: 'w' is a virtual dataset, whose values lie in other files; no other "
        "file is opened",
        id="a virtual dataset",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_message(8, bytes([1, 1]) + bytes(22))),
        OffsetError,
        "byte 2144: 'w' has 0 bytes, but f32 [4] needs 16",
        id="a layout of version 1 without values",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_message(8, bytes([6, 1]) + bytes(22))),
        UnsupportedContentError,
        "byte 2128: 'w' has a layout of version 6, and Ruda reads 1 to 5",
        id="a layout of version 6",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_message(8, bytes([3, 9]) + bytes(14))),
        HeaderError,
        "byte 2128: 'w' has a layout of class 9",
        id="a layout of no class",
    ),
    pytest.param(
        dataset(
            h5_shape(4),
            F32,
            h5_message(5, struct.pack("<BBBBI", 2, 0, 0, 1, 8) + bytes(8)),
            h5_plain(DATA, 16),
        ),
        HeaderError,
        "'w' has a fill value of 8 bytes, not 4",
        id="a fill value of another size",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_chunked(DATA, 2, 2)),
        HeaderError,
        "byte 2128: 'w' has chunks of the shape [2, 2] for 1 axes",
        id="chunks of another rank",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_chunked(DATA, 0)),
        HeaderError,
        "byte 2128: 'w' has chunks of the shape [0] for 1 axes",
        id="chunks of nothing",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_chunked(DATA, 1 << 31)),
        UnsupportedContentError,
        "'w' would fill 8589934592 bytes out of a file of 3088, more than packing explains",
        id="chunks of 2^31 values",
    ),
    pytest.param(
        in_chunks(steps=[packed(32001)]),
        UnsupportedContentError,
        "byte 2160: 'w' went through the filter 32001 (blosc), which Ruda does not read",
        id="a filter that needs a plug-in",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_chunked(DATA, 4), data=tree(0, 0)),
        HeaderError,
        "byte 3072: a node of a tree has type 0 and level 0, expected 1 and 0",
        id="a tree of another kind",
    ),
    pytest.param(
        dataset(h5_shape(4), F32, h5_chunked(DATA, 4), data=bytes(64)),
        HeaderError,
        "byte 3072: a node of a tree begins with b'\\x00\\x00\\x00\\x00', expected b'TREE'",
        id="no tree",
    ),
    pytest.param(
        in_chunks((chunk(16), DATA), level=1),
        HeaderError,
        "byte 3072: a tree leads to one of its nodes twice",
        id="a tree that contains itself",
    ),
    pytest.param(
        in_chunks((chunk(16), DATA), (chunk(16), DATA)),
        HeaderError,
        "'w' has two chunks at [0]",
        id="one chunk twice",
    ),
    pytest.param(
        in_chunks((chunk(16), 1 << 40)),
        TruncatedFileError,
        "byte 3128: a chunk of 'w' lies at byte 1099511627776 to 1099511627792, but the "
        "file has 3128 bytes; it is damaged or cut short",
        id="a chunk behind the end",
    ),
    pytest.param(
        in_chunks((chunk(1 << 31), DATA)),
        TruncatedFileError,
        "byte 3072: a chunk of 'w' lies at byte 3072 to 2147486720, but the file has 3128 "
        "bytes; it is damaged or cut short",
        id="a chunk of 2^31 bytes",
    ),
    pytest.param(
        in_chunks((chunk(15), DATA)),
        HeaderError,
        "byte 3072: a chunk of 'w' has 15 bytes, expected 16",
        id="a chunk that is too short",
    ),
    pytest.param(
        in_chunks((chunk(16), DATA), steps=[packed(1, 6)]),
        ChecksumError,
        "byte 3072: a chunk of 'w' cannot be inflated: Error -3 while decompressing data: "
        "incorrect header check",
        id="a chunk that does not inflate",
    ),
    pytest.param(
        in_chunks((chunk(len(BOMB)), DATA + 56), steps=[packed(1, 6)], more=BOMB),
        ChecksumError,
        "byte 3128: a chunk of 'w' inflates to 21 bytes and more, or ends early",
        id="a chunk that inflates to more",
    ),
    pytest.param(
        in_chunks((chunk(20), DATA), steps=[packed(3)]),
        ChecksumError,
        "byte 3072: a chunk of 'w' is damaged: its checksum differs",
        id="a chunk of another checksum",
    ),
    pytest.param(
        in_chunks((chunk(16), DATA), steps=[packed(2, 0)]),
        HeaderError,
        "byte 3072: a chunk of 'w' was shuffled in pieces of 0 bytes",
        id="a chunk shuffled in pieces of nothing",
    ),
    pytest.param(
        in_chunks((chunk(4), DATA + 56), steps=[packed(32000, 4, 261, 16)], more=b"\xff" * 8),
        HeaderError,
        "a chunk packed by LZF refers to bytes before its start",
        id="a chunk packed by LZF that refers before its start",
    ),
    pytest.param(
        h5_raw([h5_message(12, struct.pack("<BBHHH", 1, 0, 0xFFFF, 8, 8))]),
        HeaderError,
        "byte 1056: an attribute needs 65535 bytes where 0 are left",
        id="an attribute that is longer than its message",
    ),
]


@pytest.mark.parametrize(("raw", "kind", "text"), CASES)
def test_it_is_refused(raw, kind, text, refused):
    assert refused(raw, ".h5") == (kind, text)
