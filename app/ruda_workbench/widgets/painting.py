"""Shapes that are drawn in several places: status marks, rounded cells, the ring of the focus."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QRegion,
)

from ruda_workbench.theme import colour

MARK = 9.0
"""Side of a status mark in pixels."""


def mark_rect(x: float, middle: float, side: float = MARK) -> QRectF:
    """Square of a status mark that starts at ``x`` and is centred on ``middle``."""
    return QRectF(x, middle - side / 2, side, side)


def draw_mark(painter: QPainter, area: QRectF, status: str, ink: QColor) -> None:
    """Draw a status by its shape: circle, half circle, triangle, square or cross."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink)
    if status == "applied":
        painter.drawEllipse(area)
    elif status == "skipped":
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(ink, 1.2))
        ring = area.adjusted(0.6, 0.6, -0.6, -0.6)
        painter.drawEllipse(ring)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        painter.drawPie(ring, 90 * 16, 180 * 16)
    elif status == "missing":
        top = QPointF(area.center().x(), area.top())
        painter.drawPolygon(QPolygonF([top, area.bottomRight(), area.bottomLeft()]))
    elif status == "unused":
        painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))
    else:
        painter.setPen(QPen(ink, 2.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        inner = area.adjusted(1, 1, -1, -1)
        painter.drawLine(inner.topLeft(), inner.bottomRight())
        painter.drawLine(inner.bottomLeft(), inner.topRight())
    painter.restore()


def draw_round(
    painter: QPainter,
    area: QRectF,
    radius: float,
    *,
    fill: QColor | None = None,
    line: QColor | None = None,
) -> None:
    """Draw a rounded rectangle whose one-pixel line lies inside ``area``."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(Qt.BrushStyle.NoBrush if fill is None else fill)
    painter.setPen(Qt.PenStyle.NoPen if line is None else QPen(line, 1))
    inset = 0.0 if line is None else 0.5
    painter.drawRoundedRect(area.adjusted(inset, inset, -inset, -inset), radius, radius)
    painter.restore()


def round_region(size: QSize, radius: int) -> QRegion:
    """A rectangle of ``size`` with round corners."""
    path = QPainterPath()
    path.addRoundedRect(QRectF(0, 0, size.width(), size.height()), radius + 1, radius + 1)
    return QRegion(path.toFillPolygon().toPolygon())


def draw_text(
    painter: QPainter,
    area: QRectF,
    text: str,
    *,
    font: QFont,
    ink: str,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> float:
    """Draw one line of text in a token's colour, elided to ``area``; returns its width."""
    metrics = QFontMetrics(font)
    shown = metrics.elidedText(text, elide, max(0, int(area.width())))
    painter.setFont(font)
    painter.setPen(colour(ink))
    painter.drawText(area, int(align | Qt.AlignmentFlag.AlignVCenter), shown)
    return float(metrics.horizontalAdvance(shown))
