"""Tensors that are one on this side and several on the other: found, split and joined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruda.errors import AdapterError
from ruda.nn import ParamSpec
from ruda.store.adapt import ModuleAdapter, pieces_of, results_of
from ruda.store.adapted import relabelled
from ruda.store.decided_joins import after_join, for_parts
from ruda.store.layers import layer_of, layered
from ruda.store.regroup import EACH, Piece
from ruda.store.row_blocks import block_of, stacked
from ruda.store.snapshot import TensorSnapshot

Parts = tuple[Piece, ...]


class Taken:
    """Which tensors, and which blocks of rows of tensors, have found their place."""

    def __init__(self) -> None:
        self.whole: set[str] = set()
        self.blocks: dict[str, set[int]] = {}

    def take(self, parts: Parts) -> None:
        """Note that these are in use."""
        for piece in parts:
            if piece.shared:
                self.blocks.setdefault(piece.key, set())
            elif piece.blocks == 1:
                self.whole.add(piece.key)
            else:
                self.blocks.setdefault(piece.key, set()).add(piece.block)

    def is_free(self, piece: Piece) -> bool:
        """True if the piece is not in use."""
        if piece.shared:
            return True
        if piece.key in self.whole:
            return False
        blocks = self.blocks.get(piece.key)
        return not blocks or (piece.blocks != 1 and piece.block not in blocks)

    def __contains__(self, key: str) -> bool:
        return key in self.whole or key in self.blocks


def find_parts(
    adapter: ModuleAdapter,
    param: ParamSpec,
    sources: Collection[str],
    own: Collection[str],
    taken: Taken,
) -> Parts | None:
    """The tensors that make up a parameter, in the first place that has all of them.

    A tensor that has the key of a parameter of the target (``own``) is kept for that one, unless
    it is shared.
    """
    return parts_among(
        pieces_of(adapter, param.key, param.containers), param.key, sources, own, taken
    )


def parts_among(
    places: Iterable[Parts],
    key: str,
    sources: Collection[str],
    own: Collection[str],
    taken: Taken,
) -> Parts | None:
    """``find_parts`` in places that are known already, for the parameter ``key``."""
    for parts in places:
        if all(
            piece.key in sources
            and taken.is_free(piece)
            and (piece.shared or piece.key == key or piece.key not in own)
            for piece in parts
        ):
            return parts
    return None


@dataclass(frozen=True, slots=True)
class Joining:
    """Tensors that are adapted each on its own and then laid below each other."""

    key: str
    containers: tuple[str, ...]
    parts: tuple[TensorSnapshot, ...]
    """Under the keys and in the containers that they are adapted in."""
    before: tuple[str, ...] = ()
    """Steps on the trail before this recipe."""
    axis: int = 0
    """The axis along which they lie."""
    are_layers: bool = False
    """True where they lie along an axis of its own."""

    def adapted(self, adapter: ModuleAdapter) -> TensorSnapshot:
        """The one tensor. Raises AdapterError."""
        adapted = [adapter.adapt(part) for part in self.parts]
        if self.are_layers:
            return layered(adapted, self.key, self.containers, self.before)
        return stacked(adapted, self.key, self.containers, self.before, axis=self.axis)


def gathered(
    parts: Parts,
    sources: Mapping[str, TensorSnapshot],
    key: str,
    containers: tuple[str, ...],
) -> TensorSnapshot | Joining:
    """What an adapter is given for a target. Raises AdapterError where rows do not divide."""
    if len(parts) == 1 and not parts[0].containers:
        return part_of(parts[0], relabelled(sources[parts[0].key], key, containers))
    labelled = tuple(
        part_of(piece, relabelled(sources[piece.key], piece.key, piece.containers))
        for piece in parts
    )
    before = sources[parts[0].key].trail
    return Joining(key, containers, labelled, before, parts[0].axis)


def part_of(piece: Piece, snapshot: TensorSnapshot) -> TensorSnapshot:
    """The tensor, or the block of its rows that the piece names. Raises AdapterError."""
    if piece.blocks == 1:
        return snapshot
    if piece.blocks == EACH:
        return layer_of(snapshot, piece.block)
    return block_of(snapshot, piece.block, piece.blocks, axis=piece.axis)


def share_of(piece: Piece, snapshot: TensorSnapshot) -> int:
    """Of how many blocks of this tensor the piece is one."""
    if piece.blocks != EACH:
        return piece.blocks
    return snapshot.shape[0] if snapshot.shape else 1


def adapt(adapter: ModuleAdapter, given: TensorSnapshot | Joining) -> TensorSnapshot:
    """What the adapter makes of one tensor or of several. Raises AdapterError."""
    if not isinstance(given, Joining):
        return adapter.adapt(given)
    made = given.adapted(for_parts(adapter, given.key, [part.key for part in given.parts]))
    return after_join(adapter, made, given.parts)


Pair = tuple[TensorSnapshot, TensorSnapshot | Joining]
"""A tensor as the file has it (the first of several), and what an adapter is given for it."""


def regrouped(
    pairs: Sequence[tuple[TensorSnapshot, TensorSnapshot]],
    adapter: ModuleAdapter,
    targets: Sequence[ParamSpec] = (),
) -> list[Pair]:
    """The pairs with tensors split and joined: as the targets want it, else as the adapter says.

    Raises AdapterError for a tensor of which some blocks are wanted by no target, and where parts
    of a joined tensor are absent.
    """
    originals = {labelled.key: original for original, labelled in pairs}
    labelled_by_key = {labelled.key: labelled for _, labelled in pairs}
    wanted, tied = _wanted(adapter, targets, labelled_by_key)
    groups = _groups(adapter, [s for _, s in pairs if s.key not in wanted])
    result: list[Pair] = []
    for original, labelled in pairs:
        if labelled.key in wanted:
            for param, parts in wanted[labelled.key]:
                given = gathered(parts, labelled_by_key, param.key, param.containers)
                result.append((originals[parts[0].key], given))
        elif labelled.key in groups:
            whole = groups[labelled.key]
            if whole is not None:
                result.append((original, whole))
        else:
            result += [(original, part) for part in _split(adapter, labelled)]
    for param, parts in tied:
        given = gathered(parts, labelled_by_key, param.key, param.containers)
        result.append((originals[parts[0].key], given))
    return result


def all_adapted(
    adapter: ModuleAdapter, snapshots: Sequence[TensorSnapshot]
) -> list[TensorSnapshot]:
    """Every tensor as the adapter makes it, split and joined. Raises AdapterError."""
    pairs = regrouped([(snapshot, snapshot) for snapshot in snapshots], adapter)
    return [adapt(adapter, given) for _, given in pairs]


Wanted = dict[str, list[tuple[ParamSpec, Parts]]]


def _wanted(
    adapter: ModuleAdapter, targets: Sequence[ParamSpec], sources: Mapping[str, TensorSnapshot]
) -> tuple[Wanted, list[tuple[ParamSpec, Parts]]]:
    """For every tensor that targets take in pieces: what it, as the first of its parts, becomes.

    Apart from them the targets that take what another takes as well.
    """
    tied: list[tuple[ParamSpec, Parts]] = []
    own = {param.key for param in targets}
    taken = Taken()
    found: Wanted = {}
    uses: dict[str, list[Piece]] = {}
    for param in targets:
        if param.key in sources:
            continue
        parts = find_parts(adapter, param, sources, own, taken)
        if parts is None:
            continue
        if any(piece.shared for piece in parts):
            tied.append((param, parts))
            continue
        taken.take(parts)
        found.setdefault(parts[0].key, []).append((param, parts))
        for piece in parts:
            uses.setdefault(piece.key, []).append(piece)
            found.setdefault(piece.key, [])
    for key, pieces in uses.items():
        blocks = share_of(pieces[0], sources[key])
        if blocks != len(pieces):
            raise AdapterError(
                f"the target wants {len(pieces)} of the {blocks} blocks of its rows",
                key=key,
            )
    return found, tied


def _split(adapter: ModuleAdapter, labelled: TensorSnapshot) -> Iterator[TensorSnapshot]:
    """What becomes of one tensor where no target says it."""
    pieces = results_of(adapter, labelled.key, labelled.containers)
    if not pieces or pieces[0].blocks > 1 or not pieces[0].containers:
        yield labelled
        return
    if pieces[0].blocks == EACH:
        for at in range(labelled.shape[0] if labelled.shape else 0):
            key = pieces[0].key.replace("*", str(at), 1)
            yield layer_of(relabelled(labelled, key, pieces[0].containers), at)
        return
    for block, piece in enumerate(pieces):
        part = relabelled(labelled, piece.key, piece.containers)
        if len(pieces) > 1:
            part = block_of(part, block, len(pieces), axis=piece.axis)
        yield part


def _groups(
    adapter: ModuleAdapter, snapshots: Sequence[TensorSnapshot]
) -> dict[str, Joining | None]:
    """For every tensor that goes into another: that one if it is the first part, else None."""
    parts: dict[str, dict[int, TensorSnapshot]] = {}
    wholes: dict[str, Piece] = {}
    for snapshot in snapshots:
        for piece in results_of(adapter, snapshot.key, snapshot.containers)[:1]:
            if not piece.containers:
                parts.setdefault(piece.key, {})[piece.block] = snapshot
                wholes[piece.key] = piece
    found: dict[str, Joining | None] = {}
    for key, members in parts.items():
        whole = wholes[key]
        blocks = max(members) + 1 if whole.blocks == EACH else whole.blocks
        if len(members) != blocks:
            raise AdapterError(
                f"only {len(members)} of the {blocks} tensors that it is made of are there",
                key=key,
            )
        ordered = tuple(members[block] for block in sorted(members))
        apart = _apart(adapter, ordered)
        if apart:
            found |= apart
            continue
        joining = Joining(
            key, (), ordered, ordered[0].trail, whole.axis, are_layers=whole.blocks == EACH
        )
        first = next(iter(members.values()))
        found |= {member.key: joining if member is first else None for member in ordered}
    return found


def _apart(adapter: ModuleAdapter, members: Sequence[TensorSnapshot]) -> dict[str, Joining | None]:
    """Parts of unlike shapes each under its own name, where all have one; else nothing.

    PyTorch keeps the projections of attention apart where keys or values have another width.
    """
    if len({member.shape for member in members}) == 1:
        return {}
    found: dict[str, Joining | None] = {}
    for member in members:
        pieces = results_of(adapter, member.key, member.containers)
        own = next((p for p in pieces if p.blocks == 1 and not p.containers), None)
        if own is None:
            return {}
        found[member.key] = Joining(own.key, (), (member,), member.trail, own.axis)
    return found
