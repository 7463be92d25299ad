"""Icons of our own, drawn as SVG strokes and coloured from the tokens when they are painted."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from ruda_workbench.assets import icon_source
from ruda_workbench.theme import colours


@lru_cache(maxsize=256)
def _renderer(name: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(icon_source(name).replace("currentColor", colour).encode()))


def paint_icon(painter: QPainter, name: str, area: QRectF, colour: str) -> None:
    """Draw an icon into ``area`` in one colour."""
    _renderer(name, colour).render(painter, area)


class _TokenIconEngine(QIconEngine):
    """Paints one SVG in the token that fits the state of its button."""

    def __init__(self, name: str, normal: str, checked: str) -> None:
        super().__init__()
        self._args = (name, normal, checked)

    def _colour(self, mode: QIcon.Mode, state: QIcon.State) -> str:
        name = self._args[2] if state == QIcon.State.On else self._args[1]
        if mode == QIcon.Mode.Disabled:
            name = "faint"
        return str(getattr(colours(), name))

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Draw the icon in ``rect``."""
        paint_icon(painter, self._args[0], QRectF(rect), self._colour(mode, state))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """The icon on a transparent ground."""
        picture = QPixmap(size)
        picture.fill(QColor(Qt.GlobalColor.transparent))
        painter = QPainter(picture)
        self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        painter.end()
        return picture

    def clone(self) -> QIconEngine:
        """An engine of the same icon."""
        made = _TokenIconEngine(*self._args)
        _engines.append(made)
        return made


_engines: list[_TokenIconEngine] = []  # QIcon takes the C++ half only; the Python half must live


@lru_cache(maxsize=256)
def icon(name: str, normal: str = "dim", checked: str = "accent") -> QIcon:
    """Icon by the name of its file; ``normal`` and ``checked`` name colour tokens."""
    engine = _TokenIconEngine(name, normal, checked)
    _engines.append(engine)
    return QIcon(engine)
