"""The lines of a load diff: a million rows, folded by likeness, painted one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from ruda._bulk import without_collections
from ruda._freeing import LargeList
from ruda.progress import SILENT, Monitor
from ruda.session.families import families_of
from ruda.session.language import tr
from ruda.session.pages.folding import Groups, Vector, fold_rows, group_rows
from ruda.session.pages.places import KeyPlaces
from ruda.session.pages.reasons import reason_text
from ruda.session.sentences import say_steps
from ruda.session.wording import shapes_text
from ruda.store import Cause, DiffReport, DiffRow, Flag, Nearest, RowList, RowsAt, Status, fold

_CODES = {status: code for code, status in enumerate(Status)}

COLUMNS = ("keys", "source_places", "target_places", "statuses")
"""What of a table is made before it is shown."""
PIECE = 65_536
"""Rows that are grouped between two points where the work can be stopped."""


class LineKeys(Sequence[str]):
    """The key of every row behind a line; none of the rows is made for it."""

    __slots__ = ("_places", "_table")

    def __init__(self, table: DiffTable, places: Sequence[int]) -> None:
        self._table = table
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return LineKeys(self._table, self._places[at])
        return self._table.keys[self._places[at]]

    def __iter__(self) -> Iterator[str]:
        keys = self._table.keys
        return (keys[place] for place in self._places)

    def by_kind(self, monitor: Monitor = SILENT) -> list[tuple[DiffRow, list[str]]]:
        """One row of every kind with the keys of all of that kind: they differ in keys only."""
        table = self._table
        found: dict[int, tuple[DiffRow, list[str]]] = {}
        for count, place in enumerate(self._places):
            if not count % PIECE:
                monitor.check()
            kind = table.rows.kinds[place]
            if kind not in found:
                found[kind] = table.rows[place], []
            found[kind][1].append(table.keys[place])
        return list(found.values())


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One painted row: a pair, or several of one family that share everything but numbers."""

    status: Status
    source: str
    target: str
    count: int
    arrow: str
    """``→``, ``⇄`` transposed, ``⇄?`` where the shape cannot prove it, ``≠``, or nothing."""
    shape: str
    dtype: str
    what: str
    """What happens to it, or why nothing does."""
    rows: Sequence[DiffRow]
    keys: LineKeys = field(compare=False, repr=False)
    """What decisions about the rows name them by."""
    is_member: bool = False
    """True for a row that is shown under its opened family."""

    @property
    def is_family(self) -> bool:
        """True if several tensors stand behind it."""
        return self.count > 1

    @property
    def source_key(self) -> str | None:
        """Key in the file of the first tensor behind it."""
        return self.rows[0].source_key

    @property
    def target_key(self) -> str | None:
        """Key in the target of the first tensor behind it."""
        return self.rows[0].target_key

    @property
    def name(self) -> str:
        """What identifies the row between two pages."""
        return f"{self.status.value} {self.source} {self.target} {self.what}"

    @property
    def nearest(self) -> tuple[Nearest, ...]:
        """Source keys that may have been meant."""
        return self.rows[0].nearest


@dataclass(frozen=True)
class DiffTable:
    """The columns of a report's rows; made once per report, then every view of it is quick."""

    report: DiffReport
    rows: RowList

    @classmethod
    def of(cls, report: DiffReport) -> DiffTable:
        """The table of all rows."""
        return cls(report, report.table)

    @without_collections()
    def prepared(self, monitor: Monitor = SILENT) -> DiffTable:
        """The same table, its columns made, in pieces between which the work can be stopped."""
        # A generator: each column is made when its turn comes.
        made = (getattr(self, name) for name in COLUMNS)
        for _ in made:
            monitor.check()
        self._group(monitor)
        return self

    @cached_property
    def keys(self) -> list[str]:
        """The key that names every row, which is what decisions name it by."""
        return LargeList(self.rows.keys)

    @cached_property
    def sources(self) -> list[str]:
        """Key in the file of every row; empty where there is none."""
        return LargeList(key or "" for key in self.rows.source_keys)

    @cached_property
    def targets(self) -> list[str]:
        """Key in the target of every row; empty where there is none."""
        return LargeList(key or "" for key in self.rows.target_keys)

    @cached_property
    def source_places(self) -> KeyPlaces:
        """Where every key of the file stands."""
        return KeyPlaces(self.sources)

    @cached_property
    def target_places(self) -> KeyPlaces:
        """Where every key of the target stands."""
        return KeyPlaces(self.targets)

    @cached_property
    def statuses(self) -> Vector:
        """Position of every row's status among the statuses."""
        codes = np.array([_CODES[kind.status] for kind in self.rows.known], dtype=np.int64)
        return codes[self.kinds]

    @cached_property
    def kinds(self) -> Vector:
        """Kind of every row: what is the same of rows of one kind, the row list says."""
        return np.asarray(self.rows.kinds, dtype=np.int64)

    @property
    def numbers(self) -> Vector:
        """Group of every row: rows that are alike but for numbers share one."""
        return self._group(SILENT)

    def _group(self, monitor: Monitor) -> Vector:
        made = self.__dict__.get("_numbers")
        if made is None:
            made = self.__dict__["_numbers"] = self._grouped(monitor)
        found: Vector = made
        return found

    def _grouped(self, monitor: Monitor) -> Vector:
        kinds = self.rows.kinds
        likeness = self._likeness()
        known: dict[tuple[int, str, str], int] = {}
        found: list[int] = []
        for start in range(0, len(kinds), PIECE):
            monitor.check()
            part = slice(start, start + PIECE)
            rows = zip(
                (likeness[kind] for kind in kinds[part]),
                families_of(self.sources[part]),
                families_of(self.targets[part]),
                strict=True,
            )
            found += [known.setdefault(row, len(known)) for row in rows]
        return np.array(found, dtype=np.int64)

    def _likeness(self) -> list[int]:
        """A number for every kind; kinds that look alike but for their shapes share one."""
        first: dict[int, int] = {}
        for at, kind in enumerate(self.rows.kinds):
            if kind not in first:
                first[kind] = at
        known: dict[tuple[object, ...], int] = {}
        found = [0] * len(self.rows.known)
        for kind, at in first.items():
            found[kind] = known.setdefault(_likeness(self.rows[at]), len(known))
        return found

    @cached_property
    def params(self) -> dict[Status, int]:
        """Parameters of the target by the status of their row."""
        return {status: numel for status, (_, numel) in self.rows.elements().items()}

    @cached_property
    def left_out(self) -> int:
        """Parameters of the target that a filter or decision leaves out, in tensors."""
        return self.rows.elements()[Status.SKIPPED][0]


@dataclass(frozen=True)
class DiffLines(Sequence[DiffLine]):
    """The painted lines of one view, each made when it is asked for."""

    table: DiffTable
    codes: Vector
    groups: Groups = field(repr=False)
    opened: frozenset[int] = frozenset()
    _made: dict[int, DiffLine] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        code = int(self.codes[place])
        if code < 0 and code not in self._made:
            self._made[code] = self._family_line(self.groups.of(-1 - code))
        return self._made[code] if code < 0 else self._row_line(code)

    @property
    def has_families(self) -> bool:
        """True if several tensors stand behind any line."""
        return bool((self.codes < 0).any())

    @cached_property
    def status_codes(self) -> Vector:
        """Position of every line's status among the statuses, without making the lines."""
        heads = self.codes.copy()
        closed = heads < 0
        heads[closed] = self.groups.members[self.groups.starts[-1 - heads[closed]]]
        found: Vector = self.table.statuses[heads]
        return found

    @cached_property
    def statuses(self) -> tuple[Status, ...]:
        """Status of every line, without making the lines."""
        order = tuple(Status)
        return tuple(order[code] for code in self.status_codes.tolist())

    def position_of(self, key: str) -> int | None:
        """Line that shows a tensor, by its key on either side; its own before its family's."""
        for places in (self.table.target_places, self.table.source_places):
            row = places.find(key) if key else None
            if row is None:
                continue
            for code in (row, -1 - int(self.table.numbers[row])):
                lines = np.flatnonzero(self.codes == code)
                if lines.size:
                    return int(lines[0])
        return None

    def _family_line(self, places: Vector) -> DiffLine:
        """The line of several rows; only one of each kind of them is made for it."""
        _, firsts = np.unique(self.table.kinds[places], return_index=True)
        examples = [self.table.rows[at] for at in places[np.sort(firsts)].tolist()]
        every = LargeList(places.tolist())
        return _line(RowsAt(self.table.rows, every), LineKeys(self.table, every), examples)

    def _row_line(self, position: int) -> DiffLine:
        group = int(self.table.numbers[position])
        is_member = group in self.opened and len(self.groups.of(group)) > 1
        rows = (self.table.rows[position],)
        return _line(rows, LineKeys(self.table, (position,)), rows, is_member=is_member)


def table_lines(
    table: DiffTable,
    positions: Vector,
    *,
    folded: bool = True,
    opened: frozenset[str] = frozenset(),
) -> DiffLines:
    """The lines of these rows: alike ones of a family together, each line with one status.

    ``opened`` names the lines whose rows are shown under them.
    """
    groups = group_rows(positions, table.numbers)
    if not folded:
        return DiffLines(table, positions, groups)
    # Groups are numbered by first appearance, so ascending is the order of the report.
    order = groups.present
    numbers: frozenset[int] = frozenset()
    if opened:
        closed = DiffLines(table, fold_rows(groups, order), groups)
        numbers = frozenset(
            -1 - code
            for place, code in enumerate(closed.codes.tolist())
            if code < 0 and closed[place].name in opened
        )
    return DiffLines(table, fold_rows(groups, order, numbers), groups, numbers)


def diff_lines(
    report: DiffReport, rows: Iterable[DiffRow], *, folded: bool = True
) -> Sequence[DiffLine]:
    """Lines of some rows of a report, in the order given."""
    table = DiffTable(report, RowList.of(rows))
    return table_lines(table, np.arange(len(table.rows), dtype=np.int64), folded=folded)


def _likeness(row: DiffRow) -> tuple[object, ...]:
    source, adapted, target = row.source, row.adapted, row.target
    return (
        row.status.value,
        row.cause.value,
        () if adapted is None else adapted.trail,
        None if source is None else source.dtype_label,
        None if adapted is None else adapted.dtype_label,
        None if target is None else target.dtype.label,
        # Errors differ in their facts: only those with one and the same fact are told together.
        row.reason if row.status is Status.ERROR else row.caution,
    )


def _line(
    rows: Sequence[DiffRow],
    keys: LineKeys,
    examples: Sequence[DiffRow],
    *,
    is_member: bool = False,
) -> DiffLine:
    """The line of some rows; ``examples`` has one of every kind of them, the first row first."""
    first = examples[0]
    several = len(rows) > 1
    source, target = first.source_key or "", first.target_key or ""
    return DiffLine(
        status=first.status,
        source=fold(source) if several else source,
        target=fold(target) if several else target,
        count=len(rows),
        arrow=_arrow(first),
        shape=_shape(examples),
        dtype=_dtype(first),
        what=what_happens(first),
        rows=rows,
        keys=keys,
        is_member=is_member,
    )


def what_happens(row: DiffRow) -> str:
    """The last column: the steps of a row that applies, the reason of any other."""
    if row.status is not Status.APPLIED:
        return reason_text(row)
    steps = say_steps(row.trail)
    if row.caution:
        return (
            tr("{steps} · square: orientation unproven", steps=steps)
            if steps
            else tr("square: orientation unproven")
        )
    return steps


def _arrow(row: DiffRow) -> str:
    if row.status is Status.ERROR:
        return "≠"
    if row.source is None or row.target is None:
        return ""
    if Flag.TRANSPOSED in row.flags:
        return "⇄?" if row.caution else "⇄"
    return "→"


def _shape(rows: Sequence[DiffRow]) -> str:
    sources = [row.source_shape for row in rows if row.source_shape is not None]
    targets = [row.target_shape for row in rows if row.target_shape is not None]
    before, after = shapes_text(sources), shapes_text(targets)
    if not before or not after:
        return before or after
    if sources == targets:
        return f"{before} ="
    unequal = rows[0].cause is Cause.SHAPE
    return f"{before} {'≠' if unequal else '→'} {after}"


def _dtype(row: DiffRow) -> str:
    before, after = row.source_dtype, row.target_dtype
    if before is None or after is None:
        return str(before or after)
    # An applied tensor keeps the dtype that the recipe gave it.
    became = row.adapted_dtype or before
    if row.cause in (Cause.DTYPE, Cause.KIND):
        return f"{became} ≠ {after}"
    return f"{before} =" if before is became else f"{before} → {became}"
