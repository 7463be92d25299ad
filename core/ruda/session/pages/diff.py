"""The load diff: what a file would do to a model, as one sentence, five counts and rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ruda.progress import SILENT, Monitor
from ruda.session.document import Document
from ruda.session.pages.query import Query, QueryProblem, find
from ruda.session.pages.status import is_problem, status_look
from ruda.session.steps import steps_text
from ruda.session.wording import count_text, counted, shapes_text, share_text, size_text
from ruda.store import Cause, DiffReport, DiffRow, Flag, Nearest, Status, fold

ALL_STATUSES = frozenset(Status)


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter button: a status with its count."""

    status: Status
    word: str
    glyph: str
    count: int
    shown: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Banner:
    """The one thing to know first."""

    level: Literal["error", "warning"]
    text: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the coverage bar: the parameters of the target that have one status."""

    status: Status
    params: int
    share: float


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


@dataclass(frozen=True, slots=True)
class DiffPage:
    """What the load diff shows."""

    source: str
    target: str
    facts: str
    coverage: float
    """Share of the target's parameters that would load, 0 to 1."""
    headline: str
    summary: str
    chips: tuple[Chip, ...]
    segments: tuple[Segment, ...]
    banner: Banner | None
    lines: tuple[DiffLine, ...]
    shown: int
    """Tensors behind the lines."""
    total: int
    problem: QueryProblem | None
    is_complete: bool

    def next_problem(self, position: int, step: int = 1) -> int | None:
        """Row of the next (or with step -1 the previous) problem; None when there is no other."""
        places = range(position + step, len(self.lines) if step > 0 else -1, step)
        return next((i for i in places if is_problem(self.lines[i].status)), None)


def diff_page(
    report: DiffReport,
    *,
    document: Document | None = None,
    statuses: frozenset[Status] = ALL_STATUSES,
    query: Query = Query(),  # noqa: B008 - frozen
    folded: bool = True,
    opened: frozenset[str] = frozenset(),
    monitor: Monitor = SILENT,
) -> DiffPage:
    """One view of a report.

    ``statuses`` are the chips that are on; ``query`` searches the keys of both sides; ``opened``
    names the lines whose members are shown under them. ``document`` supplies the facts line.
    """
    rows = [row for row in report.rows if row.status in statuses]
    texts = [f"{row.source_key or ''}\n{row.target_key or ''}" for row in rows]
    positions, problem = find(texts, query, monitor=monitor)
    found = [rows[i] for i in positions.tolist()]
    lines = diff_lines(found, folded=folded, opened=opened)
    return DiffPage(
        source=report.source_name if document is None else document.name,
        target=report.target_name
        if document is None or document.target is None
        else document.target.title,
        facts=_facts(report, document),
        coverage=report.coverage.share,
        headline=diff_headline(report),
        summary=diff_summary(report),
        chips=tuple(_chip(status, report, statuses) for status in Status),
        segments=_segments(report),
        banner=_banner(report),
        lines=tuple(lines),
        shown=len(found),
        total=len(report.rows),
        problem=problem,
        is_complete=report.is_complete,
    )


def diff_headline(report: DiffReport) -> str:
    """``96.1 % of parameters would load``."""
    coverage = report.coverage
    return f"{share_text(coverage.params, coverage.params_total)} of parameters would load"


def diff_summary(report: DiffReport) -> str:
    """``75 of 78 model tensors · 1 keeps its initial value · 1 cannot be applied``."""
    counts, coverage = report.counts, report.coverage
    total = counted(coverage.tensors_total, "model tensor")
    parts = [f"{count_text(coverage.tensors)} of {total}"]
    missing, errors = counts[Status.MISSING], counts[Status.ERROR]
    skipped = sum(row.target is not None for row in report.of(Status.SKIPPED))
    if missing:
        keeps = "keeps its initial value" if missing == 1 else "keep their initial values"
        parts.append(f"{count_text(missing)} {keeps}")
    if errors:
        parts.append(f"{count_text(errors)} cannot be applied")
    if skipped:
        parts.append(f"{count_text(skipped)} left out")
    return " · ".join(parts)


def diff_lines(
    rows: Iterable[DiffRow], *, folded: bool = True, opened: frozenset[str] = frozenset()
) -> list[DiffLine]:
    """Rows as painted lines: alike ones of a family together, each line with one status."""
    if not folded:
        return [_line((row,)) for row in rows]
    groups: dict[tuple[object, ...], list[DiffRow]] = {}
    for row in rows:
        groups.setdefault(_likeness(row), []).append(row)
    lines: list[DiffLine] = []
    for members in groups.values():
        line = _line(tuple(members))
        lines.append(line)
        if line.is_family and line.name in opened:
            lines.extend(_line((row,), is_member=True) for row in members)
    return lines


def _likeness(row: DiffRow) -> tuple[object, ...]:
    return (
        row.status,
        row.cause,
        fold(row.source_key or ""),
        fold(row.target_key or ""),
        row.trail,
        row.source_dtype,
        row.adapted_dtype,
        row.target_dtype,
        # Errors differ in their facts: only those with one and the same fact are told together.
        row.reason if row.status is Status.ERROR else row.caution,
    )


def _line(rows: tuple[DiffRow, ...], *, is_member: bool = False) -> DiffLine:
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
        rows=rows,
        is_member=is_member,
    )


def what_happens(row: DiffRow) -> str:
    """The last column: the steps of a row that applies, the reason of any other."""
    if row.status is not Status.APPLIED:
        return row.reason
    steps = " · ".join(row.trail)
    if row.caution:
        return (
            f"{steps} · square: orientation unproven" if steps else "square: orientation unproven"
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


def _chip(status: Status, report: DiffReport, shown: frozenset[Status]) -> Chip:
    look = status_look(status)
    count = report.counts[status]
    return Chip(status, look.word, look.glyph, count, status in shown, look.meaning)


def _segments(report: DiffReport) -> tuple[Segment, ...]:
    params = dict.fromkeys(Status, 0)
    for row in report.rows:
        if row.target is not None:
            params[row.status] += row.numel
    total = sum(params.values())
    return tuple(Segment(status, count, count / total) for status, count in params.items() if count)


def _banner(report: DiffReport) -> Banner | None:
    text = report.banner
    if text is None:
        return None
    grave = report.counts[Status.ERROR] or not report.counts[Status.APPLIED]
    return Banner("error" if grave else "warning", text[:1].upper() + text[1:] + ".")


def _facts(report: DiffReport, document: Document | None) -> str:
    if document is None:
        return counted(report.source_tensors, "tensor")
    index = document.index
    tensors = counted(len(index), "tensor")
    if document.top_level_key is not None:
        tensors += f" in {document.top_level_key}"
    return f"{tensors} · {size_text(index.nbytes)} · {steps_text(document.recipe)}"
