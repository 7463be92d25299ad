"""Adapters: what one framework's tensors need to fit another's modules.

An adapter decides by the kind of module that owns a tensor (the innermost ``Struct:`` container)
and the last segment of its key. It is pure: it returns another snapshot and reads nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain as joined
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from ruda.store.adapted import transposed
from ruda.store.regroup import Piece, kept_otherwise, native_pieces, torch_pieces
from ruda.store.snapshot import EITHER, TensorSnapshot, kind_of

NORMS = frozenset({"BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "RmsNorm"})

KNOWN_KINDS = NORMS | {
    "Bilinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "DeformConv2d",
    "DeformConv3d",
    "Embedding",
    "GateController",
    "BiGru",
    "BiLstm",
    "BiRnn",
    "Conv1D",
    "Gru",
    "Linear",
    "Lstm",
    "MultiHeadAttention",
    "PRelu",
    "PositionWiseFeedForward",
    "Rnn",
    "SwiGlu",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
}
"""Module kinds that own parameters; a name outside of it is checked for a slip of the pen."""


@runtime_checkable
class ModuleAdapter(Protocol):
    """Changes the snapshots of some kinds of module."""

    @property
    def name(self) -> str:
        """Name in recipes and on rows."""

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """The tensor as the other side wants it; itself where there is nothing to do.

        The snapshot carries the containers of the module that owns it. Raises AdapterError.
        """

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """Last key segment under which the other side keeps parameter ``name``, or None."""

    def reverse(self) -> ModuleAdapter:
        """The adapter for the way back."""


class OtherKeys(NamedTuple):
    """The first places of ``pieces``, each one tensor or a block of one; quick to make."""

    texts: tuple[tuple[str, ...], ...]
    """For every place what stands around the number in its key: ``number.join`` makes that."""
    number: str
    block: int = 0
    blocks: int = 1
    axis: int = 0


class Chaining:
    """What every adapter has besides: ``chain``, and keys that are one tensor here, several there.

    An adapter that splits or joins no tensors leaves ``pieces`` and ``results`` as they are.
    """

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        """Where the tensor that becomes ``key`` may come from, the most usual place first.

        Each place is the tensors, or blocks of rows of tensors, that are laid below each other.
        """
        return ()

    def pieces_of_all(
        self, keys: Sequence[str], containers: Sequence[tuple[str, ...]]
    ) -> Iterable[tuple[tuple[Piece, ...], ...]]:
        """``pieces`` for very many keys, one after the other."""
        return map(self.pieces, keys, containers)

    def other_keys(self, keys: Sequence[str]) -> list[OtherKeys | None]:
        """For very many keys the first places of ``pieces``; None where only that knows them.

        ``pieces`` is asked where the tensors of none of them are there.
        """
        return [None] * len(keys)

    def divides(self, containers: tuple[str, ...]) -> bool:
        """False if no key in these containers has ``pieces``: then nobody has to ask for them."""
        return type(self).pieces is not Chaining.pieces

    def owners(self, key: str) -> tuple[str, ...] | None:
        """Containers of a tensor of either side that the adapter knows by its key alone.

        Empty for one that no module of a known kind owns; None for a key that it does not know.
        """
        return None

    def results(self, key: str, containers: tuple[str, ...]) -> tuple[Piece, ...]:
        """What becomes of a tensor: the tensors that its blocks of rows become, in their order.

        One piece with ``blocks`` says that the tensor becomes a block of a larger one.
        """
        return ()

    def depth(self) -> int | None:
        """How many of the last segments of a key have a say in what ``adapt`` does to a tensor.

        Beside them only its containers, element type, shape and ``rule_of`` may have one: tensors
        that are alike in these are asked about once. None, for a class that says nothing itself:
        any may.
        """
        found: int | None = vars(type(self)).get("DEPTH")
        return found

    def rule_of(self, key: str) -> Hashable:
        """What else of a key has a say in ``adapt``: the row of a table that it is found in."""
        return None

    def rules_of(self, keys: Sequence[str]) -> list[Hashable]:
        """``rule_of`` for very many keys."""
        if type(self).rule_of is Chaining.rule_of:
            return [None] * len(keys)
        return [self.rule_of(key) for key in keys]

    def chain(self: ModuleAdapter, other: ModuleAdapter) -> ChainAdapter:
        """This adapter, then the other."""
        return ChainAdapter((self, other))


def module_kinds(snapshot: TensorSnapshot) -> tuple[str, ...]:
    """Kinds of module that may own the tensor: one if it is known, none if nothing is."""
    return _kinds(snapshot.containers)


@lru_cache(maxsize=4096)
def _kinds(containers: tuple[str, ...]) -> tuple[str, ...]:
    if containers and containers[-1].startswith(EITHER):
        return tuple(containers[-1][len(EITHER) :].split("|"))
    kind = kind_of(containers)
    return () if kind is None else (kind,)


def with_last_segment(key: str, name: str) -> str:
    """The key with another last segment."""
    head, dot, _ = key.rpartition(".")
    return f"{head}{dot}{name}"


def pieces_of(
    adapter: ModuleAdapter, key: str, containers: tuple[str, ...]
) -> tuple[tuple[Piece, ...], ...]:
    """``pieces`` of an adapter that may not have it."""
    return adapter.pieces(key, containers) if isinstance(adapter, Chaining) else ()


def all_pieces_of(
    adapter: ModuleAdapter, keys: Sequence[str], containers: Sequence[tuple[str, ...]]
) -> Iterable[tuple[tuple[Piece, ...], ...]]:
    """``pieces_of_all`` of an adapter that may not have it."""
    if isinstance(adapter, Chaining):
        return adapter.pieces_of_all(keys, containers)
    return [()] * len(keys)


def may_divide(adapter: ModuleAdapter, containers: tuple[str, ...]) -> bool:
    """``divides`` of an adapter that may not have it."""
    return isinstance(adapter, Chaining) and adapter.divides(containers)


def key_depth(adapter: ModuleAdapter) -> int | None:
    """``depth`` of an adapter that may not have it."""
    return adapter.depth() if isinstance(adapter, Chaining) else None


def has_rules(adapter: ModuleAdapter) -> bool:
    """True if ``rule_of`` tells keys apart."""
    if isinstance(adapter, ChainAdapter):
        return any(map(has_rules, adapter.members))
    return isinstance(adapter, Chaining) and type(adapter).rule_of is not Chaining.rule_of


def rule_of(adapter: ModuleAdapter, key: str) -> Hashable:
    """``rule_of`` of an adapter that may not have it."""
    return adapter.rule_of(key) if isinstance(adapter, Chaining) else None


def rules_of(adapter: ModuleAdapter, keys: Sequence[str]) -> list[Hashable]:
    """``rules_of`` of an adapter that may not have it."""
    return adapter.rules_of(keys) if isinstance(adapter, Chaining) else [None] * len(keys)


def other_keys_of(adapter: ModuleAdapter, keys: Sequence[str]) -> list[OtherKeys | None]:
    """``other_keys`` of an adapter that may not have it."""
    return adapter.other_keys(keys) if isinstance(adapter, Chaining) else [None] * len(keys)


def owners_of(adapter: ModuleAdapter, key: str) -> tuple[str, ...] | None:
    """``owners`` of an adapter that may not have it."""
    return adapter.owners(key) if isinstance(adapter, Chaining) else None


def results_of(adapter: ModuleAdapter, key: str, containers: tuple[str, ...]) -> tuple[Piece, ...]:
    """``results`` of an adapter that may not have it."""
    return adapter.results(key, containers) if isinstance(adapter, Chaining) else ()


@dataclass(frozen=True, slots=True)
class IdentityAdapter(Chaining):
    """Leaves everything as it is."""

    DEPTH: ClassVar[int] = 0

    name: str = "identity"

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """The snapshot itself."""
        return snapshot

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """None: there are no other names."""
        return None

    def reverse(self) -> IdentityAdapter:
        """Itself."""
        return self


@dataclass(frozen=True, slots=True)
class ChainAdapter(Chaining):
    """Several adapters, one after the other."""

    members: tuple[ModuleAdapter, ...]

    @property
    def name(self) -> str:
        """The names of the members, in order."""
        return " then ".join(member.name for member in self.members)

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """What the last member makes of what the others made. Raises AdapterError."""
        for member in self.members:
            snapshot = member.adapt(snapshot)
        return snapshot

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """The name after all members that know another one; None if none does."""
        found: str | None = None
        for member in self.members:
            found = member.alternative_name(found or name, kind) or found
        return found

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        """The places that any member knows, in order."""
        return tuple(p for member in self.members for p in pieces_of(member, key, containers))

    def other_keys(self, keys: Sequence[str]) -> list[OtherKeys | None]:
        """Those of the first member that has ``pieces``: its places come first."""
        for member in self.members:
            if isinstance(member, Chaining) and type(member).pieces is not Chaining.pieces:
                return member.other_keys(keys)
        return [None] * len(keys)

    def pieces_of_all(
        self, keys: Sequence[str], containers: Sequence[tuple[str, ...]]
    ) -> Iterable[tuple[tuple[Piece, ...], ...]]:
        """The places that any member knows, in order, key by key."""
        several = [
            all_pieces_of(member, keys, containers)
            for member in self.members
            if isinstance(member, Chaining) and type(member).pieces is not Chaining.pieces
        ]
        if len(several) == 1:
            return several[0]
        return (tuple(joined.from_iterable(each)) for each in zip(*several, strict=True))

    def results(self, key: str, containers: tuple[str, ...]) -> tuple[Piece, ...]:
        """What the first member that splits or joins makes of it."""
        found = (results_of(member, key, containers) for member in self.members)
        return next((pieces for pieces in found if pieces), ())

    def divides(self, containers: tuple[str, ...]) -> bool:
        """True if any member does."""
        return any(may_divide(member, containers) for member in self.members)

    def owners(self, key: str) -> tuple[str, ...] | None:
        """Those that the first member says which knows the key."""
        found = (owners_of(member, key) for member in self.members)
        return next((owners for owners in found if owners is not None), None)

    def depth(self) -> int | None:
        """That of the member which looks at most of a key."""
        depths = [key_depth(member) for member in self.members]
        known = [depth for depth in depths if depth is not None]
        return max(known, default=0) if len(known) == len(depths) else None

    def rule_of(self, key: str) -> Hashable:
        """Those of all members."""
        return tuple(rule_of(member, key) for member in self.members)

    def rules_of(self, keys: Sequence[str]) -> list[Hashable]:
        """Those of all members."""
        return [*zip(*(rules_of(member, keys) for member in self.members), strict=True)]

    def reverse(self) -> ChainAdapter:
        """The reverses of the members, from the last to the first."""
        return ChainAdapter(tuple(member.reverse() for member in reversed(self.members)))


Names = Mapping[str, Mapping[str, str]]
"""Kind of module, then name of a parameter: the name on the other side."""


def _other_name(table: Names, kind: str, name: str) -> str | None:
    names = table.get(kind)
    return None if names is None else names.get(name)


_TO_RUDA: Names = {
    **{kind: {"weight": "gamma", "bias": "beta"} for kind in NORMS},
    "PRelu": {"weight": "alpha"},
}
_TO_PYTORCH: Names = {
    kind: {native: torch for torch, native in names.items()} for kind, names in _TO_RUDA.items()
}


@dataclass(frozen=True, slots=True)
class _LayoutAdapter(Chaining):
    """Renames by a table and transposes the weight of Linear: the same both ways."""

    def _names(self) -> Names:
        raise NotImplementedError

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """Renamed where the other side has another name, Linear weights transposed lazily.

        Raises AdapterError for a Linear weight whose dtype cannot be transposed.
        """
        kinds = module_kinds(snapshot)
        if not kinds:
            return snapshot
        last = snapshot.key.rpartition(".")[2]
        table = self._names()
        name = _other_name(table, kinds[0], last)
        if name is not None and all(_other_name(table, kind, last) == name for kind in kinds):
            snapshot = snapshot.renamed(with_last_segment(snapshot.key, name))
        if kinds == ("Linear",) and last == "weight" and len(snapshot.shape) == 2:
            return transposed(snapshot)
        return snapshot


@dataclass(frozen=True, slots=True)
class PyTorchToRuda(_LayoutAdapter):
    """PyTorch's tensors for Ruda's modules.

    Linear ``weight`` ``[out, in]`` → ``[in, out]``; ``weight``/``bias`` of the five norms become
    ``gamma``/``beta``; ``weight`` of PRelu becomes ``alpha``. Gates of recurrent layers and
    projections of attention are blocks of rows of one tensor, and transformer layers have other
    names inside: see ``regroup``.
    """

    DEPTH: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """Name in recipes."""
        return "pytorch-to-ruda"

    def _names(self) -> Names:
        return _TO_RUDA

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """PyTorch's name of a Ruda parameter, or None where it is the same."""
        return _TO_PYTORCH.get(kind or "", {}).get(name)

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        """PyTorch's tensor, or the block of one, that holds a parameter of Ruda's."""
        found = torch_pieces(key, containers, _TO_PYTORCH)
        return tuple((piece,) for piece in found) if found else ()

    def divides(self, containers: tuple[str, ...]) -> bool:
        """True if a module on the way is one that PyTorch keeps otherwise."""
        return kept_otherwise(containers)

    def results(self, key: str, containers: tuple[str, ...]) -> tuple[Piece, ...]:
        """The parameters of Ruda's that a tensor of PyTorch's holds."""
        return native_pieces(key, containers)

    def reverse(self) -> RudaToPyTorch:
        """RudaToPyTorch."""
        return RudaToPyTorch()


@dataclass(frozen=True, slots=True)
class RudaToPyTorch(_LayoutAdapter):
    """Ruda's tensors for PyTorch's modules: what PyTorchToRuda does, taken back."""

    DEPTH: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """Name in recipes."""
        return "ruda-to-pytorch"

    def _names(self) -> Names:
        return _TO_PYTORCH

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """Ruda's name of a PyTorch parameter, or None where it is the same."""
        return _TO_RUDA.get(kind or "", {}).get(name)

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        """The parameters of Ruda's that make up a tensor of PyTorch's."""
        found = native_pieces(key, containers)
        return (found,) if found else ()

    def divides(self, containers: tuple[str, ...]) -> bool:
        """True if a module on the way is one that PyTorch keeps otherwise."""
        return kept_otherwise(containers)

    def results(self, key: str, containers: tuple[str, ...]) -> tuple[Piece, ...]:
        """The tensor of PyTorch's that a parameter of Ruda's goes into."""
        return torch_pieces(key, containers, _TO_PYTORCH)

    def reverse(self) -> PyTorchToRuda:
        """PyTorchToRuda."""
        return PyTorchToRuda()


def chain(adapters: Iterable[ModuleAdapter]) -> ModuleAdapter:
    """One adapter for several; the identity for none."""
    members = tuple(a for a in adapters if not isinstance(a, IdentityAdapter))
    if not members:
        return IdentityAdapter()
    return members[0] if len(members) == 1 else ChainAdapter(members)
