"""The panes of the window: what the keyboard steps through as wholes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QWidget


def step_on(panes: Sequence[QWidget]) -> None:
    """Give the focus to the pane after the one that has it, the first if none has."""
    focus = QGuiApplication.focusObject()
    held = next(
        (i for i, p in enumerate(panes) if isinstance(focus, QWidget) and p.isAncestorOf(focus)),
        -1,
    )
    pane = panes[(held + 1) % len(panes)]
    (first_in(pane) or pane).setFocus(Qt.FocusReason.ShortcutFocusReason)


def first_in(pane: QWidget) -> QWidget | None:
    """The first widget of a pane that the keyboard can reach; the pane itself comes first.

    Of choices that exclude one another, it is the one that is chosen.
    """
    for widget in (pane, *pane.findChildren(QWidget)):
        reached = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        if reached and widget.isVisible() and widget.isEnabled() and not _is_other(widget):
            return widget
    return None


def _is_other(widget: QWidget) -> bool:
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    return group is not None and group.exclusive() and widget is not group.checkedButton()


def near(lost: QWidget, home: QWidget) -> QWidget:
    """Where the focus goes from a widget that vanishes: to what stands beside it, or home."""
    around = lost.parentWidget()
    while around is not None and home.isAncestorOf(around):
        found = first_in(around) if around.isVisible() else None
        if found is not None:
            return found
        around = around.parentWidget()
    return home
