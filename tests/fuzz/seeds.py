"""Small good files of every kind, to begin fuzzing from."""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

from ruda.testing import file_bytes as build

ARRAYS = {
    "a.weight": np.arange(6, dtype="<f4").reshape(2, 3),
    "a.bias": np.arange(3, dtype="<f2"),
    "b": np.array(7, dtype="<i8"),
    "c": np.zeros((0, 2), "<f8"),
    "d": np.array([True, False]),
}


def npy(array: np.ndarray[Any, Any]) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(*, deflate: bool) -> bytes:
    members = {f"{key}.npy": npy(array) for key, array in ARRAYS.items()}
    return build.archive_bytes(members, deflate=deflate)


def tars() -> tuple[bytes, ...]:
    """One as torch 0.1 wrote it, and one with storages in place, as Burn's tests have it."""
    one = build.number(1)
    first = build.group(build.number(100), build.text("cpu"), build.name("torch.FloatStorage"))
    held = pickle.dumps(1, 2) + build.script(first) + struct.pack("<q", 4) + bytes(16)
    parts = build.group(build.number(300), build.number(100), one, build.number(3))
    tensor = build.group(build.number(200), build.number(300), build.name("torch.FloatTensor"))
    old = {
        "sys_info": pickle.dumps({"protocol_version": 1000}, 2),
        "storages": held + build.script(build.LIST + parts + build.APPEND),
        "tensors": pickle.dumps(1, 2) + build.script(tensor) + struct.pack("<4Q", 1, 2, 1, 1),
        "pickle": build.script(build.table({"w": build.text("200") + build.PERSID})),
    }
    fields = build.text("storage"), build.name("torch.FloatStorage"), build.text("100")
    inline = build.group(*fields, build.text("cpu"), build.number(4))
    state = build.script(build.table({"w": build.torch_tensor(inline, (4,))}))
    return tar(old), tar({"storages": held, "pickle": state})


def tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, raw in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(raw)
            archive.addfile(about, io.BytesIO(raw))
    return out.getvalue()


def gguf() -> bytes:
    def words(value: str) -> bytes:
        raw = value.encode()
        return struct.pack("<Q", len(raw)) + raw

    facts = [
        words("general.architecture") + struct.pack("<I", 8) + words("toy"),
        words("general.alignment") + struct.pack("<II", 4, 32),
        words("list") + struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 1, 2),
    ]
    tensors = [
        words("w") + struct.pack("<IQQIQ", 2, 3, 2, 0, 0),
        words("q") + struct.pack("<IQIQ", 1, 32, 8, 32),
    ]
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(facts)) + b"".join(facts + tensors)
    return head + bytes(-len(head) % 32) + bytes(32 + 34)


def big_gguf() -> bytes:
    """A big-endian file with blocks."""
    name = struct.pack(">Q", 1) + b"q"
    head = struct.pack(">4sIQQ", b"GGUF", 3, 1, 0) + name + struct.pack(">IQIQ", 1, 640, 8, 0)
    return head + bytes(-len(head) % 32) + bytes(range(34)) * 20


def hdf5() -> tuple[bytes, ...]:
    """Files in the old and the new layout, with the ways that values are stored."""
    import h5py

    made = []
    for version in ("earliest", "latest"):
        out = io.BytesIO()
        with h5py.File(out, "w", libver=version) as file:
            file.attrs["layer_names"] = ["a", "b"]
            for key, array in ARRAYS.items():
                file.create_dataset(f"model/{key}", data=array)
            grid = np.arange(24, dtype=">f4").reshape(4, 6)
            file.create_dataset("packed", data=grid, chunks=(2, 3), compression=4, shuffle=True)
            file.create_dataset("summed", data=grid, chunks=(3, 4), fletcher32=True)
            file["again"] = file["packed"]
            for key, limits in (("grows", (None, 6)), ("free", (None, None)), ("room", (9, 9))):
                file.create_dataset(key, data=grid, chunks=(1, 3), maxshape=limits)
        made.append(out.getvalue())
    return tuple(made)


def keras() -> bytes:
    """An archive of Keras with small weights."""
    import h5py

    out = io.BytesIO()
    with h5py.File(out, "w", libver="latest") as file:
        file.create_dataset("layers/dense/vars/0", data=np.arange(6, dtype="f4"))
    about = {"metadata.json": b'{"keras_version": "3.8.0"}', "config.json": b"{}"}
    return build.archive_bytes({**about, "model.weights.h5": out.getvalue()})


def onnx() -> bytes:
    def field(number: int, raw: bytes) -> bytes:
        return bytes([number << 3 | 2, len(raw)]) + raw

    two = b"\x08\x02\x08\x02"
    raw = two + b"\x10\x01" + field(8, b"w") + field(9, bytes(16))
    floats = b"\x08\x02\x10\x01" + field(4, bytes(8)) + field(8, b"v")
    return b"\x08\x08" + field(7, field(5, raw) + field(5, floats)) + field(8, b"\x10\x11")


def quantized() -> bytes:
    """A Rudapack file of quantized tensors: one scale, and one for each block."""
    import cbor2

    plain = {"value": "Q8S", "param": "F32", "store": "Native", "level": "Tensor"}
    block = {"size": {"storage": [2, 1, 1, 1, 1], "len": 1}, "dtype": "F16"}
    packed = {"value": "Q4F", "store": {"PackedU32": 1}, "tensor": "F32", "block": block}
    tensors = {
        key: {
            "dtype": {"QFloat": {**scheme, "mode": "Symmetric"}},
            "shape": [3, 2],
            "data_offsets": list(place),
        }
        for key, scheme, place in (("a", plain, (0, 10)), ("b", packed, (256, 274)))
    }
    return build.rudapack_raw(cbor2.dumps({"tensors": tensors}), bytes(range(274 % 256)) * 16)


def onnx_program() -> bytes:
    """A model with a sparse initialiser, 4-bit numbers, a constant and an inner graph."""

    def field(number: int, raw: bytes) -> bytes:
        return bytes([number << 3 | 2, len(raw)]) + raw

    small = b"\x08\x05\x10\x16" + field(8, b"i") + field(9, b"\xe1\x87\x03")
    held = b"\x08\x02\x10\x01" + field(8, b"s") + field(9, bytes(8))
    where = b"\x08\x02\x10\x07" + field(7, b"\x01\x05")
    sparse = field(1, held) + field(2, where) + b"\x18\x02\x18\x03"
    value = field(5, b"\x10\x01" + field(9, bytes(4)))
    node = field(2, b"c") + field(4, b"Constant") + field(5, value)
    inner = field(4, b"If") + field(5, field(6, field(5, small) + field(1, node)))
    graph = field(1, node) + field(5, small) + bytes([122, len(sparse)]) + sparse + field(1, inner)
    return b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11")


def golden(*names: str) -> tuple[bytes, ...]:
    folder = Path(__file__).resolve().parents[1] / "golden" / "torch"
    return tuple((folder / name).read_bytes() for name in names)


STATE = build.script(build.torch_state({"w": np.arange(6, dtype="<f4")})[0])
SHARD = build.safetensors_bytes({"a": np.ones(2, "<f4")})
MAP = json.dumps({"metadata": {"total_size": 16}, "weight_map": {"a": "m-1.st", "b": "m-2.st"}})
SHARDS = {"m-1.st": SHARD, "m-2.st": build.safetensors_bytes({"b": np.ones(2, "<f4")})}
ST = build.safetensors_bytes(ARRAYS, {"format": "pt"})
BPK = (
    build.rudapack_bytes(ARRAYS, metadata={"a": "b"}, ids={"b": 1 << 63}),
    build.rudapack_bytes(ARRAYS, aligned=False),
    quantized(),
)
NPY = tuple(npy(array) for array in ARRAYS.values())
ZIPS = (
    build.torch_zip_bytes(ARRAYS),
    build.torch_zip_bytes(ARRAYS, deflate=True),
    *golden("quantized.pt", "sparse_blocks.pt", "devices.pt", "lazy_bits.pt"),
)
CBOR = BPK[0][10 : 10 + struct.unpack("<I", BPK[0][6:10])[0]]


def distributed() -> tuple[bytes, dict[str, bytes]]:
    """The metadata of a checkpoint of one rank with one tensor in two chunks, and its file."""
    prefix = "torch.distributed.checkpoint.metadata."
    chunk = build.script(build.torch_tensor(build.torch_storage("0", 3), (1, 3)))
    part = build.torch_zip_raw(chunk, {"0": bytes(12)})

    def made(cls: str, state: bytes) -> bytes:
        return build.name(cls) + build.EMPTY_TUPLE + build.NEWOBJ + state + build.BUILD

    def sizes(*shape: int) -> bytes:
        return build.call("torch.Size", build.group(*map(build.number, shape)))

    boxes, stored = build.LIST, build.DICT
    for row in range(2):
        box = build.table({"offsets": sizes(row, 0), "sizes": sizes(1, 3)})
        boxes += made(f"{prefix}ChunkStorageMetadata", box) + build.APPEND
        index = build.table({"fqn": build.text("w"), "offset": sizes(row, 0)})
        place = {
            "relative_path": build.text("__0_0.distcp"),
            "offset": build.number(row * len(part)),
            "length": build.number(len(part)),
        }
        info = made("torch.distributed.checkpoint.filesystem._StorageInfo", build.table(place))
        stored += made(f"{prefix}MetadataIndex", index) + info + build.SETITEM
    kind = build.group(build.name("torch.float32"), build.number(0))
    about = {
        "properties": made(f"{prefix}TensorProperties", kind),
        "size": sizes(2, 3),
        "chunks": boxes,
    }
    tensors = build.table({"w": made(f"{prefix}TensorStorageMetadata", build.table(about))})
    fields = {"state_dict_metadata": tensors, "storage_data": stored}
    root = made(f"{prefix}Metadata", build.table(fields))
    return build.script(root), {"__0_0.distcp": part * 2}


METADATA, RANKS = distributed()
