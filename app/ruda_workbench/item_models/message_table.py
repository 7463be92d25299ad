"""Notices that were shown in this session as table rows."""

from __future__ import annotations

from dataclasses import replace

from ruda.session import later, tr
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column
from ruda_workbench.widgets.notices import Notice

KIND, TITLE, TEXT = range(3)
MARKS = {
    "info": (later("Note"), "skipped"),
    "done": (later("Done"), "applied"),
    "warning": (later("Warning"), "missing"),
    "error": (later("Error"), "error"),
}
"""The word of each kind of notice, and the status whose mark it has."""
MOST = 500


class MessageTableModel(CellModel):
    """Draws notices, the last one first."""

    columns = (
        Column(later("Kind"), 76),
        Column(later("Message"), 200, shrinks=1, grows=460),
        Column(later("Details"), 200, shrinks=2),
    )

    def __init__(self) -> None:
        super().__init__()
        self._notices: list[Notice] = []

    def add(self, notice: Notice) -> None:
        """Put a notice first; the oldest beyond a limit is forgotten.

        Without its buttons: what they offered was for then, and they hold documents.
        """
        self.beginResetModel()
        self._notices = [replace(notice, buttons=()), *self._notices[: MOST - 1]]
        self.endResetModel()

    def notice(self, place: int) -> Notice | None:
        """One notice."""
        return self._notices[place] if 0 <= place < len(self._notices) else None

    def row_total(self) -> int:
        """Number of notices."""
        return len(self._notices)

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        notice = self._notices[row]
        if column == KIND:
            word, mark = MARKS[notice.kind]
            return Cell(tr(word), status=mark)
        if column == TITLE:
            return Cell(notice.title)
        return Cell(notice.text.replace("\n", " "), ink="dim")
