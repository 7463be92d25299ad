"""The layers of a model as rows: kind, output shape, parameters and time of the last run."""

from __future__ import annotations

from PySide6.QtCore import Qt

from ruda.session import LayerLine, count_text, later
from ruda_workbench.item_models.cell_model import CellModel, Index
from ruda_workbench.widgets.data_table import Cell, Column

SHARE_ROLE = Qt.ItemDataRole.UserRole + 7
"""The bar of a row: its time as a share of the longest, 0 to 1."""

PATH, KIND, SHAPE, PARAMETERS, TIME, BAR = range(6)


class LayerTableModel(CellModel):
    """Draws the layers of a ``RunPage``."""

    columns = (
        Column(later("Layer"), 100, grows=220),
        Column(later("Kind"), 80, grows=140),
        Column(later("Output shape"), 110, grows=180),
        Column(later("Parameters"), 60, right=True),
        Column(later("Time"), 60, right=True),
        Column(later("Share of all layers"), 160),
    )

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[LayerLine, ...] = ()
        self._longest = 0.0

    def show_lines(self, lines: tuple[LayerLine, ...]) -> None:
        """Draw other layers."""
        self.beginResetModel()
        self._lines = lines
        self._longest = max((line.share for line in lines), default=0.0)
        self.endResetModel()

    def row_total(self) -> int:
        """Number of layers."""
        return len(self._lines)

    def cell(self, row: int, column: int) -> Cell:
        """What stands in one cell."""
        line = self._lines[row]
        if column == PATH:
            return Cell(line.path, mono=True)
        if column == KIND:
            return Cell(line.kind)
        if column == SHAPE:
            return Cell(line.shape, mono=True, ink="dim")
        if column == PARAMETERS:
            some = bool(line.parameters)
            text = count_text(line.parameters) if some else "–"
            return Cell(text, ink="text" if some else "faint", right=True)
        if column == TIME:
            return Cell(line.time, right=True)
        return Cell(line.share_text, ink="dim")

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """As every table, and the length of the bar."""
        if role == SHARE_ROLE and index.isValid():
            share = self._lines[index.row()].share
            return share / self._longest if self._longest else 0.0
        return super().data(index, role)
