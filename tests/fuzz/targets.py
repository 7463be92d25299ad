"""What is fuzzed: one reader each, with small files to begin from.

A target takes any bytes. It may read them or refuse them with an error of Ruda; whatever else it
raises is a fault. A tensor that is listed has to give as many bytes as it says, or be refused.
"""

from __future__ import annotations

import math
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import seeds

from ruda.errors import RudaError
from ruda.store import TensorIndex, dequantize, open_store
from ruda.store.bytefile import MemoryFile
from ruda.store.formats.gguf import GgufFormat
from ruda.store.formats.hdf5 import Hdf5Format
from ruda.store.formats.keras_archive import KerasFormat
from ruda.store.formats.numpy_files import NumpyFormat
from ruda.store.formats.onnx import OnnxFormat
from ruda.store.formats.pytorch import PytorchFormat
from ruda.store.formats.rudapack import RudapackFormat
from ruda.store.formats.safetensors import SafetensorsFormat
from ruda.tensor import DType
from ruda.testing import file_bytes as build

READ_LIMIT = 1 << 20
"""Tensors that claim more are listed and not read: a file may say a lot in few bytes."""
NOWHERE = Path("fuzz")


@dataclass(frozen=True, slots=True)
class Target:
    """One reader: ``run`` takes bytes, ``seeds`` are good files of its kind."""

    run: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def attempt(target: Target, raw: bytes) -> bool:
    """True if the bytes were read; False if they were refused. Anything else is raised."""
    try:
        target.run(raw)
    except RudaError as error:
        if not str(error).strip():
            raise AssertionError("an error says nothing") from error
        return False
    return True


def whole(made: Any) -> Callable[[bytes], object]:
    """Opens the bytes as a file of one format and reads every small tensor."""

    def run(raw: bytes) -> None:
        with made.open_bytes(MemoryFile(raw, NOWHERE)) as index:
            read(index)

    return run


def read(index: TensorIndex) -> None:
    """Read every small tensor, both ways; the bytes have to be those that the header promised."""
    for key, snapshot in index.items():
        assert snapshot.key == key, "a tensor is listed under the key of another"
        assert snapshot.nbytes >= 0, f"{key} has a negative size"
        if snapshot.nbytes > READ_LIMIT or math.prod(snapshot.shape) > READ_LIMIT:
            continue
        values = snapshot.read()
        assert values.nbytes == snapshot.nbytes, f"{key} says {snapshot.nbytes} bytes"
        streamed = b"".join(bytes(piece) for piece in snapshot.chunks(1000))
        assert streamed == values.tobytes(), f"{key} is streamed as other bytes than it is read"
        if hasattr(snapshot.scheme, "dequantized") or snapshot.dtype in (DType.QFLOAT, DType.GGML):
            plain = dequantize(snapshot)
            assert plain.read().nbytes == plain.nbytes, f"{key} has other values than it says"


def pickled(raw: bytes) -> None:
    """Takes the bytes as the pickle of a zip archive whose checksums are right."""
    whole(PytorchFormat())(build.torch_zip_raw(raw, {str(key): bytes(64) for key in range(6)}))


def array_header(raw: bytes) -> None:
    """Takes the bytes as the text of a NumPy header."""
    head = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(raw)) + raw
    whole(NumpyFormat())(head + bytes(64))


def json_header(raw: bytes) -> None:
    """Takes the bytes as the JSON of a safetensors header before the data of the seed."""
    whole(SafetensorsFormat())(build.safetensors_raw(raw, bytes(40)))


def cbor_header(raw: bytes) -> None:
    """Takes the bytes as the CBOR of a Rudapack file before the data of the seed."""
    whole(RudapackFormat())(build.rudapack_raw(raw, bytes(1026)))


def beside(name: str, files: dict[str, bytes]) -> Callable[[bytes], object]:
    """Takes the bytes as one file of a folder of these others, and opens the set."""

    @cache
    def folder() -> Path:
        # Kept until the process ends: a folder for each input would be most of the work.
        made = tempfile.TemporaryDirectory(prefix="ruda-fuzz-")
        _FOLDERS.append(made)
        for other, raw in files.items():
            (Path(made.name) / other).write_bytes(raw)
        return Path(made.name)

    def run(raw: bytes) -> None:
        path = folder() / name
        path.write_bytes(raw)
        with open_store(path) as index:
            read(index)

    return run


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


TARGETS = {
    "safetensors": Target(whole(SafetensorsFormat()), (seeds.ST, seeds.SHARD)),
    "safetensors-header": Target(json_header, (seeds.ST[8:-40],)),
    "rudapack": Target(whole(RudapackFormat()), seeds.BPK),
    "rudapack-header": Target(cbor_header, (seeds.CBOR,)),
    "pytorch-zip": Target(whole(PytorchFormat()), seeds.ZIPS),
    "pytorch-pickle": Target(pickled, (seeds.STATE, *map(build.pickle_of, seeds.ZIPS[::5]))),
    "pytorch-legacy": Target(
        whole(PytorchFormat()),
        (
            build.torch_legacy_bytes(seeds.ARRAYS),
            *seeds.golden("views_legacy.pt", "quantized_legacy.pt"),
        ),
    ),
    "pytorch-tar": Target(whole(PytorchFormat()), seeds.tars()),
    "pickle": Target(whole(PytorchFormat()), seeds.golden("plain_0.pkl", "plain_4.pkl")),
    "npy": Target(whole(NumpyFormat()), seeds.NPY),
    "npy-header": Target(array_header, tuple(raw[10:128] for raw in seeds.NPY)),
    "npz": Target(whole(NumpyFormat()), (seeds.npz(deflate=False), seeds.npz(deflate=True))),
    "gguf": Target(whole(GgufFormat()), (seeds.gguf(), seeds.big_gguf())),
    "hdf5": Target(whole(Hdf5Format()), seeds.hdf5()),
    "keras": Target(whole(KerasFormat()), (seeds.keras(),)),
    "onnx": Target(whole(OnnxFormat()), (seeds.onnx(), seeds.onnx_program())),
    "sharded": Target(beside("m.index.json", seeds.SHARDS), (seeds.MAP.encode(),)),
    "distributed": Target(beside(".metadata", seeds.RANKS), (seeds.METADATA,)),
}
