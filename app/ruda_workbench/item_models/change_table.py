"""Before and after of the remap rules as table rows."""

from __future__ import annotations

from ruda.session import ChangeLine, count_text, later, tr
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column

BEFORE, ARROW, AFTER, FOUND = range(4)


class ChangeTableModel(CellModel):
    """Draws the change lines of a ``RulesPage``."""

    columns = (
        Column(later("Before"), 110, shrinks=1),
        Column("", 14),
        Column(later("After"), 110, shrinks=1),
        Column(later("In the model"), 80),
    )

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[ChangeLine, ...] = ()

    def show_lines(self, lines: tuple[ChangeLine, ...]) -> None:
        """Draw other lines."""
        self.beginResetModel()
        self._lines = lines
        self.endResetModel()

    def row_total(self) -> int:
        """Number of lines."""
        return len(self._lines)

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        line = self._lines[row]
        if column == BEFORE:
            suffix = f"×{count_text(line.count)}" if line.count > 1 else ""
            return Cell(line.before, mono=True, ink="dim", suffix=suffix)
        if column == ARROW:
            return Cell("→" if line.changed else "=", ink="dim", centre=True)
        if column == AFTER:
            return Cell(line.after, mono=True, ink="text" if line.changed else "dim")
        if line.problem:
            return Cell(line.problem, status="error")
        if line.in_target is None:
            return Cell("", ink="dim")
        if line.in_target:
            return Cell(tr("yes"), status="applied")
        return Cell(tr("no"), status="skipped")
