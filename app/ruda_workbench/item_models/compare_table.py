"""Rows of a comparison as table rows."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal

from ruda.session import CompareLine, ComparePage, CompareSort, count_text, later, likeness_look, tr
from ruda.store import Likeness
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column

STATUS, KEY, SHAPE, DTYPE, LARGEST, MEAN, COSINE, SHARE, REASON = range(9)
SORTS: dict[int, CompareSort] = {
    STATUS: "status",
    KEY: "key",
    LARGEST: "max",
    MEAN: "mean",
    COSINE: "cosine",
    SHARE: "changed",
}
MARKS = {
    Likeness.SAME: "applied",
    Likeness.CHANGED: "missing",
    Likeness.LEFT: "skipped",
    Likeness.RIGHT: "unused",
}
"""The mark and colour of each status; its word stands beside it."""

_EMPTY = Cell()


class CompareTableModel(CellModel):
    """Draws a ``ComparePage``."""

    sort_asked = Signal(str, bool)
    columns = (
        Column(later("Status"), 76),
        Column(later("Tensor"), 160, shrinks=1, grows=420),
        Column(later("Shape"), 60, shrinks=2),
        Column(later("Type"), 34),
        Column(later("Largest"), 64, right=True, help=later("Largest difference of two values")),
        Column(later("Mean"), 64, right=True, help=later("Mean difference of two values")),
        Column(later("Cosine"), 64, right=True, help=later("Cosine of the angle between both")),
        Column(later("Changed"), 60, right=True, help=later("Share of the values that differ")),
        Column(later("Reason"), 110, shrinks=3),
    )

    def __init__(self) -> None:
        super().__init__()
        self._page: ComparePage | None = None
        self._opened: frozenset[str] = frozenset()
        self._folds = False

    @property
    def page(self) -> ComparePage | None:
        """The page that is drawn."""
        return self._page

    def show_page(self, page: ComparePage | None, opened: frozenset[str] = frozenset()) -> None:
        """Draw another page; ``opened`` names the lines whose members are shown."""
        self.beginResetModel()
        self._page = page
        self.subject = None if page is None else id(page.lines.table)
        self._opened = opened
        self._folds = page is not None and page.lines.has_families
        self.endResetModel()

    def row_total(self) -> int:
        """Lines of the page."""
        return 0 if self._page is None else len(self._page.lines)

    def line(self, place: int) -> CompareLine | None:
        """One line of the page."""
        if self._page is None or not 0 <= place < len(self._page.lines):
            return None
        line: CompareLine = self._page.lines[place]
        return line

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        line = self.line(row)
        if line is None:
            return _EMPTY
        if column == STATUS:
            return Cell(likeness_look(line.status).word, status=MARKS[line.status])
        if column == KEY:
            suffix = f"×{count_text(line.count)}" if line.is_family else ""
            return Cell(line.key, mono=True, suffix=suffix, fold=self._fold(line))
        if column == SHAPE:
            return Cell(line.shape, mono=True, ink="dim")
        if column == DTYPE:
            return Cell(line.dtype, mono=True, ink="dim")
        if column == REASON:
            return Cell(line.reason, ink="dim")
        text = line.figures[column - LARGEST]
        still = text in ("0", "0 %", "1", "–")
        return Cell(text, ink="dim" if still else "text", right=True)

    def describe(self, row: int) -> str:
        """A line in words."""
        line = self.line(row)
        if line is None:
            return ""
        word = likeness_look(line.status).word
        count = tr(", {count} tensors", count=line.count) if line.is_family else ""
        return f"{word}, {line.key}{count}, {line.shape}, {line.dtype}, {line.reason}".rstrip(", ")

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Ask for the rows in another order."""
        key = SORTS.get(column, "file")
        self.sort_asked.emit(key, order == Qt.SortOrder.DescendingOrder)

    def _fold(self, line: CompareLine) -> str:
        if line.is_family:
            return "open" if line.name in self._opened else "closed"
        if not self._folds:
            return ""
        return "inner" if line.is_member else "plain"
