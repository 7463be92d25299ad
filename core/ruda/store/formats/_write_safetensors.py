"""Encoder of safetensors files: 8-byte header length, JSON header padded with spaces, tensors.

A fresh file has the order of the official library (element types from wide to narrow, then keys),
so that every tensor is aligned and equal input gives equal bytes. Tensors that come unchanged
from a safetensors file keep the order they had there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ruda.store.index import TensorIndex
from ruda.store.layout import (
    Layout,
    PlannedTensor,
    PlanProblem,
    alias_problems,
    counts_pairs,
    dtype_remedy,
    id_problems,
    size_problem,
    text_problem,
)
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

METADATA_KEY = "__metadata__"
READER_HEADER_LIMIT = 100_000_000
"""Header bytes beyond which the official reader refuses a file."""

# Order of the official library's element types, from first to last in the file.
_ORDER = (
    *("U64", "I64", "F64", "C64", "F32", "U32", "I32", "BF16", "F16", "U16", "I16"),
    *("F8_E5M2FNUZ", "F8_E4M3FNUZ", "F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8"),
    *("F6_E3M2", "F6_E2M3", "F4", "BOOL"),
)
_RANK = {tag: rank for rank, tag in enumerate(_ORDER)}


_PIECE = 4096
"""Entries of a header that are put together in one call."""


class SafetensorsEncoder:
    """Lays tensors out as a safetensors file."""

    name = "safetensors"
    suffixes = (".safetensors",)

    def lay_out(self, index: TensorIndex, metadata: Mapping[str, str]) -> Layout:
        """Header, order and offsets for these tensors; reads no tensor byte."""
        problems = [*_problems(index, metadata), *alias_problems(index)]
        holdable = [s for s in index.values() if _tag(s.dtype) is not None]
        header, body = _header(_ordered(holdable, index), metadata)
        if len(header) - 8 > READER_HEADER_LIMIT:
            problems.append(
                PlanProblem(
                    f"the header has {len(header) - 8} bytes; the official reader refuses "
                    f"more than {READER_HEADER_LIMIT}",
                    blocking=False,
                )
            )
        entries = tuple(
            PlannedTensor(s.key, s.dtype, _shape(s), len(header) + start, s.nbytes, s)
            for s, start in body
        )
        size = len(header) + sum(e.nbytes for e in entries)
        return Layout(self.name, header, entries, size, tuple(problems))


# The values of flex32 are IEEE f32; only its compute type differs.
_TAGS = {d: "F32" if d is DType.FLEX32 else d.safetensors for d in DType}


def _tag(dtype: DType) -> str | None:
    return _TAGS[dtype]


def _shape(snapshot: TensorSnapshot) -> tuple[int, ...]:
    """The shape in single elements; PyTorch counts pairs of f4 in the last axis."""
    if counts_pairs(snapshot):
        return (*snapshot.shape[:-1], 2 * snapshot.shape[-1])
    return snapshot.shape


def _ordered(snapshots: list[TensorSnapshot], index: TensorIndex) -> list[TensorSnapshot]:
    if index.format == "safetensors" and not any(s.trail for s in snapshots):
        return snapshots
    return sorted(snapshots, key=lambda s: (_RANK[_tag(s.dtype) or ""], _utf8(s.key)))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _header(
    snapshots: list[TensorSnapshot], metadata: Mapping[str, str]
) -> tuple[bytes, list[tuple[TensorSnapshot, int]]]:
    # Piece by piece: one call for a million of them would hold up every other thread for long.
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    entries = [f"{encode(METADATA_KEY)}:{encode(dict(metadata))}"] if metadata else []
    pieces: list[bytes] = []
    places: list[tuple[TensorSnapshot, int]] = []
    position = 0
    for snapshot in snapshots:
        end = position + snapshot.nbytes
        shape = ",".join(map(str, _shape(snapshot)))
        entries.append(
            f'{encode(snapshot.key)}:{{"dtype":"{_tag(snapshot.dtype)}","shape":[{shape}],'
            f'"data_offsets":[{position},{end}]}}'
        )
        places.append((snapshot, position))
        position = end
        if len(entries) == _PIECE:
            pieces.append(_utf8(",".join(entries)))
            entries.clear()
    if entries:
        pieces.append(_utf8(",".join(entries)))
    length = 2 + sum(map(len, pieces)) + max(0, len(pieces) - 1)
    padding = b" " * (-length % 8)
    front = (length + len(padding)).to_bytes(8, "little") + b"{"
    return b"".join((front, b",".join(pieces), b"}", padding)), places


def _problems(index: TensorIndex, metadata: Mapping[str, str]) -> list[PlanProblem]:
    found: list[PlanProblem] = []
    for snapshot in index.values():
        found.extend(_tensor_problems(snapshot))
    for key, value in metadata.items():
        bad = text_problem(key) or text_problem(value)
        if bad:
            found.append(PlanProblem(f"metadata {bad}"))
    if index.format == "pytorch" and "format" not in metadata:
        found.append(
            PlanProblem(
                "there is no metadata entry format=pt, without which transformers refuses a file; "
                "add it to the metadata (--metadata format=pt)",
                blocking=False,
            )
        )
    found.extend(id_problems(index, "safetensors"))
    return found


def _tensor_problems(snapshot: TensorSnapshot) -> list[PlanProblem]:
    key, dtype = snapshot.key, snapshot.dtype
    found: list[PlanProblem] = []
    if key == METADATA_KEY:
        found.append(PlanProblem("this name is reserved in safetensors; rename the tensor", key))
    if not key:
        found.append(
            PlanProblem(
                "an empty key is legal in safetensors, but many loaders refuse it",
                key,
                blocking=False,
            )
        )
    bad = text_problem(key)
    if bad:
        found.append(PlanProblem(f"the key {bad}", key))
    if _tag(dtype) is None:
        said = f"safetensors has no tag for {dtype}; {dtype_remedy(dtype)}"
        found.append(PlanProblem(said, key))
        return found
    if dtype is DType.FLEX32:
        found.append(
            PlanProblem("flex32 is written as F32, which holds the same values", key, False)
        )
    wrong = None if counts_pairs(snapshot) else size_problem(snapshot)
    if wrong:
        found.append(wrong)
    return found
