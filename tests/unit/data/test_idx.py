"""IDX files: what is read, what is refused and how it is said; MNIST's folder layout."""

from __future__ import annotations

import gzip
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruda.data import Feature, FeatureKind, IdxDataset, read_idx, write_idx
from ruda.errors import (
    ChecksumError,
    DatasetError,
    FileAccessError,
    FormatError,
    HeaderError,
    OffsetError,
    SettingError,
    TruncatedFileError,
)
from ruda.progress import Cancelled, Progress
from ruda.tensor import DType

IMAGES = np.arange(4 * 3 * 2, dtype=np.uint8).reshape(4, 3, 2)
LABELS = np.array([2, 0, 1, 2], dtype=np.uint8)
GOOD = bytes([0, 0, 8, 2]) + struct.pack(">II", 2, 3) + bytes(range(6))


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["a-idx", "a-idx.gz"])
@pytest.mark.parametrize("dtype", ["u1", "i1", "<i2", "<i4", "<f4", "<f8", ">i2"])
def test_write_then_read(tmp_path: Path, name: str, dtype: str) -> None:
    array = np.arange(-3, 3).astype(dtype).reshape(3, 2)
    write_idx(tmp_path / name, array)
    found = read_idx(tmp_path / name)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == np.dtype(dtype).newbyteorder("=")
    assert not found.flags.writeable


def test_the_bytes_of_a_small_file(tmp_path: Path) -> None:
    write_idx(tmp_path / "a", np.array([[1, -2]], dtype=np.int16))
    expected = b"\0\0\x0b\x02\0\0\0\x01\0\0\0\x02\0\x01\xff\xfe"
    assert (tmp_path / "a").read_bytes() == expected


def test_equal_arrays_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        write_idx(tmp_path / name, IMAGES)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("array", [np.zeros(2, np.uint64), np.zeros((), np.uint8)])
def test_what_the_format_does_not_have(tmp_path: Path, array: np.ndarray[Any, Any]) -> None:
    with pytest.raises(SettingError, match=f"IDX has no {array.dtype} of shape"):
        write_idx(tmp_path / "a", array)


def test_an_empty_axis(tmp_path: Path) -> None:
    write_idx(tmp_path / "a", np.zeros((0, 28, 28), np.uint8))
    assert read_idx(tmp_path / "a").shape == (0, 28, 28)


HEADERS = [
    pytest.param(b"", TruncatedFileError, "at least 4 bytes, got 0", id="empty"),
    pytest.param(b"\0\0\x08", TruncatedFileError, "at least 4 bytes, got 3", id="three bytes"),
    pytest.param(
        b"version https://git-lfs", HeaderError, "starts with 00 00, got 76 65", id="LFS pointer"
    ),
    pytest.param(
        b"\0\0\x0a\x01\0\0\0\0", HeaderError, "byte 2: type 0a is not an IDX type", id="type"
    ),
    pytest.param(
        b"\0\0\x08\0", HeaderError, "byte 3: 1 to 32 axes can be read, got 0", id="no axis"
    ),
    pytest.param(
        b"\0\0\x08\x03\0\0", TruncatedFileError, "byte 4: 3 axes take 12 bytes, got 2", id="axes"
    ),
    pytest.param(
        GOOD[:-1],
        TruncatedFileError,
        r"byte 12: shape \(2, 3\) of u8 needs 6 bytes, the file can hold 5",
        id="short",
    ),
    pytest.param(
        GOOD + b"\0",
        OffsetError,
        r"byte 18: .* shape \(2, 3\) says, but the file goes on",
        id="long",
    ),
    pytest.param(
        b"\0\0\x08\x02" + b"\0\xff\xff\xff" * 2,
        TruncatedFileError,
        "needs 281474943156225 bytes, the file can hold 0",
        id="large axes",
    ),
    pytest.param(
        b"\0\0\x0e\x04" + b"\xff" * 16, HeaderError, "byte 4: .* than any array", id="huge axes"
    ),
    pytest.param(
        b"\0\0\x08\x03" + b"\xff" * 8 + b"\0" * 4,
        HeaderError,
        r"4294967295, 0\) is larger than any array",
        id="huge axes and an empty one",
    ),
    pytest.param(b"\0\0\x08\xff" + b"\0" * 1020, HeaderError, "got 255", id="255 axes"),
]


@pytest.mark.parametrize(("content", "error", "told"), HEADERS)
def test_a_bad_file_is_refused(
    tmp_path: Path, content: bytes, error: type[FormatError], told: str
) -> None:
    path = write(tmp_path / "bad-idx", content)
    with pytest.raises(error, match=told) as caught:
        read_idx(path)
    assert type(caught.value) is error
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")


PACKED = [
    pytest.param(gzip.compress(GOOD[:-1]), TruncatedFileError, "the file has 5", id="short"),
    pytest.param(gzip.compress(GOOD + b"\0"), OffsetError, "byte 18", id="long"),
    pytest.param(gzip.compress(GOOD)[:-9], TruncatedFileError, "gzip data ends", id="cut"),
    pytest.param(gzip.compress(GOOD)[:5], TruncatedFileError, "gzip data ends", id="cut header"),
    pytest.param(gzip.compress(GOOD) + b"junk", ChecksumError, "gzip data is damaged", id="tail"),
    pytest.param(
        gzip.compress(GOOD)[:10] + b"\xff" * 20, FormatError, "gzip data is damaged", id="deflate"
    ),
    pytest.param(
        gzip.compress(GOOD)[:-8] + b"\0" * 8, ChecksumError, "CRC check failed", id="checksum"
    ),
    pytest.param(
        gzip.compress(b"\0\0\x08\x01\xff\xff\xff\xff"), TruncatedFileError, "can hold", id="lie"
    ),
]


@pytest.mark.parametrize(("content", "error", "told"), PACKED)
def test_bad_gzip_is_refused(
    tmp_path: Path, content: bytes, error: type[FormatError], told: str
) -> None:
    path = write(tmp_path / "bad-idx.gz", content)
    with pytest.raises(error, match=told) as caught:
        read_idx(path)
    assert type(caught.value) is error
    assert caught.value.path == path


@pytest.mark.parametrize("cut", range(len(GOOD)))
def test_no_cut_file_is_read(tmp_path: Path, cut: int) -> None:
    for name, content in (("a", GOOD[:cut]), ("a.gz", gzip.compress(GOOD[:cut]))):
        with pytest.raises(TruncatedFileError, match="bytes"):
            read_idx(write(tmp_path / name, content))


def test_gzip_is_known_by_content(tmp_path: Path) -> None:
    path = write(tmp_path / "unmarked", gzip.compress(GOOD))
    np.testing.assert_array_equal(read_idx(path), np.arange(6).reshape(2, 3))


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="cannot be read: No such file"):
        read_idx(tmp_path / "none")
    with pytest.raises(FileAccessError, match="cannot be read"):
        read_idx(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="pipes as POSIX has them")
def test_a_pipe_is_refused_before_it_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "train-images-idx3-ubyte")
    with pytest.raises(FileAccessError, match="idx3-ubyte: is a pipe or a device"):
        IdxDataset.open(tmp_path)


def test_reading_reports_and_stops(tmp_path: Path) -> None:
    class Stopping:
        def __init__(self) -> None:
            self.seen: list[Progress] = []

        def report(self, progress: Progress) -> None:
            self.seen.append(progress)

        def check(self) -> None:
            if self.seen:
                raise Cancelled

    write_idx(tmp_path / "a", np.zeros(3 << 20, np.uint8))
    monitor = Stopping()
    with pytest.raises(Cancelled):
        read_idx(tmp_path / "a", monitor=monitor)
    assert monitor.seen == [Progress(1 << 20, 3 << 20, "bytes")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_idx(tmp_path / "train-images-idx3-ubyte", IMAGES)
    write_idx(tmp_path / "train-labels-idx1-ubyte", LABELS)
    write_idx(tmp_path / "t10k-images-idx3-ubyte.gz", IMAGES[:2])
    write_idx(tmp_path / "t10k-labels.idx1-ubyte.gz", LABELS[:2])
    write(tmp_path / "README.md", b"not data")
    return tmp_path


def test_items(folder: Path) -> None:
    dataset = IdxDataset.open(folder, split="train")
    item = dataset.get(1)
    np.testing.assert_array_equal(item["image"], IMAGES[1])
    assert item["image"].dtype == np.uint8
    assert item["label"] == 0
    assert type(item["label"]) is int
    with pytest.raises(ValueError, match="read-only"):
        item["image"][0, 0] = 1


def test_what_it_says_of_itself(folder: Path) -> None:
    dataset = IdxDataset.open(folder, split="train")
    assert dataset.features == {
        "image": Feature(FeatureKind.IMAGE, DType.U8, (3, 2)),
        "label": Feature(FeatureKind.LABEL, DType.U8, ()),
    }
    assert dataset.class_names == ("0", "1", "2")
    assert dataset.source_id == str(folder / "train-images-idx3-ubyte")
    assert str(dataset.describe()).endswith(
        "(IdxDataset): 4 items, image: image u8 [3, 2], label: label u8, 3 classes"
    )


def test_classes_may_be_named(folder: Path) -> None:
    files = (folder / "train-images-idx3-ubyte", folder / "train-labels-idx1-ubyte")
    assert IdxDataset(*files, class_names=["zero", "one", "two"]).class_names[2] == "two"
    with pytest.raises(SettingError, match="labels go from 0 to 2, but 2 classes are named"):
        IdxDataset(*files, class_names=["zero", "one"])


def test_the_fingerprint_is_of_the_content(folder: Path) -> None:
    before = IdxDataset.open(folder, split="train").fingerprint
    moved = folder.rename(folder.parent / "moved")
    assert IdxDataset.open(moved, split="train").fingerprint == before
    write_idx(moved / "train-labels-idx1-ubyte", LABELS[::-1])
    assert IdxDataset.open(moved, split="train").fingerprint != before


def test_splits_have_to_be_chosen(folder: Path) -> None:
    assert len(IdxDataset.open(folder, split="test")) == 2
    assert len(IdxDataset.open(folder, split="t10k")) == 2
    with pytest.raises(SettingError, match="has the splits test, train; choose one with split="):
        IdxDataset.open(folder)
    with pytest.raises(SettingError, match="has no split 'val'; it has test, train"):
        IdxDataset.open(folder, split="val")


def test_the_plain_file_goes_before_the_packed_one(folder: Path) -> None:
    write_idx(folder / "train-images-idx3-ubyte.gz", IMAGES[:1])
    assert len(IdxDataset.open(folder, split="train")) == 4


def test_labels_may_be_absent(tmp_path: Path) -> None:
    write_idx(tmp_path / "images-idx3-ubyte", IMAGES)
    dataset = IdxDataset.open(tmp_path)
    assert list(dataset.get(0)) == list(dataset.features) == ["image"]
    assert dataset.labels is None
    assert dataset.class_names is None


MISMATCHES = [
    pytest.param(IMAGES, LABELS[:3], "has 3 labels, .* has 4 images", id="counts"),
    pytest.param(IMAGES, LABELS[:, None], r"these are u8 of shape \(4, 1\)", id="label axes"),
    pytest.param(IMAGES, LABELS.astype("f4"), "these are f32 of shape", id="label dtype"),
    pytest.param(LABELS, LABELS, r"at least 2 axes, these have the shape \(4,\)", id="image axes"),
]


@pytest.mark.parametrize(("images", "labels", "told"), MISMATCHES)
def test_files_that_do_not_belong_together(
    tmp_path: Path, images: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], told: str
) -> None:
    write_idx(tmp_path / "images", images)
    write_idx(tmp_path / "labels", labels)
    with pytest.raises(DatasetError, match=told) as caught:
        IdxDataset(tmp_path / "images", tmp_path / "labels")
    assert type(caught.value) is DatasetError


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="cannot be listed: No such file"):
        IdxDataset.open(tmp_path / "none")


def test_a_folder_without_images(tmp_path: Path) -> None:
    write_idx(tmp_path / "train-labels-idx1-ubyte", LABELS)
    with pytest.raises(DatasetError, match="no file is called like train-images-idx3-ubyte"):
        IdxDataset.open(tmp_path)


@pytest.mark.cases
def test_the_real_mnist_test_images(cases: Path) -> None:
    dataset = IdxDataset.open(cases / "data" / "mnist")
    assert len(dataset) == 10_000
    assert dataset.images.shape == (10_000, 28, 28)
    np.testing.assert_array_equal(dataset.labels[:5], [7, 2, 1, 0, 4])
    assert dataset.class_names == tuple("0123456789")
