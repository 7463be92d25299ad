"""TensorIndex: the ordered, header-only view of everything in an opened store."""

from __future__ import annotations

import difflib
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from ruda._freeing import LargeDict
from ruda.errors import KeyCollisionError, MissingKeyError
from ruda.store.snapshot import TensorSnapshot
from ruda.store.stamp import Stamp
from ruda.store.uri import Place


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One entry of a checkpoint's tree: a dict, list, tensor or plain value, with its size.

    ``summary`` is what a person reads: ``dict of 62``, ``f32 [64, 3, 7, 7]``, ``epoch: 42``,
    ``object of class x.Y (not loaded)``. ``nbytes`` counts the tensors at and below this node.
    """

    name: str
    kind: str
    summary: str
    nbytes: int = 0
    children: tuple[TreeNode, ...] = ()


class TensorFacts(NamedTuple):
    """What a list shows of a tensor."""

    key: str
    dtype_label: str
    shape: tuple[int, ...]
    nbytes: int
    shared_with: str | None
    file: str
    """Name of the file that holds it; empty for one in memory."""


Entry = TypeVar("Entry")


class LazySnapshots(Mapping[str, TensorSnapshot], Generic[Entry]):
    """Snapshots that are made when they are asked for, out of what a header says of each.

    A file of a million tensors opens as fast as its header is checked. The order is that of
    ``entries``; each snapshot is made once. ``describe`` says what a list shows of an entry, which
    is much less work than to make its snapshot.
    """

    __slots__ = ("_describe", "_entries", "_made", "_make")

    def __init__(
        self,
        entries: dict[str, Entry],
        make: Callable[[str, Entry], TensorSnapshot],
        describe: Callable[[str, Entry], TensorFacts] | None = None,
    ) -> None:
        self._entries: dict[str, Entry] = LargeDict(entries)
        self._make = make
        self._describe = describe
        self._made: dict[str, TensorSnapshot] = LargeDict()

    def __getitem__(self, key: str) -> TensorSnapshot:
        found = self._made.get(key)
        if found is None:
            # Two threads may both make it; the first one is kept by both.
            found = self._made.setdefault(key, self._make(key, self._entries[key]))
        return found

    def facts(self) -> Iterator[TensorFacts]:
        """What a list shows of every tensor, in order; makes no snapshot where it can be told."""
        describe = self._describe
        if describe is None:
            return map(_facts, self.values())
        return (describe(key, entry) for key, entry in self._entries.items())

    def items(self) -> ItemsView[str, TensorSnapshot]:
        """Keys with their snapshots, in order."""
        return _LazyItems(self)

    def values(self) -> ValuesView[TensorSnapshot]:
        """The snapshots, in order."""
        return _LazyValues(self)

    def pairs(self) -> Iterator[tuple[str, TensorSnapshot]]:
        """What ``items`` goes over, without a look-up for each."""
        made, make = self._made, self._make
        for key, entry in self._entries.items():
            found = made.get(key)
            yield key, found if found is not None else made.setdefault(key, make(key, entry))

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class _LazyItems(ItemsView[str, TensorSnapshot]):
    _mapping: LazySnapshots[Any]

    def __iter__(self) -> Iterator[tuple[str, TensorSnapshot]]:
        return self._mapping.pairs()


class _LazyValues(ValuesView[TensorSnapshot]):
    _mapping: LazySnapshots[Any]

    def __iter__(self) -> Iterator[TensorSnapshot]:
        return (snapshot for _, snapshot in self._mapping.pairs())


def _facts(snapshot: TensorSnapshot) -> TensorFacts:
    return TensorFacts(
        snapshot.key,
        snapshot.dtype_label,
        snapshot.shape,
        snapshot.nbytes,
        snapshot.shared_with,
        "" if snapshot.origin is None else snapshot.origin.path.name,
    )


@dataclass(frozen=True, repr=False)
class TensorIndex(Mapping[str, TensorSnapshot]):
    """Ordered mapping from key to snapshot; the order is that of the bytes in the file.

    Opening reads headers only. ``metadata`` is the file's own text map, ``extra`` what else the
    format needs to be written back unchanged (Rudapack scalars, for one). Close it, or use it in
    ``with``, to release the files behind it.
    """

    snapshots: Mapping[str, TensorSnapshot]
    format: str
    path: Place | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    shards: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()
    unsafe: tuple[str, ...] = ()
    """Names of globals that a pickle asked for and that were not resolved."""
    tree: TreeNode | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    closers: tuple[Callable[[], None], ...] = field(default=(), repr=False)
    stamps: tuple[Stamp, ...] = field(default=(), repr=False, compare=False)
    """The files as they were when ``open_store`` came to them; empty for what it did not open."""

    def __getitem__(self, key: str) -> TensorSnapshot:
        try:
            return self.snapshots[key]
        except KeyError:
            near = difflib.get_close_matches(key, list(self.snapshots), n=1)
            raise MissingKeyError(key, nearest=near[0] if near else None, path=self.path) from None

    def get(self, key: str, default: Any = None) -> Any:
        """The snapshot, or the default; unlike a failed look-up it searches for no near key."""
        return self.snapshots.get(key, default)

    def items(self) -> ItemsView[str, TensorSnapshot]:
        """Keys with their snapshots, in the order of the index."""
        return self.snapshots.items()

    def values(self) -> ValuesView[TensorSnapshot]:
        """The snapshots, in the order of the index."""
        return self.snapshots.values()

    def __contains__(self, key: object) -> bool:
        return key in self.snapshots

    def __iter__(self) -> Iterator[str]:
        return iter(self.snapshots)

    def __len__(self) -> int:
        return len(self.snapshots)

    def __enter__(self) -> TensorIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        where = "" if self.path is None else f" {self.path}"
        return f"<TensorIndex {self.format}{where}: {len(self)} tensors, {self.nbytes} bytes>"

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors that own their memory (aliases are not counted twice)."""
        return sum(facts.nbytes for facts in self.facts() if facts.shared_with is None)

    def facts(self) -> Iterator[TensorFacts]:
        """What a list shows of every tensor, in order, without more work than that takes."""
        if isinstance(self.snapshots, LazySnapshots):
            return self.snapshots.facts()
        return map(_facts, self.snapshots.values())

    def close(self) -> None:
        """Release the files; reading a snapshot afterwards raises FileAccessError."""
        for closer in self.closers:
            closer()

    @classmethod
    def of(
        cls,
        snapshots: Iterable[TensorSnapshot],
        *,
        format: str,
        path: Place | None = None,
        metadata: Mapping[str, str] | None = None,
        shards: tuple[Place, ...] = (),
        stamps: tuple[Stamp, ...] = (),
        notes: tuple[str, ...] = (),
        unsafe: tuple[str, ...] = (),
        tree: TreeNode | None = None,
        extra: Mapping[str, Any] | None = None,
        closers: tuple[Callable[[], None], ...] = (),
    ) -> TensorIndex:
        """Index of these snapshots in this order. Raises KeyCollisionError on a repeated key."""
        found: dict[str, TensorSnapshot] = LargeDict()
        for snapshot in snapshots:
            if snapshot.key in found:
                raise KeyCollisionError(snapshot.key, (snapshot.key, snapshot.key), path=path)
            found[snapshot.key] = snapshot
        return cls(
            snapshots=MappingProxyType(found),
            format=format,
            path=path,
            metadata=MappingProxyType(dict(metadata or {})),
            shards=shards,
            stamps=stamps,
            notes=notes,
            unsafe=unsafe,
            tree=tree,
            extra=MappingProxyType(dict(extra or {})),
            closers=closers,
        )
