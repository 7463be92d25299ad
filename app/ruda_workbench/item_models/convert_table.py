"""What a conversion does to each family of tensors, as table rows."""

from __future__ import annotations

from collections.abc import Mapping

from ruda.session import LossLine, SaveLine, count_text, later, size_text, tr
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column

KEY, MODULE, SHAPE, DTYPE, WHAT, BYTES, EFFECT = range(7)


class ConvertTableModel(CellModel):
    """Draws the lines of a conversion, and what a scan of the values found."""

    columns = (
        Column(later("Tensor"), 140, shrinks=1, grows=320),
        Column(later("Module"), 60, grows=100),
        Column(later("Shape"), 60, shrinks=2),
        Column(later("Type"), 34),
        Column(later("What happens"), 100, shrinks=3, grows=180),
        Column(later("Size"), 60, right=True),
        Column(later("Values"), 176),
    )

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[SaveLine, ...] = ()
        self._losses: Mapping[tuple[str, str], LossLine] = {}

    @property
    def lines(self) -> tuple[SaveLine, ...]:
        """The lines that are drawn."""
        return self._lines

    def show_lines(self, lines: tuple[SaveLine, ...]) -> None:
        """Draw other lines; what a scan found before is forgotten."""
        self.beginResetModel()
        self._lines = lines
        self._losses = {}
        self.endResetModel()

    def show_losses(self, losses: Mapping[tuple[str, str], LossLine]) -> None:
        """Show what casting does to the values, by key and type of the line."""
        self._losses = losses
        if self._lines:
            last = self.index(len(self._lines) - 1, EFFECT)
            self.dataChanged.emit(self.index(0, EFFECT), last)

    def row_total(self) -> int:
        """Number of lines."""
        return len(self._lines)

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        line = self._lines[row]
        if column == KEY:
            suffix = f"×{count_text(line.count)}" if line.count > 1 else ""
            return Cell(line.key, mono=True, suffix=suffix)
        if column == MODULE:
            return Cell(line.module, ink="dim")
        if column == SHAPE:
            return Cell(line.shape, mono=True, ink="dim")
        if column == DTYPE:
            return Cell(line.dtype, mono=True, ink="text" if "cast" in line.what else "dim")
        if column == WHAT:
            # The names come before it: of several steps the first and the last stay to be read.
            ink = "text" if line.what else "faint"
            return Cell(line.what or tr("as it is"), ink=ink, middle=True)
        if column == BYTES:
            return Cell(size_text(line.nbytes), ink="dim", right=True)
        return self._effect(line)

    def _effect(self, line: SaveLine) -> Cell:
        loss = self._losses.get((line.key, line.dtype))
        return Cell("") if loss is None else Cell(loss.text, status=loss.status)
