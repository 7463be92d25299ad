"""Encoder of Rudapack files, byte for byte as Burn writes them.

10 bytes (magic, version, length of the CBOR part), CBOR with descriptors sorted by key, zeros to a
multiple of 256, then the tensors in the order of the index, each starting at a multiple of 256.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import cbor2

from ruda.store.index import TensorIndex
from ruda.store.layout import (
    Layout,
    PlannedTensor,
    PlanProblem,
    alias_problems,
    dtype_remedy,
    size_problem,
    text_problem,
)
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

MAGIC = 0x4255524E
VERSION = 1
ALIGNMENT = 256

# Limits that every reader of the format enforces.
MAX_METADATA = 100 << 20
MAX_TENSORS = 100_000
MAX_TENSOR = 10 << 30
MAX_FILE = 100 << 30


class _Placed(NamedTuple):
    snapshot: TensorSnapshot
    spelling: Any
    start: int
    """Offset from the start of the data."""


class RudapackEncoder:
    """Lays tensors out as a Rudapack file (Burn calls it Burnpack)."""

    name = "rudapack"
    suffixes = (".bpk",)

    def lay_out(self, index: TensorIndex, metadata: Mapping[str, str]) -> Layout:
        """Header, order and offsets for these tensors; reads no tensor byte."""
        spelled = [(s, _spelling(s)) for s in index.values()]
        problems = [*_problems(spelled, metadata), *alias_problems(index)]
        placed: list[_Placed] = []
        position = 0
        for snapshot, spelling in spelled:
            if spelling is not None:
                start = _aligned(position)
                placed.append(_Placed(snapshot, spelling, start))
                position = start + snapshot.nbytes
        header = _header(placed, metadata, index.extra.get("scalars") or {})
        data = _aligned(len(header))
        entries = tuple(
            PlannedTensor(s.key, s.dtype, s.shape, data + start, s.nbytes, s)
            for s, _, start in placed
        )
        problems.extend(_limit_problems(len(header) - 10, entries, data + position))
        return Layout(self.name, header, entries, data + position, tuple(problems))


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _spelling(snapshot: TensorSnapshot) -> Any:
    """The CBOR value of ``dtype`` in a descriptor, or None where the format has none."""
    dtype, scheme = snapshot.dtype, snapshot.scheme
    if dtype is DType.QFLOAT:
        return None if scheme is None else {"QFloat": scheme}
    if dtype is DType.BOOL:
        return {"Bool": "Native"} if scheme is None else scheme
    if dtype is DType.BOOL_U32:
        return {"Bool": "U32"}
    return dtype.rudapack


def _header(
    placed: list[_Placed],
    metadata: Mapping[str, str],
    scalars: Mapping[str, Mapping[str, Any]],
) -> bytes:
    tensors = {
        _text(one.snapshot.key): _descriptor(one)
        for one in sorted(placed, key=lambda one: _utf8(one.snapshot.key))
    }
    cbor = bytes([0xA0 + 1 + bool(metadata) + bool(scalars)])
    cbor += cbor2.dumps("tensors") + cbor2.dumps(tensors)
    if metadata:
        ordered = sorted(metadata.items(), key=lambda item: _utf8(item[0]))
        cbor += cbor2.dumps("metadata")
        cbor += cbor2.dumps({_text(key): _text(value) for key, value in ordered})
    if scalars:
        cbor += cbor2.dumps("scalars") + _scalar_map(scalars)
    return struct.pack("<IHI", MAGIC, VERSION, min(len(cbor), 0xFFFFFFFF)) + cbor


def _text(text: str) -> str:
    # A lone surrogate is a blocking problem; the plan still wants a header to measure.
    return text.encode("utf-8", "replace").decode()


def _descriptor(placed: _Placed) -> dict[str, Any]:
    snapshot, spelling, start = placed
    descriptor: dict[str, Any] = {
        "dtype": spelling,
        "shape": list(snapshot.shape),
        "data_offsets": [start, start + snapshot.nbytes],
    }
    if snapshot.param_id is not None:
        descriptor["param_id"] = int(snapshot.param_id)
    return descriptor


def _scalar_map(scalars: Mapping[str, Mapping[str, Any]]) -> bytes:
    """CBOR of the scalars: each a map of one entry, floats in the shortest lossless width."""
    parts = [cbor2.dumps(len(scalars))]
    parts[0] = bytes([parts[0][0] | 0xA0]) + parts[0][1:]  # a count as the head of a map
    for name in sorted(scalars, key=_utf8):
        parts.append(cbor2.dumps(name))
        # Canonical mode shortens floats; it also sorts keys, of which there is one.
        parts.append(cbor2.dumps(dict(scalars[name]), canonical=True))
    return b"".join(parts)


def _problems(
    spelled: list[tuple[TensorSnapshot, Any]], metadata: Mapping[str, str]
) -> list[PlanProblem]:
    found: list[PlanProblem] = []
    for snapshot, spelling in spelled:
        bad = text_problem(snapshot.key)
        if bad:
            found.append(PlanProblem(f"the key {bad}", snapshot.key))
        if spelling is None:
            found.append(PlanProblem(_refusal(snapshot), snapshot.key))
            continue
        wrong = size_problem(snapshot)
        if wrong:
            found.append(wrong)
    for key, value in metadata.items():
        bad = text_problem(key) or text_problem(value)
        if bad:
            found.append(PlanProblem(f"metadata {bad}"))
    return found


def _refusal(snapshot: TensorSnapshot) -> str:
    if snapshot.dtype is DType.QFLOAT:
        return "a quantized tensor without its scheme cannot be written"
    remedy = dtype_remedy(snapshot.dtype)
    return f"Rudapack has no spelling for {snapshot.dtype_label}; {remedy}"


def _limit_problems(
    metadata_size: int, entries: tuple[PlannedTensor, ...], file_size: int
) -> list[PlanProblem]:
    found = [
        PlanProblem(f"{e.nbytes} bytes; a Rudapack tensor has at most {MAX_TENSOR}", e.key)
        for e in entries
        if e.nbytes > MAX_TENSOR
    ]
    counts = (
        (len(entries), MAX_TENSORS, "tensors"),
        (metadata_size, MAX_METADATA, "bytes of header"),
        (file_size, MAX_FILE, "bytes"),
    )
    found.extend(
        PlanProblem(f"{count} {what}; a Rudapack file has at most {limit}")
        for count, limit, what in counts
        if count > limit
    )
    return found
