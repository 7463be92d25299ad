"""The panes of the window: what the keyboard steps through as wholes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget


def step_on(panes: Sequence[QWidget]) -> None:
    """Give the focus to the pane after the one that has it, the first if none has."""
    focus = QGuiApplication.focusObject()
    held = next(
        (i for i, p in enumerate(panes) if isinstance(focus, QWidget) and p.isAncestorOf(focus)),
        -1,
    )
    pane = panes[(held + 1) % len(panes)]
    first = next(
        (
            w
            for w in [pane, *pane.findChildren(QWidget)]
            if w.isVisible() and w.isEnabled() and w.focusPolicy() & Qt.FocusPolicy.TabFocus
        ),
        pane,
    )
    first.setFocus(Qt.FocusReason.ShortcutFocusReason)
