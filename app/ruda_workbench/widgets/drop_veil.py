"""What lies over the window while a file hangs over it: a frame, and what letting go will do."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from ruda.session import later, tr
from ruda_workbench.theme import colour, text_font
from ruda_workbench.tokens import Radius
from ruda_workbench.widgets.painting import draw_round

TEXT = later("Drop to open")


class DropVeil(QWidget):
    """Follows its host's size; the pointer goes through it."""

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self._host = host
        self.setObjectName("drop-veil")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        host.installEventFilter(self)

    def set_active(self, *, active: bool) -> None:
        """Show or hide the frame."""
        self.setGeometry(self._host.rect())
        self.setVisible(active)
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the host's size."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self.setGeometry(self._host.rect())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the frame and the words."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour("accent"), 2))
        inner = QRectF(self.rect()).adjusted(4, 4, -4, -4)
        painter.drawRoundedRect(inner, Radius.CARD, Radius.CARD)
        font = text_font(bold=True)
        width = QFontMetrics(font).horizontalAdvance(tr(TEXT)) + 32
        pill = QRectF(inner.center().x() - width / 2, inner.bottom() - 76, width, 32)
        draw_round(painter, pill, 16, fill=colour("accent"))
        painter.setFont(font)
        painter.setPen(colour("on_accent"))
        painter.drawText(pill, int(Qt.AlignmentFlag.AlignCenter), tr(TEXT))
