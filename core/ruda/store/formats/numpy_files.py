"""Reading NumPy's own files: ``.npy`` with one array, ``.npz`` with one per member.

The header is a Python literal; it is matched against its only possible form and never evaluated.
Arrays of objects hold pickles and are refused.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ruda.errors import (
    FormatError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsafeContentError,
    UnsupportedContentError,
)
from ruda.progress import SILENT, Monitor, track
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import MAX_RANK, count_elements
from ruda.store.format import opened_index
from ruda.store.formats._torch_refs import StorageRef, TensorRef
from ruda.store.formats._torch_source import MemberBytes, PlainBytes, StorageBytes, ViewSource
from ruda.store.formats._zip import LOCAL_MAGIC, ZipDirectory
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType, Kind

MAGIC = b"\x93NUMPY"
HEADER_LIMIT = 64 << 10
ROOT_KEY = "<root>"
_FIELD = re.compile(
    r"\s*(?P<quote>['\"])(?:"
    r"descr(?P=quote)\s*:\s*(?P<descr>'[^']*'|\"[^\"]*\"|\[.*\])"
    r"|fortran_order(?P=quote)\s*:\s*(?P<fortran>True|False)"
    r"|shape(?P=quote)\s*:\s*\((?P<shape>[0-9L, ]*)\)"
    r")\s*+(?P<end>,?\s*+\}\s*|,)",
    re.DOTALL,
)
"""One field of the header: NumPy sorts them by name, other writers may not."""
_FIELDS = ("descr", "fortran", "shape")
_DESCR = re.compile(r"(?P<order>[<>|=]?)(?P<kind>[a-zA-Z])(?P<size>\d{0,3})(?P<rest>.*)", re.DOTALL)
_SIZE = re.compile("(0|[1-9][0-9]{0,18})L?")
_NUMBERS = frozenset("fiubc")
_TEXTS = frozenset("US")


@dataclass(frozen=True, slots=True)
class _Array:
    """What the header of one array says, and how many bytes come before its values."""

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    big_endian: bool
    skip: int

    @property
    def nbytes(self) -> int:
        return self.dtype.nbytes(count_elements(self.shape, "an array"))


@dataclass(frozen=True, slots=True)
class _Behind:
    """The bytes of a storage behind a header."""

    whole: StorageBytes
    skip: int

    def stream(self, start: int, count: int, size: int) -> Iterator[memoryview]:
        return self.whole.stream(self.skip + start, count, size)

    def place(self, start: int, count: int) -> Any:
        return self.whole.place(self.skip + start, count)

    def fill(self, start: int, target: memoryview) -> None:
        self.whole.fill(self.skip + start, target)

    def checksum(self, start: int, count: int) -> int | None:
        return self.whole.checksum(self.skip + start, count)


class _TextArrayError(UnsupportedContentError):
    """Raised for an array of texts, which an archive may hold beside its numbers."""


class NumpyFormat:
    """Reader of ``.npy`` and ``.npz`` files."""

    name = "numpy"
    title = "NumPy file"
    suffixes: tuple[str, ...] = (".npy", ".npz")

    def matches(self, head: bytes, path: Path) -> bool:
        """True for NumPy's magic bytes, or a zip archive whose first member is an array."""
        if head[:4] == LOCAL_MAGIC:
            name_size = int.from_bytes(head[26:28], "little")
            first = head[30 : 30 + name_size]
            return first.endswith(b".npy") or (first[-1:] == b"/" and path.suffix == ".npz")
        return head[:6] == MAGIC

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the arrays; reads headers only. A single array has the key ``<root>``."""
        return self.open_bytes(ByteFile(path), monitor=monitor)

    def open_bytes(self, file: ByteFile, *, monitor: Monitor = SILENT) -> TensorIndex:
        """The same of a file that is open already, and is closed with the index."""
        return opened_index(file, lambda file: self._index(file, monitor))

    def _index(self, file: ByteFile, monitor: Monitor) -> TensorIndex:
        notes: list[str] = []
        if file.size >= 4 and file.read_at(0, 4) == LOCAL_MAGIC:
            snapshots = list(_archive(ZipDirectory(file), notes, monitor))
        else:
            snapshots = [_single(file, notes)]
        return TensorIndex.of(
            snapshots,
            format=self.name,
            path=file.path,
            notes=tuple(notes),
            closers=(file.close,),
        )


def _single(file: ByteFile, notes: list[str]) -> TensorSnapshot:
    array = _header(file.read_at(0, min(file.size, HEADER_LIMIT + 12)))
    have = file.size - array.skip
    if have < array.nbytes:
        raise TruncatedFileError(
            f"the array needs {array.nbytes} bytes, but {max(have, 0)} follow its header; the file "
            "is cut short, get it again",
            offset=file.size,
        )
    if have > array.nbytes:
        notes.append(f"{have - array.nbytes} bytes follow the array")
    return _snapshot(ROOT_KEY, array, PlainBytes(file, array.skip))


def _archive(archive: ZipDirectory, notes: list[str], monitor: Monitor) -> Iterator[TensorSnapshot]:
    for name, member in track(archive.members.items(), monitor, "arrays", len(archive.members)):
        if name.endswith("/"):
            continue
        if not name.endswith(".npy"):
            notes.append(f"{name} is no array; it is left out")
            continue
        try:
            first = _first(archive, name)
            array = _header(first)
        except _TextArrayError:
            notes.append(f"{name} is an array of texts; it is left out")
            continue
        except UnsafeContentError as error:
            raise UnsafeContentError(f"{name}: {error.reason}", names=error.names) from error
        except FormatError as error:
            raise type(error)(f"{name}: {error.reason}", offset=member.offset) from error
        if array.skip + array.nbytes != member.size:
            raise OffsetError(
                f"{name} has {member.size - array.skip} bytes of values, expected {array.nbytes}",
                offset=member.offset,
            )
        if not array.nbytes:
            archive.check(member, zlib.crc32(first))  # nobody will ever read more of it
        head = array.skip, zlib.crc32(first[: array.skip])
        behind = _Behind(MemberBytes(archive, member, head=head), array.skip)
        yield _snapshot(name.removesuffix(".npy"), array, behind)


def _first(archive: ZipDirectory, name: str) -> bytes:
    """The start of a member, as far as a header can reach."""
    found = b""
    for piece in archive.stream(archive.members[name], 1024):
        found += bytes(piece)
        if len(found) > HEADER_LIMIT or (len(found) >= 12 and len(found) >= _header_end(found)):
            break
    return found


def _snapshot(key: str, array: _Array, storage: StorageBytes) -> TensorSnapshot:
    nbytes = array.nbytes
    whole = StorageRef(key, array.dtype, nbytes // array.dtype.itemsize, "file")
    ref = TensorRef(whole, array.dtype, 0, array.shape, array.strides)
    source = ViewSource(storage, ref, array.big_endian)
    return TensorSnapshot(
        key=key,
        dtype=array.dtype,
        shape=array.shape,
        nbytes=nbytes,
        source=source,
        origin=source.place(),
    )


def _header_end(raw: bytes) -> int:
    if raw[6] == 1:
        return 10 + int.from_bytes(raw[8:10], "little")
    return 12 + int.from_bytes(raw[8:12], "little")


def _header(raw: bytes) -> _Array:
    if raw[:6] != MAGIC or len(raw) < 12:
        raise HeaderError("does not begin like a NumPy array", offset=0)
    if raw[6] not in (1, 2, 3):
        raise UnsupportedContentError(f"has version {raw[6]}, and Ruda reads 1 to 3", offset=6)
    end = _header_end(raw)
    if end > HEADER_LIMIT:
        raise HeaderError(f"the header has {end} bytes, the limit is {HEADER_LIMIT}", offset=8)
    if end > len(raw):
        raise TruncatedFileError(f"the header ends at byte {end}, behind the file", offset=8)
    return _described(raw[10 if raw[6] == 1 else 12 : end].decode("utf-8", "replace"), end)


@lru_cache(maxsize=4096)
def _described(text: str, end: int) -> _Array:
    """What this text says; cached, because the arrays of one model have few shapes."""
    found = _fields(text)
    if found is None:
        raise HeaderError(f"the header {text.strip()[:80]!r} has an unexpected form", offset=10)
    dtype, big = _dtype(found["descr"])
    shape = _shape(found["shape"])
    count_elements(shape, "the array")
    return _Array(dtype, shape, _strides(shape, found["fortran"] == "True"), big, end)


def _fields(text: str) -> dict[str, str] | None:
    """The three fields of a header by name, each once; None for a text of any other form."""
    found: dict[str, str] = {}
    at = len(text) - len(text.lstrip())
    if text[at : at + 1] != "{":
        return None
    at += 1
    while (field := _FIELD.match(text, at)) is not None:
        for name in _FIELDS:
            if (value := field[name]) is not None:
                if name in found:
                    return None
                found[name] = value
        at = field.end()
        if field["end"] != ",":
            return found if at == len(text) and len(found) == len(_FIELDS) else None
    return None


def _shape(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    is_tuple = len(parts) > 1 or not parts[0]  # one number in brackets is a number
    if not parts[-1]:
        parts.pop()
    sizes = [_SIZE.fullmatch(part) for part in parts]
    if not is_tuple or None in sizes or len(parts) > MAX_RANK:
        raise HeaderError(f"the shape ({text[:80]}) has an unexpected form", offset=10)
    return tuple(int(size[1]) for size in sizes if size is not None)


def _strides(shape: tuple[int, ...], fortran: bool) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for size in shape if fortran else reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(strides if fortran else reversed(strides))


def _dtype(descr: str) -> tuple[DType, bool]:
    found = None if descr.startswith("[") else _DESCR.fullmatch(descr[1:-1])
    if found is None:
        raise UnsupportedContentError(
            f"has the structured dtype {descr[:80]}, which is no tensor; save each field as an "
            "array of its own",
            offset=10,
        )
    kind = found["kind"]
    if kind == "O":
        raise UnsafeContentError(
            "is an array of Python objects, which are pickled; it is refused",
            names=("numpy.object_",),
            offset=10,
        )
    if kind in _TEXTS:
        raise _TextArrayError(f"has the dtype {descr}, an array of texts", offset=10)
    if kind in _NUMBERS and found["size"] and not found["rest"]:
        try:
            dtype = DType.from_numpy(np.dtype(kind + found["size"]))
        except TypeError:
            dtype = None
        if dtype is not None and dtype.kind is not Kind.PACKED:
            return dtype, found["order"] == ">"
    why = "; NumPy saves bf16 and fp8 so, and which it was is lost" if kind == "V" else ""
    raise UnsupportedContentError(
        f"has the dtype {descr}, which Ruda does not read{why}", offset=10
    )
