"""A status as its mark and its word, for places that are no table."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ruda_workbench.theme import colour, text_font
from ruda_workbench.widgets.painting import draw_mark, draw_text, mark_rect

INDENT = 16


class StatusWord(QWidget):
    """The shape of a status and a word, both in its colour."""

    def __init__(self, mark: str, word: str) -> None:
        super().__init__()
        self._mark, self._word = mark, word
        self.setAccessibleName(word)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Mark and word."""
        return QSize(INDENT + QFontMetrics(text_font()).horizontalAdvance(self._word) + 2, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw both."""
        painter = QPainter(self)
        draw_mark(painter, mark_rect(0, self.height() / 2), self._mark, colour(self._mark))
        area = QRectF(INDENT, 0, self.width() - INDENT, self.height())
        left = Qt.AlignmentFlag.AlignLeft
        draw_text(painter, area, self._word, font=text_font(), ink=self._mark, align=left)
