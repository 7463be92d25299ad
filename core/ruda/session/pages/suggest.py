"""Suggestions: steps that would let more tensors load, with evidence, and what each would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruda.progress import SILENT, Monitor
from ruda.session.language import later, tr
from ruda.session.pages.diff import diff_headline, diff_summary
from ruda.session.pages.diff_lines import DiffTable
from ruda.session.pages.rules import ChangeLine, drafts_of, rules_page, wanted_keys
from ruda.session.sentences import say
from ruda.store import Status, Suggestion, SuggestReport, Verdict, diff

if TYPE_CHECKING:
    from ruda.session.document import Document
    from ruda.session.targets import ResolvedTarget
    from ruda.store import DiffReport

_VERDICTS = {
    Verdict.CERTAIN: (later("Certain"), "applied"),
    Verdict.LIKELY: (later("Likely"), "missing"),
    Verdict.AMBIGUOUS: (later("Ambiguous"), "unused"),
}


@dataclass(frozen=True, slots=True)
class SuggestLine:
    """One step that is offered; it changes nothing by itself."""

    title: str
    verdict: str
    """How sure it is, in a word."""
    mark: str
    """Name of the status whose mark and colour the word has."""
    matches: str
    """``+98 matches``."""
    evidence: str
    step: Suggestion

    @property
    def can_take(self) -> bool:
        """False for a step that is told and cannot be done by a recipe."""
        return self.step.rule is not None or self.step.adapter is not None or self._closes_gaps

    @property
    def is_certain(self) -> bool:
        """True if names and shapes leave no other choice."""
        return self.step.verdict is Verdict.CERTAIN

    @property
    def _closes_gaps(self) -> bool:
        return self.step.kind.value == "index"


@dataclass(frozen=True, slots=True)
class SuggestPreview:
    """What a step would do: how much would load before and after, and the keys it changes."""

    line: SuggestLine
    before: str
    after: str
    before_summary: str
    after_summary: str
    changes: tuple[ChangeLine, ...]
    alternatives: tuple[str, ...]
    loses: int
    """Tensors that load now and would not any more; there are none as a rule."""


def suggest_lines(report: SuggestReport) -> tuple[SuggestLine, ...]:
    """The steps of a report in the order in which they would be taken."""
    return tuple(_line(step) for step in report.suggestions)


def suggest_preview(
    document: Document,
    target: ResolvedTarget,
    line: SuggestLine,
    now: DiffReport,
    *,
    monitor: Monitor = SILENT,
) -> SuggestPreview:
    """Lay the document on its target with a step added, without adding it. Headers only."""
    recipe = line.step.on(document.recipe)
    then = diff(document.index, target.expectation, recipe=recipe, monitor=monitor)
    spec = target.spec
    if spec is not None:
        wanted: frozenset[str] | None = wanted_keys(spec, recipe)
    else:
        wanted = None if target.index is None else frozenset(target.index)
    keys = list(document.index)
    page = rules_page(keys, drafts_of(recipe), wanted=wanted, monitor=monitor)
    applied = {row.target_key for row in now.of(Status.APPLIED)}
    kept = {row.target_key for row in then.of(Status.APPLIED)}
    return SuggestPreview(
        line=line,
        before=diff_headline(now),
        after=diff_headline(then),
        before_summary=diff_summary(DiffTable.of(now)),
        after_summary=diff_summary(DiffTable.of(then)),
        changes=tuple(change for change in page.changes if change.changed),
        alternatives=line.step.alternatives,
        loses=len(applied - kept),
    )


def _line(step: Suggestion) -> SuggestLine:
    word, mark = _VERDICTS[step.verdict]
    return SuggestLine(
        title=_title(step),
        verdict=tr(word),
        mark=mark,
        matches=tr("+{matches} matches", matches=step.matches),
        evidence=say(step.evidence),
        step=step,
    )


def _title(step: Suggestion) -> str:
    rule = step.rule
    if rule is not None and not rule.replacement:
        return tr("Strip {pattern}", pattern=rule.pattern)
    if rule is not None:
        return tr("Rename {pattern} to {new}", pattern=rule.pattern, new=rule.replacement)
    if step.adapter is not None:
        return tr("Adapt {name}", name=step.adapter)
    if step.kind.value == "index":
        return tr("Close gaps in numbers")
    return say(step.title)
