"""Tensors of a file, or their families, as table rows."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal

from ruda.session import SortKey, TensorPage, TensorRow, count_text, later, size_text
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column

KEY, SHAPE, DTYPE, ELEMENTS, BYTES, NOTE = range(6)
SORTS: dict[int, SortKey] = {
    KEY: "key",
    SHAPE: "shape",
    DTYPE: "dtype",
    ELEMENTS: "shape",
    BYTES: "bytes",
}

_EMPTY = Cell()


class TensorTableModel(CellModel):
    """Draws a ``TensorPage``; rows are made by the page when they are painted."""

    sort_asked = Signal(str, bool)
    columns = (
        Column(later("Tensor"), 160, shrinks=1, grows=480),
        Column(later("Shape"), 60, shrinks=1, grows=190),
        Column(later("Type"), 40, grows=90),
        Column(later("Values"), 60, right=True),
        Column(later("Size"), 60, right=True),
        Column("", 40),
    )

    def __init__(self) -> None:
        super().__init__()
        self._page: TensorPage | None = None
        self._folds = False

    @property
    def page(self) -> TensorPage | None:
        """The page that is drawn."""
        return self._page

    def show_page(self, page: TensorPage | None) -> None:
        """Draw another page."""
        self.beginResetModel()
        self._page = page
        self.subject = None if page is None else id(page.table)
        self._folds = page is not None and bool((page.rows < 0).any())
        self.endResetModel()

    def row_total(self) -> int:
        """Rows of the page."""
        return 0 if self._page is None else len(self._page)

    def row(self, place: int) -> TensorRow | None:
        """One row of the page."""
        if self._page is None or not 0 <= place < len(self._page):
            return None
        row: TensorRow = self._page[place]
        return row

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        found = self.row(row)
        if found is None:
            return _EMPTY
        if column == KEY:
            return self._key_cell(found)
        if column == SHAPE:
            return Cell(found.shape, mono=True, ink="dim")
        if column == DTYPE:
            return Cell(found.dtype, mono=True, ink="dim")
        if column == ELEMENTS:
            return Cell(count_text(found.numel), ink="dim", right=True)
        if column == BYTES:
            return Cell(size_text(found.nbytes), ink="dim", right=True)
        return Cell(" · ".join(t for t in (found.shard, found.note) if t), ink="dim")

    def _key_cell(self, row: TensorRow) -> Cell:
        page = self._page
        fold = ""
        if page is not None and row.is_family:
            fold = "open" if row.key in page.opened else "closed"
        elif self._folds:
            fold = "inner" if row.is_member else "plain"
        suffix = f"×{count_text(row.count)}" if row.is_family else ""
        return Cell(row.key, mono=True, suffix=suffix, fold=fold)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Ask for the rows in another order."""
        key = SORTS.get(column, "file")
        self.sort_asked.emit(key, order == Qt.SortOrder.DescendingOrder)
