"""Which kind of module a tensor belongs to, inferred from its siblings where no model says it.

A weights file has keys and shapes only. Siblings (``running_mean`` beside ``weight``) and ranks
tell most kinds apart; what they leave open is reported, never guessed in silence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ruda.store._divided import divided_containers, transformer_layers
from ruda.store.snapshot import EITHER, TensorSnapshot, kind_of

_EMBEDDING = re.compile(r"embed|(^|[._])(wte|wpe)$", re.IGNORECASE)
_PRELU = re.compile(r"prelu", re.IGNORECASE)
_NORM = re.compile(r"norm|(^|[._])ln(_|\d|$)", re.IGNORECASE)
_TRANSPOSE = re.compile(r"transpose|deconv", re.IGNORECASE)

Siblings = Mapping[str, TensorSnapshot]


@dataclass(frozen=True, slots=True)
class Inference:
    """Containers per key, and what was concluded and left open, in sentences."""

    containers: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


def infer_containers(snapshots: Mapping[str, TensorSnapshot]) -> Inference:
    """Kind of module for every tensor whose siblings tell it; keys as in ``snapshots``.

    Tensors that carry containers already keep them and are not counted in the notes.
    """
    groups: dict[str, dict[str, TensorSnapshot]] = {}
    for key, snapshot in snapshots.items():
        parent, _, leaf = key.rpartition(".")
        groups.setdefault(parent, {})[leaf] = snapshot
    containers: dict[str, tuple[str, ...]] = {}
    certain: Counter[str] = Counter()
    open_cases: Counter[str] = Counter()
    unknown = 0
    for parent, siblings in groups.items():
        divided = divided_containers(parent, groups)
        kind = None if divided else _kind_of(parent, siblings)
        for leaf, snapshot in siblings.items():
            key = f"{parent}.{leaf}" if parent else leaf
            if snapshot.containers:
                containers[key] = snapshot.containers
            elif leaf in divided:
                containers[key] = divided[leaf]
            elif kind is not None and leaf in _LEAVES:
                containers[key] = (kind,) if kind.startswith(EITHER) else (f"Struct:{kind}",)
            elif snapshot.dtype.is_float:
                unknown += 1
        if divided and not all(s.containers for s in siblings.values()):
            certain[kind_of(next(iter(divided.values()))) or ""] += 1
        if kind is not None and not all(s.containers for s in siblings.values()):
            (open_cases if kind.startswith(EITHER) else certain)[kind] += 1
    notes = _notes(certain, open_cases, unknown)
    layers = transformer_layers(groups)
    if layers and not all(snapshot.containers for snapshot in snapshots.values()):
        notes += (
            f"{counted(layers, 'transformer layer')}: the names inside, and which norm is which, "
            "stay as they are, as nothing in a file says whether norms come first; name a target "
            "model to decide",
        )
    return Inference(containers, notes)


_LEAVES = frozenset({"weight", "bias", "gamma", "beta", "alpha", "running_mean", "running_var"})


def _kind_of(parent: str, siblings: Siblings) -> str | None:
    """Kind of module that has these tensors, several as ``Either:A|B``, or None."""
    scale = siblings.get("weight") or siblings.get("gamma")
    shift = siblings.get("bias") or siblings.get("beta")
    if "running_mean" in siblings and "running_var" in siblings:
        return "BatchNorm"
    if scale is None:
        return "PRelu" if "alpha" in siblings else None
    rank = len(scale.shape)
    if "gamma" in siblings or rank == 1:
        return _norm_kind(parent, scale, shift)
    if rank == 2:
        return _matrix_kind(parent, scale, shift)
    if 3 <= rank <= 5:
        return f"{_conv_stem(parent, scale, shift)}{rank - 2}d"
    return None


def _norm_kind(parent: str, scale: TensorSnapshot, shift: TensorSnapshot | None) -> str | None:
    if shift is not None:
        return "LayerNorm" if shift.shape == scale.shape else None
    if _PRELU.search(parent.rpartition(".")[2]):
        return "PRelu"
    if _NORM.search(parent.rpartition(".")[2]) or scale.key.endswith("gamma"):
        return "RmsNorm"
    return f"{EITHER}PRelu|RmsNorm"


def _matrix_kind(parent: str, weight: TensorSnapshot, bias: TensorSnapshot | None) -> str:
    if bias is not None and len(bias.shape) == 1 and bias.shape[0] in weight.shape:
        return "Linear"
    if bias is None and _EMBEDDING.search(parent.rpartition(".")[2]):
        return "Embedding"
    return f"{EITHER}Embedding|Linear"


def _conv_stem(parent: str, weight: TensorSnapshot, bias: TensorSnapshot | None) -> str:
    """Conv, unless the bias has the size of the second axis or the name says transpose."""
    if bias is not None and len(bias.shape) == 1 and bias.shape[0] != weight.shape[0]:
        return "ConvTranspose" if bias.shape[0] % max(1, weight.shape[1]) == 0 else "Conv"
    return "ConvTranspose" if _TRANSPOSE.search(parent) else "Conv"


def counted(count: int, noun: str) -> str:
    """``1 module``, ``2 modules``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _notes(certain: Counter[str], open_cases: Counter[str], unknown: int) -> tuple[str, ...]:
    notes: list[str] = []
    if certain:
        found = ", ".join(f"{count} {kind}" for kind, count in sorted(certain.items()))
        notes.append(f"kinds of module inferred from names and shapes: {found}")
    for case, count in sorted(open_cases.items()):
        kinds = " or ".join(case[len(EITHER) :].split("|"))
        notes.append(
            f"{counted(count, 'module')} could be {kinds}: only what is the same for both was "
            "done; name a target model to decide"
        )
    if unknown:
        verb = "belongs" if unknown == 1 else "belong"
        notes.append(
            f"{counted(unknown, 'float tensor')} {verb} to no known kind of module: not adapted"
        )
    return tuple(notes)
