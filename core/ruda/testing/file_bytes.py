"""Small weight files as bytes, put together by hand: good ones, and ones that are wrong on purpose.

No writer of Ruda and no foreign library is used, so a test of a reader stands on its own.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import cbor2
import numpy as np

from ruda.tensor import DType

Arrays = Mapping[str, np.ndarray[Any, Any]]

# safetensors


def safetensors_raw(header: bytes | str, data: bytes = b"", *, length: int | None = None) -> bytes:
    """A file of this header text and data; ``length`` overrides the true header length."""
    raw = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def safetensors_bytes(arrays: Arrays, metadata: Mapping[str, str] | None = None) -> bytes:
    """A well-formed file of these arrays, in their order."""
    header: dict[str, Any] = {}
    if metadata:
        header["__metadata__"] = dict(metadata)
    data = b""
    for key, array in arrays.items():
        raw = little(array)
        header[key] = {
            "dtype": DType.from_numpy(array.dtype).safetensors,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    return safetensors_raw(json.dumps(header), data)


# Rudapack


def rudapack_raw(
    metadata: bytes | Mapping[str, Any],
    data: bytes = b"",
    *,
    magic: bytes = b"NRUB",
    version: int = 1,
    size: int | None = None,
    aligned: bool = True,
) -> bytes:
    """A file of this metadata (a map, or CBOR as it is) and data; ``size`` overrides its length."""
    raw = metadata if isinstance(metadata, bytes) else cbor2.dumps(dict(metadata))
    head = magic + struct.pack("<HI", version, len(raw) if size is None else size) + raw
    if aligned:
        head += bytes(-len(head) % 256)
    return head + data


def rudapack_bytes(
    arrays: Arrays,
    *,
    metadata: Mapping[str, str] | None = None,
    ids: Mapping[str, int] | None = None,
    aligned: bool = True,
) -> bytes:
    """A well-formed file of these arrays, in either data layout."""
    tensors: dict[str, Any] = {}
    data = b""
    for key, array in arrays.items():
        if aligned:
            data += bytes(-len(data) % 256)
        raw = little(array)
        spelled = DType.from_numpy(array.dtype).rudapack
        tensors[key] = {
            "dtype": {"Bool": "Native"} if spelled == "Bool" and aligned else spelled,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        if ids and key in ids:
            tensors[key]["param_id"] = ids[key]
        data += raw
    root: dict[str, Any] = {"tensors": dict(sorted(tensors.items()))}
    if metadata:
        root["metadata"] = dict(metadata)
    return rudapack_raw(root, data, aligned=aligned)


# Pickles

MARK, STOP, REDUCE, TUPLE, BUILD, NEWOBJ = b"(", b".", b"R", b"t", b"b", b"\x81"
DICT, LIST, SETITEM, SETITEMS, APPEND, APPENDS = b"}", b"]", b"s", b"u", b"a", b"e"
NONE, TRUE, FALSE, EMPTY_TUPLE, PERSID = b"N", b"\x88", b"\x89", b")", b"Q"


def name(full: str) -> bytes:
    """The instruction for ``module.name``."""
    module, _, last = full.rpartition(".")
    return b"c" + module.encode() + b"\n" + last.encode() + b"\n"


def text(value: str) -> bytes:
    """The instruction for a text."""
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value: int) -> bytes:
    """The instruction for a whole number of any size."""
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def group(*parts: bytes) -> bytes:
    """The instructions for a tuple."""
    return MARK + b"".join(parts) + TUPLE


def call(full: str, *args: bytes) -> bytes:
    """The instructions for a call of ``module.name``."""
    return name(full) + group(*args) + REDUCE


def table(items: Mapping[str, bytes]) -> bytes:
    """The instructions for a dict from texts to what the values build."""
    return DICT + MARK + b"".join(text(key) + value for key, value in items.items()) + SETITEMS


def script(*parts: bytes, protocol: int = 2) -> bytes:
    """A whole pickle of these instructions."""
    return b"\x80" + bytes([protocol]) + b"".join(parts) + STOP


def torch_storage(
    key: str, numel: int, cls: str = "torch.FloatStorage", *, location: bytes | None = None
) -> bytes:
    """The instructions for a storage of a zip or legacy file."""
    place = text("cpu") if location is None else location
    fields = group(text("storage"), name(cls), text(key), place, number(numel))
    return fields + PERSID


def torch_tensor(
    storage: bytes,
    shape: Sequence[int],
    strides: Sequence[int] | None = None,
    offset: int = 0,
    *,
    dtype: str | None = None,
) -> bytes:
    """The instructions for a view of a storage; ``dtype`` selects the form for untyped storages."""
    steps = row_major(shape) if strides is None else strides
    args = [
        storage,
        number(offset),
        group(*(number(n) for n in shape)),
        group(*(number(n) for n in steps)),
        FALSE,
        name("collections.OrderedDict") + EMPTY_TUPLE + REDUCE,
    ]
    if dtype is None:
        return call("torch._utils._rebuild_tensor_v2", *args)
    return call("torch._utils._rebuild_tensor_v3", *args, name(f"torch.{dtype}"))


def torch_state(arrays: Arrays) -> tuple[bytes, dict[str, bytes]]:
    """Instructions for a dict of these arrays, and its storages under the keys 0, 1, 2."""
    items: dict[str, bytes] = {}
    storages: dict[str, bytes] = {}
    for position, (key, array) in enumerate(arrays.items()):
        raw, slot = little(array), str(position)
        dtype = DType.from_numpy(array.dtype)
        storages[slot] = raw
        if dtype.torch_storage is None:
            held = torch_storage(slot, len(raw), "torch.storage.UntypedStorage")
            items[key] = torch_tensor(held, array.shape, dtype=dtype.torch)
        else:
            held = torch_storage(slot, array.size, f"torch.{dtype.torch_storage}")
            items[key] = torch_tensor(held, array.shape)
    return table(items), storages


def torch_zip_raw(
    pickled: bytes,
    storages: Mapping[str, bytes] | None = None,
    *,
    folder: str = "archive/",
    more: Mapping[str, bytes] | None = None,
    deflate: bool = False,
) -> bytes:
    """A checkpoint archive of this pickle and these storages; ``more`` adds members as named."""
    members = {f"{folder}data.pkl": pickled}
    members |= {f"{folder}data/{key}": raw for key, raw in (storages or {}).items()}
    members |= more or {}
    return archive_bytes(members, deflate=deflate)


def archive_bytes(members: Mapping[str, bytes], *, deflate: bool = False) -> bytes:
    """A zip archive of these members."""
    method = zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for member, raw in members.items():
            archive.writestr(zipfile.ZipInfo(member), raw, method)
    return out.getvalue()


def pickle_of(archive: bytes) -> bytes:
    """The pickle in a checkpoint archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.read(next(n for n in opened.namelist() if n.endswith("data.pkl")))


def torch_zip_bytes(arrays: Arrays, **options: Any) -> bytes:
    """A well-formed checkpoint archive; ``options`` as for ``torch_zip_raw``."""
    state, storages = torch_state(arrays)
    return torch_zip_raw(script(state), storages, **options)


LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
SYSTEM = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}


def torch_legacy_raw(
    pickled: bytes,
    storages: Sequence[tuple[str, int, bytes]] = (),
    *,
    protocol: int = 2,
    magic: bytes | None = None,
    keys: bytes | None = None,
) -> bytes:
    """A stream of five pickles and then storages (key, stated count, bytes)."""
    first = pickle.dumps(LEGACY_MAGIC, protocol) if magic is None else magic
    listed = pickle.dumps([key for key, _, _ in storages], protocol) if keys is None else keys
    head = first + pickle.dumps(1001, protocol) + pickle.dumps(SYSTEM, protocol) + pickled + listed
    return head + b"".join(struct.pack("<q", count) + raw for _, count, raw in storages)


def torch_legacy_bytes(arrays: Arrays, *, protocol: int = 2) -> bytes:
    """A well-formed legacy checkpoint."""
    state, storages = torch_state(arrays)
    rows = []
    for (slot, raw), array in zip(storages.items(), arrays.values(), strict=True):
        typed = DType.from_numpy(array.dtype).torch_storage is not None
        rows.append((slot, array.size if typed else len(raw), raw))
    return torch_legacy_raw(script(state), rows, protocol=protocol)


def little(array: np.ndarray[Any, Any]) -> bytes:
    """Row-major little-endian bytes."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


def row_major(shape: Sequence[int]) -> list[int]:
    """Strides, in elements, of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]
