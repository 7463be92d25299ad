"""Which Ruda dtype the values of an HDF5 dataset have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ruda.tensor import DType

ATTRIBUTE = "dtype"
"""Keras says here what opaque values are, such as ``bfloat16``."""
NAME_LIMIT = 64
_IEEE = {
    # size: sign, exponent place and size, mantissa place and size, exponent bias
    2: (DType.F16, (15, 10, 5, 0, 10), 15),
    4: (DType.F32, (31, 23, 8, 0, 23), 127),
    8: (DType.F64, (63, 52, 11, 0, 52), 1023),
}
_BRAIN = (DType.BF16, (15, 7, 8, 0, 7), 127)
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


@dataclass(frozen=True, slots=True)
class Stored:
    """How values lie in a file."""

    dtype: DType
    big_endian: bool = False


def stored_type(dataset: Any) -> Stored | str:
    """How the values of a dataset lie in the file, or what they are where that is nothing known."""
    import h5py

    kind = dataset.get_type()
    found: Stored | None = None
    names = {
        h5py.h5t.STRING: "texts",
        h5py.h5t.REFERENCE: "references",
        h5py.h5t.VLEN: "lists of varying length",
        h5py.h5t.COMPOUND: "records",
        h5py.h5t.ENUM: "named values",
        h5py.h5t.OPAQUE: "opaque bytes",
        h5py.h5t.ARRAY: "arrays",
        h5py.h5t.TIME: "times",
        h5py.h5t.BITFIELD: "bit fields",
        h5py.h5t.FLOAT: "floats of an unusual layout",
        h5py.h5t.INTEGER: "whole numbers of an unusual layout",
    }
    what = kind.get_class()
    if what in (h5py.h5t.INTEGER, h5py.h5t.FLOAT):
        found = _number(kind)
    elif what == h5py.h5t.ENUM:
        found = _truth(kind)
    elif what == h5py.h5t.COMPOUND:
        found = _complex(kind)
    elif what == h5py.h5t.OPAQUE:
        found = _named(dataset, kind)
    return names.get(what, "values of an unknown class") if found is None else found


def _number(kind: Any) -> Stored | None:
    import h5py

    size = kind.get_size()
    if kind.get_precision() != 8 * size or kind.get_offset():
        return None
    order = kind.get_order()
    if order not in (h5py.h5t.ORDER_LE, h5py.h5t.ORDER_BE) and size > 1:
        return None
    big = order == h5py.h5t.ORDER_BE
    if kind.get_class() == h5py.h5t.INTEGER:
        signed = kind.get_sign() == h5py.h5t.SGN_2
        dtype = _INTEGERS.get((size, signed))
        return None if dtype is None else Stored(dtype, big)
    layout = kind.get_fields(), kind.get_ebias()
    implied = kind.get_norm() == h5py.h5t.NORM_IMPLIED
    for dtype, fields, bias in (_IEEE.get(size, _BRAIN), _BRAIN):
        if implied and layout == (fields, bias) and dtype.itemsize == size:
            return Stored(dtype, big)
    return None


def _truth(kind: Any) -> Stored | None:
    """Truth values as h5py writes them: two named values in a byte."""
    if kind.get_size() != 1 or kind.get_nmembers() != 2:
        return None
    members = {kind.get_member_name(i): kind.get_member_value(i) for i in range(2)}
    return Stored(DType.BOOL) if members == {b"FALSE": 0, b"TRUE": 1} else None


def _complex(kind: Any) -> Stored | None:
    """Complex numbers as h5py writes them: records of ``r`` and ``i``."""
    if kind.get_nmembers() != 2 or [kind.get_member_name(i) for i in range(2)] != [b"r", b"i"]:
        return None
    parts = [stored for i in range(2) if (stored := _part(kind.get_member_type(i))) is not None]
    if len(parts) != 2 or parts[0] != parts[1]:
        return None
    half = parts[0].dtype.itemsize
    places = [kind.get_member_offset(i) for i in range(2)]
    if places != [0, half] or kind.get_size() != 2 * half:
        return None
    wide = {DType.F32: DType.C64, DType.F64: DType.C128}.get(parts[0].dtype)
    return None if wide is None else Stored(wide, parts[0].big_endian)


def _part(kind: Any) -> Stored | None:
    import h5py

    return _number(kind) if kind.get_class() == h5py.h5t.FLOAT else None


def _named(dataset: Any, kind: Any) -> Stored | None:
    """Opaque values whose dtype an attribute names, as Keras writes bf16."""
    import h5py

    if not h5py.h5a.exists(dataset, ATTRIBUTE.encode()):
        return None
    attribute = h5py.h5a.open(dataset, ATTRIBUTE.encode())
    is_text = attribute.get_type().get_class() == h5py.h5t.STRING
    if not is_text or attribute.shape != () or attribute.get_storage_size() > NAME_LIMIT:
        return None
    value = h5py.AttributeManager(h5py.Dataset(dataset))[ATTRIBUTE]
    name = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    dtype = DType.from_torch(name[:NAME_LIMIT])
    if dtype is None or dtype.value.numpy is None or dtype.itemsize != kind.get_size():
        return None
    return Stored(dtype)
