"""A second reader of PyTorch files, for checking what was written: Python's zipfile and pickle.

The unpickler resolves what a plain state dict names and nothing else, each name to something inert.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruda.store.read_back import FoundFile, FoundTensor
from ruda.tensor import DType, Kind

_PREFIX = "archive/"


@dataclass(frozen=True, slots=True)
class _Name:
    module: str
    name: str


@dataclass(frozen=True, slots=True)
class _Storage:
    cls: _Name
    key: str
    numel: int


@dataclass(frozen=True, slots=True)
class _View:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType


def _typed(storage: _Storage, offset: Any, shape: Any, strides: Any, *rest: Any) -> _View:
    dtype = DType.from_torch_storage(storage.cls.name)
    if dtype is None or storage.cls.module != "torch":
        raise ValueError(f"a tensor has the storage {storage.cls}")
    return _View(storage, offset, shape, strides, dtype)


def _untyped(storage: _Storage, offset: Any, shape: Any, strides: Any, *rest: Any) -> _View:
    dtype = DType.from_torch(rest[2].name)
    if dtype is None or storage.cls != _Name("torch.storage", "UntypedStorage"):
        raise ValueError(f"a tensor has the dtype {rest[2]} in {storage.cls}")
    return _View(storage, offset, shape, strides, dtype)


_CALLS: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _typed,
    ("torch._utils", "_rebuild_tensor_v3"): _untyped,
}


class _Strict(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """An inert stand-in. Raises UnpicklingError for a name that a state dict never has."""
        if (module, name) in _CALLS:
            return _CALLS[module, name]
        plain = DType.from_torch(name) or DType.from_torch_storage(name)
        if (module == "torch" and plain) or (module, name) == ("torch.storage", "UntypedStorage"):
            return _Name(module, name)
        raise pickle.UnpicklingError(f"the pickle names {module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        """The storage of a persistent id."""
        word, cls, key, location, numel = pid
        if word != "storage" or location != "cpu":
            raise pickle.UnpicklingError(f"the persistent id is {pid}")
        return _Storage(cls, key, numel)


def read_pytorch(path: Path) -> FoundFile:
    """Tensors and storages of a file; Python's zipfile reads each and checks its checksum."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        if archive.testzip() is not None:
            raise ValueError(f"the checksum of {archive.testzip()} is wrong")
        if archive.read(f"{_PREFIX}byteorder") != b"little":
            raise ValueError("the byte order is not little")
        root = _Strict(io.BytesIO(archive.read(f"{_PREFIX}data.pkl"))).load()
        blocks: dict[str, FoundTensor] = {}
        found = []
        for key, view in root.items():
            number = view.storage.key
            if number not in blocks:
                info = archive.getinfo(f"{_PREFIX}data/{number}")
                file.seek(info.header_offset)
                name_size, extra_size = struct.unpack("<26xHH", file.read(30))
                start = info.header_offset + 30 + name_size + extra_size
                blocks[number] = FoundTensor(key, None, (), start, info.file_size)
            found.append(_found(key, view, blocks[number]))
    return FoundFile(tuple(found), None, tuple(blocks.values()))


def _found(key: str, view: _View, block: FoundTensor) -> FoundTensor:
    item = 1 if view.dtype.kind is Kind.PACKED else view.dtype.itemsize
    span = 1 + sum((n - 1) * step for n, step in zip(view.shape, view.strides, strict=True))
    count = 1
    expected: list[int] = []
    for size in reversed(view.shape):
        expected.insert(0, count)
        count *= max(size, 1)
    row_major = view.strides == tuple(expected)
    if 0 in view.shape:
        span = count = 0
    if (view.offset + span) * item > block.nbytes or block.offset % 64:
        raise ValueError(f"{key!r} lies outside of its storage")
    place = block.offset + view.offset * item
    strides = None if row_major else view.strides
    return FoundTensor(key, view.dtype, view.shape, place, count * item, strides=strides)
