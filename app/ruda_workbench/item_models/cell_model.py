"""CellModel: a read-only table of ``Cell`` values; subclasses say what stands where."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from ruda.session import tr
from ruda_workbench.widgets.data_table import CELL_ROLE, Cell, Column

Index = QModelIndex | QPersistentModelIndex

_ROOT = QModelIndex()
_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
_NO_FLAGS = Qt.ItemFlag.NoItemFlags


class CellModel(QAbstractTableModel):
    """Rows and columns of cells."""

    columns: tuple[Column, ...] = ()
    subject: object = None
    """What the rows are rows of; while it is equal, the table's columns do not become narrower."""

    def row_total(self) -> int:
        """Number of rows."""
        return 0

    def cell(self, row: int, column: int) -> Cell:
        """What stands in one cell. Called for painted cells only."""
        raise NotImplementedError

    def describe(self, row: int) -> str:
        """A row in words, for screen readers."""
        return ", ".join(text for c in range(len(self.columns)) if (text := self.cell(row, c).text))

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Rows; none below a row."""
        return 0 if parent.isValid() else self.row_total()

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Columns; none below a row."""
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Text, tooltip, words for screen readers, or the cell itself."""
        if not index.isValid():
            return None
        if role == CELL_ROLE:
            return self.cell(index.row(), index.column())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            cell = self.cell(index.row(), index.column())
            if cell.help and role == Qt.ItemDataRole.ToolTipRole:
                return cell.help
            return f"{cell.text} {cell.suffix}".strip()
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.describe(index.row())
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        """Titles of the columns."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return tr(column.title) if column.title else ""
        if role == Qt.ItemDataRole.ToolTipRole:
            return tr(column.help) if column.help else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            right = Qt.AlignmentFlag.AlignRight if column.right else Qt.AlignmentFlag.AlignLeft
            return int(right | Qt.AlignmentFlag.AlignVCenter)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every cell can be selected."""
        return _FLAGS if index.isValid() else _NO_FLAGS
