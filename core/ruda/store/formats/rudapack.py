"""Reading Rudapack, which is Burnpack: ``NRUB``, version, length, CBOR metadata, data.

Both data layouts are read: packed right behind the metadata (Burn before 0.20) and aligned to 256
bytes (everything since). The version number was not raised, so the layout is worked out from the
offsets and the length of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ruda.errors import HeaderError, OffsetError, TruncatedFileError, UnsupportedContentError
from ruda.nn import ParamId
from ruda.progress import SILENT, Monitor, track
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import MAX_RANK, FileRange, count_elements
from ruda.store.format import opened_index
from ruda.store.formats import _cbor
from ruda.store.index import LazySnapshots, TensorFacts, TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

MAGIC = b"NRUB"
VERSION = 1
HEADER_BYTES = 10
ALIGNMENT = 256
PACKING_VERSIONS = ("0.19.", "0.20.0-pre.1", "0.20.0-pre.2", "0.20.0-pre.3", "0.20.0-pre.4")
"""Versions of Burn that wrote the data right behind the metadata."""
MAX_METADATA_BYTES = 100 << 20
MAX_TENSORS = 100_000
MAX_TENSOR_BYTES = 10 << 30
_HEADER = struct.Struct("<4sHI")
_U64_END = 1 << 64
_BOOLS = {"Native": DType.BOOL, "U8": DType.BOOL, "U32": DType.BOOL_U32}
_SCALARS: dict[str, Any] = {"Int": int, "UInt": int, "Float": (int, float), "Bool": bool}


@dataclass(frozen=True, slots=True)
class _Descriptor:
    key: str
    dtype: DType
    scheme: Any
    shape: tuple[int, ...]
    start: int
    end: int
    param_id: ParamId | None


class RudapackFormat:
    """Reader of ``.bpk`` files, whoever wrote them: Burn 0.19 and later, RUDA, Ruda."""

    name = "rudapack"
    title = "Rudapack (Burnpack) file"
    suffixes: tuple[str, ...] = (".bpk",)

    def matches(self, head: bytes, path: Path) -> bool:
        """True for the four magic bytes."""
        return head[:4] == MAGIC

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the file in data order; reads the header only.

        ``extra`` has ``scalars`` (exactly as decoded, absent when there are none), ``layout``
        (``aligned`` or ``packed``) and ``data_start``, the offset that ranges count from.
        """
        return self.open_bytes(ByteFile(path), monitor=monitor)

    def open_bytes(self, file: ByteFile, *, monitor: Monitor = SILENT) -> TensorIndex:
        """The same of a file that is open already, and is closed with the index."""
        return opened_index(file, lambda file: self._index(file, monitor))

    def _index(self, file: ByteFile, monitor: Monitor) -> TensorIndex:
        header_end, root = _header(file)
        listed = _section(root, "tensors", required=True)
        if len(listed) > MAX_TENSORS:
            raise HeaderError(f"the file lists {len(listed)} tensors, the limit is {MAX_TENSORS}")
        found = [
            _descriptor(key, entry)
            for key, entry in track(listed.items(), monitor, "tensors", len(listed))
        ]
        found.sort(key=lambda d: (d.start, d.end))
        layout, base = _layout(file, root, found, header_end)
        _check_ranges(found, base, file.size)
        extra: dict[str, Any] = {"layout": layout, "data_start": base}
        if scalars := _scalars(_section(root, "scalars")):
            extra["scalars"] = scalars
        return TensorIndex(
            snapshots=LazySnapshots(
                {d.key: d for d in found},
                lambda _, d: _snapshot(d, file, base),
                lambda _, d: TensorFacts(
                    d.key, d.dtype.label, d.shape, d.end - d.start, None, file.path.name
                ),
            ),
            format=self.name,
            path=file.path,
            metadata=MappingProxyType(_metadata(_section(root, "metadata"))),
            notes=_notes(root, found, base, file.size),
            extra=MappingProxyType(extra),
            closers=(file.close,),
        )


def _header(file: ByteFile) -> tuple[int, Mapping[str, Any]]:
    """Where the metadata ends, and the map in it."""
    if file.size < HEADER_BYTES:
        raise TruncatedFileError(
            f"a Rudapack header has {HEADER_BYTES} bytes, but the file has {file.size}", offset=0
        )
    magic, version, size = _HEADER.unpack(file.read_at(0, HEADER_BYTES))
    if magic != MAGIC:
        raise HeaderError(
            f"begins with {magic.hex(' ')}, expected {MAGIC.hex(' ')}: this is no Rudapack file",
            offset=0,
        )
    if version > VERSION:
        raise UnsupportedContentError(
            f"has version {version}, and Ruda reads up to {VERSION}", offset=4
        )
    if size > MAX_METADATA_BYTES:
        raise HeaderError(
            f"the metadata has {size} bytes, the limit is {MAX_METADATA_BYTES}", offset=6
        )
    end = HEADER_BYTES + size
    if end > file.size:
        raise TruncatedFileError(
            f"the metadata ends at byte {end}, but the file has {file.size} bytes", offset=6
        )
    root = _cbor.decode(file.read_at(HEADER_BYTES, size), base=HEADER_BYTES)
    if not isinstance(root, dict):
        raise HeaderError(
            f"the metadata is {type(root).__name__}, expected a map", offset=HEADER_BYTES
        )
    return end, root


def _section(root: Mapping[str, Any], name: str, *, required: bool = False) -> dict[str, Any]:
    found = root.get(name, None if required else {})
    if not isinstance(found, dict):
        got = "missing" if found is None else type(found).__name__
        raise HeaderError(f"the metadata's {name!r} is {got}, expected a map", offset=HEADER_BYTES)
    return found


def _metadata(listed: Mapping[str, Any]) -> dict[str, str]:
    for key, value in listed.items():
        if not isinstance(value, str):
            raise HeaderError(
                f"the user metadata {key!r} is {type(value).__name__}, expected text",
                offset=HEADER_BYTES,
            )
    return dict(listed)


def _scalars(listed: Mapping[str, Any]) -> dict[str, Any]:
    for key, value in listed.items():
        kind = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else None
        plain = _SCALARS.get(kind or "")
        if kind is None or plain is None or not isinstance(value[kind], plain):
            raise HeaderError(
                f"the scalar {key!r} is not one of {', '.join(_SCALARS)}", offset=HEADER_BYTES
            )
    return dict(listed)


def _descriptor(key: str, entry: Any) -> _Descriptor:
    if not isinstance(entry, dict):
        raise _bad(key, f"has a descriptor of {type(entry).__name__}, expected a map")
    dtype, scheme = _dtype(key, entry.get("dtype"))
    shape = _numbers(key, "shape", entry.get("shape"))
    offsets = _numbers(key, "data_offsets", entry.get("data_offsets"))
    if len(offsets) != 2:
        raise _bad(key, f"has {len(offsets)} data_offsets, expected 2")
    if len(shape) > MAX_RANK:
        raise _bad(key, f"has {len(shape)} axes, the limit is {MAX_RANK}")
    start, end = offsets
    if end < start:
        raise OffsetError(f"{key!r} ends at data byte {end} before it starts at {start}")
    if end - start > MAX_TENSOR_BYTES:
        raise _bad(key, f"has {end - start} bytes, the limit is {MAX_TENSOR_BYTES}")
    _check_size(key, dtype, shape, end - start)
    number = entry.get("param_id")
    if number is not None and not (_is_number(number) and number < _U64_END):
        raise _bad(key, f"has the param_id {number!r}, expected a 64-bit number")
    return _Descriptor(
        key, dtype, scheme, shape, start, end, None if number is None else ParamId(number)
    )


def _dtype(key: str, spelled: Any) -> tuple[DType, Any]:
    """The dtype, and what a rewrite needs to spell it the same way again."""
    if isinstance(spelled, str):
        dtype = DType.from_rudapack(spelled)
        if dtype is not None and dtype is not DType.QFLOAT:
            return dtype, spelled if dtype is DType.BOOL else None
    elif isinstance(spelled, dict) and len(spelled) == 1:
        ((kind, detail),) = spelled.items()
        if kind == "Bool" and isinstance(detail, str) and detail in _BOOLS:
            return _BOOLS[detail], spelled if detail == "U8" else None
        if kind == "QFloat" and isinstance(detail, dict):
            return DType.QFLOAT, detail
    raise UnsupportedContentError(
        f"{key!r} has the dtype {spelled!r}, which is no Rudapack dtype that Ruda knows",
        offset=HEADER_BYTES,
    )


def _numbers(key: str, name: str, found: Any) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(_is_number(n) for n in found):
        got = f"no {name}" if found is None else f"the {name} {found!r}"[:120]
        raise _bad(key, f"has {got}, expected a list of whole numbers")
    return tuple(found)


def _is_number(value: Any) -> bool:
    return type(value) is int and value >= 0


def _check_size(key: str, dtype: DType, shape: tuple[int, ...], have: int) -> None:
    count = count_elements(shape, repr(key))
    if dtype is DType.QFLOAT:
        return  # the scheme decides; the bytes are carried over as they are
    need = count * dtype.itemsize
    if need != have:
        raise OffsetError(f"{key!r} has {have} bytes, but {dtype} {list(shape)} needs {need}")


def _layout(
    file: ByteFile, root: Mapping[str, Any], found: Iterable[_Descriptor], packed: int
) -> tuple[str, int]:
    """Which layout the file has, and the offset that its ranges count from.

    A whole file is exactly as long as one of the layouts says. An aligned file that was cut can
    have the length of a packed one; its data would begin with zero padding, and is refused unless
    something else says that the writer packed. Anything but zeros in the padding says that, too,
    also where bytes were added behind the data.
    """
    aligned = -(-packed // ALIGNMENT) * ALIGNMENT
    end = max((d.end for d in found), default=0)
    old = _written_packed(root)
    if file.size == aligned + end and not (old and file.size == packed + end):
        return "aligned", aligned
    if file.size >= packed + end:
        padding = file.read_at(packed, min(aligned, file.size) - packed)
        if any(padding) or (file.size == packed + end and (old or not end)):
            return "packed", packed
    return ("packed", packed) if old else ("aligned", aligned)


def _written_packed(root: Mapping[str, Any]) -> bool:
    """True if the metadata names a Burn version that packed its data."""
    version = _section(root, "metadata").get("version")
    return isinstance(version, str) and version.startswith(PACKING_VERSIONS)


def _check_ranges(found: Iterable[_Descriptor], base: int, length: int) -> None:
    position, previous = 0, ""
    for d in found:
        if base + d.end > length:
            raise TruncatedFileError(
                f"{d.key!r} ends at byte {base + d.end}, but the file has {length} bytes; it "
                "is cut short, get it again",
                offset=min(base + d.start, length),
            )
        if d.end > d.start:
            if d.start < position:
                raise OffsetError(
                    f"{d.key!r} begins at data byte {d.start} and overlaps {previous!r}, which "
                    f"ends at {position}",
                    offset=base + d.start,
                )
            position, previous = d.end, d.key


def _snapshot(d: _Descriptor, file: ByteFile, base: int) -> TensorSnapshot:
    place = FileRange(file, base + d.start, d.end - d.start, d.dtype, d.shape)
    return place.snapshot(d.key, param_id=d.param_id, scheme=d.scheme)


def _notes(
    root: Mapping[str, Any], found: list[_Descriptor], base: int, length: int
) -> tuple[str, ...]:
    notes: list[str] = []
    unknown = sorted(set(root) - {"tensors", "metadata", "scalars"})
    if unknown:
        notes.append(f"the metadata has fields that Ruda does not know: {', '.join(unknown)[:200]}")
    rest = length - (base + max((d.end for d in found), default=0))
    if found and rest > 0:
        notes.append(f"{rest} bytes follow the last tensor")
    return tuple(notes)


def _bad(key: str, why: str) -> HeaderError:
    return HeaderError(f"{key!r} {why}", offset=HEADER_BYTES)
