"""The lines of a load diff: a million rows, folded by likeness, painted one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ruda.session.families import families_of
from ruda.session.language import tr
from ruda.session.pages.folding import Groups, Vector, fold_rows, group_rows
from ruda.session.wording import shapes_text
from ruda.store import Cause, DiffReport, DiffRow, Flag, Nearest, Status, fold

_CODES = {status: code for code, status in enumerate(Status)}


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
    rows: tuple[DiffRow, ...]
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
    rows: Sequence[DiffRow]

    @classmethod
    def of(cls, report: DiffReport) -> DiffTable:
        """The table of all rows."""
        return cls(report, report.rows)

    @cached_property
    def sources(self) -> list[str]:
        """Key in the file of every row; empty where there is none."""
        return [row.source_key or "" for row in self.rows]

    @cached_property
    def targets(self) -> list[str]:
        """Key in the target of every row; empty where there is none."""
        return [row.target_key or "" for row in self.rows]

    @cached_property
    def statuses(self) -> Vector:
        """Position of every row's status among the statuses."""
        return np.array([_CODES[row.status] for row in self.rows], dtype=np.int64)

    @cached_property
    def numbers(self) -> Vector:
        """Group of every row: rows that are alike but for numbers share one."""
        known: dict[tuple[object, ...], int] = {}
        keys = zip(self.rows, families_of(self.sources), families_of(self.targets), strict=True)
        found = [known.setdefault(_likeness(*row), len(known)) for row in keys]
        return np.array(found, dtype=np.int64)

    @cached_property
    def params(self) -> dict[Status, int]:
        """Parameters of the target by the status of their row."""
        found = dict.fromkeys(Status, 0)
        for row in self.rows:
            if row.target is not None:
                found[row.status] += row.numel
        return found

    @cached_property
    def left_out(self) -> int:
        """Parameters of the target that a filter or decision leaves out, in tensors."""
        return sum(row.target is not None for row in self.report.of(Status.SKIPPED))


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
            self._made[code] = _line(
                [self.table.rows[i] for i in self.groups.of(-1 - code).tolist()]
            )
        return self._made[code] if code < 0 else self._row_line(code)

    @property
    def has_families(self) -> bool:
        """True if several tensors stand behind any line."""
        return bool((self.codes < 0).any())

    @cached_property
    def statuses(self) -> tuple[Status, ...]:
        """Status of every line, without making the lines."""
        heads = [c if c >= 0 else int(self.groups.of(-1 - c)[0]) for c in self.codes.tolist()]
        order = tuple(Status)
        return tuple(order[code] for code in self.table.statuses[heads].tolist())

    def position_of(self, key: str) -> int | None:
        """Line that shows a tensor, by its key on either side; its own before its family's."""
        for keys in (self.table.targets, self.table.sources):
            if not key or key not in keys:
                continue
            row = keys.index(key)
            for code in (row, -1 - int(self.table.numbers[row])):
                places = np.flatnonzero(self.codes == code)
                if places.size:
                    return int(places[0])
        return None

    def _row_line(self, position: int) -> DiffLine:
        group = int(self.table.numbers[position])
        is_member = group in self.opened and len(self.groups.of(group)) > 1
        return _line((self.table.rows[position],), is_member=is_member)


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
    table = DiffTable(report, tuple(rows))
    return table_lines(table, np.arange(len(table.rows), dtype=np.int64), folded=folded)


def _likeness(row: DiffRow, source_family: str, target_family: str) -> tuple[object, ...]:
    source, adapted, target = row.source, row.adapted, row.target
    return (
        row.status.value,
        row.cause.value,
        source_family,
        target_family,
        () if adapted is None else adapted.trail,
        None if source is None else source.dtype_label,
        None if adapted is None else adapted.dtype_label,
        None if target is None else target.dtype.label,
        # Errors differ in their facts: only those with one and the same fact are told together.
        row.reason if row.status is Status.ERROR else row.caution,
    )


def _line(rows: Sequence[DiffRow], *, is_member: bool = False) -> DiffLine:
    first = rows[0]
    several = len(rows) > 1
    source, target = first.source_key or "", first.target_key or ""
    return DiffLine(
        status=first.status,
        source=fold(source) if several else source,
        target=fold(target) if several else target,
        count=len(rows),
        arrow=_arrow(first),
        shape=_shape(rows),
        dtype=_dtype(first),
        what=what_happens(first),
        rows=tuple(rows),
        is_member=is_member,
    )


def what_happens(row: DiffRow) -> str:
    """The last column: the steps of a row that applies, the reason of any other."""
    if row.status is not Status.APPLIED:
        return row.reason
    steps = " · ".join(row.trail)
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
