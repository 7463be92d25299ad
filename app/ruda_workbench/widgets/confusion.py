"""The confusion matrix: true classes down, predicted ones across, counts in the cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QImage, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from ruda.session import ConfusionView, count_text, tr
from ruda_workbench.theme import colours, text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.painting import draw_round, draw_text

LARGEST = 46
CAPTION = 18
GAP = 2.0
SMALL = 8.0
"""Side of a cell up to which the matrix is drawn as one picture."""

Array = np.ndarray[Any, Any]


class ConfusionMatrix(QWidget):
    """Right ones on the tint of applied, mistakes on that of errors, both by how many they are."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setMouseTracking(True)
        self._view: ConfusionView | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(240, 200)

    def show_view(self, view: ConfusionView | None) -> None:
        """Draw another matrix, or nothing."""
        self._view = view
        if view is not None:
            worst = "; ".join(view.worst) or tr("no mistakes")
            self.setAccessibleName(
                tr("Confusion of {names} classes. {worst}", names=len(view.names), worst=worst)
            )
        self.update()

    def sizeHint(self) -> QSize:
        """Room for ten classes."""
        return QSize(560, 520)

    def _label_width(self, names: tuple[str, ...]) -> float:
        metrics = QFontMetrics(text_font(Type.CAPTION + 1))
        widest = max((metrics.horizontalAdvance(name) for name in (*names, tr("true"))), default=0)
        return float(min(max(widest, 24) + Space.S, 120))

    def _cells(self) -> tuple[QPointF, float]:
        """Upper left corner of the cells, and the side of one."""
        view = self._view
        names = () if view is None else view.names
        left = self._label_width(names)
        top = 2.0 * CAPTION
        room = min(self.width() - left, self.height() - top)
        side = min(float(LARGEST), room / max(1, len(names)))
        return QPointF(left, top), max(0.05, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw captions, names and cells."""
        view = self._view
        if view is None:
            return
        painter = QPainter(self)
        corner, side = self._cells()
        span = side * len(view.names)
        small = text_font(Type.CAPTION)
        across = QRectF(corner.x(), 0, max(span, 80.0), CAPTION)
        draw_text(painter, across, tr("predicted"), font=small, ink="dim")
        down = QRectF(0, CAPTION, corner.x() - Space.S, CAPTION)
        right = Qt.AlignmentFlag.AlignRight
        draw_text(painter, down, tr("true"), font=small, ink="dim", align=right)
        if side >= 12:
            self._draw_names(painter, view, corner, side)
        self._draw_cells(painter, view, corner, side)

    def _draw_names(
        self, painter: QPainter, view: ConfusionView, corner: QPointF, side: float
    ) -> None:
        font, middle = text_font(Type.CAPTION + 1), Qt.AlignmentFlag.AlignHCenter
        width = corner.x() - Space.S
        for place, name in enumerate(view.names):
            row = QRectF(0, corner.y() + place * side, width, side)
            right = Qt.AlignmentFlag.AlignRight
            draw_text(painter, row, name, font=font, ink="text", align=right)
            head = QRectF(corner.x() + place * side, CAPTION, side - GAP, CAPTION)
            draw_text(painter, head, name, font=font, ink="text", align=middle)

    def _draw_cells(
        self, painter: QPainter, view: ConfusionView, corner: QPointF, side: float
    ) -> None:
        rgb = _cell_colours(view)
        if side <= SMALL:
            # Thousands of cells are one picture, not thousands of rectangles.
            span = side * len(view.names)
            painter.drawImage(QRectF(corner.x(), corner.y(), span, span), _as_image(rgb))
            return
        font, middle = text_font(Type.CAPTION), Qt.AlignmentFlag.AlignHCenter
        for row in range(len(view.names)):
            for column in range(len(view.names)):
                x, y = corner.x() + column * side, corner.y() + row * side
                cell = QRectF(x, y, side - GAP, side - GAP)
                fill = QColor(*rgb[row, column].tolist())
                draw_round(painter, cell, Radius.TAG if side > 20 else 0, fill=fill)
                count = int(view.counts[row, column])
                if count and side >= 22:
                    text = count_text(count)
                    draw_text(painter, cell, text, font=font, ink="text", align=middle)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say what the cell under the pointer counts."""
        view = self._view
        corner, side = self._cells()
        column = int((event.position().x() - corner.x()) // side)
        row = int((event.position().y() - corner.y()) // side)
        if view is None or not (0 <= row < len(view.names) and 0 <= column < len(view.names)):
            QToolTip.hideText()
            return
        count = count_text(int(view.counts[row, column]))
        text = tr(
            "{label} taken for {guess}: {times}",
            label=view.names[row],
            guess=view.names[column],
            times=count,
        )
        QToolTip.showText(event.globalPosition().toPoint(), text, self)


def _cell_colours(view: ConfusionView) -> Array:
    """u8 (class, class, 3): the tint of every cell by how large its count is among its kind."""
    c = colours()
    counts = view.counts.astype(np.float64)
    right = np.eye(len(counts), dtype=bool)
    most = max(1.0, counts.max(initial=0))
    worst = max(1.0, np.where(right, 0, counts).max(initial=0))
    share = np.where(right, counts / most, counts / worst)
    ink = np.where(right[..., None], _rgb(c.applied), _rgb(c.error))
    ground = _rgb(c.panel)
    tinted = ground + (ink - ground) * (0.14 + 0.30 * share)[..., None]
    filled: Array = np.where((counts > 0)[..., None], tinted, _rgb(c.sunken))
    return np.rint(filled).astype(np.uint8)


def _rgb(text: str) -> Array:
    ink = QColor(text)
    return np.array([ink.red(), ink.green(), ink.blue()], dtype=np.float64)


def _as_image(rgb: Array) -> QImage:
    height, width = rgb.shape[:2]
    data = np.ascontiguousarray(rgb)
    return QImage(data.data, width, height, 3 * width, QImage.Format.Format_RGB888).copy()
