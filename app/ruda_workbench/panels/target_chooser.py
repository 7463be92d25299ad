"""What stands in the load diff while no model is chosen: the models there are."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ruda.models import architectures
from ruda.session import tr
from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colour, colours, mono_font, text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.painting import draw_round, draw_text


class _Model(QAbstractButton):
    def __init__(self, name: str, title: str, summary: str) -> None:
        super().__init__()
        self.name = name
        self._summary = summary
        self.setText(title)
        self.setObjectName(f"chooser.{name}")
        self.setAccessibleName(f"{title}. {summary}")
        self.setToolTip(summary)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(400, 52)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 52)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = QRectF(self.rect())
        if self.underMouse():
            draw_round(painter, area, Radius.CONTROL, fill=colour("hover"))
        if self.hasFocus():
            draw_round(painter, area, Radius.CONTROL, line=colour("accent"))
        inner = area.adjusted(Space.M, 7, -Space.M - 20, -7)
        upper = QRectF(inner.left(), inner.top(), inner.width(), inner.height() / 2)
        width = draw_text(painter, upper, self.text(), font=text_font(bold=True), ink="text")
        name = upper.adjusted(width + Space.S, 0, 0, 0)
        draw_text(painter, name, self.name, font=mono_font(11), ink="dim")
        lower = QRectF(inner.left(), inner.center().y(), inner.width(), inner.height() / 2)
        draw_text(painter, lower, self._summary, font=text_font(Type.CAPTION + 1), ink="dim")
        mark = QRectF(area.right() - 28, area.center().y() - 8, 16, 16)
        paint_icon(painter, "chevron-right", mark, colours().dim)


class TargetChooser(QWidget):
    """Offers every registered architecture."""

    picked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(Space.S, Space.M, Space.S, Space.S)
        inner.setSpacing(0)
        title = label(tr("Which model should take these weights?"), font=text_font(bold=True))
        title.setContentsMargins(Space.M, 0, 0, 0)
        inner.addWidget(title)
        note = label(tr("Names, shapes and types are compared; no values are read."), role="dim")
        note.setContentsMargins(Space.M, 0, 0, Space.S)
        inner.addWidget(note)
        inner.addWidget(self._models())
        column.addWidget(card)

    def _models(self) -> QScrollArea:
        rows = QWidget()
        column = QVBoxLayout(rows)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for architecture in architectures():
            row = _Model(architecture.name, architecture.title, architecture.summary)
            row.clicked.connect(self._clicked)
            column.addWidget(row)
        column.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.viewport().setAutoFillBackground(False)
        area.setWidget(rows)
        rows.setAutoFillBackground(False)  # setWidget switches it on
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the rows have it
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        return area

    def _clicked(self) -> None:
        row = self.sender()
        if isinstance(row, _Model):
            self.picked.emit(row.name)
