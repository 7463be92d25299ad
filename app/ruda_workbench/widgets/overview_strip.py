"""The overview beside a table: where among all rows those lie that a person has to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QTableView, QWidget

from ruda.session import tr
from ruda_workbench.theme import colour

Vector = np.ndarray[Any, np.dtype[np.int64]]
WIDTH = 12
MARK = 3
"""Height of a mark in pixels at least."""


def worst_per_mark(ranks: Vector, marks: int) -> Vector:
    """The highest rank in each of ``marks`` equal stretches of rows; -1 where there are no rows."""
    found = np.full(marks, -1, dtype=np.int64)
    if len(ranks) and marks:
        places = np.arange(len(ranks), dtype=np.int64) * marks // len(ranks)
        np.maximum.at(found, places, ranks)
    return found


class OverviewStrip(QWidget):
    """One mark per stretch of rows in the colour of its worst status; a click goes there."""

    row_asked = Signal(int)

    def __init__(self, name: str, table: QTableView, marks: Sequence[str]) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(tr("Overview of the rows"))
        self.setFixedWidth(WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._table = table
        self._marks = tuple(marks)
        self._ranks: Vector = np.zeros(0, dtype=np.int64)
        table.verticalScrollBar().valueChanged.connect(self.update)

    def show_ranks(self, ranks: Vector, words: str) -> None:
        """Draw other rows: per row the place of its colour in ``marks``, 0 for none."""
        self._ranks = ranks
        self.setAccessibleDescription(words)
        self.setToolTip(words)
        self.update()

    def sizeHint(self) -> QSize:
        """As high as the table."""
        return QSize(WIDTH, 100)

    def _area(self) -> QRectF:
        """The height that stands for all rows: where all are in sight, that of the rows."""
        table = self._table
        top = table.horizontalHeader().height()
        height = max(1, self.height() - top)
        if not table.verticalScrollBar().maximum():
            rows = len(self._ranks) * table.verticalHeader().defaultSectionSize()
            height = max(1, min(height, rows))
        return QRectF(0, top, self.width(), height)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the marks and the stretch that is in sight."""
        painter = QPainter(self)
        area, rows = self._area(), len(self._ranks)
        if not rows:
            return
        marks = max(1, min(rows, int(area.height()) // MARK))
        step = area.height() / marks
        for place, rank in enumerate(worst_per_mark(self._ranks, marks).tolist()):
            if rank > 0:
                mark = QRectF(2, area.top() + place * step, area.width() - 4, max(MARK, step - 1))
                painter.fillRect(mark, colour(self._marks[rank]))
        bar = self._table.verticalScrollBar()
        whole = bar.maximum() + bar.pageStep()
        if bar.maximum() > 0:
            top = area.top() + area.height() * bar.value() / whole
            height = area.height() * bar.pageStep() / whole
            painter.setPen(colour("dim"))
            painter.drawRect(QRectF(0.5, top + 0.5, area.width() - 1, max(4.0, height - 1)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the worst row of the stretch under the pointer."""
        area, rows = self._area(), len(self._ranks)
        if not rows:
            return
        share = (event.position().y() - area.top()) / area.height()
        place = min(rows - 1, max(0, int(share * rows)))
        reach = max(1, round(rows * MARK / area.height()))
        start, end = max(0, place - reach), min(rows, place + reach + 1)
        self.row_asked.emit(start + int(np.argmax(self._ranks[start:end])))
