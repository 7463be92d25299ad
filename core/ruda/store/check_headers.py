"""What can be found wrong in a file without reading a value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from ruda.store.check_report import Finding, Severity
from ruda.store.containers import counted
from ruda.store.diff_rows import fold
from ruda.store.index import TensorIndex
from ruda.store.scales import scale_of
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType, Kind

OUTLIER_SHARE = 0.25
"""At most this share of a family may have other dtypes than the rest for them to be exceptions."""
SMALLEST_FAMILY = 4
"""Fewer tensors than this have no majority worth the name."""

_LAYERS = re.compile(r"(?:^|\.)(?:layers?|blocks?|h|resblocks|encoder_layers?)\.(\d+)(?=\.)")
_HEADS = ("lm_head.weight", "output.weight", "embed_out.weight")
_EMBEDDINGS = (
    "embed_tokens.weight",
    "wte.weight",
    "tok_embeddings.weight",
    "embed_in.weight",
    "word_embeddings.weight",
)


def header_findings(index: TensorIndex) -> Iterator[Finding]:
    """Every finding of the header rules."""
    yield from _of_reader(index)
    families: dict[str, list[TensorSnapshot]] = {}
    for key, snapshot in index.items():
        families.setdefault(fold(key), []).append(snapshot)
    yield from _dtype_outliers(families)
    yield from _mixture(index)
    yield from _placeholders(index)
    yield from _layer_gaps(index)
    yield from _heads(index)
    yield from _file_form(index)
    yield from _scales(index)


def found_at(
    rule: str, severity: Severity, snapshot: TensorSnapshot, sentence: str, *, more: int = 0
) -> Finding:
    """A finding about one tensor, or about it and ``more`` like it."""
    if more:
        sentence += f" (and {counted(more, 'tensor')} more like it)"
    offset = None if snapshot.origin is None else snapshot.origin.offset
    return Finding(rule, severity, sentence, snapshot.key, offset)


def _of_reader(index: TensorIndex) -> Iterator[Finding]:
    for note in index.notes:
        of_shards = index.shards and "index" in note
        rule, severity = (
            ("shard-index", Severity.WARNING) if of_shards else ("reader-note", Severity.NOTE)
        )
        yield Finding(rule, severity, note)
    if index.unsafe:
        names = ", ".join(index.unsafe[:5]) + (", …" if len(index.unsafe) > 5 else "")
        yield Finding(
            "unsafe-pickle", Severity.WARNING, f"the pickle asks for {names}, which is never run"
        )


def _dtype_outliers(families: Mapping[str, list[TensorSnapshot]]) -> Iterator[Finding]:
    for name, members in families.items():
        counts = Counter(member.dtype_label for member in members)
        if len(members) < SMALLEST_FAMILY or len(counts) < 2:
            continue
        usual, most = counts.most_common(1)[0]
        if most < (1 - OUTLIER_SHARE) * len(members):
            continue
        for label, count in counts.items():
            if label == usual:
                continue
            first = next(member for member in members if member.dtype_label == label)
            said = f"{label}, while {counts[usual]} of {len(members)} tensors {name} are {usual}"
            # Quantisers mix block types within a family on purpose.
            meant = first.dtype.kind is Kind.QUANTIZED
            severity = Severity.NOTE if meant else Severity.WARNING
            yield found_at("dtype-outlier", severity, first, said, more=count - 1)


def _mixture(index: TensorIndex) -> Iterator[Finding]:
    halves = {
        dtype: [s for s in index.values() if s.dtype is dtype] for dtype in (DType.F16, DType.BF16)
    }
    if all(halves.values()):
        words = " and ".join(f"{counted(len(s), 'tensor')} in {d}" for d, s in halves.items())
        yield Finding(
            "dtype-mixture",
            Severity.WARNING,
            f"{words}: a file usually has one half precision; two were probably merged",
        )


def _placeholders(index: TensorIndex) -> Iterator[Finding]:
    empty = [s for s in index.values() if s.numel == 0]
    if empty and len(empty) < len(index):
        said = (
            f"has the shape {list(empty[0].shape)} and no values; training that spreads tensors "
            "over processes (ZeRO-3) saves such, and the values must be gathered first"
        )
        yield found_at("empty-placeholder", Severity.WARNING, empty[0], said, more=len(empty) - 1)


def _layer_gaps(index: TensorIndex) -> Iterator[Finding]:
    stacks: dict[str, dict[int, TensorSnapshot]] = {}
    for key, snapshot in index.items():
        for found in _LAYERS.finditer(key):
            if len(found[1]) < 10:
                stacks.setdefault(key[: found.start(1)], {}).setdefault(int(found[1]), snapshot)
    for prefix, seen in stacks.items():
        count = max(seen) + 1
        absent = count - len(seen)
        if not absent or len(seen) < 2:
            continue
        first = next(number for number in range(count) if number not in seen)
        more = f" and {absent - 1} more" if absent > 1 else ""
        said = f"{prefix}{first}{more} absent, while {prefix}{max(seen)} is there"
        yield found_at("layer-gap", Severity.WARNING, seen[max(seen)], said)


def _heads(index: TensorIndex) -> Iterator[Finding]:
    head = next((s for key, s in index.items() if key.endswith(_HEADS)), None)
    embedding = next((s for key, s in index.items() if key.endswith(_EMBEDDINGS)), None)
    if head is None or embedding is None or len(head.shape) != 2 or len(embedding.shape) != 2:
        return
    if head.shape not in (embedding.shape, embedding.shape[::-1]):
        said = f"has the shape {list(head.shape)}, the embedding {list(embedding.shape)}"
        yield found_at("tied-head", Severity.WARNING, head, f"{said} ({embedding.key})")
    elif head.dtype is not embedding.dtype:
        said = f"is {head.dtype_label}, the embedding {embedding.key} {embedding.dtype_label}"
        yield found_at("tied-head", Severity.WARNING, head, said)
    elif head.shared_with is not None or embedding.shared_with is not None:
        said = f"is one tensor with the embedding {embedding.key}: trained as one, stored once"
        yield found_at("tied-head", Severity.NOTE, head, said)


def _file_form(index: TensorIndex) -> Iterator[Finding]:
    if index.format == "safetensors" and "format" not in index.metadata:
        yield Finding(
            "format-missing",
            Severity.NOTE,
            'the metadata has no entry "format"; some versions of transformers refuse such a '
            "file, and `--metadata format=pt` adds it",
        )
    crooked = [
        s
        for s in index.values()
        if s.origin is not None
        and s.origin.offset is not None
        and s.numel
        and s.origin.offset % s.dtype.carrier.itemsize
    ]
    if crooked:
        said = (
            f"begins at byte {crooked[0].origin.offset if crooked[0].origin else 0}, which is no "
            f"multiple of the {crooked[0].dtype.carrier.itemsize} bytes of a value; memory maps "
            "have to copy it"
        )
        yield found_at("unaligned", Severity.NOTE, crooked[0], said, more=len(crooked) - 1)


def _scales(index: TensorIndex) -> Iterator[Finding]:
    scaled = [(s, scale) for key, s in index.items() if (scale := scale_of(key, index))]
    if scaled:
        first, scale = scaled[0]
        said = f"{first.dtype_label} values mean nothing without their scale {scale}"
        yield found_at("fp8-scale", Severity.NOTE, first, said, more=len(scaled) - 1)
