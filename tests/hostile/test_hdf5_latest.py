"""Lists, heaps and trees of new HDF5 files that are damaged or lie, with checksums that fit."""

import io
import struct
import zipfile

import h5py  # noqa: TID253 - tests have every extra
import numpy as np
import pytest

from ruda.errors import ChecksumError, HeaderError, RudaError, UnsupportedContentError
from ruda.store import open_store
from ruda.store.formats._hdf5_sums import lookup3
from ruda.testing.formats import read_all

NONE = 2**64 - 1


def latest(**options):
    """A file with one dataset that has the given chunks."""
    out = io.BytesIO()
    with h5py.File(out, "w", libver="latest") as file:
        file.create_dataset("w", **options)
    return out.getvalue()


LINE = np.arange(600, dtype="f4")
EXTENSIBLE = latest(data=LINE, chunks=(2,), maxshape=(None,))
PAGED = latest(data=np.arange(9000, dtype="f4"), chunks=(1,), maxshape=(None,))
FIXED = latest(data=LINE, chunks=(2,))
TREE = latest(data=LINE.reshape(60, 10), chunks=(2, 1), maxshape=(None, None))
PACKED_TREE = latest(data=LINE.reshape(60, 10), chunks=(2, 1), maxshape=(None, None), compression=1)


def many(write):
    out = io.BytesIO()
    with h5py.File(out, "w", libver="latest") as file:
        write(file)
    return out.getvalue()


def attributes(file):
    for number in range(30):
        file.attrs[f"a{number:02}"] = number


def members(file):
    for number in range(30):
        file[f"member {number:02}" + "n" * 600] = np.float32(number)


def large(file):
    attributes(file)
    file.attrs.create("config", np.bytes_(b"z" * 70_000))


ATTRIBUTES, MEMBERS, LARGE = many(attributes), many(members), many(large)


def changed(raw, signature, size, *edits, seal=True):
    """The bytes with edits in the first block of this signature and size, its checksum mended."""
    at = raw.index(signature)
    block = bytearray(raw[at : at + size])
    for place, new in edits:
        block[place : place + len(new)] = new
    total = struct.pack("<I", lookup3(bytes(block))) if seal else raw[at + size : at + size + 4]
    return raw[:at] + bytes(block) + total + raw[at + size + 4 :]


def index_block(raw):
    """Size of the index block of an extensible array of h5py's settings, without checksum."""
    first, pointers, least, bits = 4, 4, 16, 32
    tables = 2 * (pointers - 1) + (1 + bits - 4) - 4
    assert raw[raw.index(b"EAHD") + 7 :][:5] == bytes([bits, first, least, pointers, 10])
    return 14 + first * 8 + tables * 8


INDEX = index_block(EXTENSIBLE)
HEADER, FIXED_HEADER, TREE_HEADER, HEAP = 68, 24, 34, 142
WORD = struct.pack("<Q", 1 << 40)
FIRST_BLOCK = 14 + 4 * 8

CASES = [
    pytest.param(
        changed(EXTENSIBLE, b"EAHD", HEADER, (6, b"\x09"), seal=False), ChecksumError,
        "a list of chunks is damaged: its checksum is", id="a header that was not sealed",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAHD", HEADER, (5, b"\x02")), HeaderError,
        "a list of chunks has entries of 8 bytes of kind 2", id="entries of no kind",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAHD", HEADER, (6, b"\x00")), HeaderError,
        "a list of chunks has entries of 0 bytes of kind 0", id="entries of no bytes",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAHD", HEADER, (9, b"\x03")), HeaderError,
        "a list of chunks has blocks of 3 entries and more", id="blocks of no power of two",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAHD", HEADER, (7, b"\xff")), HeaderError,
        "a list of chunks has blocks of 16 entries and more", id="numbers of 255 bits",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAHD", HEADER, (7, b"\x01")), HeaderError,
        "a list of chunks has fewer levels than its index", id="fewer levels",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAHD", HEADER, (8, b"\xff")), ChecksumError,
        "a list of chunks is damaged: its checksum is", id="an index of another size",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAHD", HEADER, (60, WORD)), RudaError,
        "a list of chunks lies at byte 1099511627776", id="an index behind the end",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAIB", INDEX, (6, bytes(8))), HeaderError,
        "a list of chunks has a block of another list", id="an index of another list",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAIB", INDEX, (FIRST_BLOCK, WORD)), RudaError,
        "a list of chunks lies at byte 1099511627776", id="a block behind the end",
    ),
    pytest.param(
        changed(EXTENSIBLE, b"EAIB", INDEX, (FIRST_BLOCK, bytes(8))), ChecksumError,
        "a list of chunks is damaged", id="a block where none is",
    ),
    pytest.param(
        changed(PAGED, b"EAHD", HEADER, (11, b"\x04")), RudaError,
        "a list of chunks", id="pages where nothing says which are there",
    ),
    pytest.param(
        changed(FIXED, b"FAHD", FIXED_HEADER, (8, WORD)), HeaderError,
        "a list of chunks claims 1099511627776 entries", id="a fixed list of 2^40",
    ),
    pytest.param(
        changed(FIXED, b"FAHD", FIXED_HEADER, (7, b"\xff")), HeaderError,
        "a list of chunks claims 300 entries", id="pages of 2^255",
    ),
    pytest.param(
        changed(FIXED, b"FAHD", FIXED_HEADER, (16, WORD)), RudaError,
        "a list of chunks lies at byte 1099511627776", id="a fixed list behind the end",
    ),
    pytest.param(
        changed(TREE, b"BTHD", TREE_HEADER, (5, b"\x05")), HeaderError,
        "a list of chunks has records of type 5", id="a tree of names",
    ),
    pytest.param(
        changed(TREE, b"BTHD", TREE_HEADER, (10, b"\x09\x00")), HeaderError,
        "a list of chunks has records of 9 bytes", id="records of 9 bytes",
    ),
    pytest.param(
        changed(TREE, b"BTHD", TREE_HEADER, (12, b"\xff\xff")), HeaderError,
        "a list of chunks has 65535 levels of nodes of 2048 bytes", id="a tree of 65535 levels",
    ),
    pytest.param(
        changed(TREE, b"BTHD", TREE_HEADER, (6, bytes(4))), HeaderError,
        "a list of chunks has 1 levels of nodes of 0 bytes", id="nodes of no bytes",
    ),
    pytest.param(
        changed(PACKED_TREE, b"BTHD", TREE_HEADER, (10, b"\x14\x00")), HeaderError,
        "a list of chunks has records of 20 bytes", id="packed records without room for a size",
    ),
    pytest.param(
        changed(ATTRIBUTES, b"FRHP", HEAP, (7, b"\x01\x00")), UnsupportedContentError,
        "a heap of attributes is packed, which Ruda does not read", id="a packed heap",
    ),
    pytest.param(
        changed(ATTRIBUTES, b"FRHP", HEAP, (110, b"\x03\x00")), HeaderError,
        "a heap of attributes has rows of 3 blocks", id="rows of 3 blocks",
    ),
    pytest.param(
        changed(ATTRIBUTES, b"FRHP", HEAP, (132, WORD)), RudaError,
        "a heap of attributes lies at byte 1099511627776", id="a heap behind the end",
    ),
    pytest.param(
        changed(ATTRIBUTES, b"FRHP", HEAP, (132, struct.pack("<Q", NONE))), HeaderError,
        "a heap of attributes has an object at", id="a heap without blocks",
    ),
    pytest.param(
        changed(ATTRIBUTES, b"FRHP", HEAP, (112, b"\x00" * 8)), HeaderError,
        "a heap of attributes has rows of 4 blocks of 0 to", id="blocks of no bytes",
    ),
    pytest.param(
        changed(MEMBERS, b"FHDB", 40, (20, b"\xff")), ChecksumError,
        "a heap of links is damaged", id="a block of names that was changed",
    ),
    pytest.param(
        changed(LARGE, b"FRHP", HEAP, (22, struct.pack("<Q", NONE))), HeaderError,
        "a heap of attributes has no large object", id="a large object that nobody lists",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "kind", "said"), CASES)
def test_it_is_refused(tmp_path, raw, kind, said):
    path = tmp_path / "file.h5"
    path.write_bytes(raw)
    with pytest.raises(kind, match=said):
        read_all(path)


def test_blocks_that_are_one_block_are_not_read_for_ever(tmp_path):
    at = PAGED.index(b"EAIB") + FIRST_BLOCK
    same = PAGED[at : at + 8] * 6
    path = tmp_path / "file.h5"
    path.write_bytes(changed(PAGED, b"EAIB", INDEX, (FIRST_BLOCK, same)))
    with pytest.raises(RudaError, match="a list of chunks"):
        read_all(path)


@pytest.mark.parametrize(
    "raw", [EXTENSIBLE, FIXED, TREE, ATTRIBUTES, LARGE], ids=["ea", "fa", "tree", "attrs", "large"]
)
def test_a_cut_file_is_refused_wherever_it_was_cut(tmp_path, raw):
    path = tmp_path / "file.h5"
    for size in range(0, len(raw), max(1, len(raw) // 97)):
        path.write_bytes(raw[:size])
        with pytest.raises(RudaError, match=r"file\.h5"):
            read_all(path)


@pytest.mark.parametrize("raw", [EXTENSIBLE, FIXED, TREE], ids=["ea", "fa", "tree"])
def test_no_changed_byte_of_a_list_gives_other_values(tmp_path, raw):
    """Every byte of the headers, blocks and nodes that list the chunks is under a checksum."""
    path = tmp_path / "file.h5"
    for signature, size in ((b"EAHD", 72), (b"EAIB", INDEX + 4), (b"FAHD", 28), (b"BTHD", 38)):
        at = raw.find(signature)
        for place in range(at, at + size if at >= 0 else at):
            path.write_bytes(raw[:place] + bytes([raw[place] ^ 0x10]) + raw[place + 1 :])
            with pytest.raises(RudaError, match="a list of chunks"):
                read_all(path)


def test_a_datatype_that_leads_back_to_itself(tmp_path):
    def write(file):
        file["type"] = np.dtype("f4")
        file.create_dataset("w", shape=(2,), dtype=file["type"])[...] = 1

    raw = many(write)
    path = tmp_path / "file.h5"
    path.write_bytes(raw)
    with h5py.File(path) as file:
        dataset = h5py.h5o.get_info(file["w"].id).addr
        named = h5py.h5o.get_info(file["type"].id).addr
    # The dataset's message says where the datatype is; let it say: at the dataset.
    place = raw.index(b"\x02\x02" + struct.pack("<Q", named), dataset) + 2
    start = raw.rindex(b"OHDR", 0, place)
    assert start == dataset
    flags = raw[start + 5]
    width = 1 << (flags & 3)
    head = 6 + (16 if flags & 0x20 else 0)
    size = int.from_bytes(raw[start + head : start + head + width], "little")
    edit = (place - start, struct.pack("<Q", dataset))
    rest = changed(raw[start:], b"OHDR", head + width + size, edit)
    path.write_bytes(raw[:start] + rest)
    with pytest.raises(HeaderError, match="a shared message is shared twice over"):
        open_store(path)


KERAS = [
    pytest.param(b"", "the superblock|has no HDF5 signature", id="empty"),
    pytest.param(b"\x89HDF\r\n\x1a\n", "the superblock needs 1 bytes", id="only the signature"),
    pytest.param(EXTENSIBLE[:-1], "it is cut short", id="cut by one byte"),
    pytest.param(b"\x80\x02}.", "has no HDF5 signature", id="a pickle"),
]


@pytest.mark.parametrize(("weights", "said"), KERAS)
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_with_broken_weights(tmp_path, weights, said, method):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("metadata.json", "[" * 100_000)
        archive.writestr("model.weights.h5", weights)
        archive.writestr("after", EXTENSIBLE)  # what lies behind is not of the weights
    with pytest.raises(RudaError, match=said):
        read_all(path)
