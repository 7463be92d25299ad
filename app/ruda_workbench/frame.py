"""What the window shows first: top bar, rail, welcome page and status line.

It is painted before most of the program is imported, and imports next to nothing itself. What a
person does before the rest is there is kept in order and done then: see ``soon``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeyEvent,
    QKeySequence,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QVBoxLayout,
    QWidget,
)

from ruda.session import tr
from ruda_workbench import assets
from ruda_workbench.glance import Glance
from ruda_workbench.icons import icon
from ruda_workbench.panels.command_field import CommandField
from ruda_workbench.panels.welcome import WelcomePanel
from ruda_workbench.panes import near
from ruda_workbench.theme import Theme
from ruda_workbench.tokens import Size, Space
from ruda_workbench.widgets.buttons import icon_button, push_button
from ruda_workbench.widgets.logo import Logo
from ruda_workbench.widgets.rail import Rail
from ruda_workbench.widgets.roomy import Pages
from ruda_workbench.widgets.status_line import StatusLine
from ruda_workbench.workspaces.table import WORKSPACES

LEAST = (640, 360)
"""A screen of 1280 × 720 at 200 %. What finds no room then is scrolled to."""


class Frame(QMainWindow):
    """The window as it is painted first; ``MainWindow`` puts the rest into it."""

    painted = Signal()
    """It is on the screen; said once."""
    completed = Signal()
    """Everything is there, and what waited for it is done; said once."""

    def __init__(self, theme: Theme, seen: Glance) -> None:
        super().__init__()
        self.theme = theme
        self.is_complete = False
        self.is_closed = False
        self._is_painted = False
        self._placed_by = ""
        self._waiting: list[Callable[[], None]] = []
        self.setObjectName("MainWindow")
        self.setWindowTitle("Ruda")
        self.setWindowIcon(icon("logo"))
        self.setAcceptDrops(True)
        self.resize(1440, 900)
        self.setMinimumSize(*LEAST)
        self.welcome: WelcomePanel | None = WelcomePanel()
        """Until the workspace of weights takes it over."""
        self.welcome.show_page(seen.recents, has_sample=assets.sample_weights() is not None)
        self._stack = Pages()
        self._stack.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._stack.addWidget(self.welcome)
        self.rail = Rail()
        self.status = StatusLine()
        self.status.show_summary(tr("Nothing is open"))
        self.status.show_findings(())
        self._build()
        if self.place(seen.geometry):
            self._placed_by = seen.geometry
        self._stack.setFocus()

    def _build(self) -> None:
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._middle = QHBoxLayout()
        self._middle.setSpacing(0)
        self._middle.addWidget(self.rail)
        self._middle.addWidget(self._stack, 1)
        self.setCentralWidget(centre)
        column.addWidget(self._top_bar())
        column.addLayout(self._middle, 1)
        column.addWidget(self.status)
        self._fill_rail()

    def _top_bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("TopBar")
        bar.setFixedHeight(Size.TOP_BAR)
        row = self._top = QHBoxLayout(bar)
        row.setContentsMargins(0, 0, Space.M, 0)
        row.setSpacing(0)
        self.logo = Logo()
        self.logo.setFixedWidth(Size.RAIL)
        row.addWidget(self.logo)
        row.addStretch(4)
        row.addSpacing(Space.L)
        self.command = CommandField(self)
        row.addWidget(self.command, 1)
        row.addSpacing(Space.S)
        self._open = push_button(tr("Open…"), "open")
        row.addWidget(self._open)
        return bar

    def _fill_rail(self) -> None:
        for entry in WORKSPACES:
            self.rail.add_workspace(entry.name, tr(entry.title), entry.icon, entry.keys)
        self.rail.choose(WORKSPACES[0].name)
        mark = "sun" if self.theme.scheme.is_dark else "moon"
        self._theme_button = icon_button(mark, tr("Switch between light and dark"), "rail.theme")
        self._settings_button = icon_button("settings", tr("Settings"), "rail.settings")
        self._menu_button = icon_button("menu", tr("Menu  F10"), "rail.menu")
        for button in (self._settings_button, self._theme_button, self._menu_button):
            self.rail.add_foot(button)

    def place(self, geometry: str) -> bool:
        """Take size and place from ``geometry_text``; False where it says neither."""
        try:
            window = base64.b64decode(json.loads(geometry)["window"])
        except (ValueError, TypeError, KeyError):
            return False
        return self.restoreGeometry(QByteArray(window))

    # Before everything is there

    def soon(self, call: Callable[[], None]) -> None:
        """Call it, at once where everything is there, else as soon as it is, in the same order."""
        if self.is_complete:
            call()
        else:
            self._waiting.append(call)

    def _done(self) -> None:
        """Everything is there: do what waited for it."""
        self.is_complete = True
        while self._waiting:
            self._waiting.pop(0)()
        self.completed.emit()

    def run_keys(self, keys: QKeySequence) -> bool:
        """Run the action of these keys; False where there is none."""
        raise NotImplementedError

    def _press(self, key: QKeyEvent) -> None:
        if not self.run_keys(QKeySequence(key.keyCombination())):
            QApplication.sendEvent(self.focusWidget() or self, key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keep a key that no widget wanted until its action is there."""
        if self.is_complete:
            super().keyPressEvent(event)
            return
        key = QKeyEvent(
            event.type(), event.key(), event.modifiers(), event.text(), event.isAutoRepeat()
        )
        self.soon(lambda: self._press(key))

    def focusNextPrevChild(self, next: bool) -> bool:
        """Step on; but a widget that was hidden or switched off gives way to what is near it.

        Qt would step on from it, too, and around the corner to the logo.
        """
        lost = self.focusWidget()
        if lost is not None and not (lost.isVisible() and lost.isEnabled()):
            near(lost, self._stack).setFocus(Qt.FocusReason.OtherFocusReason)
            return True
        return super().focusNextPrevChild(next)

    def open_paths(self, paths: list[Path]) -> None:
        """Open files and folders."""
        raise NotImplementedError

    def dropping(self, *, active: bool) -> None:
        """Show that a file hangs over the window, or that it does no more."""
        raise NotImplementedError

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            self.dropping(active=True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Nothing hangs over the window any more."""
        self.dropping(active=False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped, wherever it fell."""
        self.dropping(active=False)
        urls = event.mimeData().urls()
        event.acceptProposedAction()
        self.open_paths([Path(url.toLocalFile()) for url in urls if url.isLocalFile()])

    def paintEvent(self, event: QPaintEvent) -> None:
        """Say when the window is painted for the first time."""
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            self.painted.emit()
