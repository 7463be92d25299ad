"""One tensor of an ONNX model: its description, and where its values lie."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ruda.errors import (
    FileAccessError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import MAX_RANK, FileRange, count_elements, shaped
from ruda.store.formats._onnx_packed import DENSE_LIMIT, PACKED_INTS, FilledSource, SmallInts
from ruda.store.formats._protobuf import BYTES, FIXED32, FIXED64, VARINT, Field, WireReader, varints
from ruda.store.remote import open_bytes
from ruda.store.snapshot import Origin, TensorSnapshot
from ruda.store.stamp import Stamp
from ruda.store.uri import Place
from ruda.tensor import DType, Kind

NAME_LIMIT = 64 << 10
PATH_LIMIT = 4096
MAX_ENTRIES = 64
"""Most facts that describe one file of values; five are known."""
_U63_END = 1 << 63

DTYPES: dict[int, DType] = {
    1: DType.F32,
    2: DType.U8,
    3: DType.I8,
    4: DType.U16,
    5: DType.I16,
    6: DType.I32,
    7: DType.I64,
    9: DType.BOOL,
    10: DType.F16,
    11: DType.F64,
    12: DType.U32,
    13: DType.U64,
    14: DType.C64,
    15: DType.C128,
    16: DType.BF16,
    17: DType.F8_E4M3FN,
    18: DType.F8_E4M3FNUZ,
    19: DType.F8_E5M2,
    20: DType.F8_E5M2FNUZ,
    23: DType.F4_E2M1,
    24: DType.F8_E8M0,
}
_LEFT_OUT = {8: "texts"}
_DIMS, _TYPE, _SEGMENT, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 3, 8, 9, 13, 14
_FLOATS, _INT32S, _INT64S, _DOUBLES, _UINT64S = 4, 5, 7, 10, 11
_LISTS: dict[int, tuple[str, int, frozenset[DType]]] = {
    _FLOATS: ("float_data", FIXED32, frozenset({DType.F32, DType.C64})),
    _DOUBLES: ("double_data", FIXED64, frozenset({DType.F64, DType.C128})),
    _INT64S: ("int64_data", VARINT, frozenset({DType.I64})),
    _UINT64S: ("uint64_data", VARINT, frozenset({DType.U32, DType.U64})),
    _INT32S: (
        "int32_data",
        VARINT,
        frozenset(DTYPES.values())
        - {DType.F32, DType.F64, DType.C64, DType.C128, DType.I64, DType.U32, DType.U64},
    ),
}
"""Typed lists: name, wire type of an item outside a packed run, and the dtypes that lie there."""
_SPARSE_VALUES, _SPARSE_PLACES, _SPARSE_DIMS = 1, 2, 3
_SINGLE = {_TYPE: VARINT, _NAME: BYTES, _RAW: BYTES, _LOCATION: VARINT}


@dataclass(slots=True)
class _Description:
    """The fields of one tensor, as they are."""

    at: int
    dims: list[int] = field(default_factory=list)
    single: dict[int, Field] = field(default_factory=dict)
    lists: dict[int, list[Field]] = field(default_factory=dict)
    external: list[Field] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class VarintSource:
    """Values that are written as numbers of varying length, in one or more runs."""

    reader: WireReader
    runs: tuple[Field, ...]
    key: str
    dtype: DType
    shape: tuple[int, ...]
    is_wide: bool
    """True for lists of 64-bit numbers, False for 32-bit ones, whatever the dtype."""

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype.

        Raises OffsetError if their number is not the shape's, HeaderError if one does not fit the
        dtype.
        """
        words = np.concatenate([self._run(run) for run in self.runs])
        count = int(np.prod(self.shape, dtype=np.int64))
        if words.size != count:
            raise OffsetError(
                f"{self.key!r} has {words.size} values, expected {count}",
                path=self.reader.file.path,
                offset=self.runs[0].at,
            )
        return self._narrowed(words).reshape(self.shape)

    def _run(self, run: Field) -> np.ndarray[Any, Any]:
        if run.wire == VARINT:
            return np.array([run.value], np.uint64)
        try:
            return varints(self.reader.payload(run))
        except HeaderError as error:
            raise HeaderError(
                f"{self.key!r}: {error.reason}", path=self.reader.file.path, offset=run.at
            ) from error

    def _narrowed(self, words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The words as values: whole numbers by value, floats of up to 16 bits by their bits."""
        dtype = self.dtype
        if self.is_wide and dtype in (DType.I64, DType.U64):
            return words.view(dtype.carrier)
        signed = words.view(np.int64)
        bits = 1 if dtype is DType.BOOL else 8 * dtype.itemsize
        is_signed = dtype.kind is Kind.INT
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        outside = np.flatnonzero((signed < low) | (signed > high))
        if outside.size:
            raise HeaderError(
                f"{self.key!r} has the value {signed[outside[0]]}, which is no {dtype}",
                path=self.reader.file.path,
                offset=self.runs[0].at,
            )
        return signed.astype(f"<i{dtype.itemsize}" if is_signed else f"<u{dtype.itemsize}").view(
            dtype.carrier
        )


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """Values whose little-endian bytes lie in several pieces, one behind the other."""

    file: ByteFile
    runs: tuple[Field, ...]
    dtype: DType
    shape: tuple[int, ...]

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype; copies."""
        raw = np.empty(sum(run.size for run in self.runs), np.uint8)
        at = 0
        for run in self.runs:
            self.file.read_into(run.start, raw.data[at : at + run.size])
            at += run.size
        return shaped(raw, self.dtype, self.shape)


@dataclass(frozen=True, slots=True)
class ExternalSource:
    """Values in a file beside the model.

    On disk it is opened for each read and closed again; at an address it is ``held`` open. Once it
    is not the file any more that was there when the model was opened, FileChangedError says so.
    """

    model: ByteFile
    path: Place
    offset: int
    nbytes: int
    dtype: DType
    shape: tuple[int, ...]
    held: ByteFile | None = None
    stamp: Stamp | None = None

    def read(self) -> np.ndarray[Any, Any]:
        """All values in the carrier dtype; copies. Raises FileAccessError once the index closed."""
        with self._opened() as file:
            return FileRange(file, self.offset, self.nbytes, self.dtype, self.shape).read()

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes in pieces of at most ``size``, each valid until the next is asked for."""
        with self._opened() as file:
            yield from file.stream(self.offset, self.nbytes, size)

    @contextmanager
    def _opened(self) -> Iterator[ByteFile]:
        if self.model.closed:
            raise FileAccessError("cannot be read: the file was closed", path=self.model.path)
        if self.held is not None:
            yield self.held
            return
        with open_bytes(self.path) as file:
            # Of the file that is open now; that nobody writes to it meanwhile is its own to see.
            if self.stamp is not None:
                self.stamp.require_current()
            yield file


class _Beside(NamedTuple):
    """A file of values that was looked at: its size, and it itself where it is held open."""

    path: Place
    size: int
    held: ByteFile | None
    stamp: Stamp | None


class TensorReader:
    """Makes snapshots of the tensors of one model."""

    def __init__(self, reader: WireReader) -> None:
        self.reader = reader
        self._beside_it: dict[str, _Beside] = {}
        self._widened: dict[tuple[int, DType], int] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """How many tensors are listed in a wider dtype than they are stored in."""
        return tuple(
            f"{count} tensors hold {bits}-bit numbers; they are listed as {dtype}"
            for (bits, dtype), count in self._widened.items()
        )

    def close(self) -> None:
        """Close the files of values at addresses."""
        for each in self._beside_it.values():
            if each.held is not None:
                each.held.close()

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        """What the files of values were when they were looked at."""
        return tuple(each.stamp for each in self._beside_it.values() if each.stamp is not None)

    def pair(self, message: Field) -> tuple[str, str]:
        """A key and its value, as messages of two texts hold them."""
        found = {1: "", 2: ""}
        for each in self.reader.fields(message.start, message.end, "a pair of texts"):
            if each.number in found:
                found[each.number] = self.reader.text(each, "a text", 16 << 20)
        return found[1], found[2]

    def snapshot(self, message: Field, notes: list[str]) -> TensorSnapshot | None:
        """Snapshot of a tensor, or None with a note where its values are of no Ruda dtype."""
        found = self._description(message)
        name = found.single.get(_NAME)
        key = "" if name is None else self.reader.text(name, "the name of a tensor", NAME_LIMIT)
        kind = found.single[_TYPE].value if _TYPE in found.single else 0
        if kind in _LEFT_OUT:
            notes.append(f"{key!r} holds {_LEFT_OUT[kind]}, which Ruda does not read; left out")
            return None
        if kind in PACKED_INTS:
            return self._small_ints(key, *PACKED_INTS[kind], found)
        dtype = DTYPES.get(kind)
        if dtype is None:
            raise UnsupportedContentError(
                f"{key!r} has the type number {kind}, which Ruda does not know", offset=found.at
            )
        shape = self._shape(key, found)
        count = count_elements(shape, repr(key))
        if dtype is DType.F4_E2M1 and count % 2:
            notes.append(f"{key!r} holds an odd number of 4-bit values; left out")
            return None
        return self._placed(key, dtype, shape, dtype.nbytes(count), found)

    def _small_ints(self, key: str, dtype: DType, bits: int, found: _Description) -> TensorSnapshot:
        """Snapshot of numbers below 8 bits, as numbers of 8 bits; ``notes`` says how many."""
        shape = self._shape(key, found)
        count = count_elements(shape, repr(key))
        nbytes = (count * bits + 7) // 8
        packed = self._placed(key, DType.U8, (nbytes,), nbytes, found)
        self._widened[bits, dtype] = self._widened.get((bits, dtype), 0) + 1
        source = SmallInts(packed.source, bits, dtype, shape)
        return TensorSnapshot(key, dtype, shape, count, source, _file_of(packed))

    def sparse(self, message: Field, notes: list[str]) -> TensorSnapshot | None:
        """Snapshot of a sparse tensor with its zeros, or None with a note where that is too much.

        Raises HeaderError and OffsetError for parts that do not fit each other.
        """
        parts: dict[int, Field] = {}
        dims: list[int] = []
        for each in self.reader.fields(message.start, message.end, "a sparse tensor"):
            if each.number in (_SPARSE_VALUES, _SPARSE_PLACES) and each.wire == BYTES:
                parts[each.number] = each
            elif each.number == _SPARSE_DIMS:
                dims.extend(self._numbers(each))
        if len(parts) != 2 or len(dims) > MAX_RANK:
            raise HeaderError(
                f"a sparse tensor has {len(parts)} of its 2 parts and {len(dims)} axes",
                offset=message.at,
            )
        values = self.snapshot(parts[_SPARSE_VALUES], notes)
        places = self.snapshot(parts[_SPARSE_PLACES], [])
        if values is None or places is None:
            return None
        key, shape = values.key, self._shape(values.key, _Description(message.at, dims))
        count, dense = values.numel, count_elements(shape, repr(key))
        fits = places.shape in ((count,), (count, len(shape))) and places.dtype is DType.I64
        if not shape or not fits or values.shape != (count,):
            raise HeaderError(
                f"{key!r} has values {list(values.shape)} at places {list(places.shape)} of "
                f"{places.dtype}, expected one number or one for each axis",
                offset=message.at,
            )
        if values.dtype.kind is Kind.PACKED or values.dtype.nbytes(dense) > DENSE_LIMIT:
            what = f"{dense} values of {values.dtype} with its zeros"
            notes.append(f"{key!r} is sparse and has {what}, which Ruda does not fill; left out")
            return None
        nbytes = values.dtype.nbytes(dense)
        path = self.reader.file.path
        source = FilledSource(values, places, shape, path)
        return TensorSnapshot(key, values.dtype, shape, nbytes, source, Origin(path))

    def _description(self, message: Field) -> _Description:
        found = _Description(message.at)
        for each in self.reader.fields(message.start, message.end, "a tensor"):
            number = each.number
            if number == _DIMS:
                found.dims.extend(self._numbers(each))
                if len(found.dims) > MAX_RANK:
                    raise HeaderError(f"a tensor has more than {MAX_RANK} axes", offset=each.at)
            elif number in _SINGLE:
                if each.wire != _SINGLE[number] or number in found.single:
                    raise HeaderError(
                        f"field {number} of a tensor is there twice or of another wire type",
                        offset=each.at,
                    )
                found.single[number] = each
            elif number in _LISTS:
                if each.wire not in (BYTES, _LISTS[number][1]):
                    raise HeaderError(
                        f"field {number} of a tensor has wire type {each.wire}", offset=each.at
                    )
                found.lists.setdefault(number, []).append(each)
            elif number == _EXTERNAL and each.wire == BYTES:
                found.external.append(each)
            elif number == _SEGMENT:
                raise UnsupportedContentError(
                    "a tensor is one segment of a larger one, which Ruda does not read",
                    offset=each.at,
                )
        return found

    def _numbers(self, each: Field) -> list[int]:
        if each.wire == VARINT:
            return [each.value]
        if each.wire != BYTES or each.size > 10 * MAX_RANK:
            raise HeaderError("the shape of a tensor has an unexpected form", offset=each.at)
        try:
            return [int(n) for n in varints(self.reader.payload(each))]
        except HeaderError as error:
            raise HeaderError(f"the shape of a tensor: {error.reason}", offset=each.at) from error

    def _shape(self, key: str, found: _Description) -> tuple[int, ...]:
        for size in found.dims:
            if size >= _U63_END:
                raise OffsetError(
                    f"{key!r} has an axis of {size - (1 << 64)}, a negative size", offset=found.at
                )
        return tuple(found.dims)

    def _placed(
        self, key: str, dtype: DType, shape: tuple[int, ...], nbytes: int, found: _Description
    ) -> TensorSnapshot:
        raw = found.single.get(_RAW)
        location = found.single.get(_LOCATION)
        is_external = location is not None and location.value == 1
        ways = [*found.lists, *([_RAW] if raw is not None else []), *([0] if is_external else [])]
        if len(ways) > 1:
            raise HeaderError(
                f"{key!r} has its values in {len(ways)} places, expected one", offset=found.at
            )
        if is_external:
            return self._external(key, dtype, shape, nbytes, found)
        if raw is not None:
            _check_bytes(key, dtype, shape, nbytes, raw.size, raw.at)
            return FileRange(self.reader.file, raw.start, nbytes, dtype, shape).snapshot(key)
        if found.lists:
            ((number, runs),) = found.lists.items()
            return self._listed(key, dtype, shape, nbytes, number, tuple(runs))
        _check_bytes(key, dtype, shape, nbytes, 0, found.at)
        return FileRange(self.reader.file, found.at, 0, dtype, shape).snapshot(key)

    def _listed(
        self,
        key: str,
        dtype: DType,
        shape: tuple[int, ...],
        nbytes: int,
        number: int,
        runs: tuple[Field, ...],
    ) -> TensorSnapshot:
        name, wire, dtypes = _LISTS[number]
        file, at, total = self.reader.file, runs[0].at, sum(run.size for run in runs)
        if dtype not in dtypes:
            raise HeaderError(f"{key!r} has {dtype} values in {name}", offset=at)
        if wire != VARINT:
            _check_bytes(key, dtype, shape, nbytes, total, at)
            if len(runs) == 1:
                return FileRange(file, runs[0].start, nbytes, dtype, shape).snapshot(key)
            source: Any = JoinedSource(file, runs, dtype, shape)
        else:
            is_pairs = dtype is DType.F4_E2M1  # each number is a byte with two values
            count = nbytes if is_pairs else nbytes // dtype.itemsize
            if not count <= total <= 10 * count:
                raise OffsetError(
                    f"{key!r} has {total} bytes of values of varying length, which cannot be "
                    f"the {count} of {dtype} {list(shape)}",
                    offset=at,
                )
            is_wide = number in (_INT64S, _UINT64S)
            listed, sizes = (DType.U8, (nbytes,)) if is_pairs else (dtype, shape)
            source = VarintSource(self.reader, runs, key, listed, sizes, is_wide)
        return TensorSnapshot(key, dtype, shape, nbytes, source, Origin(file.path))

    def _external(
        self, key: str, dtype: DType, shape: tuple[int, ...], nbytes: int, found: _Description
    ) -> TensorSnapshot:
        if len(found.external) > MAX_ENTRIES:
            raise HeaderError(f"{key!r} has {len(found.external)} external facts", offset=found.at)
        facts = dict(self.pair(each) for each in found.external)
        path, size, held, stamp = self._beside(key, facts.get("location", ""), found.at)
        offset = _number(key, "offset", facts.get("offset", "0"), found.at)
        length = facts.get("length")
        have = size - offset if length is None else _number(key, "length", length, found.at)
        if offset + max(have, nbytes) > size:
            raise TruncatedFileError(
                f"{key!r} ends at byte {offset + max(have, nbytes)} of {path.name}, which has "
                f"{size} bytes; that file is cut short or of another model",
                offset=found.at,
            )
        if length is not None or have < nbytes:
            _check_bytes(key, dtype, shape, nbytes, have, found.at)
        source = ExternalSource(self.reader.file, path, offset, nbytes, dtype, shape, held, stamp)
        origin = Origin(path, offset, nbytes)
        return TensorSnapshot(key, dtype, shape, nbytes, source, origin)

    def _beside(self, key: str, location: str, at: int) -> _Beside:
        """A file of values; only those in the folder of the model are taken."""
        known = self._beside_it.get(location)
        if known is not None:
            return known
        parts = location.removeprefix("./").split("/")
        if (
            not location
            or len(location) > PATH_LIMIT
            or any(part in ("", ".", "..") for part in parts)
            or any(sign in location for sign in ("\\", ":", "\0"))
        ):
            raise HeaderError(
                f"{key!r} lies in {location[:80]!r}, which is no plain path within the folder of "
                "the model",
                offset=at,
            )
        try:
            found = self._found(key, location, parts, at)
        except FileAccessError as error:
            raise FileAccessError(
                f"{key!r} lies in {location!r}, which cannot be opened; it belongs beside the "
                "model, so get it, too",
                path=self.reader.file.path,
            ) from error
        self._beside_it[location] = found
        return found

    def _found(self, key: str, location: str, parts: list[str], at: int) -> _Beside:
        model = self.reader.file.path
        if not isinstance(model, Path):
            place = model.with_name("/".join(parts))
            held = open_bytes(place)
            return _Beside(place, held.size, held, None)
        path = model.parent.joinpath(*parts)
        folder = os.path.realpath(model.parent)
        if os.path.commonpath([folder, os.path.realpath(path)]) != folder:
            raise HeaderError(
                f"{key!r} lies in {location[:80]!r}, a link that leads out of the folder of the "
                "model",
                offset=at,
            )
        stamp = Stamp.of(path)
        with ByteFile(path) as file:
            return _Beside(path, file.size, None, stamp)


def _number(key: str, name: str, text: str, at: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise HeaderError(
            f"{key!r} has the {name} {text[:40]!r}, expected a whole number", offset=at
        )
    return int(text)


def _file_of(snapshot: TensorSnapshot) -> Origin | None:
    return None if snapshot.origin is None else Origin(snapshot.origin.path)


def _check_bytes(
    key: str, dtype: DType, shape: tuple[int, ...], need: int, have: int, at: int
) -> None:
    if need != have:
        raise OffsetError(
            f"{key!r} has {have} bytes, but {dtype} {list(shape)} needs {need}", offset=at
        )
