"""Rows of a load diff as table rows."""

from __future__ import annotations

from ruda.session import DiffLine, DiffPage, brief_text, count_text, later, status_look, tr
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column

STATUS, SOURCE, ARROW, TARGET, SHAPE, DTYPE, WHAT = range(7)

_EMPTY = Cell()


class DiffTableModel(CellModel):
    """Draws a ``DiffPage``."""

    columns = (
        Column(later("Status"), 66),
        Column(later("In the file"), 84, shrinks=3, keeps=170),
        Column("", 14),
        Column(later("In the model"), 84, shrinks=3, keeps=155),
        Column(later("Shape"), 60, shrinks=2),
        Column(later("Type"), 34),
        Column(later("What happens"), 110, shrinks=1),
    )

    def __init__(self) -> None:
        super().__init__()
        self._page: DiffPage | None = None

    @property
    def page(self) -> DiffPage | None:
        """The page that is drawn."""
        return self._page

    def show_page(self, page: DiffPage | None, opened: frozenset[str] = frozenset()) -> None:
        """Draw another page; ``opened`` names the lines whose members are shown."""
        self.beginResetModel()
        self._page = page
        self.subject = None if page is None else (page.source, page.target)
        self._opened = opened
        self._folds = page is not None and page.lines.has_families
        self.endResetModel()

    def row_total(self) -> int:
        """Lines of the page."""
        return 0 if self._page is None else len(self._page.lines)

    def line(self, place: int) -> DiffLine | None:
        """One line of the page."""
        if self._page is None or not 0 <= place < len(self._page.lines):
            return None
        line: DiffLine = self._page.lines[place]
        return line

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        line = self.line(row)
        if line is None:
            return _EMPTY
        if column == STATUS:
            return Cell(status_look(line.status).word, status=line.status.value)
        if column == SOURCE:
            return Cell(
                line.source, mono=True, suffix=self._times(line, line.source), fold=self._fold(line)
            )
        if column == ARROW:
            return Cell(line.arrow, ink="dim", centre=True)
        if column == TARGET:
            return Cell(line.target, mono=True, suffix=self._times(line, line.target))
        if column == SHAPE:
            return Cell(line.shape, mono=True, ink="dim")
        if column == DTYPE:
            return Cell(line.dtype, mono=True, ink="dim")
        return Cell(brief_text(line.rows[0]) or line.what, ink="dim", help=line.what)

    def describe(self, row: int) -> str:
        """A line in words."""
        line = self.line(row)
        if line is None:
            return ""
        keys = line.source or line.target
        if line.source and line.target:
            keys = tr("{source} onto {target}", source=line.source, target=line.target)
        count = tr(", {count} tensors", count=line.count) if line.is_family else ""
        return tr(
            "{word}, {keys}{count}, shape {shape}, {what}",
            word=status_look(line.status).word,
            keys=keys,
            count=count,
            shape=line.shape,
            what=line.what,
        )

    def row_of_key(self, key: str) -> int:
        """Row that shows a tensor, by its key on either side; -1 where none does."""
        found = None if self._page is None else self._page.lines.position_of(key)
        return -1 if found is None else found

    def _fold(self, line: DiffLine) -> str:
        if line.is_family:
            return "open" if line.name in self._opened else "closed"
        if not self._folds:
            return ""
        return "inner" if line.is_member else "plain"

    @staticmethod
    def _times(line: DiffLine, key: str) -> str:
        return f"×{count_text(line.count)}" if line.is_family and key else ""
