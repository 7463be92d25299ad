"""Reasons of rows and the banner of a load diff in the language of the screens.

In English they are the library's own sentences, as in the terminal and in exported reports.
"""

from __future__ import annotations

from collections.abc import Sequence

from ruda.session.language import later, tr
from ruda.session.sentences import say
from ruda.store import CompareRow, DiffReport, DiffRow, Hint, Status, Suggestion


def reason_text(row: DiffRow) -> str:
    """Why a row has its status."""
    return say(row.reason)


def banner_text(report: DiffReport, certain: Sequence[Suggestion] | None = None) -> str | None:
    """The one thing to know first; None for a load without worry.

    ``certain`` are the suggestions that leave no other choice, which count together what would
    load; a hint, which counts names alone, is told where they are None.
    """
    if report.banner is None:
        return None
    counts, total = report.counts, report.target_tensors
    hint = report.hints[0] if report.hints and certain is None else None
    if total and not counts[Status.APPLIED] and not counts[Status.SKIPPED]:
        text = tr("nothing would be loaded: 0 of {total}", total=total)
        more = later("; {action} would match {matches}")
    elif counts[Status.ERROR] and counts[Status.MISSING]:
        text = tr(
            "{errors} of {total} cannot be applied, and {missing} keep their initial value",
            errors=counts[Status.ERROR],
            total=total,
            missing=counts[Status.MISSING],
        )
        more = later("; {action} would match {matches} more")
    elif counts[Status.ERROR]:
        text = tr("{errors} of {total} cannot be applied", errors=counts[Status.ERROR], total=total)
        more = later("; {action} would match {matches} more")
    else:
        missing = counts[Status.MISSING]
        text = tr("{missing} of {total} keep their initial value", missing=missing, total=total)
        more = later("; {action} would match {matches} more")
    if hint is not None:
        text += tr(more, action=action_text(hint), matches=hint.matches)
    elif certain:
        matches = sum(step.matches for step in certain)
        if len(certain) == 1 and certain[0].adapter is not None:
            adapter = tr("the adapter {what}", what=certain[0].adapter)
            text += tr("; {action} would match {matches} more", action=adapter, matches=matches)
        elif len(certain) == 1:
            text += tr("; the certain suggestion would match {matches} more", matches=matches)
        else:
            text += tr(
                "; the {count} certain suggestions would match {matches} more",
                count=len(certain),
                matches=matches,
            )
    return text


def action_text(hint: Hint) -> str:
    """What a hint would do, as the beginning of a sentence."""
    shown = hint.value if hint.kind == "adapt" else repr(hint.value)
    texts = {
        "strip": later("stripping {what}"),
        "add": later("adding {what}"),
        "adapt": later("the adapter {what}"),
    }
    known = texts.get(hint.kind)
    return say(hint.action) if known is None else tr(known, what=shown)


def difference_text(row: CompareRow) -> str:
    """Why a row of a comparison is changed, and what was left uncompared."""
    return say(row.reason)
