"""Where the time of a run goes: a table of the layers, each with a bar."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QFrame, QStyleOptionViewItem, QVBoxLayout

from ruda.session import LayerLine, tr
from ruda_workbench.item_models.layer_table import BAR, SHARE_ROLE, LayerTableModel
from ruda_workbench.theme import colour
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.data_table import PAD, Cell, CellDelegate, DataTable
from ruda_workbench.widgets.painting import draw_round

FIGURE = 56


class _BarDelegate(CellDelegate):
    """The share as a figure, and a bar beside it."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        super().paint(painter, option, index)
        share = float(index.data(SHARE_ROLE) or 0.0)
        area = QRectF(option.rect).adjusted(PAD + FIGURE, 0, -Space.L, -1)
        bar = QRectF(area.left(), area.center().y() - 4, max(2.0, area.width() * share), 8)
        draw_round(painter, bar, min(3.0, bar.width() / 2), fill=colour("accent"))

    def _paint_cell(self, painter: QPainter, area: QRectF, cell: Cell) -> None:
        super()._paint_cell(painter, QRectF(area.left(), area.top(), FIGURE, area.height()), cell)


class LayersPanel(QFrame):
    """A card with the table."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("surface", "card")
        column = QVBoxLayout(self)
        column.setContentsMargins(1, Space.XS, 1, 1)
        self.table = DataTable("run.layers", tr("Time per layer"))
        self.table.empty_text = tr("Run the batch to see where its time goes.")
        self.model = LayerTableModel()
        self.model.setParent(self)
        self.table.setModel(self.model)
        self.table.setItemDelegateForColumn(BAR, _BarDelegate(self.table))
        column.addWidget(self.table)

    def show_lines(self, lines: tuple[LayerLine, ...]) -> None:
        """Draw other layers."""
        self.model.show_lines(lines)
