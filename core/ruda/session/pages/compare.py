"""The comparison of two documents: four counts, and a million rows folded by likeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ruda._bulk import without_collections
from ruda._freeing import LargeList
from ruda.progress import SILENT, Monitor
from ruda.session.families import families_of
from ruda.session.language import later, tr
from ruda.session.pages.folding import Groups, Vector, fold_rows, group_rows
from ruda.session.pages.places import KeyPlaces
from ruda.session.pages.query import Query, QueryProblem, find
from ruda.session.pages.reasons import difference_text
from ruda.session.pages.status import StatusLook
from ruda.session.sentences import say
from ruda.session.wording import (
    count_text,
    counted,
    number_text,
    shapes_text,
    share_text,
    size_text,
)
from ruda.store import CompareReport, CompareRow, Likeness, fold
from ruda.tensor import Deviation

CompareSort = Literal["file", "key", "status", "max", "mean", "cosine", "changed"]
Floats = np.ndarray[Any, np.dtype[np.float64]]
ALL_LIKENESSES = frozenset(Likeness)
_CODES = {status: code for code, status in enumerate(Likeness)}
_MANY_ROWS = 2000
"""Rows behind a line from which on it is made before it is painted."""

_LOOKS = {
    Likeness.SAME: StatusLook(later("Same"), "●", later("the same on both sides")),
    Likeness.CHANGED: StatusLook(later("Changed"), "▲", later("on both sides, and not the same")),
    Likeness.LEFT: StatusLook(later("Only left"), "◐", later("the right side does not have it")),
    Likeness.RIGHT: StatusLook(later("Only right"), "■", later("the left side does not have it")),
}


def likeness_look(status: Likeness) -> StatusLook:
    """Word, shape and meaning of a status of a comparison, in the language of the screens."""
    look = _LOOKS[status]
    return StatusLook(tr(look.word), look.glyph, tr(look.meaning))


@dataclass(frozen=True, slots=True)
class CompareLine:
    """One painted row: a key, or several of one family that compare alike."""

    status: Likeness
    key: str
    count: int
    shape: str
    dtype: str
    deviation: Deviation | None
    """How the values differ, of all tensors behind the line; None where they were not compared."""
    reason: str
    rows: tuple[CompareRow, ...]
    is_member: bool = False

    @property
    def is_family(self) -> bool:
        """True if several tensors stand behind it."""
        return self.count > 1

    @property
    def name(self) -> str:
        """What identifies the line between two pages."""
        return f"{self.status.value} {self.key} {self.dtype}"

    @property
    def figures(self) -> tuple[str, str, str, str]:
        """Largest and mean difference, cosine, and share of changed values; empty for none."""
        found = self.deviation
        if found is None or not found.numel:
            return ("", "", "", "")
        if not found.changed:
            return ("0", "0", "1" if found.cosine is not None else "–", "0 %")
        cosine = "–" if found.cosine is None else f"{found.cosine:.6f}"
        share = share_text(found.changed, found.numel)
        return (number_text(found.max_absolute), number_text(found.mean_absolute), cosine, share)


@dataclass(frozen=True)
class CompareTable:
    """The columns of a report; made once per report, then every view of it is quick."""

    report: CompareReport

    @cached_property
    def keys(self) -> list[str]:
        """Key of every row."""
        return LargeList([row.key for row in self.report.rows])

    @cached_property
    def places(self) -> KeyPlaces:
        """Where every key stands."""
        return KeyPlaces(self.keys)

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """Bytes of each side, of the tensors that are compared."""
        rows = self.report.rows
        left = sum(row.left.nbytes for row in rows if row.left is not None)
        return left, sum(row.right.nbytes for row in rows if row.right is not None)

    @cached_property
    def bytes_of(self) -> Mapping[Likeness, int]:
        """Bytes of the tensors of every status; of those on both sides, as the left has them."""
        found = dict.fromkeys(Likeness, 0)
        for row in self.report.rows:
            side = row.left if row.left is not None else row.right
            found[row.likeness] += 0 if side is None else side.nbytes
        return found

    @cached_property
    def changed_values(self) -> tuple[int, int]:
        """How many of the values that were compared differ, and how many were compared."""
        found = [row.deviation for row in self.report.rows if row.deviation is not None]
        return sum(each.changed for each in found), sum(each.numel for each in found)

    @cached_property
    def retyped(self) -> int:
        """Tensors that are on both sides with different element types."""
        return sum(
            row.left is not None
            and row.right is not None
            and row.left.dtype_label != row.right.dtype_label
            for row in self.report.rows
        )

    @cached_property
    def statuses(self) -> Vector:
        """Position of every row's status among the statuses."""
        return np.array([_CODES[row.likeness] for row in self.report.rows], dtype=np.int64)

    @cached_property
    def numbers(self) -> Vector:
        """Group of every row: rows of one family, status and dtypes share one."""
        known: dict[tuple[object, ...], int] = {}
        pairs = zip(self.report.rows, families_of(self.keys), strict=True)
        found = [
            known.setdefault((row.likeness, family, _dtype(row)), len(known))
            for row, family in pairs
        ]
        return np.array(found, dtype=np.int64)

    def figures(self, sort: CompareSort) -> Floats:
        """What a sort compares, per row; NaN where there is nothing, which comes last."""
        found = np.full(len(self.keys), np.nan)
        for place, row in enumerate(self.report.rows):
            values = row.deviation
            if values is None:
                continue
            if sort == "max":
                found[place] = values.max_absolute
            elif sort == "mean":
                found[place] = values.mean_absolute
            elif sort == "changed":
                found[place] = values.changed_share
            elif values.cosine is not None:
                found[place] = values.cosine
        return found


@dataclass(frozen=True)
class CompareLines(Sequence[CompareLine]):
    """The painted lines of one view, each made when it is asked for."""

    table: CompareTable
    codes: Vector
    groups: Groups = field(repr=False)
    opened: frozenset[int] = frozenset()
    _made: dict[int, CompareLine] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        code = int(self.codes[place])
        if code >= 0:
            group = int(self.table.numbers[code])
            member = group in self.opened and len(self.groups.of(group)) > 1
            return _line((self.table.report.rows[code],), is_member=member)
        if code not in self._made:
            self._made[code] = self._family_line(code)
        return self._made[code]

    def _family_line(self, code: int) -> CompareLine:
        return _line(tuple(self.table.report.rows[i] for i in self.groups.of(-1 - code).tolist()))

    def with_long_lines(self, monitor: Monitor) -> CompareLines:
        """The same lines, those of very many rows made: where no window waits."""
        for code in self.codes[self.codes < 0].tolist():
            if len(self.groups.of(-1 - code)) > _MANY_ROWS:
                monitor.check()
                self._made[code] = self._family_line(code)
        return self

    def members_of(self, place: int) -> list[int]:
        """Places in the report of all rows behind a line."""
        code = int(self.codes[place])
        return [code] if code >= 0 else self.groups.of(-1 - code).tolist()

    @property
    def has_families(self) -> bool:
        """True if several tensors stand behind any line."""
        return bool((self.codes < 0).any())

    @cached_property
    def heads(self) -> Vector:
        """First row behind every line."""
        found = self.codes.copy()
        closed = found < 0
        found[closed] = self.groups.members[self.groups.starts[-1 - found[closed]]]
        return found

    def position_of(self, key: str) -> int | None:
        """Line that shows a key; its own before its family's."""
        row = self.table.places.find(key)
        if row is None:
            return None
        for code in (row, -1 - int(self.table.numbers[row])):
            places = np.flatnonzero(self.codes == code)
            if places.size:
                return int(places[0])
        return None


@dataclass(frozen=True, slots=True)
class ComparePage:
    """What the comparison shows."""

    left: str
    right: str
    headline: str
    """``96 of 98 tensors are the same``."""
    summary: str
    values: bool
    is_same: bool
    counts: tuple[tuple[Likeness, int], ...]
    shares: tuple[tuple[Likeness, str], ...]
    """Of every status ``12.3 MB, 27 % of the bytes``."""
    lines: CompareLines
    shown: int
    total: int
    notes: tuple[str, ...]
    problem: QueryProblem | None

    def next_difference(self, position: int, step: int = 1) -> int | None:
        """Line of the next (step -1: previous) row that is not the same; None for no other."""
        codes = self.lines.table.statuses[self.lines.heads]
        places = np.flatnonzero(codes != _CODES[Likeness.SAME])
        found = places[places > position] if step > 0 else places[places < position][::-1]
        return int(found[0]) if found.size else None


@without_collections()
def compare_page(
    table: CompareTable,
    *,
    statuses: frozenset[Likeness] = ALL_LIKENESSES,
    query: Query = Query(),  # noqa: B008 - frozen
    sort: CompareSort = "file",
    descending: bool = False,
    folded: bool = True,
    opened: frozenset[str] = frozenset(),
    monitor: Monitor = SILENT,
) -> ComparePage:
    """One view of a comparison. A sort by a figure puts what has none last, either way.

    ``opened`` names the lines whose rows are shown under them.
    """
    report = table.report
    codes = [_CODES[status] for status in statuses]
    found, problem = find(table.keys, query, monitor=monitor)
    positions = found[np.isin(table.statuses[found], codes)]
    monitor.check()
    _ = table.places  # made here, where no window waits, and asked when the page is drawn
    return ComparePage(
        left=report.left_name,
        right=report.right_name,
        headline=_headline(table),
        summary=_summary(table),
        values=report.values,
        is_same=report.is_same,
        counts=tuple(report.counts.items()),
        shares=_shares(table),
        lines=_lines(table, positions, sort, descending, folded, opened).with_long_lines(monitor),
        shown=len(positions),
        total=len(report.rows),
        notes=tuple(map(say, report.notes)),
        problem=problem,
    )


def _lines(
    table: CompareTable,
    positions: Vector,
    sort: CompareSort,
    descending: bool,
    folded: bool,
    opened: frozenset[str],
) -> CompareLines:
    positions = positions[_order(table, positions, sort, descending)]
    groups = group_rows(positions, table.numbers)
    if not folded:
        return CompareLines(table, positions, groups)
    # A family stands where the first of its rows would: the largest one when sorted downwards.
    _, firsts = np.unique(table.numbers[positions], return_index=True)
    order = table.numbers[positions[np.sort(firsts)]]
    numbers: frozenset[int] = frozenset()
    if opened:
        closed = CompareLines(table, fold_rows(groups, order), groups)
        numbers = frozenset(
            -1 - code
            for place, code in enumerate(closed.codes.tolist())
            if code < 0 and closed[place].name in opened
        )
    return CompareLines(table, fold_rows(groups, order, numbers), groups, numbers)


def _order(table: CompareTable, positions: Vector, sort: CompareSort, descending: bool) -> Vector:
    if sort == "file":
        return np.arange(len(positions), dtype=np.int64)
    if sort == "key":
        keys = [table.keys[i] for i in positions.tolist()]
        found = sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)
        return np.array(found, dtype=np.int64)
    if sort == "status":
        values = table.statuses[positions].astype(np.float64)
    else:
        values = table.figures(sort)[positions]
    # argsort puts NaN last; negated rather than reversed, equal values keep their order.
    return np.argsort(-values if descending else values, kind="stable")


def _headline(table: CompareTable) -> str:
    """What holds of all of them, and no more: values and types may differ as far as is allowed."""
    report = table.report
    same, total = report.counts[Likeness.SAME], counted(len(report.rows), "tensor")
    if report.is_same and report.values:
        if table.changed_values[0]:
            return tr("All of {total} are the same within the tolerance", total=total)
        return tr("All of {total} are the same, value by value", total=total)
    if report.is_same:
        if table.retyped:
            return tr(
                "All of {total} have the same keys and shapes, {retyped} another type",
                total=total,
                retyped=count_text(table.retyped),
            )
        return tr("All of {total} have the same keys, types and shapes", total=total)
    return tr("{same} of {total} are the same", same=count_text(same), total=total)


def _shares(table: CompareTable) -> tuple[tuple[Likeness, str], ...]:
    total = sum(table.bytes_of.values())
    texts = {
        status: tr(
            "{size}, {share} of the bytes", size=size_text(size), share=share_text(size, total)
        )
        for status, size in table.bytes_of.items()
    }
    return tuple(texts.items())


def _summary(table: CompareTable) -> str:
    report = table.report
    words = [
        f"{count_text(count)} {likeness_look(status).word.lower()}"
        for status, count in report.counts.items()
        if count and status is not Likeness.SAME
    ]
    changed, total = table.changed_values
    if total:
        share = share_text(changed, total)
        words.append(tr("{share} of the values differ", share=share))
    left, right = table.sizes
    words.append(tr("{left} and {right}", left=size_text(left), right=size_text(right)))
    if report.values:
        words.append(tr("values compared"))
    else:
        words.append(tr("structure only, values were not compared"))
    return " · ".join(words)


def _line(rows: tuple[CompareRow, ...], *, is_member: bool = False) -> CompareLine:
    first = rows[0]
    shapes = [side.shape for row in rows for side in (row.left, row.right) if side is not None]
    found = [row.deviation for row in rows if row.deviation is not None]
    total = sum(found, start=Deviation()) if found else None
    reasons = {row.reason for row in rows}
    reason = difference_text(first)
    if len(reasons) > 1:
        changed = sum(row.likeness is not Likeness.SAME for row in rows)
        reason = tr("{count} of them differ", count=count_text(changed)) if changed else ""
    return CompareLine(
        status=first.likeness,
        key=first.key if len(rows) == 1 else fold(first.key),
        count=len(rows),
        shape=_shape(first) if len(rows) == 1 else shapes_text(shapes),
        dtype=_dtype(first),
        deviation=total,
        reason=reason,
        rows=rows[:100],
        is_member=is_member,
    )


def _shape(row: CompareRow) -> str:
    sides = [str(list(side.shape)) for side in (row.left, row.right) if side is not None]
    return " ≠ ".join(dict.fromkeys(sides))


def _dtype(row: CompareRow) -> str:
    sides = [side.dtype_label for side in (row.left, row.right) if side is not None]
    return " → ".join(dict.fromkeys(sides))
