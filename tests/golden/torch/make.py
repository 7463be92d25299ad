"""Writes the checkpoints in this folder, and expected.json with what a reader has to find in them.

Run it with an interpreter that has PyTorch; the files here were written by torch 2.13.0:

    python tests/golden/torch/make.py
"""

import argparse
import collections
import datetime
import hashlib
import json
import pathlib
import pickle

import numpy as np
import torch

HERE = pathlib.Path(__file__).parent
LABELS = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.bool: "bool",
    torch.complex64: "c64",
    torch.float8_e4m3fn: "f8_e4m3fn",
    torch.qint8: "qint8",
    torch.quint8: "quint8",
    torch.qint32: "qint32",
}


def described(tensor):
    """Dtype, shape and digest of the values, however they are stored."""
    label = LABELS[tensor.dtype]
    tensor = tensor.int_repr() if tensor.is_quantized else tensor.detach()
    tensor = tensor.resolve_conj().resolve_neg()
    dense = tensor if tensor.layout is torch.strided else tensor.to_dense()
    raw = dense.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return [label, list(tensor.shape), hashlib.sha256(raw).hexdigest()]


def tensors(value, path=()):
    """Every tensor in dicts and sequences, under its dotted key."""
    if isinstance(value, torch.Tensor):
        yield ".".join(path) or "<root>", value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from tensors(inner, (*path, str(key)))
    elif isinstance(value, list | tuple | collections.deque):
        for position, inner in enumerate(value):
            yield from tensors(inner, (*path, str(position)))


def training():
    """A checkpoint as training loops write it, and its part that holds tensors."""
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.randn(5, 4)).sum().backward()
    optimizer.step()
    held = {
        "model": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "recent": collections.deque([torch.ones(2)]),
    }
    plain = {
        "epoch": 3,
        "args": argparse.Namespace(lr=0.1, name="run"),
        "best": float("inf"),
        "when": datetime.datetime(2024, 1, 2),
        "folder": pathlib.PurePosixPath("/a/b"),
        "loss": np.float32(1.25),
        "classes": {"cat", "dog"},
        "lines": collections.defaultdict(list, {"a": [1]}),
        "device": torch.device("cpu"),
        "dtype": torch.float16,
        "size": torch.Size([1, 2]),
        "big": 10**30,
        "raw": b"ab\xff",
        "nothing": None,
    }
    return net, {**plain, **held}, held


def views():
    """Tensors that look at parts of one storage in odd ways."""
    base = torch.arange(48.0).reshape(6, 8)
    return {
        "whole": base,
        "transposed": base.t(),
        "rows": base[2:4],
        "columns": base[:, 3:5],
        "steps": base[::2, 1::3],
        "expanded": base[0].expand(4, 8),
        "diagonal": base.diagonal(),
        "overlapping": torch.as_strided(base, (4, 4), (2, 1)),
        "scalar": base[1, 1],
        "empty": torch.empty(0, 3),
        "channels_last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    }


def quantized():
    """Quantized tensors, each beside its values."""
    grid = torch.randn(4, 6)
    scales = torch.rand(6) / 50 + 0.01
    made = {
        "qint8": torch.quantize_per_tensor(grid, 0.03, -2, torch.qint8),
        "quint8": torch.quantize_per_tensor(grid, 0.03, 90, torch.quint8),
        "qint32": torch.quantize_per_tensor(grid, 1e-5, 7, torch.qint32),
        "turned": torch.quantize_per_tensor(grid, 0.03, 3, torch.qint8).t(),
        "columns": torch.quantize_per_channel(grid, scales, torch.arange(6), 1, torch.qint8),
        "rows": torch.quantize_per_channel(grid, scales[:4], scales[:4], 0, torch.quint8),
    }
    values = {f"{key}.values": tensor.dequantize().contiguous() for key, tensor in made.items()}
    return {**made, **values}


def sparse():
    """Sparse tensors of blocks, of several matrices, and with dense axes inside."""
    grid = torch.arange(24.0).reshape(4, 6) * (torch.rand(4, 6) < 0.5)
    deep = torch.arange(48.0).reshape(4, 6, 2) * (torch.rand(4, 6, 1) < 0.5)
    two = torch.stack([grid, grid])
    return {
        "bsr": grid.to_sparse_bsr((2, 3)),
        "bsc": grid.to_sparse_bsc((2, 3)),
        "batch csr": two.to_sparse_csr(),
        "batch csc": two.to_sparse_csc(),
        "batch bsr": two.to_sparse_bsr((2, 2)),
        "dense csr": deep.to_sparse_csr(dense_dim=1),
        "dense bsc": deep.to_sparse_bsc((2, 3), dense_dim=1),
        "hybrid coo": grid.to_sparse(1),
        "twice coo": torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 2]], [1.0, 2.0, 3.0], (3, 3)),
        "bf16": grid.to(torch.bfloat16).to_sparse_csr(),
        "bool": (grid > 3).to_sparse(),
    }


class FromNumpy:
    """Pickles as a tensor of a device that PyTorch brought to the host as a NumPy array."""

    def __init__(self, array, dtype):
        self.array, self.dtype = array, dtype

    def __reduce__(self):
        name = torch._utils._rebuild_device_tensor_from_numpy
        return name, (self.array, self.dtype, "xla:0", False)


def devices():
    """What such a file holds, and the tensors in it."""
    rows = np.arange(6, dtype="f4").reshape(2, 3)
    held = {
        "bf16": FromNumpy(rows, torch.bfloat16),
        "columns": FromNumpy(np.asfortranarray(rows), torch.float32),
        "big": FromNumpy(rows.astype(">i8"), torch.int64),
        "scalar": FromNumpy(np.array(2.5), torch.float32),
    }
    shown = {key: torch.tensor(one.array.tolist()).to(one.dtype) for key, one in held.items()}
    return held, shown


def main():
    torch.manual_seed(0)
    expected = {}

    def put(name, value, write, shown=None):
        write(value, HERE / name)
        found = dict(tensors(value if shown is None else shown))
        expected[name] = {key: described(tensor) for key, tensor in found.items()}

    def legacy(value, path):
        torch.save(value, path, _use_new_zipfile_serialization=False)

    net, full, held = training()
    for protocol in (0, 2, 5):
        put(
            f"training_{protocol}.pt",
            full,
            lambda v, p, n=protocol: torch.save(v, p, pickle_protocol=n),
            held,
        )
    put("training_legacy.pt", full, legacy, held)
    put(
        "training_0_legacy.pt",
        full,
        lambda v, p: torch.save(v, p, pickle_protocol=0, _use_new_zipfile_serialization=False),
        held,
    )
    for protocol in (0, 4):
        put(
            f"plain_{protocol}.pkl",
            {"state": net.state_dict()},
            lambda v, p, n=protocol: p.write_bytes(pickle.dumps(v, n)),
        )
    put("module.pt", net, torch.save, net.state_dict())
    put("script.pt", torch.jit.script(net), lambda v, p: v.save(str(p)), net.state_dict())
    put("views.pt", views(), torch.save)
    put("views_legacy.pt", views(), legacy)
    grid = torch.randn(3, 4)
    put("single.pt", grid, torch.save)
    put(
        "sparse.pt",
        {"coo": grid.to_sparse(), "csr": grid.to_sparse_csr(), "csc": grid.to_sparse_csc()},
        torch.save,
    )
    waves = torch.randn(3, dtype=torch.complex64)
    others = torch.randn(3, dtype=torch.complex64)
    put("lazy_bits.pt", {"conj": waves.conj(), "neg": others.conj().imag}, torch.save)
    kinds = (torch.uint16, torch.float8_e4m3fn, torch.bfloat16, torch.bool)
    put("dtypes.pt", {str(kind): torch.ones(3, dtype=kind) for kind in kinds}, torch.save)
    torch.serialization.set_crc32_options(False)
    put("no_checksums.pt", {"w": grid}, torch.save)
    torch.serialization.set_crc32_options(True)
    put("quantized.pt", quantized(), torch.save)
    put("quantized_legacy.pt", quantized(), legacy)
    put("sparse_blocks.pt", sparse(), torch.save)
    held, shown = devices()
    put("devices.pt", held, torch.save, shown)
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
