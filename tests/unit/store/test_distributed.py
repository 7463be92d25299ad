"""Folders of torch.distributed.checkpoint: several ranks, replicated and sharded tensors."""

import numpy as np
import pytest

from ruda.errors import (
    ChecksumError,
    FileAccessError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsafeContentError,
    UnsupportedContentError,
)
from ruda.store import open_store
from ruda.testing import counted_reads
from ruda.testing.file_bytes import (
    BUILD,
    DICT,
    EMPTY_TUPLE,
    LIST,
    NEWOBJ,
    SETITEM,
    call,
    group,
    name,
    number,
    script,
    table,
    text,
    torch_storage,
    torch_tensor,
    torch_zip_raw,
)

WHOLE = np.arange(12, dtype="<f4").reshape(4, 3)
BIAS = np.arange(3, dtype="<i8")
METADATA = "torch.distributed.checkpoint.metadata"


def made(cls, state):
    return name(cls) + EMPTY_TUPLE + NEWOBJ + state + BUILD


def sizes(shape):
    return call("torch.Size", group(*(number(n) for n in shape)))


def part(array):
    """A checkpoint archive of one tensor, as each chunk is stored."""
    cls = "torch.FloatStorage" if array.dtype == "<f4" else "torch.LongStorage"
    tensor = torch_tensor(torch_storage("0", array.size, cls), array.shape)
    return torch_zip_raw(script(tensor), {"0": array.tobytes()})


def listed(dtype, shape, chunks):
    """The entry of one tensor; chunks are (start, shape)."""
    properties = made(f"{METADATA}.TensorProperties", group(name(f"torch.{dtype}"), number(0)))
    boxes = b"".join(
        made(f"{METADATA}.ChunkStorageMetadata", table({"offsets": sizes(a), "sizes": sizes(b)}))
        + b"a"
        for a, b in chunks
    )
    return made(
        f"{METADATA}.TensorStorageMetadata",
        table({"properties": properties, "size": sizes(shape), "chunks": LIST + boxes}),
    )


def metadata(tensors, places):
    """The metadata pickle; places are (key, start, file, offset, length)."""
    stored = DICT
    for key, start, file, offset, length in places:
        index = made(f"{METADATA}.MetadataIndex", table({"fqn": text(key), "offset": sizes(start)}))
        info = made(
            "torch.distributed.checkpoint.filesystem._StorageInfo",
            table(
                {"relative_path": text(file), "offset": number(offset), "length": number(length)}
            ),
        )
        stored += index + info + SETITEM
    fields = {"state_dict_metadata": table(tensors), "storage_data": stored}
    return script(made(f"{METADATA}.Metadata", table(fields)))


TOP, BOTTOM, ALONE = part(WHOLE[:3]), part(WHOLE[3:]), part(BIAS)
ZERO, ONE = "__0_0.distcp", "__1_0.distcp"
W = listed("float32", (4, 3), [((0, 0), (3, 3)), ((3, 0), (1, 3))])
B = listed("int64", (3,), [((0,), (3,))])
PLACES = [
    ("w", (0, 0), ZERO, 0, len(TOP)),
    ("b", (0,), ZERO, len(TOP), len(ALONE)),
    ("w", (3, 0), ONE, 0, len(BOTTOM)),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / ZERO).write_bytes(TOP + ALONE)
    (tmp_path / ONE).write_bytes(BOTTOM)
    (tmp_path / ".metadata").write_bytes(metadata({"w": W, "b": B}, PLACES))
    return tmp_path


@pytest.mark.parametrize("file", ["", ".metadata", ZERO, ONE], ids=["folder", "metadata", "0", "1"])
def test_any_part_opens_the_whole(folder, file):
    with open_store(folder / file) as index:
        assert list(index) == ["w", "b"]
        np.testing.assert_array_equal(index["w"].read(), WHOLE)
        np.testing.assert_array_equal(index["b"].read(), BIAS)
        assert index["w"].sha256() != index["b"].sha256()
        assert index.shards == (folder / ZERO, folder / ONE)
        assert index.extra == {"container": "distributed"}
    with pytest.raises(FileAccessError, match=r"closed"):
        index["w"].read()


def test_opening_reads_the_metadata_only(folder):
    with counted_reads() as counter, open_store(folder):
        assert counter.bytes == (folder / ".metadata").stat().st_size


def test_a_plain_value_is_noted(folder):
    plain = made(f"{METADATA}.BytesStorageMetadata", DICT)
    (folder / ".metadata").write_bytes(metadata({"b": B, "step": plain}, PLACES))
    with open_store(folder) as index:
        assert list(index) == ["b"]
        assert index.notes == ("step is a plain value, not a tensor; it is not read",)


HOLE = listed("float32", (4, 3), [((0, 0), (3, 3))])
OVERLAP = listed("float32", (2, 3), [((0, 0), (1, 3)), ((0, 0), (1, 3))])
OUTSIDE = listed("float32", (3, 3), [((1, 0), (3, 3))])
WRONG = [
    pytest.param({"w": HOLE}, PLACES, OffsetError, r"have 9 elements, its shape has 12", id="hole"),
    pytest.param({"w": OVERLAP}, PLACES, OffsetError, r"two chunks of 'w' overlap", id="overlap"),
    pytest.param(
        {"w": OUTSIDE},
        [("w", (1, 0), ZERO, 0, 9)],
        OffsetError,
        r"a chunk of 'w' lies outside its shape",
        id="outside",
    ),
    pytest.param({"w": W}, PLACES[:2], HeaderError, r"does not say where 'w'", id="no place"),
    pytest.param(
        {"b": B},
        [("b", (0,), ZERO, len(TOP), 1 << 40)],
        TruncatedFileError,
        r"'b' ends at byte \d+ of __0_0\.distcp",
        id="behind the end",
    ),
    pytest.param(
        {"b": B},
        [("b", (0,), "__9_0.distcp", 0, 9)],
        FileAccessError,
        r"names the file __9_0\.distcp, which is not beside it",
        id="a file that is not there",
    ),
    pytest.param(
        {"b": B},
        [("b", (0,), "../secret", 0, 9)],
        HeaderError,
        r"'\.\./secret', which is no file beside it",
        id="a file in the parent folder",
    ),
    *(
        pytest.param(
            {"b": B}, [("b", (0,), folder, 0, 9)], HeaderError, r"is no file beside it", id=folder
        )
        for folder in (".", "..")
    ),
    pytest.param(
        {"b": call("os.system", text("x"))},
        PLACES,
        UnsafeContentError,
        r"asks for os\.system",
        id="a payload",
    ),
    pytest.param({"b": number(1)}, PLACES, HeaderError, r"no TensorStorageMetadata", id="a number"),
]


@pytest.mark.parametrize(("tensors", "places", "error", "sentence"), WRONG)
def test_wrong_metadata_is_refused(folder, tensors, places, error, sentence):
    (folder / ".metadata").write_bytes(metadata(tensors, places))
    with pytest.raises(error, match=rf"\.metadata: .*{sentence}"):
        open_store(folder)


def test_data_that_were_packed_before_they_were_written_are_refused(folder):
    raw = (folder / ".metadata").read_bytes()
    length = text("length") + number(len(TOP))
    packed = text("transform_descriptors") + LIST + text("zstd") + b"a"
    assert raw.count(length) == 1
    (folder / ".metadata").write_bytes(raw.replace(length, length + packed))
    with pytest.raises(UnsupportedContentError, match=r"the data of 'w' went through \['zstd'\]"):
        open_store(folder)


def test_a_part_that_holds_something_else_is_refused(folder):
    (folder / ".metadata").write_bytes(metadata({"b": B}, [("b", (0,), ZERO, 0, len(TOP))]))
    with (
        open_store(folder) as index,
        pytest.raises(HeaderError, match=r"the part should hold i64 \[3\], and holds another"),
    ):
        index["b"].read()


def test_a_damaged_part_is_refused(folder):
    raw = bytearray(TOP)
    raw[TOP.index(WHOLE[:3].tobytes())] ^= 1
    (folder / ZERO).write_bytes(bytes(raw) + ALONE)
    with open_store(folder) as index, pytest.raises(ChecksumError, match=r"__0_0\.distcp"):
        index["w"].read()


def test_metadata_cut_at_any_byte_is_refused(folder):
    raw = (folder / ".metadata").read_bytes()
    for length in range(len(raw)):
        (folder / ".metadata").write_bytes(raw[:length])
        with pytest.raises((HeaderError, TruncatedFileError), match=r"\.metadata: "):
            open_store(folder)


@pytest.mark.cases
def test_two_ranks_of_torch_are_read(cases):
    with open_store(cases / "zoo" / "sharded" / "dcp_two_ranks") as index:
        assert index["model.fc1.weight"].read().shape == (10, 4)
