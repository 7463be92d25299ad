"""Sizes of windows that have to fit on the screen, also at 200 %."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QWidget

TITLE_BAR = 40
"""Pixels that a window manager may put around a window, above and below."""


def room_for(parent: QWidget, width: int, height: int) -> QSize:
    """This size, or as much of it as the screen of ``parent`` has room for.

    A parent that is larger than its screen, which there is without a display, counts as the screen.
    """
    screen = parent.screen().availableSize()
    available = QSize(screen.width(), screen.height() - TITLE_BAR)
    return QSize(width, height).boundedTo(available.expandedTo(parent.size()))
