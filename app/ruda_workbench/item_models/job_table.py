"""Jobs that run and that ended as table rows."""

from __future__ import annotations

from ruda.session import JobLine, later
from ruda_workbench.item_models.cell_model import CellModel
from ruda_workbench.widgets.data_table import Cell, Column

STATE, TITLE, SHARE, DONE, RATE, NOTE = range(6)

_EMPTY = Cell()


class JobTableModel(CellModel):
    """Draws job lines; while the same jobs are listed their news is painted in place."""

    columns = (
        Column(later("State"), 76),
        Column(later("Job"), 160, shrinks=1, grows=420),
        Column(later("Share"), 44, right=True),
        Column(later("Done"), 110),
        Column(later("Rate"), 80, right=True),
        Column(later("What went wrong"), 120, shrinks=2),
    )

    def __init__(self) -> None:
        super().__init__()
        self.subject = "jobs"
        self._lines: tuple[JobLine, ...] = ()

    def show_lines(self, lines: tuple[JobLine, ...]) -> None:
        """Draw other lines."""
        same = [line.id for line in lines] == [line.id for line in self._lines]
        if same and lines:
            self._lines = lines
            last = self.index(len(lines) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self._lines = lines
        self.endResetModel()

    def line(self, place: int) -> JobLine | None:
        """One line."""
        return self._lines[place] if 0 <= place < len(self._lines) else None

    def row_of(self, job_id: int) -> int:
        """Row of a job; -1 where it is not listed."""
        return next((i for i, line in enumerate(self._lines) if line.id == job_id), -1)

    def row_total(self) -> int:
        """Number of jobs."""
        return len(self._lines)

    def cell(self, row: int, column: int) -> Cell:
        """One cell."""
        line = self.line(row)
        if line is None:
            return _EMPTY
        if column == STATE:
            return Cell(line.word, status=line.mark)
        if column == TITLE:
            return Cell(line.title)
        if column == NOTE:
            return Cell(line.note, ink="dim")
        text = {SHARE: line.share, DONE: line.done, RATE: line.rate}[column]
        return Cell(text, ink="dim", right=column != DONE)
