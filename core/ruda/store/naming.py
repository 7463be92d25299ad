"""Adapters by name maps: names and layouts of a family of models in another library, both ways.

``hf-bert-to-ruda``, ``ruda-to-hf-bert`` and so on, one pair for each map of ``name_tables``. What
the table does not know is adapted as PyTorch's. After a colon may stand the prefix of the body
(``hf-bert-to-ruda:bert.``; ``-`` for none), and for rotary models the heads
(``hf-llama-to-ruda:32,8``), which a model that is named as the target says itself.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ruda.errors import AdapterError, RecipeError
from ruda.nn import heads_of
from ruda.store.adapted import transposed
from ruda.store.adapter import (
    Chaining,
    ModuleAdapter,
    OtherKeys,
    PyTorchToRuda,
    RudaToPyTorch,
    with_last_segment,
)
from ruda.store.name_map import NameMap, Row, Rule
from ruda.store.name_tables import NAME_MAPS, name_map
from ruda.store.regroup import EACH, Piece
from ruda.store.snapshot import TensorSnapshot, kind_of
from ruda.store.special import heads_told, permuted

_TO_RUDA = PyTorchToRuda()
_TO_PYTORCH = RudaToPyTorch()


@dataclass(frozen=True, slots=True)
class _Named(Chaining):
    """What both ways share: the map, the prefix of the body, and the heads of rotary models."""

    map_name: str
    prefix: str | None = None
    """None: any that the map knows is read, the usual one is written."""
    heads: tuple[int, int] | None = None
    """Heads of queries and of keys; None: those that the modules of the target say."""

    @property
    def map(self) -> NameMap:
        """The table."""
        return name_map(self.map_name)

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """None: names are looked up whole, by ``pieces``."""
        return None

    def rule_of(self, key: str) -> Hashable:
        """The row of the table for a key of Ruda's model; None for keys that are PyTorch's."""
        found = self.map.find(key)
        return None if found is None else found.rule.here

    def rules_of(self, keys: Sequence[str]) -> list[Hashable]:
        """``rule_of`` for very many keys."""
        return [None if hit is None else hit[0][0].here for hit in self.map.find_all(keys)]

    def owners(self, key: str) -> tuple[str, ...] | None:
        """The kind of module that the table says, for keys of both sides."""
        found = self.map.find(key) or next(iter(self.map.find_elsewhere(key, self.prefix)), None)
        return None if found is None else tuple(filter(None, found.rule.containers))

    def _spelled(self, name: str) -> str:
        options = []
        if self.prefix is not None:
            options.append(self.prefix or "-")
        if self.heads is not None:
            same = self.heads[0] == self.heads[1]
            options.append(f"{self.heads[0]}" if same else f"{self.heads[0]},{self.heads[1]}")
        return ":".join((name, *options))

    def _heads(self, rule: Rule, snapshot: TensorSnapshot) -> int:
        """Heads whose columns turn together. Raises AdapterError where nothing says them."""
        if rule.row.rotary == "norm":
            return 1
        heads = self.heads
        for entry in snapshot.containers:
            heads = heads or heads_of(entry.partition(":")[2])
        if heads is None:
            raise AdapterError(
                "the number of heads is not known: name the model as the target, or write it "
                f"behind the adapter, as in '{self.map_name}-to-ruda:32,8' (queries, keys)",
                key=snapshot.key,
            )
        return heads[0] if rule.row.rotary == "query" else heads[1]


@dataclass(frozen=True, slots=True)
class NamesToRuda(_Named):
    """Another library's tensors for Ruda's model of the same family."""

    DEPTH: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """Name in recipes."""
        return self._spelled(f"{self.map_name}-to-ruda")

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """Turned and permuted as the table says; by PyTorch's rules where it says nothing.

        Raises AdapterError for values that cannot be turned, or heads that are not known.
        """
        found = self.map.find(snapshot.key)
        if found is None:
            return _TO_RUDA.adapt(snapshot)
        rule = found.rule
        if rule.is_turned and len(snapshot.shape) == 2:
            snapshot = transposed(snapshot)
        if rule.row.rotary:
            snapshot = permuted(snapshot, self._heads(rule, snapshot), to_pairs=True)
        return snapshot

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        """The other library's tensor, or the block of one, under every prefix."""
        found = self.map.find(key)
        if found is None:
            return tuple((piece,) for piece in _pytorch_places(key, containers))
        row, axis = found.rule.row, found.rule.axis
        block, blocks = (int(found.numbers[0]), EACH) if row.is_stacked else (row.block, row.blocks)
        places = [
            Piece(name, block, blocks, axis=axis)
            for name in self._spellings(found.elsewhere, row.outside)
        ]
        if row.tied_to and found.rule.leaf == "weight":
            owner = self.map.find(f"{row.tied_to}.weight")
            assert owner is not None  # a row of the table
            names = self._spellings(owner.elsewhere, owner.rule.row.outside)
            places += [Piece(name, shared=True) for name in names]
        return tuple((place,) for place in places)

    def other_keys(self, keys: Sequence[str]) -> list[OtherKeys | None]:
        """The places of ``pieces`` for very many keys, but for those of what is tied."""
        known: dict[str, tuple[tuple[tuple[str, ...], ...], Row, int]] = {}
        found: list[OtherKeys | None] = []
        for hit in self.map.find_all(keys):
            if hit is None:
                found.append(None)
                continue
            (rule, *_), number = hit
            told = known.get(rule.here)
            if told is None:
                spelled = self._spellings(rule.elsewhere, rule.row.outside)
                texts = tuple(tuple(each.split("*")) for each in spelled)
                told = known[rule.here] = texts, rule.row, rule.axis
            texts, row, axis = told
            block, blocks = (int(number), EACH) if row.is_stacked else (row.block, row.blocks)
            found.append(OtherKeys(texts, number, block, blocks, axis))
        return found

    def _spellings(self, names: tuple[str, ...], outside: bool) -> Iterator[str]:
        prefixes = self.map.prefixes if self.prefix is None else (self.prefix,)
        for prefix in ("",) if outside else prefixes:
            yield from (prefix + name for name in names)

    def results(self, key: str, containers: tuple[str, ...]) -> tuple[Piece, ...]:
        """The parameters of Ruda's that a tensor of the other library holds."""
        found = self.map.find_elsewhere(key, self.prefix)
        if not found:
            return _TO_RUDA.results(key, containers)
        blocks = EACH if found[0].rule.row.is_stacked else 1
        return tuple(
            Piece(each.here, 0, blocks, each.rule.containers, axis=each.rule.axis) for each in found
        )

    def reverse(self) -> ModuleAdapter:
        """RudaToNames with the same options."""
        return RudaToNames(self.map_name, self.prefix, self.heads)


@dataclass(frozen=True, slots=True)
class RudaToNames(_Named):
    """NamesToRuda, taken back."""

    DEPTH: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """Name in recipes."""
        return self._spelled(f"ruda-to-{self.map_name}")

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """Permuted and turned back, under its key in Ruda's model. Raises AdapterError."""
        found = self.map.find(snapshot.key)
        if found is None:
            return _TO_PYTORCH.adapt(snapshot)
        rule = found.rule
        if rule.row.rotary:
            snapshot = permuted(snapshot, self._heads(rule, snapshot), to_pairs=False)
        if rule.is_turned and len(snapshot.shape) == 2:
            snapshot = transposed(snapshot)
        return snapshot

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        """The parameters of Ruda's that make up a tensor of the other library."""
        found = self.map.find_elsewhere(key, self.prefix)
        if found and found[0].rule.row.is_stacked:
            return ()  # nothing here says how many layers there are
        if not found:
            other = _TO_PYTORCH.pieces(key, containers)
            return other or _renamed(_TO_PYTORCH, key, containers)
        parts = tuple(
            Piece(each.here, containers=each.rule.containers, axis=each.rule.axis) for each in found
        )
        return (parts,)

    def pieces_of_all(
        self, keys: Sequence[str], containers: Sequence[tuple[str, ...]]
    ) -> Iterator[tuple[tuple[Piece, ...], ...]]:
        """``pieces`` for very many keys."""
        told: dict[str, tuple[list[str], tuple[str, ...], int]] = {}
        hits = self.map.find_all_elsewhere(keys, self.prefix)
        for key, kinds, hit in zip(keys, containers, hits, strict=True):
            if hit is None or hit[0][0].row.is_stacked:
                yield self.pieces(key, kinds)
                continue
            parts = []
            rules, number = hit
            for here in [rule.here for rule in rules]:
                if here not in told:
                    rule = next(rule for rule in rules if rule.here == here)
                    told[here] = here.split("*"), rule.containers, rule.axis
                texts, owners, axis = told[here]
                parts.append(Piece(number.join(texts), containers=owners, axis=axis))
            yield (tuple(parts),)

    def results(self, key: str, containers: tuple[str, ...]) -> tuple[Piece, ...]:
        """The tensor of the other library that a parameter of Ruda's goes into."""
        found = self.map.find(key)
        if found is None:
            return _TO_PYTORCH.results(key, containers)
        row = found.rule.row
        prefix = self.map.prefixes[0] if self.prefix is None else self.prefix
        name = found.elsewhere[0] if row.outside else prefix + found.elsewhere[0]
        if row.is_stacked:
            return (Piece(name, int(found.numbers[0]), EACH),)
        return (Piece(name, row.block, row.blocks, axis=found.rule.axis),)

    def reverse(self) -> ModuleAdapter:
        """NamesToRuda with the same options."""
        return NamesToRuda(self.map_name, self.prefix, self.heads)


def _pytorch_places(key: str, containers: tuple[str, ...]) -> Iterator[Piece]:
    for places in _TO_RUDA.pieces(key, containers) or _renamed(_TO_RUDA, key, containers):
        yield from places


def _renamed(
    adapter: PyTorchToRuda | RudaToPyTorch, key: str, containers: tuple[str, ...]
) -> tuple[tuple[Piece, ...], ...]:
    """The one place of a tensor that only has another last segment."""
    other = adapter.alternative_name(key.rpartition(".")[2], kind_of(containers))
    return () if other is None else ((Piece(with_last_segment(key, other)),),)


NAME_FORMS = tuple(form for name in NAME_MAPS for form in (f"{name}-to-ruda", f"ruda-to-{name}"))
"""How the adapters are named in a recipe."""


def require_alone(adapters: Sequence[str | ModuleAdapter]) -> None:
    """Raises RecipeError for a name map beside another adapter that turns matrices.

    It does what PyTorch's adapter does, and a square matrix that is turned twice looks right.
    """
    maps: list[str] = []
    turning: list[str] = []
    for each in adapters:
        name = each if isinstance(each, str) else each.name
        known = naming_named(each) if isinstance(each, str) else each
        if isinstance(known, NamesToRuda | RudaToNames):
            maps.append(name)
        elif name.startswith("rope-") or name in _TURNING:
            turning.append(name)
    other = [*maps[1:], *turning]
    if maps and other:
        raise RecipeError(
            f"{maps[0]!r} turns matrices, and so does {other[0]!r}: take one of them",
            step="adapt",
        )


_TURNING = frozenset(
    {
        *("pytorch-to-ruda", "ruda-to-pytorch", "gpt2-to-ruda", "ruda-to-gpt2"),
        *("keras-to-ruda", "ruda-to-keras"),
    }
)


def naming_named(name: str) -> ModuleAdapter | None:
    """The adapter of this name, or None. Raises RecipeError for options it does not have."""
    kind, *options = name.split(":")
    forward = kind.endswith("-to-ruda")
    base = kind.removesuffix("-to-ruda") if forward else kind.removeprefix("ruda-to-")
    if kind == base or base not in NAME_MAPS:
        return None
    prefix: str | None = None
    heads: tuple[int, int] | None = None
    for option in options:
        told = heads_told(option)
        if told is not None and name_map(base).is_rotary:
            heads = told
        elif told is None and (option == "-" or option.endswith(".")):
            prefix = option.removeprefix("-")
        else:
            more = " or the heads (32,8)" if name_map(base).is_rotary else ""
            raise RecipeError(
                f"behind {kind!r} stands the prefix of the keys ('model.', '-' for none){more}; "
                f"got {option!r}",
                step="adapt",
            )
    made = NamesToRuda if forward else RudaToNames
    return made(base, prefix, heads)


def recognised(keys: Collection[str]) -> tuple[str, ...]:
    """Names of the adapters of which these keys of a file bear the marks."""
    found: list[str] = []
    for name in NAME_MAPS:
        prefix = name_map(name).prefix_of(keys)
        if prefix is not None:
            usual = prefix == name_map(name).prefixes[0]
            found.append(f"{name}-to-ruda" if usual else f"{name}-to-ruda:{prefix or '-'}")
    return tuple(found)


def recognised_inside(keys: Collection[str]) -> tuple[str, ...]:
    """As ``recognised``, for files that have something before every key: a wrapper, a field.

    What it is, is for others to find.
    """
    marks: dict[str, tuple[NameMap, str]] = {}
    for name in NAME_MAPS:
        table = name_map(name)
        for prefix in table.prefixes:
            marks.setdefault(f".{prefix}{table.anchors[0]}", (table, prefix))
    ends = tuple(marks)
    found: dict[str, None] = {}
    for key in keys:
        if not key.endswith(ends):
            continue
        for end, (table, prefix) in marks.items():
            outer = key[: len(key) - len(end) + 1]
            if key.endswith(end) and all(outer + prefix + each in keys for each in table.anchors):
                usual = prefix == table.prefixes[0]
                name = f"{table.name}-to-ruda"
                found[name if usual else f"{name}:{prefix or '-'}"] = None
    return tuple(found)


def naming_notes(adapters: Iterable[object]) -> Iterator[str]:
    """What results depend on and no tensor says, for every name map among the adapters."""
    for adapter in adapters:
        found = naming_named(adapter) if isinstance(adapter, str) else adapter
        if isinstance(found, NamesToRuda) and found.map.note:
            yield f"{found.name}: {found.map.note}"


def title_of(adapter: str) -> str | None:
    """Whose names an adapter is about, for sentences; None for adapters that are no name map."""
    found = naming_named(adapter)
    return found.map.title if isinstance(found, NamesToRuda | RudaToNames) else None
