"""Reasons of rows and the banner of a load diff in the language of the screens.

In English they are the library's own sentences, as in the terminal and in exported reports.
"""

from __future__ import annotations

from collections.abc import Sequence

from ruda.session.language import later, tr
from ruda.session.sentences import say
from ruda.store import Cause, CompareRow, DiffReport, DiffRow, Hint, Status, Suggestion


def reason_text(row: DiffRow) -> str:
    """Why a row has its status."""
    return say(row.reason)


def brief_text(row: DiffRow) -> str | None:
    """Why a row does not apply in the few words of a column; None where the reason is brief."""
    if row.status is Status.MISSING:
        return tr("keeps its initial value")
    if row.status is Status.UNUSED:
        harmless = row.cause is Cause.HARMLESS
        return tr("nothing is lost") if harmless else tr("wanted by nobody")
    if row.status is not Status.ERROR or row.target is None:
        return None
    source = row.source if row.adapted is None else row.adapted
    if source is None:
        return None
    if row.cause is Cause.SHAPE:
        return _brief_shape(tuple(source.shape), tuple(row.target.shape))
    if row.cause in (Cause.DTYPE, Cause.KIND):
        types = {"found": source.dtype_label, "expected": row.target.dtype.label}
        return tr("type: {found} in the file, {expected} in the model", **types)
    return tr("several would become one") if row.cause is Cause.COLLISION else None


def _brief_shape(found: tuple[int, ...], expected: tuple[int, ...]) -> str:
    if 0 in found and 0 not in expected:
        return tr("empty in the file")
    if len(found) != len(expected):
        sizes = {"found": len(found), "expected": len(expected)}
        return tr("{found} axes in the file, {expected} in the model", **sizes)
    if found == expected[::-1]:
        return tr("the axes are swapped")
    axes = [at for at, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]]
    parts = (
        tr(
            "axis {axis}: file {found}, model {expected}",
            axis=a,
            found=found[a],
            expected=expected[a],
        )
        for a in axes
    )
    return " · ".join(parts)


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
