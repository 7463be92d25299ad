"""Tied targets: a model that has one parameter under two keys takes a file that has only one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ruda.store.diff_report import DiffReport
from ruda.store.diff_rows import Cause, DiffRow, Status


def with_tied(report: DiffReport, tied: Sequence[tuple[str, str]]) -> DiffReport:
    """The report with missing rows filled by the row of the key they are tied to, and notes.

    The source of that row is used twice then, which ``reused`` lists apart.
    """
    if not tied:
        return report
    places = {key: at for at, key in enumerate(report.table.target_keys) if key is not None}
    filled: dict[int, DiffRow] = {}
    both: list[tuple[str, str]] = []
    for pair in tied:
        rows = [(places[key], report.rows[places[key]]) for key in pair if key in places]
        given = [row for _, row in rows if row.status is Status.APPLIED]
        if len(given) == 2:
            both.append(pair)
        for at, row in rows:
            if given and row.status is Status.MISSING:
                filled[at] = _tied_row(row, given[0])
    notes = list(report.notes)
    if filled:
        alias, owner = next(
            (row.key, row.trail[-1].removeprefix("tied ")) for row in filled.values()
        )
        many = "1 parameter" if len(filled) == 1 else f"{len(filled)} parameters"
        notes.append(f"{many} loaded as tied: {alias!r} takes the tensor of {owner!r}")
    if both:
        alias, owner = both[0]
        notes.append(
            f"the target has one tensor for {owner!r} and {alias!r}, and the source has both: a "
            "load compares their values and takes them only if they are the same"
        )
    if not filled:
        return replace(report, notes=tuple(notes))
    made = tuple(filled.get(at, row) for at, row in enumerate(report.rows))
    full = replace(report, rows=made, notes=tuple(notes))
    # Nothing is left that a step could match.
    return replace(full, hints=()) if full.is_complete else full


def _tied_row(missing: DiffRow, given: DiffRow) -> DiffRow:
    """The row of a parameter that takes what the row of another takes."""
    adapted = given.adapted
    if adapted is not None:
        trail = (*adapted.trail, f"tied {given.key}")
        adapted = replace(adapted, key=missing.key, trail=trail)
    return replace(given, cause=Cause.TAKEN, target=missing.target, adapted=adapted)
