"""Reasons of rows and the banner of a load diff in the language of the screens.

In English they are the library's own sentences, as in the terminal and in exported reports.
Elsewhere what is common is said anew from the facts; what is rare stays as the library says it.
"""

from __future__ import annotations

from ruda.session.language import later, tr
from ruda.session.wording import shape_text
from ruda.store import Cause, CompareRow, DiffReport, DiffRow, Hint, Status

_FIXED = (
    later("the target takes this tensor"),
    later("the filter leaves it out"),
    later("left out by your decision"),
    later("nothing in the source; the target keeps its initial value"),
    later("in the source, wanted by nobody"),
    later("a counter or a computed table of PyTorch's that no model needs: harmless"),
    later("two source tensors would become one"),
    later("the shapes differ"),
    later("the element types differ"),
    later("the kinds of number differ"),
    later("the adapter cannot take it"),
    later("the values cannot be read"),
)
"""The library's sentences that hold no facts; they are their own keys."""

_SHAPE = later("shape: the file has {have}, the target expects {want}")
_DTYPE = later("type: the file has {have}, the target expects {want}")


def reason_text(row: DiffRow) -> str:
    """Why a row has its status."""
    plain = tr(row.reason)
    if plain != row.reason or row.target is None:
        return plain
    found = row.adapted if row.adapted is not None else row.source
    if found is None:
        return plain
    if row.cause is Cause.SHAPE and tr(_SHAPE) != _SHAPE:
        return tr(_SHAPE, have=shape_text(found.shape), want=shape_text(row.target.shape))
    if row.cause in (Cause.DTYPE, Cause.KIND) and tr(_DTYPE) != _DTYPE:
        return tr(_DTYPE, have=found.dtype_label, want=row.target.dtype.label)
    return plain


def banner_text(report: DiffReport) -> str | None:
    """The one thing to know first; None for a load without worry."""
    if report.banner is None:
        return None
    counts, total = report.counts, report.target_tensors
    hint = report.hints[0] if report.hints else None
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
    return hint.action if known is None else tr(known, what=shown)


def difference_text(row: CompareRow) -> str:
    """Why a row of a comparison is changed, and what was left uncompared."""
    left, right, found = row.left, row.right, row.deviation
    if not row.reason or left is None or right is None or tr(_SHAPE) == _SHAPE:
        return row.reason
    if left.shape != right.shape:
        return tr(
            "shape {left} and {right}",
            left=shape_text(left.shape),
            right=shape_text(right.shape),
        )
    parts = []
    if left.dtype_label != right.dtype_label:
        parts.append(tr("type {left} and {right}", left=left.dtype_label, right=right.dtype_label))
    if found is not None and found.changed:
        differ = tr("{changed} of {numel} values differ", changed=found.changed, numel=found.numel)
        beyond = tr("{beyond} beyond the tolerance", beyond=found.beyond)
        parts.append(f"{differ}, {beyond}" if "beyond" in row.reason else differ)
    # Without figures, a second part says why values were left out: the library's to say.
    told = found is not None or ";" not in row.reason
    return "; ".join(parts) if parts and told else row.reason
