"""Where PyTorch keeps the parameters of modules that Ruda divides otherwise.

PyTorch stacks the gates of a recurrent layer, and the projections of attention, as blocks of rows
of one matrix; Ruda has a Linear for each. Names inside transformer layers differ, too, and norms
change places where they come first. All of it is decided by the containers of a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ruda.nn import NORM_FIRST
from ruda.store.snapshot import kind_of

GATES: Mapping[str, tuple[str, ...]] = {
    "Lstm": ("input_gate", "forget_gate", "cell_gate", "output_gate"),
    "Gru": ("reset_gate", "update_gate", "new_gate"),
    "Rnn": ("gate",),
}
"""Gates in the order of PyTorch's blocks of rows: i f g o, r z n."""

_TRANSFORMS = {"input_transform": "ih", "hidden_transform": "hh"}
_PROJECTIONS = ("query", "key", "value")

_ENCODER = {"mha": "self_attn", "pwff": ""}
_DECODER = {"self_attn": "self_attn", "cross_attn": "multihead_attn", "pwff": ""}
_FEED_FORWARD = {"linear_inner": "linear1", "linear_outer": "linear2"}

_FIELDS: Mapping[str, Mapping[str, str]] = {
    "TransformerEncoderLayer": {**_ENCODER, "norm_1": "norm1", "norm_2": "norm2"},
    "TransformerEncoderLayer" + NORM_FIRST: {**_ENCODER, "norm_1": "norm2", "norm_2": "norm1"},
    "TransformerDecoderLayer": {
        **_DECODER,
        "norm_1": "norm1",
        "norm_2": "norm2",
        "norm_3": "norm3",
    },
    "TransformerDecoderLayer" + NORM_FIRST: {
        **_DECODER,
        "norm_1": "norm2",
        "norm_2": "norm3",
        "norm_3": "norm1",
    },
    "PositionWiseFeedForward": _FEED_FORWARD,
}
"""Kind of module, then the name of a field: PyTorch's name; empty where PyTorch has no level."""

_BOTH_WAYS = {"BiLstm": "Lstm", "BiGru": "Gru", "BiRnn": "Rnn"}
_SPECIAL = frozenset({*GATES, *_BOTH_WAYS, *_FIELDS, "MultiHeadAttention"})

_RECURRENT_LEAF = re.compile(r"(weight|bias)_(ih|hh)_l(\d+)(_reverse)?")


EACH = 0
"""Number of blocks of a tensor that holds the tensors of all layers along a first axis."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A tensor of the other side, or one of several equal blocks of it along an axis."""

    key: str
    block: int = 0
    blocks: int = 1
    """1 for the whole tensor; ``EACH`` where ``block`` is a place on an axis of its own."""
    containers: tuple[str, ...] = ()
    """Modules that own it where it is adapted on its own; empty: those of what it goes into."""
    shared: bool = False
    """True where it may be in use elsewhere, too: a tied weight."""
    axis: int = 0
    """The axis along which it is divided, or laid beside others: 0 for rows, 1 for columns."""


@lru_cache(maxsize=4096)
def _kinds(containers: tuple[str, ...]) -> tuple[str, ...] | None:
    """Kinds of the modules without their prefix; None if PyTorch keeps them all alike."""
    kinds = tuple(entry.partition(":")[2] for entry in containers)
    return kinds if not _SPECIAL.isdisjoint(kinds) else None


def kept_otherwise(containers: tuple[str, ...]) -> bool:
    """True if a module among them is one that PyTorch divides or names otherwise."""
    return _kinds(containers) is not None


def torch_pieces(
    key: str, containers: tuple[str, ...], leaf_names: Mapping[str, Mapping[str, str]]
) -> tuple[Piece, ...]:
    """Where PyTorch may keep a parameter, the most usual place first; nothing if it is alike."""
    kinds = _kinds(containers)
    segments = key.split(".") if kinds is not None else []
    if kinds is None or len(kinds) != len(segments):
        return ()
    head: list[str] = []
    for at, (segment, kind) in enumerate(zip(segments, kinds, strict=True)):
        if kind in _BOTH_WAYS or kind in GATES:
            stack = head[-1] if at and containers[at - 1] in ("Vec", "Tuple") else None
            return _recurrent(head, kind, segments[at:], stack)
        if kind == "MultiHeadAttention":
            return _attention(head, segments[at:])
        name = _FIELDS.get(kind, {}).get(segment, segment)
        if at == len(segments) - 1:
            name = leaf_names.get(kind, {}).get(segment, segment)
        if name:
            head.append(name)
    found = ".".join(head)
    return (Piece(found),) if found != key else ()


def _recurrent(head: list[str], kind: str, rest: list[str], stack: str | None) -> tuple[Piece, ...]:
    suffix = ""
    if kind in _BOTH_WAYS:
        kind = _BOTH_WAYS[kind]
        direction, *rest = rest
        suffix = "_reverse" if direction == "reverse" else ""
    if len(rest) != 3 or rest[0] not in GATES[kind] or rest[1] not in _TRANSFORMS:
        return ()
    block, blocks = GATES[kind].index(rest[0]), len(GATES[kind])
    leaf = f"{rest[2]}_{_TRANSFORMS[rest[1]]}"
    places = []
    if stack is not None and stack.isdigit():
        places.append((head[:-1], f"{leaf}_l{stack}{suffix}"))
    places.append((head, f"{leaf}_l0{suffix}"))
    if not suffix:
        places.append((head, leaf))  # a cell, which PyTorch does not number
    return tuple(Piece(".".join((*where, name)), block, blocks) for where, name in places)


def _attention(head: list[str], rest: list[str]) -> tuple[Piece, ...]:
    if len(rest) != 2:
        return ()
    field, leaf = rest
    if field == "output":
        return (Piece(".".join((*head, "out_proj", leaf))),)
    if field not in _PROJECTIONS:
        return ()
    joined = Piece(".".join((*head, f"in_proj_{leaf}")), _PROJECTIONS.index(field), 3)
    if leaf != "weight":
        return (joined,)
    return joined, Piece(".".join((*head, f"{field[0]}_proj_weight")))


def native_pieces(key: str, containers: tuple[str, ...]) -> tuple[Piece, ...]:
    """The parameters of Ruda's that a tensor of PyTorch's is made of, in the order of its rows.

    ``containers`` end with the module that owns the tensor in PyTorch's tree, after ``Vec`` where
    it has several layers. Nothing for tensors that are alike.
    """
    kind = kind_of(containers)
    parent, _, leaf = key.rpartition(".")
    if kind == "MultiHeadAttention" or (
        kind == "Linear" and containers[-2:-1] == ("Struct:MultiHeadAttention",)
    ):
        return _native_attention(parent, leaf)
    base = _BOTH_WAYS.get(kind or "", kind or "")
    found = _RECURRENT_LEAF.fullmatch(leaf) if base in GATES else None
    if found is None:
        return ()
    part, transform, layer, reverse = found.groups()
    kinds = [f"Struct:{base}", "Struct:GateController", "Struct:Linear"]
    head = parent.split(".") if parent else []
    above = [""] * len(head)
    if containers[-2:-1] == ("Vec",):
        head, above = [*head, layer], [*above, "Vec"]
    if kind in _BOTH_WAYS:
        head, above = [*head, "reverse" if reverse else "forward"], [*above, f"Struct:{kind}"]
    full = f"{'input' if transform == 'ih' else 'hidden'}_transform"
    return tuple(
        Piece(".".join((*head, gate, full, part)), containers=(*above, *kinds))
        for gate in GATES[base]
    )


def _native_attention(parent: str, leaf: str) -> tuple[Piece, ...]:
    head = f"{parent}." if parent else ""
    above = [""] * len(parent.split(".")) if parent else []
    kinds = (*above, "Struct:MultiHeadAttention", "Struct:Linear")
    if leaf in ("in_proj_weight", "in_proj_bias"):
        part = leaf.rpartition("_")[2]
        return tuple(Piece(f"{head}{name}.{part}", containers=kinds) for name in _PROJECTIONS)
    if leaf in ("weight", "bias") and (parent == "out_proj" or parent.endswith(".out_proj")):
        whole = parent.removesuffix("out_proj")
        kinds = (*above[:-1], "Struct:MultiHeadAttention", "Struct:Linear")
        return (Piece(f"{whole}output.{leaf}", containers=kinds),)
    field = {f"{name[0]}_proj_weight": name for name in _PROJECTIONS}.get(leaf)
    if field is not None:
        return (Piece(f"{head}{field}.weight", containers=kinds),)
    return ()
