"""The tensor table: a million keys, searched, sorted and folded by index vectors.

``tensor_table`` reads an index once into columns; ``tensor_page`` makes the rows of one view of
it. Nothing is formatted before a row is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ruda._bulk import without_collections
from ruda._freeing import LargeDict, LargeList
from ruda.progress import SILENT, Monitor, track
from ruda.session.families import families_of
from ruda.session.language import tr
from ruda.session.pages.folding import Groups, Vector, distinct, fold_rows, group_rows
from ruda.session.pages.places import KeyPlaces
from ruda.session.pages.query import Query, QueryProblem, find
from ruda.session.wording import shape_text, shapes_text

if TYPE_CHECKING:
    from ruda.store import TensorIndex

SortKey = Literal["file", "key", "shape", "dtype", "bytes"]
# ``file`` is the order of the file; ``shape`` sorts by number of elements.

_DIGITS = re.compile(r"\d+")
_PIECE = 8192
"""Keys that one call works on: one of a million holds up every other thread for long."""
_NAMED = 100
"""Keys of a family that its row names."""
_MANY_KINDS = 2000
"""Kinds of tensors in a family from which on its row is made before it is painted."""
_MOST_COLUMN = 1 << 28
"""Bytes of a column of keys that is made to sort them."""


class Kind(NamedTuple):
    """What is alike in most tensors of a family; a row of a family is made of its kinds."""

    dtype: str
    shape: tuple[int, ...]
    shard: str


class Kinds(NamedTuple):
    """The kinds of a table, and the number of every tensor's."""

    known: list[Kind]
    numbers: Vector


@dataclass(frozen=True)
class TensorTable:
    """The columns of every tensor of an index, in the order of the file."""

    keys: list[str]
    dtypes: list[str]
    shapes: list[tuple[int, ...]]
    nbytes: Vector
    numel: Vector
    shards: list[str] | None
    """Name of the file that holds each tensor; None for a single file."""
    shared: dict[int, str]
    """Position of an alias → key of the tensor that owns its memory."""

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def places(self) -> KeyPlaces:
        """Where every key stands."""
        return KeyPlaces(self.keys)

    @cached_property
    def families(self) -> list[str]:
        """Family of every key."""
        return LargeList(families_of(self.keys))

    @cached_property
    def family_numbers(self) -> dict[str, int]:
        """Number of every family, counted by first appearance."""
        return LargeDict((family, n) for n, family in enumerate(dict.fromkeys(self.families)))

    @cached_property
    def family_ids(self) -> Vector:
        """Number of every key's family."""
        numbers = self.family_numbers
        return np.array([numbers[family] for family in self.families], dtype=np.int64)

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of tensors that there are, and the number of every tensor's."""
        shards = self.shards if self.shards is not None else repeat("")
        known: dict[Kind, int] = {}
        numbers = np.empty(len(self), dtype=np.int64)
        for place, kind in enumerate(map(Kind, self.dtypes, self.shapes, shards)):
            numbers[place] = known.setdefault(kind, len(known))
        return Kinds(LargeList(known), numbers)

    @cached_property
    def key_rank(self) -> Vector:
        """Place of every key in natural order: ``layers.2`` before ``layers.10``."""
        padded: list[bytes] = []
        for start in range(0, len(self.keys), _PIECE):
            padded += _padded(self.keys[start : start + _PIECE])
        return _inverse(_ordered(padded))

    @cached_property
    def dtype_rank(self) -> Vector:
        """Place of every dtype in the alphabet."""
        places = {name: i for i, name in enumerate(sorted(set(self.dtypes)))}
        return np.array([places[name] for name in self.dtypes], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One painted row: a tensor, or a family of tensors."""

    key: str
    count: int
    """Tensors behind this row: 1 for a tensor, more for a family."""
    shape: str
    dtype: str
    nbytes: int
    numel: int
    shard: str
    note: str
    """``shares memory with …`` for an alias."""
    keys: tuple[str, ...]
    """Keys behind this row; for a family the first hundred."""
    is_family: bool = False
    is_member: bool = False
    """True for a tensor that is shown under its opened family."""


@dataclass(frozen=True)
class TensorPage(Sequence[TensorRow]):
    """Rows of one view of a table, made when they are asked for."""

    table: TensorTable
    rows: Vector
    """Per row: position of a tensor, or -1 - number of a family."""
    shown: int
    """Tensors that the search found."""
    nbytes: int
    """Bytes of those."""
    problem: QueryProblem | None
    opened: frozenset[str]
    groups: Groups = field(repr=False)
    kinds: Groups | None = field(default=None, repr=False)
    """Numbers of the kinds of every family's tensors; None without families."""
    _made: dict[int, TensorRow] = field(default_factory=dict, repr=False, compare=False)

    @property
    def total(self) -> int:
        """Tensors in the table."""
        return len(self.table)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        code = int(self.rows[place])
        if code < 0:
            found = self._made.get(code)
            if found is None:
                found = self._made[code] = self._family_row(-1 - code)
            return found
        return self._tensor_row(code)

    def position_of(self, key: str) -> int | None:
        """Row of a tensor by its key; None where it is not shown."""
        position = self.table.places.find(key)
        if position is None:
            return None
        hits = np.flatnonzero(self.rows == position)
        return int(hits[0]) if hits.size else None

    def _tensor_row(self, position: int) -> TensorRow:
        table = self.table
        owner = table.shared.get(position)
        return TensorRow(
            key=table.keys[position],
            count=1,
            shape=shape_text(table.shapes[position]),
            dtype=table.dtypes[position],
            nbytes=int(table.nbytes[position]),
            numel=int(table.numel[position]),
            shard="" if table.shards is None else table.shards[position],
            note="" if owner is None else tr("shares memory with {owner}", owner=owner),
            keys=(table.keys[position],),
            is_member=self._is_member(position),
        )

    def _is_member(self, position: int) -> bool:
        if not self.opened or self.table.families[position] not in self.opened:
            return False
        family = int(self.table.family_ids[position])
        return len(self.groups.of(family)) > 1

    def _family_row(self, family: int) -> TensorRow:
        table = self.table
        assert self.kinds is not None
        places = self.groups.of(family)
        some = places[:_NAMED].tolist()
        kinds = [table.kinds.known[number] for number in self.kinds.of(family).tolist()]
        shards = {kind.shard for kind in kinds}
        return TensorRow(
            key=table.families[some[0]],
            count=len(places),
            shape=shapes_text(kind.shape for kind in kinds),
            dtype=", ".join(sorted({kind.dtype for kind in kinds})),
            nbytes=int(table.nbytes[places].sum()),
            numel=int(table.numel[places].sum()),
            shard=tr("{shards} files", shards=len(shards)) if len(shards) > 1 else "".join(shards),
            note="",
            keys=tuple(table.keys[i] for i in some),
            is_family=True,
        )

    def with_long_rows(self) -> TensorPage:
        """The same page, the rows of families of very many kinds made: where no window waits."""
        if self.kinds is not None:
            for family in np.flatnonzero(self.kinds.counts > _MANY_KINDS).tolist():
                self._made[-1 - family] = self._family_row(family)
        return self


@without_collections()
def tensor_table(index: TensorIndex, *, monitor: Monitor = SILENT) -> TensorTable:
    """Columns of an index; about a second per million tensors, with stop points."""
    keys: list[str] = LargeList()
    dtypes: list[str] = LargeList()
    shapes: list[tuple[int, ...]] = LargeList()
    nbytes: list[int] = []
    numel: list[int] = []
    shards: list[str] = LargeList()
    shared: dict[int, str] = LargeDict()
    for facts in track(index.facts(), monitor, "tensors", len(index)):
        if facts.shared_with is not None:
            shared[len(keys)] = facts.shared_with
        keys.append(facts.key)
        dtypes.append(facts.dtype_label)
        shapes.append(facts.shape)
        nbytes.append(facts.nbytes)
        numel.append(prod(facts.shape))
        shards.append(facts.file)
    return TensorTable(
        keys=keys,
        dtypes=dtypes,
        shapes=shapes,
        nbytes=np.array(nbytes, dtype=np.int64),
        numel=np.array(numel, dtype=np.int64),
        shards=shards if len(set(shards)) > 1 else None,
        shared=shared,
    )


@without_collections()
def tensor_page(
    table: TensorTable,
    *,
    query: Query = Query(),  # noqa: B008 - frozen
    sort: SortKey = "file",
    descending: bool = False,
    fold: bool = True,
    opened: frozenset[str] = frozenset(),
    monitor: Monitor = SILENT,
) -> TensorPage:
    """One view of a table: searched, sorted, and folded into families unless told otherwise.

    ``opened`` names the families whose members are shown under them. A family of one is shown as
    its tensor. A broken pattern gives every row and says so in ``problem``.
    """
    found, problem = find(table.keys, query, monitor=monitor)
    monitor.check()
    _ = table.places  # made here, where no window waits, and asked when the page is drawn
    ordered = found[_order(_sort_values(table, found, sort), descending)]
    groups = group_rows(ordered, table.family_ids)
    rows = ordered
    kinds = None
    if fold:
        kinds = _family_kinds(table, groups)
        numbers = table.family_numbers
        order = groups.present[_order(_family_values(table, groups, sort), descending)]
        rows = fold_rows(groups, order, [numbers[name] for name in opened if name in numbers])
    return TensorPage(
        table=table,
        rows=rows,
        shown=len(found),
        nbytes=int(table.nbytes[found].sum()),
        problem=problem,
        opened=opened if fold else frozenset(),
        groups=groups,
        kinds=kinds,
    ).with_long_rows()


def _family_kinds(table: TensorTable, groups: Groups) -> Groups:
    """Numbers of the kinds that the tensors of every family are of, each once."""
    families = len(groups.counts)
    known = len(table.kinds.known)
    own = np.repeat(np.arange(families), groups.counts)
    pairs = distinct(own * known + table.kinds.numbers[groups.members])
    starts = np.searchsorted(pairs, np.arange(families + 1) * known)
    return Groups(pairs % max(known, 1), starts)


def _sort_values(table: TensorTable, places: Vector, sort: SortKey) -> Vector:
    if sort == "file":
        return places
    columns = {"key": "key_rank", "shape": "numel", "dtype": "dtype_rank", "bytes": "nbytes"}
    column: Vector = getattr(table, columns[sort])
    return column[places]


def _order(values: Vector, descending: bool) -> Vector:
    # Negated rather than reversed: equal values keep the order of the file either way.
    return np.argsort(-values if descending else values, kind="stable")


def _family_values(table: TensorTable, groups: Groups, sort: SortKey) -> Vector:
    """What each family with a row is sorted by: its sum for bytes and elements, else its first."""
    if sort not in ("bytes", "shape"):
        return _sort_values(table, groups.firsts, sort)
    values = _sort_values(table, groups.members, sort)
    starts = groups.starts[:-1][groups.present]
    return np.add.reduceat(values, starts) if len(starts) else values


def _padded(keys: Sequence[str]) -> list[bytes]:
    """Keys as UTF-8 with every number filled up to twelve digits."""
    joined = _DIGITS.sub(lambda found: found[0].zfill(12), "\n".join(keys))
    texts = joined.split("\n")
    if len(texts) != len(keys):  # a key has a line break
        texts = [_DIGITS.sub(lambda found: found[0].zfill(12), key) for key in keys]
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def _ordered(texts: Sequence[bytes]) -> Vector:
    """Places of the texts in their order; those that are equal stay as they were.

    NumPy sorts them without holding up other threads, as Python would for seconds. Where one is so
    long that the columns would take much memory, Python does it.
    """
    pieces = [np.array(texts[at : at + _PIECE]) for at in range(0, len(texts), _PIECE)]
    width = max((piece.itemsize for piece in pieces), default=0)
    if width * len(texts) > _MOST_COLUMN:
        order = sorted(range(len(texts)), key=texts.__getitem__)
        return np.array(order, dtype=np.int64)
    column = np.concatenate(pieces) if pieces else np.empty(0, "S1")
    return np.argsort(column, kind="stable").astype(np.int64, copy=False)


def _inverse(order: Vector) -> Vector:
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank
