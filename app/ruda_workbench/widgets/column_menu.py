"""ColumnMenu: a menu whose entries have several words, which stand below one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QAction, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QStyleOptionMenuItem, QWidget

from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.painting import draw_text

_INDENT = Space.M + 18
"""Where words begin, right of the tick."""
_GAP = Space.XL
_FRAME = Space.XS + 1
Column = tuple[QRectF, str, int]
"""Where a word stands, the word, and its column."""


class ColumnMenu(QMenu):
    """Texts of entries are cut at tabs: a name, a title, and at the right what is said of them.

    An entry without a tab is one line of plain text; a menu of such entries is an ordinary one.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._widths: tuple[int, ...] = ()

    def add_entry(self, text: str) -> QAction:
        """Add an entry; ``fit_columns`` is due when all are there."""
        entry = self.addAction("")
        self.set_words(entry, text)
        return entry

    def set_words(self, entry: QAction, text: str) -> None:
        """Let an entry say something else."""
        words = text.split("\t")
        entry.setProperty("words", words)
        # What screen readers say, and what a key that is typed looks for.
        entry.setText(", ".join(word for word in words if word).replace("&", "&&"))

    def fit_columns(self) -> None:
        """Give every column the width of its longest word."""
        rows = [words for words in map(_words, self.actions()) if len(words) > 1]
        columns = zip_longest(*rows, fillvalue="")
        self._widths = tuple(
            max(map(_metrics(number).horizontalAdvance, column)) + 2  # which rounding takes
            for number, column in enumerate(columns)
        )
        most = sum(self._widths) + _GAP * max(0, len(self._widths) - 1)
        self.setMinimumWidth(_INDENT + most + Space.L + 2 * _FRAME if most else 0)

    def columns(self, entry: QAction) -> Iterator[Column]:
        """The words of an entry and where they are drawn; the last column ends at the right."""
        area = QRectF(self.actionGeometry(entry)).adjusted(_INDENT, 0, -Space.L, 0)
        words = _words(entry)
        if len(words) < 2:
            yield area, "".join(words), -1
            return
        left = area.left()
        for number, (word, width) in enumerate(zip(words, self._widths, strict=False)):
            is_last = number == len(self._widths) - 1
            start = area.right() - width if is_last else left
            yield QRectF(start, area.top(), width, area.height()), word, number
            left += width + _GAP

    def initStyleOption(self, option: QStyleOptionMenuItem, action: QAction) -> None:
        """Let the style draw the ground, the tick and the lines, and no words."""
        super().initStyleOption(option, action)
        if self._widths and not action.isSeparator():
            option.text = ""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the words over what the style has drawn."""
        super().paintEvent(event)
        if not self._widths:
            return
        painter = QPainter(self)
        for entry in self.actions():
            if entry.isSeparator() or not self.actionGeometry(entry).intersects(event.rect()):
                continue
            for area, word, number in self.columns(entry):
                font = mono_font() if number == 0 else text_font()
                ink = "dim" if number > 0 else "text"
                align = Qt.AlignmentFlag.AlignLeft
                if number > 0 and number == len(self._widths) - 1:
                    align = Qt.AlignmentFlag.AlignRight
                draw_text(painter, area, word, font=font, ink=ink, align=align)


def _words(entry: QAction) -> Sequence[str]:
    return tuple(entry.property("words") or ())


def _metrics(column: int) -> QFontMetrics:
    return QFontMetrics(mono_font() if column == 0 else text_font())
