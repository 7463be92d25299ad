"""The load diff: what a file would do to a model, as one sentence, five counts and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ruda._bulk import without_collections
from ruda.progress import SILENT, Monitor
from ruda.session.document import Document
from ruda.session.language import tr
from ruda.session.pages.diff_lines import DiffLines, DiffTable, table_lines
from ruda.session.pages.folding import Vector, distinct
from ruda.session.pages.query import Query, QueryProblem, find
from ruda.session.pages.reasons import banner_text
from ruda.session.pages.status import is_problem, status_look
from ruda.session.steps import steps_text
from ruda.session.wording import count_text, counted, keeping_text, share_text, size_text
from ruda.store import DiffReport, Status, Suggestion

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
    """A piece of the coverage bar: the elements of the target that have one status."""

    status: Status
    params: int
    share: float


@dataclass(frozen=True, slots=True)
class DiffPage:
    """What the load diff shows."""

    source: str
    target: str
    facts: str
    coverage: float
    """Share of the target's elements that would load, 0 to 1."""
    headline: str
    summary: str
    chips: tuple[Chip, ...]
    segments: tuple[Segment, ...]
    banner: Banner | None
    lines: DiffLines
    shown: int
    """Tensors behind the lines."""
    total: int
    problem: QueryProblem | None
    is_complete: bool

    def next_problem(self, position: int, step: int = 1) -> int | None:
        """Row of the next (or with step -1 the previous) problem; None when there is no other."""
        problems = [code for code, status in enumerate(Status) if is_problem(status)]
        places = np.flatnonzero(np.isin(self.lines.status_codes, problems))
        found = places[places > position] if step > 0 else places[places < position][::-1]
        return int(found[0]) if found.size else None


@without_collections()
def diff_page(
    table: DiffTable | DiffReport,
    *,
    document: Document | None = None,
    statuses: frozenset[Status] = ALL_STATUSES,
    query: Query = Query(),  # noqa: B008 - frozen
    folded: bool = True,
    opened: frozenset[str] = frozenset(),
    monitor: Monitor = SILENT,
) -> DiffPage:
    """One view of a report; quick when it is given as the table that was made of it.

    ``statuses`` are the chips that are on; ``query`` searches the keys of both sides; ``opened``
    names the lines whose members are shown under them. ``document`` supplies the facts line.
    """
    if isinstance(table, DiffReport):
        table = DiffTable.of(table)
    report = table.report
    positions, problem = _found(table, statuses, query, monitor)
    chosen = None if document is None else document.target
    return DiffPage(
        source=report.source_name if document is None else document.name,
        target=report.target_name if chosen is None else chosen.title,
        facts=_facts(report, document),
        coverage=report.coverage.share,
        headline=diff_headline(report),
        summary=diff_summary(table),
        chips=tuple(_chip(status, report, statuses) for status in Status),
        segments=_segments(table),
        banner=diff_banner(report),
        lines=table_lines(table, positions, folded=folded, opened=opened),
        shown=len(positions),
        total=len(report.rows),
        problem=problem,
        is_complete=report.is_complete,
    )


def _found(
    table: DiffTable, statuses: frozenset[Status], query: Query, monitor: Monitor
) -> tuple[Vector, QueryProblem | None]:
    """Positions of the rows whose status is on and one of whose keys the query finds."""
    codes = [code for code, status in enumerate(Status) if status in statuses]
    is_wanted = np.isin(table.statuses, codes)
    if not query.text:
        return np.flatnonzero(is_wanted), None
    sources, problem = find(table.sources, query, monitor=monitor)
    targets, _ = find(table.targets, query, monitor=monitor)
    found = distinct(np.concatenate([sources, targets]))
    return found[is_wanted[found]], problem


def diff_headline(report: DiffReport) -> str:
    """``96.1 % of elements would load``."""
    coverage = report.coverage
    return tr(
        "{params} of elements would load",
        params=share_text(coverage.params, coverage.params_total),
    )


def diff_summary(table: DiffTable | DiffReport) -> str:
    """``75 of 78 model tensors · 1 keeps its initial value · 1 cannot be applied``."""
    if isinstance(table, DiffReport):
        table = DiffTable.of(table)
    counts, coverage = table.report.counts, table.report.coverage
    total = counted(coverage.tensors_total, "model tensor")
    parts = [tr("{tensors} of {total}", tensors=count_text(coverage.tensors), total=total)]
    missing, errors = counts[Status.MISSING], counts[Status.ERROR]
    if missing:
        parts.append(f"{count_text(missing)} {keeping_text(missing)}")
    if errors:
        parts.append(tr("{errors} cannot be applied", errors=count_text(errors)))
    if table.left_out:
        parts.append(tr("{left_out} left out", left_out=count_text(table.left_out)))
    return " · ".join(parts)


def _chip(status: Status, report: DiffReport, shown: frozenset[Status]) -> Chip:
    look = status_look(status)
    count = report.counts[status]
    return Chip(status, look.word, look.glyph, count, status in shown, look.meaning)


def _segments(table: DiffTable) -> tuple[Segment, ...]:
    params = table.params
    total = sum(params.values())
    return tuple(Segment(status, count, count / total) for status, count in params.items() if count)


def diff_banner(report: DiffReport, certain: Sequence[Suggestion] | None = None) -> Banner | None:
    """The one thing to know first; with what the certain suggestions would do, once known."""
    text = banner_text(report, certain)
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
        tensors += tr(" in {top_level_key}", top_level_key=document.top_level_key)
    return f"{tensors} · {size_text(index.nbytes)} · {steps_text(document.recipe)}"
