"""The attributes of an HDF5 object as text: what Keras says of the model."""

from __future__ import annotations

import math

import numpy as np

from ruda.store.filerange import count_elements
from ruda.store.formats._hdf5_header import Bytes, Hdf5Reader, Kind, Message
from ruda.store.formats._hdf5_objects import Objects
from ruda.store.formats._hdf5_types import Stored, dataspace, stored_type
from ruda.tensor import DType
from ruda.tensor import Kind as DTypeKind

SHOWN_ITEMS = 64


def attributes(
    objects: Objects, messages: list[Message], notes: list[str] | None = None
) -> dict[str, str]:
    """Texts and numbers that are attached to an object, by name; others get a note.

    Whatever they say, they stay text: the description of a Keras model can hold marshalled code.
    """
    found: dict[str, str] = {}
    said = [] if notes is None else notes
    for message in messages:
        if message.kind == Kind.ATTRIBUTE:
            each = [message]
        elif message.kind == Kind.ATTRIBUTE_INFO:
            each = objects.dense_attributes(message)
        else:
            continue
        for one in each:
            name, text = _attribute(objects, one)
            if text is None:
                said.append(f"the attribute {name} is no text or number; left out")
            else:
                found[name] = text
    return dict(sorted(found.items()))


def _attribute(objects: Objects, message: Message) -> tuple[str, str | None]:
    body = message.body("an attribute")
    version, flags = body.number(1), body.number(1)
    sizes = [body.number(2) for _ in range(3)]
    body.take(1 if version > 2 else 0)
    parts: list[Bytes] = []
    for size in sizes:
        parts.append(Bytes(body.take(size), body.offset + body.at - size, "an attribute"))
        if version == 1:
            body.take(min(-size % 8, body.left))
    name = parts[0].raw.split(b"\0")[0].decode("utf-8", "backslashreplace")
    if version not in (1, 2, 3):
        return name, None
    kinds = (Kind.DATATYPE, Kind.DATASPACE)
    if version > 1:
        for place, kind in enumerate(kinds, 1):
            if flags >> (place - 1) & 1:
                parts[place] = objects.shared(kind, parts[place])
    stored = stored_type(parts[1])
    space = dataspace(objects.reader, parts[2])
    if space is None:
        return name, None
    return name, _text(objects.reader, body, stored, space.shape)


def _text(reader: Hdf5Reader, body: Bytes, stored: Stored, shape: tuple[int, ...]) -> str | None:
    count = count_elements(shape, "an attribute")
    shown = min(count, SHOWN_ITEMS)
    if count * stored.size > body.left:
        body.take(count * stored.size)
    if stored.is_text:
        items = [_plain(body.take(stored.size)) for _ in range(shown)]
    elif stored.is_varying_text:
        items = [_varying(reader, body) for _ in range(shown)]
    elif stored.dtype is not None and stored.dtype.kind in (
        DTypeKind.INT,
        DTypeKind.UINT,
        DTypeKind.FLOAT,
    ):
        items = _numbers(body.take(shown * stored.size), stored.dtype, stored.big_endian)
    else:
        return None
    if not math.prod(shape):
        return ""
    more = f" … ({count} in all)" if count > shown else ""
    return ", ".join(items) + more


def _plain(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode("utf-8", "backslashreplace")


def _varying(reader: Hdf5Reader, body: Bytes) -> str:
    size = body.number(4)
    address, index = reader.address(body), body.number(4)
    return "" if not size or not address else _plain(reader.heap_text(address, index, size))


def _numbers(raw: bytes, dtype: DType, big_endian: bool) -> list[str]:
    words = np.frombuffer(raw, f"u{dtype.itemsize}")
    values = (words.byteswap() if big_endian else words).view(dtype.carrier)
    return [str(value) for value in values]
