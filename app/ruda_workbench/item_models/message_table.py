"""Notices that were shown in this session as table rows."""

from __future__ import annotations

from dataclasses import replace

from ruda.session import later
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column
from ruda_workbench.widgets.levels import level_word
from ruda_workbench.widgets.notices import Notice

KIND, TITLE, TEXT = range(3)
MARKS = {"info": "skipped", "done": "applied", "warning": "missing", "error": "error"}
"""The status whose mark each kind of notice has."""
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
            return Cell(level_word(notice.kind), status=MARKS[notice.kind])
        if column == TITLE:
            return Cell(notice.title)
        return Cell(notice.text.replace("\n", " "), ink="dim")
