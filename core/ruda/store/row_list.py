"""Rows of a load diff as columns: what all of them are, told before any of them is made.

A diff of a hundred thousand tensors has a few dozen kinds of rows. A kind is decided once; the row
of one tensor, with its snapshots and sentences, is made when somebody looks at it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, overload

from ruda._freeing import LargeList, grown
from ruda.store.diff_rows import Cause, DiffRow, Status, fold_all


class RowKind(NamedTuple):
    """What rows have in common that differ in keys and places only."""

    status: Status
    cause: Cause
    numel: int | None
    """Elements of the target of each; None without one."""

    @classmethod
    def of(cls, row: DiffRow) -> RowKind:
        """The kind of a row."""
        return cls(row.status, row.cause, None if row.target is None else row.numel)


class RowMaker(Protocol):
    """Who knows the rows one by one."""

    def row(self, at: int) -> DiffRow:
        """The row at a place."""

    def source_keys(self) -> list[str | None]:
        """Key in the file of every row's first tensor."""

    def target_keys(self) -> list[str | None]:
        """Key in the target of every row."""

    def row_keys(self) -> list[str]:
        """The key that names every row."""

    def further_sources(self) -> Iterable[str]:
        """Keys in the file of the second and further tensors of rows that join several."""


@dataclass(frozen=True, slots=True)
class MadeRows:
    """Rows that are there already, as their own maker."""

    rows: tuple[DiffRow, ...]

    def row(self, at: int) -> DiffRow:
        """The row at a place."""
        return self.rows[at]

    def source_keys(self) -> list[str | None]:
        """Key in the file of every row's first tensor."""
        return [row.source_key for row in self.rows]

    def target_keys(self) -> list[str | None]:
        """Key in the target of every row."""
        return [row.target_key for row in self.rows]

    def row_keys(self) -> list[str]:
        """The key that names every row."""
        return [row.key for row in self.rows]

    def further_sources(self) -> Iterable[str]:
        """Keys in the file of the second and further tensors of rows that join several."""
        return [source.key for row in self.rows for source in row.others]


class RowList(Sequence[DiffRow]):
    """The rows of a diff; each is made when it is first looked at, and kept.

    ``kinds`` holds for every row its place in ``known``: rows of one kind have the same status,
    cause, steps, element types and shapes. Two threads may make one row twice; one of them is kept.
    """

    __slots__ = ("_folded", "_made", "_maker", "kinds", "known")

    def __init__(
        self,
        maker: RowMaker,
        kinds: Sequence[int],
        known: Sequence[RowKind],
        made: dict[int, DiffRow] | None = None,
    ) -> None:
        self.kinds = kinds
        self.known = known
        self._maker = maker
        self._folded: list[str] | None = None
        self._made = {} if made is None else made

    @classmethod
    def of(cls, rows: Iterable[DiffRow]) -> RowList:
        """The list of these rows; each is a kind of its own."""
        found = tuple(rows)
        return cls(MadeRows(found), range(len(found)), [RowKind.of(row) for row in found])

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, at: int) -> DiffRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[DiffRow]: ...
    def __getitem__(self, at: int | slice) -> DiffRow | Sequence[DiffRow]:
        if isinstance(at, slice):
            return RowsAt(self, range(*at.indices(len(self))))
        place = range(len(self))[at]
        row = self._made.get(place)
        return self._made.setdefault(place, self._maker.row(place)) if row is None else row

    def __iter__(self) -> Iterator[DiffRow]:
        return map(self.__getitem__, range(len(self)))

    @property
    def keys(self) -> list[str]:
        """The key that names every row."""
        return self._maker.row_keys()

    @property
    def source_keys(self) -> list[str | None]:
        """Key in the file of every row, before any step; None where there is none."""
        return self._maker.source_keys()

    @property
    def target_keys(self) -> list[str | None]:
        """Key in the target of every row; None where there is none."""
        return self._maker.target_keys()

    def uses(self) -> Counter[str]:
        """How many rows each tensor of the file is in."""
        found = Counter(key for key in self.source_keys if key is not None)
        found.update(self._maker.further_sources())
        return found

    def counts(self) -> dict[Status, int]:
        """Number of rows of every status, none left out."""
        found = dict.fromkeys(Status, 0)
        for kind, count in Counter(self.kinds).items():
            found[self.known[kind].status] += count
        return found

    def elements(self) -> dict[Status, tuple[int, int]]:
        """Tensors of the target, and their elements, by the status of their row."""
        found = dict.fromkeys(Status, (0, 0))
        for kind, count in Counter(self.kinds).items():
            status, _, numel = self.known[kind]
            if numel is not None:
                tensors, total = found[status]
                found[status] = tensors + count, total + count * numel
        return found

    def at(self, statuses: Collection[Status]) -> Sequence[int]:
        """Places of the rows of these statuses, ascending."""
        wanted = [kind.status in statuses for kind in self.known]
        if all(wanted):
            return range(len(self))
        return [at for at, kind in enumerate(self.kinds) if wanted[kind]]

    def families(self, places: Sequence[int] | None = None) -> dict[str, list[int]]:
        """Places of rows (all, unless given) by their key with numbers folded, in order."""
        found: dict[str, list[int]] = {}
        folded = self._folded
        if folded is None:
            folded = self._folded = LargeList(fold_all(self.keys))
        if places is None:
            for at, family in enumerate(folded):
                grown(found, family).append(at)
            return found
        for at in places:
            grown(found, folded[at]).append(at)
        return found


class RowsAt(Sequence[DiffRow]):
    """Some rows of a list, in an order; made when they are looked at."""

    __slots__ = ("_places", "_rows")

    def __init__(self, rows: RowList, places: Sequence[int]) -> None:
        self._rows = rows
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> DiffRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[DiffRow]: ...
    def __getitem__(self, at: int | slice) -> DiffRow | Sequence[DiffRow]:
        if isinstance(at, slice):
            return RowsAt(self._rows, self._places[at])
        return self._rows[self._places[at]]
