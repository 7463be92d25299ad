"""Reading safetensors: eight bytes of length, a JSON header, then the data without holes.

Everything that the format's description forbids is refused: a header that does not begin with
``{``, duplicate keys, holes, overlaps, trailing bytes, sizes unlike shape × dtype.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from ruda.errors import (
    FormatError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.progress import SILENT, Monitor
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import MAX_ELEMENTS, MAX_RANK, FileRange, count_elements
from ruda.store.format import opened_index
from ruda.store.index import LazySnapshots, TensorFacts, TensorIndex
from ruda.store.snapshot import Origin, TensorSnapshot
from ruda.tensor import DType

HEADER_LIMIT = 1 << 30
"""Largest header that is read unless the caller says otherwise; real ones reach 126 MB."""
METADATA_KEY = "__metadata__"
_LENGTH = struct.Struct("<Q")
_U64_END = 1 << 64


class _Entry(msgspec.Struct, frozen=True, gc=False):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class _Front(msgspec.Struct, frozen=True):
    metadata: msgspec.Raw | None = msgspec.field(name=METADATA_KEY, default=None)


_METADATA_NAME = METADATA_KEY.encode()
_METADATA_FRONT = b'{"' + _METADATA_NAME + b'":'
_PIECE = 1 << 18
"""Bytes of a header that are decoded in one call, which no other thread interrupts."""
_READ = 1 << 20
"""Bytes of a header that are read in one call."""
_METADATA_READER = msgspec.json.Decoder(_Front)
_ENTRIES_READER = msgspec.json.Decoder(dict[str, _Entry])


class SafetensorsFormat:
    """Reader of ``.safetensors`` files; ``header_limit`` is the largest header it takes."""

    name = "safetensors"
    title = "safetensors file"
    suffixes: tuple[str, ...] = (".safetensors",)

    def __init__(self, *, header_limit: int = HEADER_LIMIT) -> None:
        self.header_limit = header_limit

    def matches(self, head: bytes, path: Path) -> bool:
        """True for a plausible length followed by the brace that every header begins with."""
        return len(head) > 8 and head[8:9] == b"{" and _LENGTH.unpack(head[:8])[0] < _U64_END >> 16

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the file in data order; reads the header only."""
        return self.open_bytes(ByteFile(path), monitor=monitor)

    def open_bytes(self, file: ByteFile, *, monitor: Monitor = SILENT) -> TensorIndex:
        """The same of a file that is open already, and is closed with the index."""
        return opened_index(file, lambda file: self._index(file, monitor))

    def _index(self, file: ByteFile, monitor: Monitor) -> TensorIndex:
        raw = self._header_bytes(file)
        entries, metadata = parse_header(raw)
        monitor.check()
        base = 8 + len(raw)
        checked = _checked(entries, file, base)

        name, path = file.path.name, file.path
        dtypes = {tag: _dtype("", tag) for tag in {e.dtype for e in entries.values()}}
        labels = {tag: dtype.label for tag, dtype in dtypes.items()}

        def make(key: str, entry: _Entry) -> TensorSnapshot:
            begin, end = entry.data_offsets
            start, nbytes = base + begin, end - begin
            dtype, shape = dtypes[entry.dtype], entry.shape
            source = FileRange(file, start, nbytes, dtype, shape)
            return TensorSnapshot(key, dtype, shape, nbytes, source, Origin(path, start, nbytes))

        def describe(key: str, entry: _Entry) -> TensorFacts:
            start, end = entry.data_offsets
            return TensorFacts(key, labels[entry.dtype], entry.shape, end - start, None, name)

        return TensorIndex(
            snapshots=LazySnapshots(checked, make, describe),
            format=self.name,
            path=file.path,
            metadata=MappingProxyType(metadata),
            closers=(file.close,),
        )

    def _header_bytes(self, file: ByteFile) -> bytes:
        if file.size < 8:
            raise TruncatedFileError(
                f"a safetensors file begins with 8 bytes of header length, but this one has "
                f"{file.size} bytes; get the file again",
                offset=0,
            )
        (length,) = _LENGTH.unpack(file.read_at(0, 8))
        if length < 2:
            raise HeaderError(f"the header length is {length}, expected at least 2", offset=0)
        if length > file.size - 8:
            raise TruncatedFileError(
                f"the header claims {length} bytes, but only {file.size - 8} follow; the file is "
                "cut short or is no safetensors file",
                offset=0,
            )
        if length > self.header_limit:
            raise HeaderError(
                f"the header has {length} bytes, the limit is {self.header_limit}; raise "
                "header_limit to read it",
                offset=0,
            )
        starts = range(8, 8 + length, _READ)
        return b"".join(file.read_at(at, min(_READ, 8 + length - at)) for at in starts)


def parse_header(raw: bytes) -> tuple[dict[str, _Entry], dict[str, str]]:
    """Entries and metadata of a header, in its order.

    Raises HeaderError for anything but one JSON object of tensor descriptions without duplicates.
    """
    if raw[:1] != b"{":
        raise HeaderError(f"the header begins with {raw[:1]!r}, expected '{{'", offset=8)
    quick = _plain_entries(raw)
    if quick is not None:
        return quick
    try:
        pieces = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HeaderError(f"the header is not valid JSON: {error}", offset=8) from None
    listed = pieces.pop(METADATA_KEY, None)
    if not _surely_unique(raw, len(pieces), listed):
        _refuse_duplicates(raw)
    decoder = msgspec.json.Decoder(_Entry)
    entries: dict[str, _Entry] = {}
    for key, piece in pieces.items():
        try:
            entries[key] = decoder.decode(piece)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HeaderError(f"the entry of {key!r} cannot be read: {error}", offset=8) from None
    return entries, {} if listed is None else _metadata(listed)


def _plain_entries(raw: bytes) -> tuple[dict[str, _Entry], dict[str, str]] | None:
    """The same of a header without oddities, which has its metadata in front if at all.

    None means: look closer. A header of a million tensors is read three times as fast.
    """
    if b"\\" in raw:
        return None
    try:
        body, metadata, listed = raw, {}, None
        if _METADATA_NAME in raw:
            listed = _METADATA_READER.decode(raw).metadata
        if listed is not None:
            front = _METADATA_FRONT + bytes(listed)
            if not raw.startswith(front):
                return None
            metadata = msgspec.json.decode(listed, type=dict[str, str])
            if bytes(listed).count(b":") != len(metadata):
                return None  # a colon in a text, or a name twice
            body = b"{" + raw[len(front) :].lstrip().removeprefix(b",")
        entries = _pieced_entries(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if entries is None else (entries, metadata)


def _pieced_entries(body: bytes) -> dict[str, _Entry] | None:
    """The entries, decoded piece by piece so that other threads have their turn; None: look closer.

    Between ``}`` and ``,"`` one entry ends and the next begins. Where that stands elsewhere (in a
    name, or deeper), what is before it is no JSON, and DecodeError says so: no piece is misread.
    """
    entries: dict[str, _Entry] = {}
    start, count = 1, 0
    while start:
        end = body.find(b'},"', start + _PIECE)
        piece = b"{" + (body[start:] if end < 0 else body[start : end + 1] + b"}")
        found = _ENTRIES_READER.decode(piece)
        if not _surely_unique(piece, len(found), None):
            return None
        entries.update(found)
        count += len(found)
        start = end + 2 if end >= 0 else 0
    return entries if len(entries) == count else None


def _surely_unique(raw: bytes, count: int, metadata: msgspec.Raw | None) -> bool:
    """True if plain counting shows that no name appears twice; False means: look closer.

    Without a backslash a name has one spelling only, and each entry has each field once.
    """
    if metadata is not None or b"\\" in raw or _METADATA_NAME in raw:
        return False
    fields = (b'"dtype"', b'"shape"', b'"data_offsets"')
    return all(raw.count(field) == count for field in fields)


def _refuse_duplicates(raw: bytes) -> None:
    def pairs(found: list[tuple[str, Any]]) -> None:
        names = {name for name, _ in found}
        if len(names) != len(found):
            seen: set[str] = set()
            twice = next(n for n, _ in found if n in seen or seen.add(n))  # type: ignore[func-returns-value]
            raise HeaderError(f"the header has {twice!r} twice, which the format forbids", offset=8)

    try:
        json.loads(raw, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        if isinstance(error, HeaderError):
            raise
        raise HeaderError(f"the header is not valid JSON: {error}", offset=8) from None


def _metadata(piece: msgspec.Raw) -> dict[str, str]:
    try:
        return msgspec.json.decode(piece, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HeaderError(f"{METADATA_KEY} may only map text to text: {error}", offset=8) from None


def _checked(entries: dict[str, _Entry], file: ByteFile, base: int) -> dict[str, _Entry]:
    """The entries in data order, after proving that their ranges tile the rest of the file."""
    if _are_plain(entries, file.size - base):
        return entries
    return _in_order(entries, file, base)


def _in_order(entries: dict[str, _Entry], file: ByteFile, base: int) -> dict[str, _Entry]:
    """The same, looking closely: raises the error of the first entry that is wrong."""
    ordered = dict(sorted(entries.items(), key=_range))
    position, previous = 0, ""
    bits: dict[str, int] = {}
    for key, entry in ordered.items():
        start, end = entry.data_offsets
        if entry.dtype not in bits:
            bits[entry.dtype] = _dtype(key, entry.dtype).bits
        _check_size(key, entry, bits[entry.dtype])
        if start != position:
            before = repr(previous) if previous else "the header"
            what = f"overlaps {before}" if start < position else f"leaves a hole after {before}"
            raise OffsetError(
                f"{key!r} begins at data byte {start}, expected {position}: it {what}",
                offset=base + start if start < file.size else None,
            )
        position, previous = end, key
    _check_end(position, previous, file, base)
    return ordered


def _are_plain(entries: dict[str, _Entry], size: int) -> bool:
    """True if the ranges tile the data in the order of the header; False means: look closer.

    Nearly all files are like that, and of many tensors few differ in type and shape.
    """
    position = 0
    needed: dict[tuple[str, tuple[int, ...]], int] = {}
    for key, entry in entries.items():
        start, end = entry.data_offsets
        kind = (entry.dtype, entry.shape)
        nbytes = needed.get(kind)
        if nbytes is None:
            try:
                _check_size(key, entry, _dtype(key, entry.dtype).bits)
            except FormatError:
                return False
            nbytes = needed[kind] = end - start
        if start != position or end - start != nbytes:
            return False
        position = end
    return position == size


def _range(item: tuple[str, _Entry]) -> tuple[int, int]:
    return item[1].data_offsets


def _dtype(key: str, tag: str) -> DType:
    dtype = DType.from_safetensors(tag)
    if dtype is None:
        raise UnsupportedContentError(
            f"{key!r} has the dtype {tag!r}, which is no safetensors dtype that Ruda knows",
            offset=8,
        )
    return dtype


def _check_size(key: str, entry: _Entry, bits: int) -> None:
    start, end = entry.data_offsets
    if start < 0 or end < start or end >= _U64_END:
        raise OffsetError(f"{key!r} has the impossible range {start} to {end}", offset=8)
    shape = entry.shape
    if len(shape) > MAX_RANK:
        raise HeaderError(f"{key!r} has {len(shape)} axes, the limit is {MAX_RANK}", offset=8)
    if shape and min(shape) < 0:
        raise HeaderError(f"{key!r} has a negative size in its shape", offset=8)
    total = bits * math.prod(shape)
    if total == 0 or total >= MAX_ELEMENTS:
        count_elements(shape, repr(key))
    if total % 8:
        raise OffsetError(
            f"{key!r} has {total} bits of {_dtype(key, entry.dtype)}, which do not end on a byte "
            "boundary",
            offset=8,
        )
    if total // 8 != end - start:
        wanted = f"{_dtype(key, entry.dtype)} {list(shape)}"
        raise OffsetError(
            f"{key!r} has {end - start} bytes, but {wanted} needs {total // 8}", offset=8
        )


def _check_end(position: int, last: str, file: ByteFile, base: int) -> None:
    have = file.size - base
    if position > have:
        raise TruncatedFileError(
            f"{last!r} ends at data byte {position}, but the file has {have} of {position} bytes "
            "of data; it is cut short, get it again",
            offset=file.size,
        )
    if position < have:
        raise OffsetError(
            f"{have - position} bytes follow the last tensor, which the format forbids",
            offset=base + position,
        )
