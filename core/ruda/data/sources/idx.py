"""IDX files, the format of MNIST: one array per file, plain or gzipped; and datasets made of them.

A file is two zero bytes, a type byte, the number of axes, one big-endian u32 per axis, then the
values in row-major big-endian order, and nothing after them.
"""

from __future__ import annotations

import gzip
import math
import re
import stat
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from ruda.data.dataset import Dataset
from ruda.data.features import Feature, FeatureKind
from ruda.data.fingerprint import fingerprint
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
from ruda.progress import SILENT, Monitor, Progress
from ruda.tensor import DType

GZIP_MAGIC = b"\x1f\x8b"
GZIP_MAX_RATIO = 1032
"""Deflate cannot grow a byte into more than this; a header that asks for more lies."""
READ_BYTES = 1 << 20
MAX_AXES = 32

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CODES = {np.dtype(text).newbyteorder("<"): code for code, text in _TYPES.items()}
_NAME = re.compile(
    r"(?:(?P<split>.+)-)?(?P<role>images|labels)[-.]idx[1-9]-(?:ubyte|byte|short|int|float|double)"
    r"(?P<gz>\.gz)?"
)
_SPLIT_NAMES = {None: "all", "t10k": "test"}


class _Stream(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


IdxItem: TypeAlias = dict[str, Any]
"""``image``: read-only array (height, width); ``label``: int, where there are labels."""


@dataclass(frozen=True, slots=True)
class IdxPair:
    """The files of one split: images, and labels where there are some."""

    images: Path
    labels: Path | None = None


class IdxDataset(Dataset[IdxItem]):
    """Images and labels of IDX files, held in memory: items ``{"image": u8 (h, w), "label": int}``.

    ``image`` is a read-only view. Without a labels file the items have no ``label``.
    """

    def __init__(
        self,
        images: Path | str,
        labels: Path | str | None = None,
        *,
        class_names: Iterable[str] | None = None,
        monitor: Monitor = SILENT,
    ) -> None:
        """Reads both files.

        Raises FileAccessError, FormatError where a file is not what the format allows, and
        DatasetError where the files do not belong together.
        """
        self.images_path = Path(images)
        self.labels_path = None if labels is None else Path(labels)
        self._images = read_idx(self.images_path, monitor=monitor)
        if self._images.ndim < 2:
            raise DatasetError(
                f"{images}: images have at least 2 axes, these have the shape {self._images.shape}"
            )
        self._labels = None if labels is None else self._read_labels(Path(labels), monitor)
        self._class_names = self._name_classes(class_names)

    @classmethod
    def open(
        cls, folder: Path | str, *, split: str | None = None, monitor: Monitor = SILENT
    ) -> IdxDataset:
        """The images and labels of a folder with MNIST's file names: ``t10k-images-idx3-ubyte.gz``.

        ``split`` is what stands before ``images`` in the file name (``t10k`` is also ``test``).
        Raises SettingError if there are several and none is chosen, or no such one.
        """
        pairs = idx_splits(folder)
        if not pairs:
            raise DatasetError(f"{folder}: no file is called like train-images-idx3-ubyte")
        pair = pairs[_choose_split(Path(folder), pairs, split)]
        return cls(pair.images, pair.labels, monitor=monitor)

    def __len__(self) -> int:
        return len(self._images)

    def get(self, index: int) -> IdxItem:
        """``{"image": array (h, w), "label": int}``; the image is a read-only view."""
        at = self.check_index(index)
        item: IdxItem = {"image": self._images[at]}
        if self._labels is not None:
            item["label"] = int(self._labels[at])
        return item

    @property
    def images(self) -> np.ndarray[Any, Any]:
        """All images, (n, height, width); read-only."""
        return self._images

    @property
    def labels(self) -> np.ndarray[Any, Any] | None:
        """All labels, (n,); read-only; None without a labels file."""
        return self._labels

    @property
    def features(self) -> Mapping[str, Feature]:
        """``image`` with its dtype and shape, and ``label``."""
        shape = self._images.shape[1:]
        kind = FeatureKind.IMAGE if len(shape) in (2, 3) else FeatureKind.ARRAY
        found = {"image": Feature(kind, DType.from_numpy(self._images.dtype), shape)}
        if self._labels is not None:
            found["label"] = Feature(FeatureKind.LABEL, DType.from_numpy(self._labels.dtype), ())
        return found

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """One name per class: those given, or the numbers up to the largest label."""
        return self._class_names

    @property
    def source_id(self) -> str:
        """The path of the images file."""
        return str(self.images_path)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all images and labels; the files may move."""
        return fingerprint("idx", self._images, self._labels)

    def _read_labels(self, path: Path, monitor: Monitor) -> np.ndarray[Any, Any]:
        labels = read_idx(path, monitor=monitor)
        if labels.ndim != 1 or labels.dtype.kind not in "iu":
            raise DatasetError(
                f"{path}: labels are one axis of whole numbers, "
                f"these are {DType.from_numpy(labels.dtype)} of shape {labels.shape}"
            )
        if len(labels) != len(self._images):
            raise DatasetError(
                f"{path} has {len(labels)} labels, "
                f"{self.images_path} has {len(self._images)} images"
            )
        return labels

    def _name_classes(self, given: Iterable[str] | None) -> tuple[str, ...] | None:
        if self._labels is None or not self._labels.size:
            return None if given is None else tuple(given)
        low, high = int(self._labels.min()), int(self._labels.max())
        if given is None:
            return tuple(str(number) for number in range(high + 1)) if low >= 0 else None
        names = tuple(given)
        if low < 0 or high >= len(names):
            raise SettingError(
                f"labels go from {low} to {high}, but {len(names)} classes are named"
            )
        return names


def idx_splits(folder: Path | str) -> dict[str, IdxPair]:
    """The splits of a folder with MNIST's file names, sorted by name; empty if there are none.

    Of a plain and a gzipped file with one name the plain one is taken. Raises FileAccessError.
    """
    found: dict[str, dict[str, Path]] = {}
    for path in _listed(Path(folder)):
        match = _NAME.fullmatch(path.name)
        if match:
            found.setdefault(split_of(path), {}).setdefault(match["role"], path)
    return {
        split: IdxPair(files["images"], files.get("labels"))
        for split, files in sorted(found.items())
        if "images" in files
    }


def split_of(path: Path) -> str:
    """The split that a file with a name of MNIST's belongs to; ``all`` for one without prefix."""
    match = _NAME.fullmatch(path.name)
    prefix = match["split"] if match else None
    return _SPLIT_NAMES.get(prefix) or str(prefix)


def is_idx_images(path: Path) -> bool:
    """True for a file name like ``train-images-idx3-ubyte`` or ``….gz``."""
    match = _NAME.fullmatch(path.name)
    return match is not None and match["role"] == "images"


def labels_beside(images: Path) -> Path | None:
    """The labels file that belongs to this images file, in the same folder; None without one.

    Raises FileAccessError.
    """
    match = _NAME.fullmatch(images.name)
    wanted = (match["split"], "labels") if match else None
    for path in _listed(images.parent):
        other = _NAME.fullmatch(path.name)
        if other and (other["split"], other["role"]) == wanted:
            return path
    return None


def read_idx(path: Path | str, *, monitor: Monitor = SILENT) -> np.ndarray[Any, Any]:
    """The array of an IDX file, plain or gzipped; read-only, in native byte order.

    Raises FileAccessError, HeaderError, TruncatedFileError, OffsetError for bytes after the last
    value, and ChecksumError where gzip's own does not fit.
    """
    place = Path(path)
    try:
        found = place.stat()
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise FileAccessError(
                "is a pipe or a device, and a file is needed; save it to disk first", path=place
            )
        size = found.st_size
        with place.open("rb") as raw:
            packed = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            raw.seek(0)
            if not packed:
                return _read_stream(raw, place, size, monitor)
            with gzip.GzipFile(fileobj=raw) as stream:
                return _read_stream(stream, place, size * GZIP_MAX_RATIO, monitor)
    except gzip.BadGzipFile as error:
        raise ChecksumError(f"the gzip data is damaged: {error}", path=place) from error
    except EOFError as error:
        if isinstance(error, FormatError):
            raise
        raise TruncatedFileError("the gzip data ends too early", path=place) from error
    except zlib.error as error:
        raise FormatError(f"the gzip data is damaged: {error}", path=place) from error
    except OSError as error:
        if isinstance(error, (FormatError, FileAccessError)):
            raise
        raise FileAccessError(f"cannot be read: {error.strerror or error}", path=place) from error


def write_idx(path: Path | str, array: np.ndarray[Any, Any]) -> None:
    """Write an array as an IDX file, gzipped if the name ends in ``.gz``.

    Equal arrays give equal bytes: the gzip header holds no time. Raises SettingError for a dtype
    or a rank that the format does not have.
    """
    code = _CODES.get(array.dtype.newbyteorder("<"))
    if code is None or not 1 <= array.ndim <= MAX_AXES:
        raise SettingError(f"IDX has no {array.dtype} of shape {array.shape}")
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    content = header + array.astype(_TYPES[code], copy=False).tobytes()
    if str(path).endswith(".gz"):
        content = gzip.compress(content, compresslevel=9, mtime=0)
    Path(path).write_bytes(content)


def _read_stream(stream: _Stream, path: Path, limit: int, monitor: Monitor) -> np.ndarray[Any, Any]:
    dtype, shape = _read_header(stream, path)
    header = 4 + 4 * len(shape)
    wanted = math.prod(shape) * dtype.itemsize
    if header + wanted > limit:
        raise TruncatedFileError(
            f"shape {shape} of {DType.from_numpy(dtype)} needs {wanted} bytes, "
            f"the file can hold {max(0, limit - header)}",
            path=path,
            offset=header,
        )
    data = _read_exactly(stream, wanted, path, header, shape, monitor)
    if stream.read(1):
        raise OffsetError(
            f"the values end here, as shape {shape} says, but the file goes on",
            path=path,
            offset=header + wanted,
        )
    array = np.frombuffer(data, dtype=dtype).reshape(shape)
    native = array.astype(dtype.newbyteorder("="), copy=False)
    native.flags.writeable = False
    return native


def _read_header(stream: _Stream, path: Path) -> tuple[np.dtype[Any], tuple[int, ...]]:
    magic = stream.read(4)
    if len(magic) < 4:
        raise TruncatedFileError(f"an IDX header has at least 4 bytes, got {len(magic)}", path=path)
    if magic[:2] != b"\0\0":
        raise HeaderError(f"an IDX file starts with 00 00, got {magic[:2].hex(' ')}", path=path)
    if magic[2] not in _TYPES:
        known = " ".join(f"{code:02x}" for code in _TYPES)
        raise HeaderError(
            f"type {magic[2]:02x} is not an IDX type; known: {known}", path=path, offset=2
        )
    rank = magic[3]
    if not 1 <= rank <= MAX_AXES:
        raise HeaderError(f"1 to {MAX_AXES} axes can be read, got {rank}", path=path, offset=3)
    sizes = stream.read(4 * rank)
    if len(sizes) < 4 * rank:
        raise TruncatedFileError(
            f"{rank} axes take {4 * rank} bytes, got {len(sizes)}", path=path, offset=4
        )
    dtype, shape = np.dtype(_TYPES[magic[2]]), struct.unpack(f">{rank}I", sizes)
    if math.prod(filter(None, shape)) * dtype.itemsize >= 1 << 63:  # an empty axis hides nothing
        raise HeaderError(f"shape {shape} is larger than any array", path=path, offset=4)
    return dtype, shape


def _read_exactly(
    stream: _Stream,
    wanted: int,
    path: Path,
    header: int,
    shape: tuple[int, ...],
    monitor: Monitor,
) -> bytearray:
    """Grows with what is really there, so that a lying header costs no memory."""
    data = bytearray()
    while len(data) < wanted:
        monitor.check()
        part = stream.read(min(READ_BYTES, wanted - len(data)))
        if not part:
            raise TruncatedFileError(
                f"shape {shape} needs {wanted} bytes of values, the file has {len(data)}",
                path=path,
                offset=header,
            )
        data += part
        monitor.report(Progress(len(data), wanted, "bytes"))
    return data


def _listed(folder: Path) -> list[Path]:
    """What is in a folder, sorted by name: a plain file comes before its gzipped twin."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise FileAccessError(
            f"cannot be listed: {error.strerror or error}", path=folder
        ) from error


def _choose_split(folder: Path, pairs: Mapping[str, IdxPair], split: str | None) -> str:
    names = ", ".join(pairs)
    if split is None:
        if len(pairs) > 1:
            raise SettingError(f"{folder} has the splits {names}; choose one with split=")
        return next(iter(pairs))
    chosen = _SPLIT_NAMES.get(split, split)
    if chosen not in pairs:
        raise SettingError(f"{folder} has no split {split!r}; it has {names}")
    return chosen
