"""Reading GGUF: counts, typed metadata, tensor descriptions, then the data at an alignment.

Versions 2 and 3 in both byte orders. Block-quantised tensors keep their bytes; their scheme names
the blocks, and ``dequantize`` turns them into f32 on request. A model that was split into files is
one model: its first file has the metadata, and each says how many there are.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ruda.errors import HeaderError, OffsetError, TruncatedFileError, UnsupportedContentError
from ruda.progress import SILENT, Monitor, track
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import FileRange, count_elements
from ruda.store.format import opened_index
from ruda.store.formats._ggml import GGML_TYPES, REMOVED, GgmlBlocks, GgmlType
from ruda.store.formats._gguf_values import HeaderReader, read_value
from ruda.store.formats._swapped import range_of
from ruda.store.index import LazySnapshots, TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import Kind

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
ALIGNMENT_KEY = "general.alignment"
ALIGNMENT_LIMIT = 1 << 20
MAX_AXES = 8
"""GGML has four; some room for what comes."""
SPLIT_PART, SPLIT_COUNT, SPLIT_TENSORS = "split.no", "split.count", "split.tensors.count"
"""What each file of a split model says: its place from 0, how many there are, tensors in all."""
_NO_TENSORS = "the file holds no tensors, only metadata such as a vocabulary"
_PART = "this is part"
_NUMBER = re.compile("[0-9]{1,9}")
"""What a file may say of its place in a set; the values of metadata are texts here."""
_ENTRY_BYTES = 8 + 4 + 4 + 8
"""Least bytes of a tensor description: empty name, no axes."""
_PAIR_BYTES = 8 + 4 + 1
"""Least bytes of a metadata pair: empty key, a bool."""


@dataclass(frozen=True, slots=True)
class _Entry:
    type: GgmlType
    shape: tuple[int, ...]
    offset: int
    """From the start of the data."""
    nbytes: int


def split_model(parts: Sequence[TensorIndex]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Metadata and notes of a model, of all its files in the order of their names.

    Raises HeaderError, naming the file, if one is of another place or of another set.
    """
    tensors = sum(len(part) for part in parts)
    expected = {SPLIT_COUNT: len(parts), SPLIT_TENSORS: tensors}
    for place, part in enumerate(parts):
        for key, value in ((SPLIT_PART, place), *expected.items()):
            found = part.metadata.get(key)
            if found not in (None, str(value)):
                raise HeaderError(
                    f"says {key} {found}, but by the names of the files and what is in them it is "
                    f"{value}; the files are not of one split",
                    path=part.path,
                )
    metadata = {
        key: value
        for part in reversed(parts)
        for key, value in part.metadata.items()
        if key not in (SPLIT_PART, SPLIT_COUNT, SPLIT_TENSORS)
    }
    notes = (note for part in parts for note in part.notes if not note.startswith(_PART))
    found_notes = tuple(dict.fromkeys(note for note in notes if note != _NO_TENSORS or not tensors))
    return metadata, found_notes


class GgufFormat:
    """Reader of ``.gguf`` files."""

    name = "gguf"
    title = "GGUF file"
    suffixes: tuple[str, ...] = (".gguf",)

    def matches(self, head: bytes, path: Path) -> bool:
        """True for the magic bytes."""
        return head[:4] == MAGIC

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the file in data order; reads the header only."""
        return self.open_bytes(ByteFile(path), monitor=monitor)

    def open_bytes(self, file: ByteFile, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of a file that is open already, and that the index closes; see ``open``."""
        return opened_index(file, lambda file: self._index(file, monitor))

    def _index(self, file: ByteFile, monitor: Monitor) -> TensorIndex:
        reader = HeaderReader(file)
        big, tensors, pairs = _preamble(reader)
        metadata, alignment = _metadata(reader, pairs, monitor)
        entries = dict(_entries(reader, tensors, monitor))
        base = -(-reader.at // alignment) * alignment
        ordered = _checked(entries, file, base, alignment)

        def make(key: str, entry: _Entry) -> TensorSnapshot:
            place = FileRange(
                file, base + entry.offset, entry.nbytes, entry.type.dtype, entry.shape
            )
            if entry.type.dtype.kind is Kind.QUANTIZED:
                return place.snapshot(key, scheme=GgmlBlocks(entry.type, big))
            return range_of(place, big_endian=big).snapshot(key)

        return TensorIndex(
            snapshots=LazySnapshots(ordered, make),
            format=self.name,
            path=file.path,
            metadata=MappingProxyType(metadata),
            notes=tuple(_notes(metadata, ordered, file, base, alignment, big)),
            closers=(file.close,),
        )


def _preamble(reader: HeaderReader) -> tuple[bool, int, int]:
    """Byte order, number of tensors and number of metadata pairs."""
    if reader.take(4, "the magic bytes") != MAGIC:
        raise HeaderError("does not begin with GGUF", offset=0)
    raw = reader.take(4, "the version")
    (version,) = struct.unpack("<I", raw)
    big = not version & 0xFFFF
    if big:
        (version,) = struct.unpack(">I", raw)
        reader.big_endian = True
    if version not in VERSIONS:
        raise UnsupportedContentError(
            f"is GGUF of version {version}, and Ruda reads 2 and 3; convert the model again with "
            "a current llama.cpp",
            offset=4,
        )
    tensors = reader.number("Q", "the number of tensors")
    pairs = reader.number("Q", "the number of metadata pairs")
    for count, least, what in (
        (tensors, _ENTRY_BYTES, "tensors"),
        (pairs, _PAIR_BYTES, "metadata pairs"),
    ):
        if count * least > reader.left:
            raise TruncatedFileError(
                f"the header claims {count} {what}, but only {reader.left} bytes follow; the file "
                "is damaged or cut short",
                offset=8,
            )
    return big, tensors, pairs


def _metadata(reader: HeaderReader, pairs: int, monitor: Monitor) -> tuple[dict[str, str], int]:
    """The pairs as text, and the alignment that they state."""
    found: dict[str, str] = {}
    alignment = DEFAULT_ALIGNMENT
    for _ in track(range(pairs), monitor, "metadata pairs", pairs):
        at = reader.at
        key = reader.text("a metadata key")
        if key in found:
            raise HeaderError(f"the metadata has {key!r} twice", offset=at)
        kind = reader.number("I", f"the type of {key!r}")
        value_at = reader.at
        found[key], value = read_value(reader, kind, key)
        if key == ALIGNMENT_KEY:
            alignment = _alignment(value, value_at)
    return found, alignment


def _alignment(value: Any, offset: int) -> int:
    if type(value) is not int or not 0 < value <= ALIGNMENT_LIMIT or value & (value - 1):
        raise HeaderError(
            f"the alignment is {'no number' if value is None else value}, "
            f"expected a power of two up to {ALIGNMENT_LIMIT}",
            offset=offset,
        )
    return value


def _entries(reader: HeaderReader, count: int, monitor: Monitor) -> Iterator[tuple[str, _Entry]]:
    seen: set[str] = set()
    for _ in track(range(count), monitor, "tensors", count):
        at = reader.at
        key = reader.text("the name of a tensor")
        if key in seen:
            raise HeaderError(f"the file describes {key!r} twice", offset=at)
        seen.add(key)
        axes = reader.number("I", f"the number of axes of {key!r}")
        if axes > MAX_AXES:
            raise HeaderError(f"{key!r} has {axes} axes, the limit is {MAX_AXES}", offset=at)
        sizes = tuple(reader.number("Q", f"the shape of {key!r}") for _ in range(axes))
        number = reader.number("I", f"the type of {key!r}")
        offset = reader.number("Q", f"the offset of {key!r}")
        kind = _type(key, number, at)
        yield key, _Entry(kind, sizes[::-1], offset, _nbytes(key, kind, sizes, at))


def _type(key: str, number: int, offset: int) -> GgmlType:
    found = GGML_TYPES.get(number)
    if found is not None:
        return found
    if number in REMOVED:
        raise UnsupportedContentError(
            f"{key!r} has the type {REMOVED[number]}, which GGML has given up; quantise the "
            "model again",
            offset=offset,
        )
    raise UnsupportedContentError(
        f"{key!r} has the type number {number}, which Ruda does not know", offset=offset
    )


def _nbytes(key: str, kind: GgmlType, sizes: tuple[int, ...], offset: int) -> int:
    """Bytes of a tensor; ``sizes`` are as in the file, the innermost axis first."""
    count = count_elements(sizes, repr(key))
    row = sizes[0] if sizes else 1
    if row % kind.block:
        raise OffsetError(
            f"{key!r} has rows of {row} values, and {kind.label} packs {kind.block} at a time",
            offset=offset,
        )
    return count // kind.block * kind.block_bytes


def _checked(
    entries: dict[str, _Entry], file: ByteFile, base: int, alignment: int
) -> dict[str, _Entry]:
    """The entries in data order, after proving that each lies in the file on its own."""
    ordered = dict(sorted(entries.items(), key=lambda item: (item[1].offset, item[1].nbytes)))
    position, previous = 0, ""
    for key, entry in ordered.items():
        start, end = base + entry.offset, base + entry.offset + entry.nbytes
        if entry.offset % alignment:
            raise OffsetError(
                f"{key!r} begins at data byte {entry.offset}, which is no multiple of the "
                f"alignment {alignment}",
                offset=min(start, file.size),
            )
        if end > file.size:
            raise TruncatedFileError(
                f"{key!r} ends at byte {end}, but the file has {file.size} bytes; it is cut "
                "short, get it again",
                offset=min(start, file.size),
            )
        if not entry.nbytes:
            continue
        if entry.offset < position:
            raise OffsetError(
                f"{key!r} begins at data byte {entry.offset} and overlaps {previous!r}, which "
                f"ends at {position}",
                offset=start,
            )
        position, previous = entry.offset + entry.nbytes, key
    return ordered


def _notes(
    metadata: dict[str, str],
    entries: dict[str, _Entry],
    file: ByteFile,
    base: int,
    alignment: int,
    big: bool,
) -> Iterator[str]:
    if big:
        yield "the file is big-endian; values are turned, the bytes of blocks kept as they are"
    if not entries:
        yield _NO_TENSORS
    part, parts = metadata.get(SPLIT_PART, ""), metadata.get(SPLIT_COUNT, "")
    if _NUMBER.fullmatch(part) and _NUMBER.fullmatch(parts) and int(parts) > 1:
        yield f"{_PART} {int(part) + 1} of {parts}; the other tensors are in the other files"
    end = base + max((e.offset + e.nbytes for e in entries.values()), default=0)
    behind = file.size - math.ceil(end / alignment) * alignment
    if behind > 0:
        yield f"{behind} bytes follow the last tensor"
