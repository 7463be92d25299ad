"""Datatype and dataspace of an HDF5 object: which Ruda dtype its values have, and their shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ruda.errors import HeaderError, UnsupportedContentError
from ruda.store.formats._hdf5_header import Bytes, Hdf5Reader
from ruda.tensor import DType

MAX_AXES = 32
_INTEGER, _FLOAT, _TEXT, _OPAQUE, _RECORD, _ENUM, _VARYING = 0, 1, 3, 5, 6, 8, 9
_NAMES = {
    _INTEGER: "whole numbers of an unusual layout",
    _FLOAT: "floats of an unusual layout",
    2: "times",
    _TEXT: "texts",
    4: "bit fields",
    _OPAQUE: "opaque bytes",
    _RECORD: "records",
    7: "references",
    _ENUM: "named values",
    _VARYING: "lists or texts of varying length",
    10: "arrays",
    11: "complex numbers of an unusual layout",
}
_FLOATS: dict[tuple[int, ...], DType] = {
    # sign place; exponent place and size; mantissa place and size; exponent bias
    (15, 10, 5, 0, 10, 15): DType.F16,
    (31, 23, 8, 0, 23, 127): DType.F32,
    (63, 52, 11, 0, 52, 1023): DType.F64,
    (15, 7, 8, 0, 7, 127): DType.BF16,
}
_INTEGERS = {
    (1, True): DType.I8,
    (2, True): DType.I16,
    (4, True): DType.I32,
    (8, True): DType.I64,
    (1, False): DType.U8,
    (2, False): DType.U16,
    (4, False): DType.U32,
    (8, False): DType.U64,
}
_COMPLEX = {DType.F32: DType.C64, DType.F64: DType.C128}


@dataclass(frozen=True, slots=True)
class Stored:
    """How values lie in a file."""

    size: int
    """Bytes of one value."""
    name: str
    """What they are, for a person."""
    dtype: DType | None = None
    big_endian: bool = False
    is_text: bool = False
    is_varying_text: bool = False
    is_opaque: bool = False


def stored_type(body: Bytes) -> Stored:
    """What a datatype message says; the cursor stands behind it then, as far as it was read."""
    first = body.number(1)
    what, version = first & 15, first >> 4
    bits = body.number(3)
    size = body.number(4)
    if what not in _NAMES or not 1 <= version <= 5:
        raise HeaderError(
            f"a datatype has class {what} and version {version}, which there is not",
            offset=body.offset,
        )
    plain = Stored(size, _NAMES[what], is_text=what == _TEXT, is_opaque=what == _OPAQUE)
    if what == _INTEGER:
        return _integer(body, bits, plain)
    if what == _FLOAT:
        return _float(body, bits, plain)
    if what == _ENUM:
        return _truth(body, bits, version, plain)
    if what == _RECORD:
        return _complex(body, bits, version, plain)
    if what == 11 and version >= 5:
        part = stored_type(body)
        return _pair(part, plain)
    if what == _VARYING:
        return Stored(size, plain.name, is_varying_text=bits & 15 == 1)
    return plain


def _integer(body: Bytes, bits: int, plain: Stored) -> Stored:
    offset, precision = body.number(2), body.number(2)
    dtype = _INTEGERS.get((plain.size, bool(bits & 8)))
    if dtype is None or offset or precision != 8 * plain.size:
        return plain
    return Stored(plain.size, str(dtype), dtype, bool(bits & 1))


def _float(body: Bytes, bits: int, plain: Stored) -> Stored:
    offset, precision = body.number(2), body.number(2)
    places = [bits >> 8 & 255, *(body.number(1) for _ in range(4))]
    dtype = _FLOATS.get((*places, body.number(4)))
    implied, vax = bits >> 4 & 3 == 2, bits & 0x40
    if dtype is None or dtype.itemsize != plain.size or not implied or vax:
        return plain
    if offset or precision != 8 * plain.size:
        return plain
    return Stored(plain.size, str(dtype), dtype, bool(bits & 1))


def _truth(body: Bytes, bits: int, version: int, plain: Stored) -> Stored:
    """Truth values as h5py writes them: two named values in a byte."""
    inner = stored_type(body)
    if bits & 0xFFFF != 2 or inner.dtype not in (DType.I8, DType.U8) or plain.size != 1:
        return plain
    names = [body.text(padded=version < 3) for _ in range(2)]
    values = list(body.take(2))
    is_truth = dict(zip(names, values, strict=True)) == {b"FALSE": 0, b"TRUE": 1}
    return Stored(1, "bool", DType.BOOL) if is_truth else plain


def _complex(body: Bytes, bits: int, version: int, plain: Stored) -> Stored:
    """Complex numbers as h5py writes them: records of ``r`` and ``i``."""
    if bits & 0xFFFF != 2 or plain.size > 16:
        return plain
    parts: list[Stored] = []
    for place, name in enumerate((b"r", b"i")):
        found = body.text(padded=version < 3)
        offset = body.number(4 if version < 3 else 1)
        if version == 1:
            body.take(28)
        part = stored_type(body)
        if found != name or part.dtype not in _COMPLEX or offset != place * part.size:
            return plain
        parts.append(part)
    return _pair(parts[0], plain) if parts[0] == parts[1] else plain


def _pair(part: Stored, plain: Stored) -> Stored:
    dtype = None if part.dtype is None else _COMPLEX.get(part.dtype)
    if dtype is None or plain.size != 2 * part.size:
        return plain
    return Stored(plain.size, str(dtype), dtype, part.big_endian)


class Space(NamedTuple):
    """The shape of a dataset, and the largest that it may grow to; None where nothing limits it."""

    shape: tuple[int, ...]
    limits: tuple[int | None, ...]


def dataspace(reader: Hdf5Reader, body: Bytes) -> Space | None:
    """The shape that a dataspace message says; None for one without any values."""
    version, rank, flags = body.number(1), body.number(1), body.number(1)
    if version not in (1, 2) or rank > MAX_AXES:
        raise UnsupportedContentError(
            f"a shape has version {version} and {rank} axes, and Ruda reads versions 1 and 2 of "
            f"up to {MAX_AXES}",
            offset=body.offset,
        )
    kind = body.number(1)
    if version == 1:
        body.take(4)
    elif kind == 2:
        return None
    shape = tuple(reader.length(body) for _ in range(rank))
    if not flags & 1:
        return Space(shape, shape)
    endless = (1 << 8 * reader.lengths) - 1
    most = tuple(reader.length(body) for _ in range(rank))
    if any(size > limit for size, limit in zip(shape, most, strict=True)):
        raise HeaderError(
            f"a shape {list(shape)} is larger than its limit {list(most)}", offset=body.offset
        )
    return Space(shape, tuple(None if limit == endless else limit for limit in most))
