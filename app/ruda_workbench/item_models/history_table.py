"""The states of one document as table rows."""

from __future__ import annotations

from ruda.session import HistoryLine, later, tr
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column

NUMBER, TITLE, MARK = range(3)


class HistoryTableModel(CellModel):
    """Draws history lines."""

    columns = (
        Column("", 28, right=True),
        Column(later("Edit"), 200, shrinks=1, grows=640),
        Column(later("State"), 120),
    )

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[HistoryLine, ...] = ()

    def show_lines(self, lines: tuple[HistoryLine, ...]) -> None:
        """Draw other lines."""
        self.beginResetModel()
        self._lines = lines
        self.endResetModel()

    def line(self, place: int) -> HistoryLine | None:
        """One line."""
        return self._lines[place] if 0 <= place < len(self._lines) else None

    def row_total(self) -> int:
        """Number of states."""
        return len(self._lines)

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        line = self._lines[row]
        ink = "faint" if line.is_undone else "text" if line.is_current else "dim"
        if column == NUMBER:
            return Cell(str(line.position), ink="faint", right=True)
        if column == TITLE:
            return Cell(line.title, ink=ink)
        words = (
            (line.is_current, tr("as it stands")),
            (line.is_saved, tr("saved")),
            (line.is_undone, tr("undone")),
        )
        return Cell(", ".join(word for on, word in words if on), ink=ink)
