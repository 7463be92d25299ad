"""Pictures of items: crisp at whole multiples of their pixels, smooth where made smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ruda_workbench.theme import colour
from ruda_workbench.tokens import Radius
from ruda_workbench.widgets.painting import draw_round

Array = np.ndarray[Any, Any]

EDGE = 10
"""A picture that leaves no more than this free needs no ground."""

_FORMATS = {
    1: QImage.Format.Format_Grayscale8,
    3: QImage.Format.Format_RGB888,
    4: QImage.Format.Format_RGBA8888,
}


def picture_image(array: Array) -> QImage:
    """A u8 array (height, width), or with 3 or 4 channels, as a picture that owns its bytes."""
    channels = 1 if array.ndim == 2 else int(array.shape[2])
    data = np.ascontiguousarray(array)
    height, width = data.shape[:2]
    image = QImage(data.data, width, height, channels * width, _FORMATS[channels])
    return image.copy()


def picture_size(image: QImage, room: float, ratio: float) -> tuple[float, float]:
    """Width and height of a picture in a square of ``room``, in logical pixels.

    On a screen of ``ratio`` device pixels per logical one every pixel of the picture covers the
    same whole number of device pixels; a picture that is larger than the room is made smaller.
    """
    longest = max(1, image.width(), image.height())
    device = room * ratio
    scale = float(int(device // longest)) if longest <= device else device / longest
    return image.width() * scale / ratio, image.height() * scale / ratio


def draw_picture(painter: QPainter, area: QRectF, image: QImage) -> QRectF:
    """Draw a picture in the middle of ``area``; returns where it is."""
    device = painter.device()
    ratio = 1.0 if device is None else float(device.devicePixelRatio())
    room = min(area.width(), area.height())
    width, height = picture_size(image, room, ratio)
    x = round((area.center().x() - width / 2) * ratio) / ratio
    y = round((area.center().y() - height / 2) * ratio) / ratio
    target = QRectF(x, y, width, height)
    smaller = width * ratio < image.width()
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smaller)
    painter.drawImage(target, image)
    return target


class PictureView(QWidget):
    """One large picture, on a sunken ground where it leaves room; a square up to its limit."""

    def __init__(self, name: str, *, most: int = 260) -> None:
        super().__init__()
        self.setObjectName(name)
        self._most = most
        self._image: QImage | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_picture(self, picture: Array | None, words: str) -> None:
        """Draw another picture, or nothing; ``words`` describe it."""
        self._image = None if picture is None else picture_image(picture)
        self.setAccessibleName(words)
        self.setVisible(picture is not None)
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        """A square."""
        return True

    def heightForWidth(self, width: int) -> int:
        """As high as wide, up to the limit."""
        return min(width, self._most)

    def sizeHint(self) -> QSize:
        """The limit."""
        return QSize(self._most, self._most)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw ground and picture."""
        painter = QPainter(self)
        area = QRectF(self.rect())
        if self._image is None:
            return
        ratio = float(self.devicePixelRatio())
        room = min(area.width(), area.height())
        width, height = picture_size(self._image, room, ratio)
        if min(width, height) < room - EDGE:
            line = colour("hairline")
            draw_round(painter, area, Radius.CONTROL, fill=colour("sunken"), line=line)
        draw_picture(painter, area, self._image)
