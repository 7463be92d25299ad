"""Reading a written file back with code that is not ours, and comparing it with what was meant.

safetensors files are parsed by the official library; Rudapack files by a second, small reader that
shares nothing with the encoder. Values are compared by their sha256, one tensor at a time.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import cbor2

from ruda.errors import SaveError
from ruda.progress import SILENT, Monitor, Progress
from ruda.store.snapshot import CHUNK_BYTES

_RUDAPACK_MAGIC = b"NRUB\x01\x00"


@dataclass(frozen=True, slots=True)
class FoundTensor:
    """One tensor as an independent reader sees it; ``offset`` counts from the file's start."""

    key: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def verify_file(
    path: Path,
    format: str,
    expected: Mapping[str, tuple[tuple[int, ...], str]],
    *,
    metadata: Mapping[str, str],
    monitor: Monitor = SILENT,
) -> None:
    """Compare a file with the shape and sha256 that each of its keys should have.

    Raises SaveError (stage ``verify``) naming the first difference.
    """
    read = _READERS.get(format)
    if read is None:
        raise SaveError(f"{format} files cannot be verified", stage="verify")
    try:
        found, text = read(path)
    except Exception as error:
        raise SaveError(f"the written file cannot be read back: {error}", stage="verify") from error
    if dict(metadata) != dict(text):
        raise SaveError(f"metadata {dict(text)} was read back, not {metadata}", stage="verify")
    if {t.key for t in found} != set(expected):
        wrong = sorted({t.key for t in found} ^ set(expected))[0]
        raise SaveError(f"{wrong!r} is on one side only after reading back", stage="verify")
    _compare_values(path, found, expected, monitor)


def _compare_values(
    path: Path,
    found: list[FoundTensor],
    expected: Mapping[str, tuple[tuple[int, ...], str]],
    monitor: Monitor,
) -> None:
    total, done = sum(t.nbytes for t in found), 0
    with open(path, "rb") as file:
        for tensor in found:
            shape, digest = expected[tensor.key]
            if tensor.shape != shape:
                raise SaveError(
                    f"{tensor.key!r} has shape {tensor.shape} after reading back, not {shape}",
                    stage="verify",
                )
            got = hashlib.sha256()
            for chunk in _chunks(file, tensor):
                monitor.check()
                got.update(chunk)
                done += len(chunk)
                monitor.report(Progress(done, total, "bytes verified"))
            if got.hexdigest() != digest:
                raise SaveError(
                    f"{tensor.key!r} at byte {tensor.offset} reads back with other values "
                    f"(sha256 {got.hexdigest()[:12]}…, expected {digest[:12]}…)",
                    stage="verify",
                )


def _chunks(file: BinaryIO, tensor: FoundTensor) -> Iterator[bytes]:
    file.seek(tensor.offset)
    left = tensor.nbytes
    while left:
        chunk = file.read(min(left, CHUNK_BYTES))
        if not chunk:
            return  # the digest will differ
        left -= len(chunk)
        yield chunk


def _read_safetensors(path: Path) -> tuple[list[FoundTensor], dict[str, str]]:
    """The official reader checks the header and names the tensors; JSON gives the offsets.

    Its NumPy side cannot return bf16 and fp8, therefore the values are read by offset.
    """
    from safetensors import safe_open

    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    found = []
    with safe_open(path, framework="np") as official:
        text = dict(official.metadata() or {})
        if set(official.keys()) != set(header):
            raise ValueError("the official reader sees other keys")
        for key in official.offset_keys():
            begin, end = header[key]["data_offsets"]
            shape = tuple(official.get_slice(key).get_shape())
            found.append(FoundTensor(key, shape, 8 + size + begin, end - begin))
    return found, text


def _read_rudapack(path: Path) -> tuple[list[FoundTensor], dict[str, str]]:
    with open(path, "rb") as file:
        if file.read(6) != _RUDAPACK_MAGIC:
            raise ValueError("wrong magic")
        (size,) = struct.unpack("<I", file.read(4))
        document = cbor2.loads(file.read(size))
    data = (10 + size + 255) & ~255
    found = []
    for key, descriptor in document["tensors"].items():
        begin, end = descriptor["data_offsets"]
        found.append(FoundTensor(key, tuple(descriptor["shape"]), data + begin, end - begin))
    return sorted(found, key=lambda t: t.offset), document.get("metadata", {})


_READERS: dict[str, Callable[[Path], tuple[list[FoundTensor], dict[str, str]]]] = {
    "rudapack": _read_rudapack,
    "safetensors": _read_safetensors,
}
