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
}


def described(tensor):
    """Dtype, shape and digest of the values, however they are stored."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    dense = tensor if tensor.layout is torch.strided else tensor.to_dense()
    raw = dense.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return [LABELS[tensor.dtype], list(tensor.shape), hashlib.sha256(raw).hexdigest()]


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
    for protocol in (2, 5):
        put(
            f"training_{protocol}.pt",
            full,
            lambda v, p, n=protocol: torch.save(v, p, pickle_protocol=n),
            held,
        )
    put("training_legacy.pt", full, legacy, held)
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
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
