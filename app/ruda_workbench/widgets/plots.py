"""Plots of the inspector: a histogram, and a heat map that diverges about zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ruda.session import HistogramView, ValuesPage, number_text, tr
from ruda_workbench.theme import colour, colours, text_font
from ruda_workbench.tokens import Type
from ruda_workbench.widgets.painting import draw_text

Array = np.ndarray[Any, Any]


class Histogram(QWidget):
    """Counts in equal bins as bars, with the ends of the range under them."""

    def __init__(self) -> None:
        super().__init__()
        self._view: HistogramView | None = None
        self._log = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(92)

    def show_view(self, view: HistogramView | None) -> None:
        """Draw another histogram, or nothing."""
        self._view = view
        if view is not None:
            low, high = number_text(view.low), number_text(view.high)
            self.setAccessibleName(
                tr(
                    "Histogram of {counts} values from {low} to {high}",
                    counts=sum(view.counts),
                    low=low,
                    high=high,
                )
            )
        self.update()

    def set_log(self, on: bool) -> None:
        """Draw heights by the logarithm of the counts, so that rare values are seen."""
        self._log = on
        self.update()

    def heights(self) -> tuple[float, ...]:
        """Height of every bar, as a share of the highest."""
        view = self._view
        if view is None or not any(view.counts):
            return ()
        if self._log:
            whole = math.log1p(max(view.counts))
            return tuple(math.log1p(count) / whole for count in view.counts)
        return tuple(count / max(view.counts) for count in view.counts)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bars over a hairline."""
        painter = QPainter(self)
        floor = self.height() - 18
        painter.fillRect(QRectF(0, floor, self.width(), 1), colour("hairline"))
        view = self._view
        if view is None or not any(view.counts):
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        step = self.width() / len(view.counts)
        gap = 1.0 if step >= 3 else 0.0
        ink = colour("accent")
        for place, share in enumerate(self.heights()):
            if share:
                height = max(1.0, (floor - 2) * share)
                painter.fillRect(QRectF(place * step, floor - height, step - gap, height), ink)
        font = text_font(Type.CAPTION)
        foot = QRectF(0, floor + 3, self.width(), 15)
        draw_text(painter, foot, number_text(view.low), font=font, ink="dim")
        right = Qt.AlignmentFlag.AlignRight
        draw_text(painter, foot, number_text(view.high), font=font, ink="dim", align=right)
        if view.low < 0 < view.high:
            x = -view.low / (view.high - view.low) * self.width()
            painter.setPen(QPen(colour("faint"), 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(x, 0), QPointF(x, floor))
            if 30 < x < self.width() - 30:
                zero = QRectF(x - 20, floor + 3, 40, 15)
                middle = Qt.AlignmentFlag.AlignHCenter
                draw_text(painter, zero, "0", font=font, ink="dim", align=middle)


def _rgb(text: str) -> Array:
    ink = QColor(text)
    return np.array([ink.red(), ink.green(), ink.blue()], dtype=np.float32)


def diverging_image(grid: Array, absmax: float) -> QImage:
    """Picture of a grid, one pixel per cell: blue below zero, orange above, in this theme."""
    c = colours()
    below, above, zero = (_rgb(x) for x in (c.negative, c.positive, c.diverging_zero))
    share: Array = np.zeros(grid.shape, dtype=np.float32)
    if absmax > 0:
        # Below one, so that small values are seen beside large ones.
        share = np.clip(np.abs(grid) / absmax, 0, 1) ** 0.75
    end = np.where((grid < 0)[..., None], below, above)
    rgb = zero + (end - zero) * share[..., None]
    rgba = np.full((*grid.shape, 4), 255, dtype=np.uint8)
    rgba[..., :3] = np.clip(rgb + 0.5, 0, 255).astype(np.uint8)
    height, width = grid.shape
    data = np.ascontiguousarray(rgba)
    image = QImage(data.data, width, height, 4 * width, QImage.Format.Format_RGBA8888)
    return image.copy()  # the copy owns its bytes


class HeatMap(QWidget):
    """A grid of values; cells with a NaN or Inf are hatched."""

    hovered = Signal(str)
    pointed = Signal(int, int)
    """Row and column under the pointer, -1 for none."""

    def __init__(self, *, most_height: int = 0) -> None:
        super().__init__()
        self._page: ValuesPage | None = None
        self._image: tuple[int, str, QImage] | None = None
        self._most = most_height
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def show_page(self, page: ValuesPage | None) -> None:
        """Draw other values, or nothing."""
        self._page = page
        self._image = None
        if page is not None:
            self.setAccessibleName(tr("Heat map. {caption}", caption=page.caption))
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        """Cells stay square where there is room."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Height that keeps the cells square, within bounds."""
        if self._page is None or not self._page.grid.size:
            return 24
        rows, columns = map(int, self._page.grid.shape)
        side = max(4.0, min(18.0, width / columns))
        height = max(12, round(side * rows))
        return min(height, self._most) if self._most else height

    def sizeHint(self) -> QSize:
        """As wide as the inspector."""
        return QSize(240, self.heightForWidth(max(240, self.width())))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the cells, then the hatching."""
        page = self._page
        if page is None or not page.grid.size:
            return
        c = colours()
        if self._image is None or self._image[:2] != (id(page), c.window):
            self._image = (id(page), c.window, diverging_image(page.grid, page.absmax))
        painter = QPainter(self)
        area = QRectF(self.rect())
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.drawImage(area, self._image[2])
        self._hatch(painter, page, area)
        painter.setPen(colour("hairline"))  # a map of zeros is as white as its ground
        painter.drawRect(area.adjusted(0, 0, -1, -1))

    def _hatch(self, painter: QPainter, page: ValuesPage, area: QRectF) -> None:
        rows, columns = page.grid.shape
        wide, high = area.width() / columns, area.height() / rows
        hatch = QBrush(colour("text"), Qt.BrushStyle.DiagCrossPattern)
        for row, column in np.argwhere(page.nonfinite)[:4000].tolist():
            cell = QRectF(column * wide, row * high, wide, high)
            painter.fillRect(cell, colour("panel"))
            painter.fillRect(cell, hatch)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say which value is under the pointer."""
        page = self._page
        if page is None or not page.grid.size:
            return
        rows, columns = page.grid.shape
        row = min(rows - 1, max(0, int(event.position().y() / self.height() * rows)))
        column = min(columns - 1, max(0, int(event.position().x() / self.width() * columns)))
        self.pointed.emit(row, column)
        self.hovered.emit(self.words(row, column))

    def words(self, row: int, column: int) -> str:
        """``[3, 4]  0.25``: what stands in a cell."""
        page = self._page
        if page is None or not (row < page.grid.shape[0] and column < page.grid.shape[1]):
            return ""
        value = (
            tr("not finite")
            if page.nonfinite[row, column]
            else number_text(float(page.grid[row, column]))
        )
        place = (
            f"[{row}, {column}]"
            if page.exact
            else tr("cell {row}, {column}", row=row, column=column)
        )
        return f"{place}  {value}"

    def leaveEvent(self, event: object) -> None:
        """Nothing is under the pointer any more."""
        self.pointed.emit(-1, -1)
        self.hovered.emit("")
