"""Reading a written file back with code that is not ours, and comparing it with what was meant.

safetensors files are parsed by the official library, NumPy's by NumPy, PyTorch's by Python's own
zip and pickle modules (an unpickler that knows nothing but what a state dict needs); Rudapack files
by a second, small reader that shares nothing with the encoder. Values are compared by their
sha256, one tensor at a time.
"""

from __future__ import annotations

import hashlib
import json
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO

import cbor2
import numpy as np

from ruda._kernels import aside, thread_count
from ruda.errors import SaveError
from ruda.progress import SILENT, Monitor, Progress
from ruda.store._verify_pytorch import read_pytorch
from ruda.store.layout import Layout, PlannedTensor
from ruda.store.read_back import FoundFile, FoundTensor
from ruda.tensor import DType

READ_BYTES = 1 << 20
RUN_BYTES = 8 << 20
"""Bytes of tensors that one thread hashes in a row."""
_RUDAPACK_MAGIC = b"NRUB\x01\x00"


def verify_file(
    path: Path,
    layout: Layout,
    digests: Mapping[str, str],
    *,
    metadata: Mapping[str, str],
    scalars: Mapping[str, Any] | None = None,
    monitor: Monitor = SILENT,
) -> None:
    """Compare a file with what was planned and with the sha256 that each block should have.

    Raises SaveError (stage ``verify``) naming the first difference, and Cancelled.
    """
    format = layout.format
    read = _READERS.get(format)
    if read is None:
        raise _differs(f"{format} files cannot be verified")
    try:
        found = read(path)
    except Exception as error:
        raise _differs(f"the written file cannot be read back: {error}") from error
    if found.metadata is not None and dict(metadata) != dict(found.metadata):
        raise _differs(f"metadata {dict(found.metadata)} was read back, not {dict(metadata)}")
    if format == "rudapack" and _text(scalars or {}) != _text(found.scalars):
        raise _differs(f"scalars {dict(found.scalars)} were read back, not {dict(scalars or {})}")
    tensors = found.tensors
    if not found.has_keys:
        tensors = tuple(replace(t, key=e.key) for t, e in zip(tensors, layout.entries, strict=True))
    planned = _paired(tensors, layout.entries)
    for tensor in tensors:
        _compare_header(tensor, planned[tensor.key], keeps_ids=format == "rudapack")
    blocks = tensors
    if found.blocks is not None:
        blocks = found.blocks
        _paired(blocks, layout.blocks)
    _compare_values(path, blocks, digests, monitor)


def _paired(
    found: Sequence[FoundTensor], planned: Sequence[PlannedTensor]
) -> dict[str, PlannedTensor]:
    by_key = {entry.key: entry for entry in planned}
    if {t.key for t in found} != set(by_key) or len(found) != len(by_key):
        wrong = sorted({t.key for t in found} ^ set(by_key))
        raise _differs(f"{(wrong or ['a key'])[0]!r} is on one side only after reading back")
    return by_key


def _differs(fact: str) -> SaveError:
    return SaveError(fact, stage="verify")


def _text(scalars: Mapping[str, Any]) -> str:
    return repr(sorted((name, dict(value)) for name, value in scalars.items()))  # NaN ≠ NaN


def _compare_header(found: FoundTensor, planned: PlannedTensor, *, keeps_ids: bool) -> None:
    if found.shape != planned.shape:
        raise _differs(
            f"{found.key!r} has shape {found.shape} after reading back, not {planned.shape}"
        )
    alike = {planned.dtype, DType.F32} if planned.dtype is DType.FLEX32 else {planned.dtype}
    if found.dtype not in alike:
        raise _differs(
            f"{found.key!r} has dtype {found.dtype} after reading back, not {planned.dtype}"
        )
    if found.strides != planned.strides or found.offset != planned.offset:
        raise _differs(f"{found.key!r} lies elsewhere after reading back")
    if keeps_ids and found.param_id != planned.snapshot.param_id:
        raise _differs(f"{found.key!r} has another parameter id after reading back")


def _compare_values(
    path: Path, tensors: Sequence[FoundTensor], digests: Mapping[str, str], monitor: Monitor
) -> None:
    """Hash runs of tensors in several threads, and compare them in their order."""
    hashing = _Hashing(path, sum(t.nbytes for t in tensors), monitor)
    begun: deque[Callable[[], list[tuple[FoundTensor, str]]]] = deque()
    try:
        for run in _runs(tensors):
            begun.append(aside(partial(hashing.digests_of, run)))
            if len(begun) > 2 * thread_count():
                _compare_digests(begun.popleft()(), digests)
        while begun:
            _compare_digests(begun.popleft()(), digests)
    finally:
        hashing.is_over = True
        for wait in begun:
            with suppress(Exception):  # what went wrong first is what is raised
                wait()


def _runs(tensors: Sequence[FoundTensor]) -> Iterator[list[FoundTensor]]:
    """Neighbours that are worth a thread's while together."""
    run: list[FoundTensor] = []
    nbytes = 0
    for tensor in tensors:
        run.append(tensor)
        nbytes += tensor.nbytes
        if nbytes >= RUN_BYTES:
            yield run
            run, nbytes = [], 0
    if run:
        yield run


def _compare_digests(found: list[tuple[FoundTensor, str]], digests: Mapping[str, str]) -> None:
    for tensor, got in found:
        expected = digests[tensor.key]
        if got != expected:
            raise _differs(
                f"{tensor.key!r} at byte {tensor.offset} reads back with other values "
                f"(sha256 {got[:12]}…, expected {expected[:12]}…)"
            )


class _Hashing:
    """Hashes runs of tensors of one file, in any thread."""

    def __init__(self, path: Path, total: int, monitor: Monitor) -> None:
        self.is_over = False
        self._path = path
        self._total = total
        self._monitor = monitor
        self._done = 0
        self._lock = threading.Lock()

    def digests_of(self, run: list[FoundTensor]) -> list[tuple[FoundTensor, str]]:
        """The sha256 of each tensor. Raises Cancelled and OSError."""
        found: list[tuple[FoundTensor, str]] = []
        with open(self._path, "rb", buffering=0) as file:
            for tensor in run:
                got = hashlib.sha256()
                for chunk in _chunks(file, tensor):
                    if self.is_over:
                        return found
                    self._monitor.check()
                    got.update(chunk)
                    self._count(len(chunk))
                found.append((tensor, got.hexdigest()))
        return found

    def _count(self, more: int) -> None:
        with self._lock:
            self._done += more
            self._monitor.report(Progress(self._done, self._total, "bytes verified"))


def _chunks(file: RawIOBase, tensor: FoundTensor) -> Iterator[memoryview]:
    file.seek(tensor.offset)
    left = tensor.nbytes
    buffer = memoryview(bytearray(min(left, READ_BYTES)))
    while left:
        got = file.readinto(buffer[: min(left, READ_BYTES)])
        if not got:
            return  # the digest will differ
        left -= got
        yield buffer[:got]


def _read_safetensors(path: Path) -> FoundFile:
    """The official reader checks the header and names the tensors; JSON gives the offsets.

    Its NumPy side cannot return bf16 and fp8, therefore the values are read by offset.
    """
    from safetensors import safe_open

    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    found = []
    with safe_open(path, framework="np") as official:
        metadata = dict(official.metadata() or {})
        for key in official.offset_keys():
            begin, end = header[key]["data_offsets"]
            view = official.get_slice(key)
            dtype = DType.from_safetensors(view.get_dtype())
            place = (8 + size + begin, end - begin)
            found.append(FoundTensor(key, dtype, tuple(view.get_shape()), *place))
    return FoundFile(tuple(found), metadata)


def _read_rudapack(path: Path) -> FoundFile:
    with open(path, "rb") as file:
        if file.read(6) != _RUDAPACK_MAGIC:
            raise ValueError("wrong magic")
        (size,) = struct.unpack("<I", file.read(4))
        document = cbor2.loads(file.read(size))
    data = (10 + size + 255) & ~255
    found = [
        FoundTensor(
            key,
            _rudapack_dtype(entry["dtype"]),
            tuple(entry["shape"]),
            data + entry["data_offsets"][0],
            entry["data_offsets"][1] - entry["data_offsets"][0],
            entry.get("param_id"),
        )
        for key, entry in document["tensors"].items()
    ]
    found.sort(key=lambda t: t.offset)
    scalars = document.get("scalars", {})
    return FoundFile(tuple(found), document.get("metadata", {}), scalars=scalars)


def _rudapack_dtype(spelled: Any) -> DType | None:
    if isinstance(spelled, str):
        return DType.from_rudapack(spelled)
    ((kind, detail),) = spelled.items()
    if kind == "QFloat":
        return DType.QFLOAT
    return DType.BOOL_U32 if detail == "U32" else DType.BOOL


def _read_numpy(path: Path) -> FoundFile:
    """NumPy reads every array, one at a time; the archive's directory says where they lie."""
    with open(path, "rb") as file:
        alone = file.read(6) == b"\x93NUMPY"
    if alone:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        return FoundFile((_array_found("", array, int(array.offset)),), None, has_keys=False)
    found = []
    with np.load(path, allow_pickle=False) as archive, open(path, "rb") as file:
        for name in archive.zip.namelist():
            array = archive[name]  # NumPy reads all of it, and Python checks its checksum
            data = _member_start(file, archive.zip.getinfo(name).header_offset)
            size = archive.zip.getinfo(name).file_size
            key = name.removesuffix(".npy")
            found.append(_array_found(key, array, data + size - array.nbytes))
    return FoundFile(tuple(found), None)


def _array_found(key: str, array: np.ndarray[Any, Any], offset: int) -> FoundTensor:
    dtype = DType.from_numpy(array.dtype)
    if not array.flags.c_contiguous:
        raise ValueError(f"{key!r} is not row-major")
    return FoundTensor(key, dtype, tuple(array.shape), offset, array.nbytes)


def _member_start(file: BinaryIO, header: int) -> int:
    file.seek(header)
    name_size, extra_size = struct.unpack("<26xHH", file.read(30))
    return int(header + 30 + name_size + extra_size)


_READERS: dict[str, Callable[[Path], FoundFile]] = {
    "numpy": _read_numpy,
    "pytorch": read_pytorch,
    "rudapack": _read_rudapack,
    "safetensors": _read_safetensors,
}
