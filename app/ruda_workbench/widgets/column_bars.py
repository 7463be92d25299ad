"""Columns with a name under each and a figure over it: classes of a dataset, times of layers."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from ruda_workbench.theme import colour, text_font
from ruda_workbench.tokens import Type
from ruda_workbench.widgets.painting import draw_text

LINE = 15
WIDEST = 44
ROOMY = 26
"""Width of a column from which name and figure are written."""


@dataclass(frozen=True, slots=True)
class ColumnBar:
    """One column."""

    name: str
    weight: float
    figure: str
    words: str
    """Shown as tooltip."""


class ColumnBars(QWidget):
    """Columns of one width over a hairline; texts only where the columns are wide enough."""

    def __init__(self, name: str, *, height: int = 92) -> None:
        super().__init__()
        self.setObjectName(name)
        self._bars: tuple[ColumnBar, ...] = ()
        self.setFixedHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def bars(self) -> tuple[ColumnBar, ...]:
        """What is shown."""
        return self._bars

    def show_bars(self, bars: tuple[ColumnBar, ...], description: str) -> None:
        """Show other columns."""
        self._bars = bars
        self.setAccessibleName(description)
        self.setAccessibleDescription("; ".join(f"{b.name}: {b.words}" for b in bars[:40]))
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(320, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the columns."""
        painter = QPainter(self)
        step = self.width() / max(1, len(self._bars))
        roomy = step >= ROOMY
        floor = float(self.height() - (LINE + 3 if roomy else 1))
        top = float(LINE + 2 if roomy else 0)
        painter.fillRect(QRectF(0, floor, self.width(), 1), colour("hairline"))
        most = max((bar.weight for bar in self._bars), default=0.0)
        if most <= 0:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        wide = min(float(WIDEST), step * 0.62) if step > 3 else step
        font, middle = text_font(Type.CAPTION), Qt.AlignmentFlag.AlignHCenter
        for place, bar in enumerate(self._bars):
            left = place * step
            height = (floor - top) * bar.weight / most
            if bar.weight > 0:
                height = max(1.0, height)
                column = QRectF(left + (step - wide) / 2, floor - height, wide, height)
                painter.fillRect(column, colour("accent"))
            if roomy:
                over = QRectF(left + 2, floor - height - LINE - 1, step - 4, LINE)
                draw_text(painter, over, bar.figure, font=font, ink="dim", align=middle)
                under = QRectF(left + 2, floor + 3, step - 4, LINE)
                self._draw_name(painter, under, bar.name)

    def _draw_name(self, painter: QPainter, area: QRectF, name: str) -> None:
        font = text_font(Type.CAPTION)
        fits = QFontMetrics(font).horizontalAdvance(name) <= area.width()
        align = Qt.AlignmentFlag.AlignHCenter if fits else Qt.AlignmentFlag.AlignLeft
        draw_text(painter, area, name, font=font, ink="text", align=align)

    def event(self, event: QEvent) -> bool:
        """Say what the column under the pointer is."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self._bars:
            place = int(event.pos().x() * len(self._bars) / max(1, self.width()))
            bar = self._bars[min(place, len(self._bars) - 1)]
            QToolTip.showText(event.globalPos(), f"{bar.name}: {bar.words}", self)
            return True
        return super().event(event)
