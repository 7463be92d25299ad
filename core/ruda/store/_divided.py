"""Modules that one side divides otherwise, told by the names and shapes of their tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ruda.store.regroup import GATES
from ruda.store.snapshot import TensorSnapshot

Groups = Mapping[str, Mapping[str, TensorSnapshot]]
"""Parent, then the last segment of a key, then the tensor."""

RECURRENT_LEAF = re.compile(r"(?:weight|bias)_(?:ih|hh)_l(\d+)(_reverse)?")
_IN_PROJECTIONS = frozenset(
    {"in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight"}
)
_KINDS_BY_GATES = {4: "Lstm", 3: "Gru", 1: "Rnn"}
_KINDS_BY_GATE = {gate: kind for kind, gates in GATES.items() for gate in gates}
_TRANSFORMS = ("input_transform", "hidden_transform")
_LINEARS = ("query", "key", "value", "output")


def divided_containers(parent: str, groups: Groups) -> dict[str, tuple[str, ...]]:
    """Containers of the tensors below a parent, by last segment; empty for other modules."""
    siblings = groups[parent]
    if not _IN_PROJECTIONS.isdisjoint(siblings):
        return {
            leaf: ("Struct:MultiHeadAttention",) for leaf in siblings if leaf in _IN_PROJECTIONS
        }
    head, _, last = parent.rpartition(".")
    if last == "out_proj" and not _IN_PROJECTIONS.isdisjoint(groups.get(head, ())):
        return dict.fromkeys(siblings, ("Struct:MultiHeadAttention", "Struct:Linear"))
    if "weight_hh_l0" in siblings:
        return _stacked_gates(siblings)
    if last in _TRANSFORMS:
        segments = parent.split(".")
        if len(segments) > 1 and segments[-2] in _KINDS_BY_GATE:
            return dict.fromkeys(siblings, _gate(segments))
    if last in _LINEARS and _is_attention(head, groups):
        above = ("",) * parent.count(".")
        kinds = (*above, "Struct:MultiHeadAttention", "Struct:Linear")
        return dict.fromkeys(siblings, kinds)
    return {}


def transformer_layers(groups: Groups) -> int:
    """Number of parents that hold what a transformer layer holds, in either side's names."""
    count = 0
    for parent, siblings in groups.items():
        if parent == "pwff.linear_inner" or parent.endswith(".pwff.linear_inner"):
            count += _beside(parent.rpartition(".")[0], "norm_1") in groups
        elif parent == "self_attn" or parent.endswith(".self_attn"):
            beside = (_beside(parent, "linear1"), _beside(parent, "norm1"))
            held = not _IN_PROJECTIONS.isdisjoint(siblings)
            count += held and all(name in groups for name in beside)
    return count


def _beside(parent: str, name: str) -> str:
    """Another field of the module that a parent is a field of."""
    head = parent.rpartition(".")[0]
    return f"{head}.{name}" if head else name


def _stacked_gates(siblings: Mapping[str, TensorSnapshot]) -> dict[str, tuple[str, ...]]:
    """PyTorch's recurrent layers: the kind is told by the number of blocks of rows."""
    shape = siblings["weight_hh_l0"].shape
    if len(shape) != 2 or not shape[1] or shape[0] % shape[1] or "weight_hr_l0" in siblings:
        return {}
    kind = _KINDS_BY_GATES.get(shape[0] // shape[1])
    if kind is None:
        return {}
    found = {leaf: RECURRENT_LEAF.fullmatch(leaf) for leaf in siblings}
    both = any(match is not None and match[2] for match in found.values())
    deep = any(match is not None and match[1] != "0" for match in found.values())
    containers: tuple[str, ...] = (f"Struct:{'Bi' if both else ''}{kind}",)
    if deep:
        containers = ("Vec", *containers)
    return {leaf: containers for leaf, match in found.items() if match is not None}


def _gate(segments: list[str]) -> tuple[str, ...]:
    """Ruda's gate: one entry for every segment of the parent, and the Linear itself."""
    kind = _KINDS_BY_GATE[segments[-2]]
    kinds = [""] * (len(segments) - 2)
    at = len(kinds) - 1
    if at >= 0 and segments[at] in ("forward", "reverse"):
        kinds[at] = f"Struct:Bi{kind}"
        at -= 1
    if at >= 0 and segments[at].isdigit():
        kinds[at] = "Vec"
    return (*kinds, f"Struct:{kind}", "Struct:GateController", "Struct:Linear")


def _is_attention(head: str, groups: Groups) -> bool:
    """True if four matrices are named as those of attention and have Ruda's sizes.

    Keys and values may be made of another width than queries. What their matrices give then has
    to be told by biases: without them, fewer heads for keys in PyTorch's layout look the same.
    """
    parts = [groups.get(f"{head}.{name}" if head else name, {}) for name in _LINEARS]
    weights = [part["weight"].shape for part in parts if "weight" in part]
    if len(weights) != len(parts) or any(len(shape) != 2 for shape in weights):
        return False
    query, *_, output = weights
    if query != output or query[0] != query[1]:
        return False
    if len(set(weights)) == 1:
        return True
    biases = [part["bias"].shape for part in parts if "bias" in part]
    return [shape[1] for shape in weights] == [query[0]] * 4 and biases == [query[:1]] * 4
