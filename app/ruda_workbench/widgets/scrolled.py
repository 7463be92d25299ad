"""A widget that scrolls where there is no room for it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


def scrolled(inner: QWidget, *, sideways: bool = False, focus: bool = True) -> QScrollArea:
    """An area around the widget, without a frame, on the ground that it stands on.

    ``focus`` False: what is in it has the focus, never the area itself.
    """
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    if not sideways:
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    if not focus:
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.viewport().setAutoFillBackground(False)
    area.setWidget(inner)
    inner.setAutoFillBackground(False)  # setWidget switches it on
    return area
