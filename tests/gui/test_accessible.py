"""Names for screen readers: a walk over every widget of every screen, and the order of Tab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

from ruda_workbench.application import build_window, let_go, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.shots import SCREENS
from ruda_workbench.storage import Storage
from ruda_workbench.tokens import Size

pytestmark = pytest.mark.gui

CONTROLS = (QAbstractButton, QLineEdit, QAbstractItemView, QTabBar, QTextEdit)


@pytest.fixture
def screens(qapp: QApplication, tmp_path: Path) -> Iterator[Callable[[str], MainWindow]]:
    """Brings up a screen by its name."""
    window = build_window(qapp, Storage(tmp_path / "config"), theme="light")

    def show(name: str) -> MainWindow:
        window.resize(1440, 900)
        window.show()
        SCREENS[name](Scene(window, tmp_path))
        settle(window)
        return window

    yield show
    for sheet in window.findChildren(QDialog):
        sheet.close()
    let_go(window)


def is_own(widget: QWidget) -> bool:
    """False for the parts that Qt makes itself inside of its widgets."""
    return not widget.objectName().startswith("qt_") and not isinstance(widget, QHeaderView)


def controls(window: MainWindow) -> Iterator[QWidget]:
    for kind in CONTROLS:
        for widget in window.findChildren(kind):
            if widget.isVisible() and is_own(widget):
                yield widget


ALIKE = {
    "load-diff",
    "load-diff-green",
    "load-diff-half-way",
    "compare",
    "inspector-heat",
    "inspector-norms",
    "command",
    "guide",
    "data-shuffled",
    "data-long-names",
    "run-long-names",
    "run-caution",
    "welcome",
    "inspector-pinned-none",
    "inspector-large",
    "inspector-wide",
    "inspector-missing",
    "inspector-bool",
    "unsafe",
    "unsafe-refused",
    "unsafe-names",
    "decision-wrong",
    "load-diff-nothing",
    "load-diff-failing",
    "load-diff-search",
    "load-diff-menu",
    "presets",
    "tensors-none",
    "convert-losses",
    "convert-none",
    "convert-failing",
    "messages-empty",
    "history-empty",
    "settings-end",
    "menu",
    "drop",
    "command-none",
}
"""Screens whose controls are all on another one."""


@pytest.mark.parametrize("name", sorted(set(SCREENS) - ALIKE))
def test_every_control_says_what_it_is(screens: Callable[[str], MainWindow], name: str) -> None:
    window = screens(name)
    nameless = [
        f"{type(widget).__name__} {widget.objectName()!r} in {widget.parent()}"
        for widget in controls(window)
        if not (widget.accessibleName() and widget.objectName())
    ]
    assert nameless == []
    # A button may be small to look at, never to hit: links in text are as high as their line.
    small = [
        f"{widget.objectName()} {widget.width()}x{widget.height()}"
        for widget in controls(window)
        if isinstance(widget, QAbstractButton)
        and widget.isEnabled()
        and min(widget.width(), widget.height()) < Size.HIT - 6
    ]
    assert small == []
    by_mouse_only = [
        widget.objectName()
        for widget in controls(window)
        if isinstance(widget, QAbstractButton)
        and widget.isEnabled()
        and not widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.group() is None  # the arrow keys go through a group
        and widget.objectName() != "help.clear"  # the keyboard empties the field by itself
    ]
    assert by_mouse_only == []


@pytest.mark.parametrize("name", ["load-diff-problems", "compare-values", "tensors", "jobs"])
def test_rows_of_tables_are_said_in_words(screens: Callable[[str], MainWindow], name: str) -> None:
    window = screens(name)
    tables = [t for t in window.findChildren(QAbstractItemView) if t.isVisible() and t.model()]
    said = 0
    for table in tables:
        model = table.model()
        if model.rowCount() and table.objectName().split(".")[0] in ("diff", "compare", "tensors"):
            text = model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
            assert isinstance(text, str)
            assert len(text) > 3
            said += 1
    assert said or name == "jobs"


@pytest.mark.parametrize("name", ["load-diff-problems", "compare-values", "save-metadata"])
def test_tab_reaches_every_control_and_comes_back(
    screens: Callable[[str], MainWindow], name: str
) -> None:
    window = screens(name)
    sheet = QApplication.activeModalWidget()
    root: QWidget = window if sheet is None else sheet
    wanted = {
        widget
        for kind in (QAbstractButton, QLineEdit)
        for widget in root.findChildren(kind)
        if widget.isVisible()
        and widget.isEnabled()
        and is_own(widget)
        and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    }
    reached: set[QWidget] = set()
    start = root
    at: QWidget = root.nextInFocusChain()
    for _ in range(3000):
        if at is start:
            break
        if at in wanted:
            reached.add(at)
        at = at.nextInFocusChain()
    assert {w.objectName() for w in wanted - reached} == set()


def test_labels_of_figures_have_fixed_width_digits(screens: Callable[[str], MainWindow]) -> None:
    window = screens("tensors")
    fonts = {label.font().family() for label in window.findChildren(QLabel) if label.isVisible()}
    assert len(fonts) <= 2
