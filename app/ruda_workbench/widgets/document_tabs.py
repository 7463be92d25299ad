"""Tabs of the open documents: a name, a dot while its recipe is not saved, a line when in front."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QTabBar

from ruda.session import tr
from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colour, colours, text_font
from ruda_workbench.tokens import Size, Space

WIDEST = 220
_CLOSE = 14


class DocumentTabs(QTabBar):
    """One tab per document; ``shown`` and ``closed`` carry the document's id."""

    shown = Signal(int)
    closed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("documents")
        self.setAccessibleName(tr("Open documents"))
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setMouseTracking(True)
        self.setUsesScrollButtons(False)
        self.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFont(text_font())
        self._hover = -1
        self._dirty: set[int] = set()
        self.currentChanged.connect(self._changed)

    def show_documents(
        self, documents: tuple[tuple[int, str, str], ...], active: int | None, dirty: set[int]
    ) -> None:
        """Show (id, name, path) of each document, without telling anyone."""
        self.blockSignals(True)
        while self.count() > len(documents):
            self.removeTab(self.count() - 1)
        while self.count() < len(documents):
            self.addTab("")
        for place, (number, name, path) in enumerate(documents):
            self.setTabText(place, name)
            self.setTabData(place, number)
            state = tr(", recipe not saved") if number in dirty else ""
            self.setTabToolTip(place, f"{path}{state}")
            self.setAccessibleTabName(place, f"{name}{state}")
            if number == active:
                self.setCurrentIndex(place)
        self._dirty = dirty
        self.blockSignals(False)
        self.updateGeometry()
        self.update()

    def tabSizeHint(self, index: int) -> QSize:
        """Name, dot and the close mark."""
        metrics = QFontMetrics(text_font())
        width = metrics.horizontalAdvance(self.tabText(index)) + 2 * Space.M + _CLOSE + Space.S
        share = max(90, self.width() // max(1, self.count()))
        return QSize(min(width, WIDEST, share), Size.TOP_BAR)

    def minimumSizeHint(self) -> QSize:
        """Any width: names are shortened."""
        return QSize(80, Size.TOP_BAR)

    def sizeHint(self) -> QSize:
        """The width of all tabs."""
        width = sum(self.tabSizeHint(i).width() for i in range(self.count()))
        return QSize(width, Size.TOP_BAR)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw every tab."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for place in range(self.count()):
            self._paint_tab(painter, place)

    def _paint_tab(self, painter: QPainter, place: int) -> None:
        area = QRectF(self.tabRect(place))
        current = place == self.currentIndex()
        if current:
            line = QRectF(area.left(), area.bottom() - 2, area.width(), 2)
            painter.fillRect(line, colour("accent"))
            if self.hasFocus():
                line.moveTop(area.top())
                painter.fillRect(line, colour("accent"))
        elif place == self._hover:
            painter.fillRect(area.adjusted(0, 0, 0, -1), colour("hover"))
        painter.setFont(text_font())
        painter.setPen(colour("text" if current else "dim"))
        text = area.adjusted(Space.M, 0, -Space.M - _CLOSE, 0)
        shown = QFontMetrics(text_font()).elidedText(
            self.tabText(place), Qt.TextElideMode.ElideMiddle, int(text.width()) + 1
        )
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), shown)
        close = self._close_rect(place)
        if place == self._hover:
            paint_icon(painter, "close", close, colours().dim)
        elif self.tabData(place) in self._dirty:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour("accent"))
            width = QFontMetrics(text_font()).horizontalAdvance(shown)
            painter.drawEllipse(QPointF(text.left() + width + 11, area.center().y()), 3, 3)

    def _close_rect(self, place: int) -> QRectF:
        area = QRectF(self.tabRect(place))
        x = area.right() - Space.S - _CLOSE + 2
        return QRectF(x, area.center().y() - _CLOSE / 2, _CLOSE, _CLOSE)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show the close mark of the tab under the pointer."""
        hover = self.tabAt(event.position().toPoint())
        if hover != self._hover:
            self._hover = hover
            self.update()
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: object) -> None:
        """Hide the close mark."""
        self._hover = -1
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Close with the mark or the middle button; show otherwise."""
        place = self.tabAt(event.position().toPoint())
        middle = event.button() == Qt.MouseButton.MiddleButton
        reach = self._close_rect(place).adjusted(-4, -6, 4, 6) if place >= 0 else QRectF()
        if place >= 0 and (middle or reach.contains(event.position())):
            self.closed.emit(int(self.tabData(place)))
            return
        super().mousePressEvent(event)

    def _changed(self, place: int) -> None:
        if place >= 0 and self.tabData(place) is not None:
            self.shown.emit(int(self.tabData(place)))
