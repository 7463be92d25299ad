"""The program's mark; a click opens the menu."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton

from ruda.session import tr
from ruda_workbench.theme import colour, text_font
from ruda_workbench.tokens import Radius, Size
from ruda_workbench.widgets.painting import draw_round

SIDE = 24


class Logo(QAbstractButton):
    """A rounded square in the accent's colour with the first letter of the name."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("logo")
        self.setAccessibleName(tr("Menu"))
        self.setToolTip(tr("Menu  F10"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def sizeHint(self) -> QSize:
        """As wide as the rail."""
        return QSize(Size.RAIL, Size.TOP_BAR - 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the mark."""
        painter = QPainter(self)
        middle = QRectF(self.rect()).center()
        area = QRectF(middle.x() - SIDE / 2, middle.y() - SIDE / 2, SIDE, SIDE)
        draw_round(painter, area, Radius.CONTROL, fill=colour("accent"))
        if self.hasFocus():
            ring = area.adjusted(-3, -3, 3, 3)
            draw_round(painter, ring, Radius.CARD, line=colour("accent"))
        font = QFont(text_font(14, bold=True))
        painter.setFont(font)
        painter.setPen(colour("on_accent"))
        painter.drawText(area.adjusted(0, -1, 0, -1), int(Qt.AlignmentFlag.AlignCenter), "r")
