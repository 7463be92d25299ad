"""Small GGUF and ONNX files as bytes, put together by hand: good ones, and ones that are wrong."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ruda.tensor import DType

Arrays = Mapping[str, np.ndarray[Any, Any]]

# GGUF

GGUF_NUMBERS = {
    DType.F32: 0,
    DType.F16: 1,
    DType.I8: 24,
    DType.I16: 25,
    DType.I32: 26,
    DType.I64: 27,
    DType.F64: 28,
    DType.BF16: 30,
}
U32, F32, BOOL, TEXT, LIST, U64 = 4, 6, 7, 8, 9, 10
"""Some types of metadata values."""


def gguf_text(text: str | bytes, *, order: str = "<") -> bytes:
    """A text with its length."""
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack(f"{order}Q", len(raw)) + raw


def gguf_pair(key: str | bytes, kind: int, value: bytes, *, order: str = "<") -> bytes:
    """One metadata pair; the value is in its bytes already."""
    return gguf_text(key, order=order) + struct.pack(f"{order}I", kind) + value


def gguf_list(kind: int, count: int, items: bytes = b"", *, order: str = "<") -> bytes:
    """The value of a list."""
    return struct.pack(f"{order}IQ", kind, count) + items


def gguf_entry(
    key: str | bytes, shape: Iterable[int], kind: int, offset: int, *, order: str = "<"
) -> bytes:
    """The description of one tensor; the shape is as Ruda has it, the innermost axis last."""
    sizes = list(shape)[::-1]
    head = gguf_text(key, order=order) + struct.pack(f"{order}I", len(sizes))
    return head + struct.pack(f"{order}{len(sizes)}QIQ", *sizes, kind, offset)


def gguf_raw(
    entries: Iterable[bytes] = (),
    data: bytes = b"",
    *,
    pairs: Iterable[bytes] = (),
    version: int = 3,
    counts: tuple[int, int] | None = None,
    alignment: int = 32,
    order: str = "<",
) -> bytes:
    """A file of these descriptions and pairs; ``counts`` overrides how many there are."""
    listed, facts = list(entries), list(pairs)
    stated = (len(listed), len(facts)) if counts is None else counts
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, *stated)
    head += b"".join(facts) + b"".join(listed)
    return head + bytes(-len(head) % alignment) + data if listed else head


def gguf_bytes(arrays: Arrays, *, order: str = "<", **options: Any) -> bytes:
    """A file of these arrays, with no padding behind the last."""
    entries: list[bytes] = []
    data = b""
    for key, array in arrays.items():
        data += bytes(-len(data) % 32)
        number = GGUF_NUMBERS[DType.from_numpy(array.dtype)]
        entries.append(gguf_entry(key, array.shape, number, len(data), order=order))
        data += _in_order(array, order)
    return gguf_raw(entries, data, order=order, **options)


def _in_order(array: np.ndarray[Any, Any], order: str) -> bytes:
    if order == "<" or array.dtype.itemsize == 1:
        return array.tobytes()
    words = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
    return words.byteswap().tobytes()


# ONNX

ONNX_NUMBERS = {
    DType.F32: 1,
    DType.U8: 2,
    DType.I8: 3,
    DType.U16: 4,
    DType.I16: 5,
    DType.I32: 6,
    DType.I64: 7,
    DType.BOOL: 9,
    DType.F16: 10,
    DType.F64: 11,
    DType.U32: 12,
    DType.U64: 13,
    DType.C64: 14,
    DType.C128: 15,
    DType.BF16: 16,
    DType.F8_E4M3FN: 17,
    DType.F8_E4M3FNUZ: 18,
    DType.F8_E5M2: 19,
    DType.F8_E5M2FNUZ: 20,
    DType.F8_E8M0: 24,
}
_LISTS = {
    DType.F32: 4,
    DType.C64: 4,
    DType.F64: 10,
    DType.C128: 10,
    DType.I64: 7,
    DType.U32: 11,
    DType.U64: 11,
}
"""Fields of typed lists; 5 for all other dtypes."""


def varint(value: int) -> bytes:
    """A number of varying length; a negative one takes ten bytes."""
    left, out = value % (1 << 64), b""
    while left > 127:
        out += bytes([left & 127 | 128])
        left >>= 7
    return out + bytes([left])


def proto(number: int, value: int | bytes | str) -> bytes:
    """One field of a message: a number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def onnx_tensor(name: str, kind: int, dims: Iterable[int], *more: bytes) -> bytes:
    """An initialiser as a field of a graph; ``more`` are the fields of its values."""
    shape = b"".join(proto(1, size) for size in dims)
    return proto(5, shape + proto(2, kind) + proto(8, name) + b"".join(more))


def onnx_raw(*graph: bytes, head: bytes | None = None, tail: bytes | None = None) -> bytes:
    """A model of these fields of its graph, between its version and its operators."""
    before = proto(1, 8) + proto(2, "ruda") if head is None else head
    after = proto(8, proto(2, 17)) if tail is None else tail
    return before + proto(7, b"".join(graph)) + after


def onnx_external(location: str, **facts: object) -> bytes:
    """The fields of values in another file."""
    pairs = {"location": location, **facts}
    listed = b"".join(proto(13, proto(1, key) + proto(2, str(v))) for key, v in pairs.items())
    return listed + proto(14, 1)


def onnx_bytes(arrays: Arrays, *, typed: bool = False) -> bytes:
    """A model with these arrays as initialisers, raw or in typed lists."""
    tensors: list[bytes] = []
    for key, array in arrays.items():
        dtype = DType.from_numpy(array.dtype)
        values = _typed(array, dtype) if typed else proto(9, array.tobytes())
        tensors.append(onnx_tensor(key, ONNX_NUMBERS[dtype], array.shape, values))
    return onnx_raw(*tensors)


def _typed(array: np.ndarray[Any, Any], dtype: DType) -> bytes:
    number = _LISTS.get(dtype, 5)
    if number in (4, 10):
        return proto(number, array.tobytes())
    whole = dtype.is_integer or dtype is DType.BOOL
    flat = np.ascontiguousarray(array).reshape(-1)
    numbers = flat if whole else flat.view(f"u{dtype.itemsize}")
    return proto(number, b"".join(varint(int(n)) for n in numbers))


# HDF5, of the oldest form

H5_SLOT = 1024
"""Each object begins at a multiple of this, the root group at the first."""
H5_F32 = bytes([0x11, 0x20, 31, 0]) + struct.pack("<IHHBBBBI", 4, 0, 32, 23, 8, 0, 23, 127)
"""The datatype of f32."""


def h5_message(kind: int, body: bytes, *, flags: int = 0) -> bytes:
    """One message of an object header."""
    padded = body + bytes(-len(body) % 8)
    return struct.pack("<HHB3x", kind, len(padded), flags) + padded


def h5_link(name: bytes, slot: int, *, kind: int = 0) -> bytes:
    """A member of a group: the object in a slot, or a link by name."""
    target = struct.pack("<Q", H5_SLOT * slot) if kind == 0 else struct.pack("<H", 2) + b"/a"
    return h5_message(6, bytes([1, 8, kind, len(name)]) + name + target)


def h5_shape(*sizes: int) -> bytes:
    """A dataspace message."""
    return h5_message(
        1, bytes([1, len(sizes), 0, 0]) + bytes(4) + struct.pack(f"<{len(sizes)}Q", *sizes)
    )


def h5_plain(address: int, size: int) -> bytes:
    """A layout message: values in one piece."""
    return h5_message(8, struct.pack("<BBQQ", 3, 1, address, size))


def h5_chunked(address: int, *sizes: int, itemsize: int = 4) -> bytes:
    """A layout message: values in chunks of this shape, listed by a tree."""
    axes = len(sizes) + 1
    return h5_message(8, struct.pack(f"<BBBQ{axes}I", 3, 2, axes, address, *sizes, itemsize))


def h5_raw(*objects: Iterable[bytes], data: bytes = b"", root: int = 1, end: int = 0) -> bytes:
    """A file of these objects, each a list of messages, in slots from 1 on; then ``data``."""
    slots = [b"".join(messages) for messages in objects]
    counts = [len(list(messages)) for messages in objects]
    body = b"".join(
        (struct.pack("<BxHII4x", 1, count, 1, len(raw)) + raw).ljust(H5_SLOT, b"\0")
        for raw, count in zip(slots, counts, strict=True)
    )
    size = H5_SLOT + len(body) + len(data)
    none = (1 << 64) - 1
    head = b"\x89HDF\r\n\x1a\n" + bytes([0, 0, 0, 0, 0, 8, 8, 0]) + struct.pack("<HHI", 4, 16, 0)
    head += struct.pack("<4Q", 0, none, end or size, none)
    head += struct.pack("<QQII16x", 0, H5_SLOT * root, 0, 0)
    return head.ljust(H5_SLOT, b"\0") + body + data
