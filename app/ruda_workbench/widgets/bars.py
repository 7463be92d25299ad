"""Thin bars: the stacked bar of the coverage card and the strip of a running job."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ruda_workbench.theme import colour
from ruda_workbench.tokens import STATUS_NAMES

MIN_SEGMENT = 14.0
GAP = 2.0


class StackedBar(QWidget):
    """Shares of the five statuses as one bar; whatever is not zero stays visible."""

    def __init__(self) -> None:
        super().__init__()
        self._weights: dict[str, float] = {}
        self.setFixedHeight(8)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_weights(self, weights: dict[str, float], description: str) -> None:
        """Show weights by status name; only their ratios matter."""
        self._weights = weights
        self.setAccessibleName(description)
        self.setToolTip(description)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the segments in the order of the statuses."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), 4, 4)
        painter.setClipPath(outline)
        shown = [(n, self._weights[n]) for n in STATUS_NAMES if self._weights.get(n)]
        if not shown:
            painter.fillRect(self.rect(), colour("hairline"))
            return
        total = sum(weight for _, weight in shown)
        room = self.width() - GAP * (len(shown) - 1)
        widths = [max(MIN_SEGMENT, room * weight / total) for _, weight in shown]
        widest = widths.index(max(widths))
        widths[widest] -= sum(widths) - room
        x = 0.0
        for (name, _), width in zip(shown, widths, strict=True):
            painter.fillRect(QRectF(x, 0, width, self.height()), colour(name))
            x += width + GAP


class ProgressStrip(QWidget):
    """A thin line that fills; where the end is unknown a piece of it stands in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self._fraction: float | None = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """As in the status line."""
        return QSize(140, 4)

    def set_fraction(self, fraction: float | None) -> None:
        """Show a share of the work, or None while it is unknown."""
        self._fraction = fraction
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw track and fill."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), 2, 2)
        painter.setClipPath(outline)
        painter.fillRect(self.rect(), colour("control_line"))
        width = float(self.width())
        if self._fraction is None:
            piece = QRectF(width * 0.35, 0, width * 0.3, self.height())
        else:
            piece = QRectF(0, 0, width * self._fraction, self.height())
        painter.fillRect(piece, colour("accent"))
