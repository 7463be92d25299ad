"""Adapters for single families of models, chosen by name: nothing takes them by itself.

``gpt2-to-ruda``   as ``pytorch-to-ruda``, but Hugging Face's ``Conv1D`` is not turned
``keras-to-ruda``  names of Keras's, and the axes of its convolutions
``tied-head``      a head without a tensor of its own takes the embedding's
``rope-to-pairs:H`` or ``rope-to-pairs:H,KV``
                   query and key columns from halves to adjacent pairs, for H heads (KV of keys)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ruda.errors import AdapterError, RecipeError
from ruda.store.adapter import (
    Chaining,
    IdentityAdapter,
    ModuleAdapter,
    PyTorchToRuda,
    RudaToPyTorch,
    module_kinds,
)
from ruda.store.keras import KerasToRuda, RudaToKeras
from ruda.store.moving import Array, PermutedSource, peak_of
from ruda.store.regroup import Piece
from ruda.store.snapshot import TOGETHER, Origin, TensorSnapshot

CONV1D_NAMES = frozenset({"c_attn", "c_fc", "c_proj", "q_attn"})
"""Fields of GPT-2 that are ``Conv1D``: a Linear whose weight is (in, out) as Ruda's."""

_EMBEDDINGS = (
    "embed_tokens",
    "wte",
    "tok_embeddings",
    "token_embedding",
    "embeddings.word_embeddings",
    "embedding",
)
_ABOVE = ("", "model.", "transformer.", "bert.")
_HEADS = frozenset({"lm_head", "head", "output"})

_QUERIES = frozenset({"q_proj", "wq", "query"})
_KEYS = frozenset({"k_proj", "wk", "key"})


def _owner(key: str) -> str:
    """Name of the field that holds the module that owns the tensor."""
    return key.rpartition(".")[0].rpartition(".")[2]


def _is_conv1d(snapshot: TensorSnapshot) -> bool:
    """True for a Linear that is a Conv1D in the file."""
    return module_kinds(snapshot) == ("Linear",) and _owner(snapshot.key) in CONV1D_NAMES


@dataclass(frozen=True, slots=True)
class Gpt2ToRuda(PyTorchToRuda):
    """PyTorchToRuda for models of Hugging Face's with ``Conv1D`` layers."""

    DEPTH: ClassVar[int] = 2

    @property
    def name(self) -> str:
        """Name in recipes."""
        return "gpt2-to-ruda"

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """As PyTorchToRuda; weights of the Conv1D layers keep their axes."""
        return snapshot if _is_conv1d(snapshot) else PyTorchToRuda.adapt(self, snapshot)

    def reverse(self) -> RudaToGpt2:
        """RudaToGpt2."""
        return RudaToGpt2()


@dataclass(frozen=True, slots=True)
class RudaToGpt2(RudaToPyTorch):
    """Gpt2ToRuda, taken back."""

    DEPTH: ClassVar[int] = 2

    @property
    def name(self) -> str:
        """Name in recipes."""
        return "ruda-to-gpt2"

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """As RudaToPyTorch; weights of the Conv1D layers keep their axes."""
        return snapshot if _is_conv1d(snapshot) else RudaToPyTorch.adapt(self, snapshot)

    def reverse(self) -> Gpt2ToRuda:
        """Gpt2ToRuda."""
        return Gpt2ToRuda()


class _OneToOne(Chaining):
    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """None: there are no other names."""
        return None


@dataclass(frozen=True, slots=True)
class TiedHead(_OneToOne):
    """The weight of ``lm_head``, ``head`` or ``output`` may be the embedding's.

    Taken only where the file has no tensor for the head; the embedding is then used twice.
    """

    DEPTH: ClassVar[int] = 0

    name: str = "tied-head"

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """The snapshot itself."""
        return snapshot

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        """The embeddings that it may be."""
        parent, _, leaf = key.rpartition(".")
        above, dot, owner = parent.rpartition(".")
        if leaf != "weight" or owner not in _HEADS:
            return ()
        return tuple(
            (Piece(f"{above}{dot}{middle}{name}.weight", shared=True),)
            for middle in _ABOVE
            for name in _EMBEDDINGS
        )

    def reverse(self) -> IdentityAdapter:
        """The identity: the head has a tensor of its own then."""
        return IdentityAdapter()


@dataclass(frozen=True, slots=True)
class RopeOrder(_OneToOne):
    """Columns of queries and keys for rotary encoding: pairs (i, i + d/2) beside each other.

    Hugging Face rotates halves of a head, Ruda adjacent pairs. For Ruda's layout, (in, out): in a
    recipe it stands after ``pytorch-to-ruda``.
    """

    DEPTH: ClassVar[int] = 2

    heads: int
    key_heads: int
    to_pairs: bool = True

    @property
    def name(self) -> str:
        """Name in recipes."""
        many = f"{self.heads}" if self.heads == self.key_heads else f"{self.heads},{self.key_heads}"
        return f"rope-to-{'pairs' if self.to_pairs else 'halves'}:{many}"

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """Weight and bias of query and key with their columns in the other order.

        Raises AdapterError for columns that do not divide by the heads.
        """
        owner = _owner(snapshot.key)
        heads = self.heads if owner in _QUERIES else self.key_heads if owner in _KEYS else 0
        leaf = snapshot.key.rpartition(".")[2]
        if not heads or module_kinds(snapshot) != ("Linear",) or leaf not in ("weight", "bias"):
            return snapshot
        return permuted(snapshot, heads, to_pairs=self.to_pairs)

    def reverse(self) -> RopeOrder:
        """The order before."""
        return replace(self, to_pairs=not self.to_pairs)


@lru_cache(maxsize=16)
def _order(columns: int, heads: int, to_pairs: bool) -> Array:
    """Where every column comes from; the layers of a model have the same."""
    order = np.arange(columns).reshape(heads, 2, -1).transpose(0, 2, 1).reshape(-1)
    return order if to_pairs else np.argsort(order)


def permuted(snapshot: TensorSnapshot, heads: int, *, to_pairs: bool) -> TensorSnapshot:
    """The entries of the last axis of every head from halves to pairs, or back.

    Raises AdapterError for columns that do not divide by the heads, or that share bytes.
    """
    columns = snapshot.shape[-1] if snapshot.shape else 0
    if snapshot.dtype.kind in TOGETHER or columns % (2 * heads):
        raise AdapterError(
            f"{list(snapshot.shape)} of {snapshot.dtype_label} has no columns for {heads} heads",
            key=snapshot.key,
        )
    order = _order(columns, heads, to_pairs)
    peak = snapshot.nbytes + peak_of(snapshot.source, snapshot.nbytes)
    return replace(
        snapshot,
        source=PermutedSource(snapshot.source, order, peak),
        origin=None if snapshot.origin is None else Origin(snapshot.origin.path),
        trail=(*snapshot.trail, f"permute {heads} heads" if heads > 1 else "permute"),
    )


FORMS = (
    *("gpt2-to-ruda", "ruda-to-gpt2", "keras-to-ruda", "ruda-to-keras", "tied-head"),
    *("rope-to-pairs:HEADS", "rope-to-halves:HEADS"),
)
"""How the adapters are named in a recipe."""

_FIXED: dict[str, ModuleAdapter] = {
    adapter.name: adapter
    for adapter in (Gpt2ToRuda(), RudaToGpt2(), KerasToRuda(), RudaToKeras(), TiedHead())
}


def special_named(name: str) -> ModuleAdapter | None:
    """The adapter of this name, or None. Raises RecipeError for heads that are no numbers."""
    kind, _, given = name.partition(":")
    if kind not in ("rope-to-pairs", "rope-to-halves"):
        return _FIXED.get(name)
    heads = heads_told(given)
    if heads is None:
        raise RecipeError(
            f"{kind} needs the number of heads, and that of keys if it differs, as in "
            f"'{kind}:8,2'; got {name!r}",
            step="adapt",
        )
    return RopeOrder(*heads, to_pairs=kind == "rope-to-pairs")


_HEADS_TOLD = re.compile(r"([1-9][0-9]{0,8})(?:,([1-9][0-9]{0,8}))?")


def heads_told(text: str) -> tuple[int, int] | None:
    """Heads of queries and of keys behind an adapter: ``32,8``, or ``32`` for both; else None."""
    found = _HEADS_TOLD.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2] or found[1]))
