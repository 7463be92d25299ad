"""The history of a document: its edits in order, where it stands, and which of them is saved."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.session.document import History


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One state that the document can be brought back to."""

    position: int
    title: str
    is_current: bool
    is_saved: bool
    is_undone: bool
    """True for an edit that was taken back and can be brought back."""


def history_lines(history: History) -> tuple[HistoryLine, ...]:
    """Every state that is remembered, the oldest first."""
    return tuple(
        HistoryLine(
            position=place,
            title=step.title,
            is_current=place == history.position,
            is_saved=place == history.saved,
            is_undone=place > history.position,
        )
        for place, step in enumerate(history.steps)
    )
