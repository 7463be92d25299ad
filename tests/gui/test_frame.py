"""The frame: actions, command field, theme, notices, status line, names for screen readers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QMenu, QTableView, QWidget
from pytestqt.qtbot import QtBot

from ruda.progress import Progress
from ruda.session import JobNews, JobState
from ruda_workbench.action_book import ActionBook, UserAction
from ruda_workbench.assets import resources
from ruda_workbench.icons import icon
from ruda_workbench.main_window import MainWindow
from ruda_workbench.tokens import DARK, LIGHT
from ruda_workbench.widgets.status_line import job_text
from ruda_workbench.workspaces.table import WORKSPACES
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

DIGITS = {"conv1.weight": (8, 1, 3, 3), "conv2.weight": (16, 8, 3, 3), "fc1.bias": (32,)}


def test_every_action_has_title_group_and_icon(window: MainWindow) -> None:
    drawn = {p.stem for p in (resources() / "icons").glob("*.svg")}
    records = window.book.records()
    assert len(records) > 20
    assert [a.id for a in records if not a.title or not a.group or a.icon not in drawn] == []


def test_the_menu_holds_every_action(window: MainWindow) -> None:
    window.book.run("view.menu")
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    found = {a.objectName() for group in menu.findChildren(QMenu) for a in group.actions()}
    menu.close()
    assert found >= {action.id for action in window.book.records()}


def test_no_two_actions_share_keys(window: MainWindow) -> None:
    keys = [
        QKeySequence(key.strip()).toString()
        for action in window.book.records()
        for key in action.keys.split(";")
        if key.strip()
    ]
    assert sorted(keys) == sorted(set(keys))
    assert "" not in keys


def test_an_id_that_is_taken_is_refused(window: MainWindow) -> None:
    book = ActionBook(window, window.soon)
    table = (
        UserAction("a.b", "One", lambda _: None, "G"),
        UserAction("a.b", "Two", lambda _: None, "G"),
    )
    with pytest.raises(ValueError, match=r"'a\.b' of 'Two' is taken by 'One'"):
        book.add(table, None)


def test_an_action_that_is_not_available_does_nothing(window: MainWindow) -> None:
    assert window.book.run("edit.undo") is False
    assert not window.book.qaction("edit.undo").isEnabled()


def test_workspaces_have_keys_in_order(window: MainWindow) -> None:
    assert [entry.keys for entry in WORKSPACES] == [
        f"Ctrl+{n}" for n in range(1, len(WORKSPACES) + 1)
    ]
    for entry in WORKSPACES:
        window.book.run(f"go.{entry.name}")
        assert window.current == entry.name


def test_the_command_field_finds_and_runs(window: MainWindow, qtbot: QtBot) -> None:
    window.activateWindow()
    window.book.run("view.command")
    qtbot.keyClicks(window.command, "switch between light")
    assert window.command.popup.isVisible()
    titles = [entry.title for entry in window.command.offers.entries]
    assert titles == ["Commands", "Switch between light and dark"]
    qtbot.keyClick(window.command, Qt.Key.Key_Return)
    assert window.context.theme.choice == "dark"
    assert not window.command.popup.isVisible()


def test_the_command_field_finds_tensors(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Callable[[], None],
    make_file: Callable[..., Path],
    qtbot: QtBot,
) -> None:
    window.open_paths([make_file(DIGITS)])
    settled()
    window.command.open()
    qtbot.keyClicks(window.command, "conv2")
    kinds = [(e.kind, e.value) for e in window.command.offers.entries]
    assert kinds[-1] == ("key", "conv2.weight")
    qtbot.keyClick(window.command, Qt.Key.Key_Down)
    qtbot.keyClick(window.command, Qt.Key.Key_Up)
    window.command.key_chosen.emit("conv2.weight")
    settled()
    assert weights.inspector().shown_key == "conv2.weight"


def test_escape_leaves_the_command_field(window: MainWindow, qtbot: QtBot) -> None:
    window.command.open()
    qtbot.keyClicks(window.command, "open")
    qtbot.keyClick(window.command, Qt.Key.Key_Escape)
    assert window.command.text() == ""
    assert not window.command.popup.isVisible()


def test_the_theme_repaints_everything(window: MainWindow) -> None:
    def ground() -> str:
        return window.grab().toImage().pixelColor(700, 880).name()

    assert ground() == LIGHT.panel
    window.book.run("view.theme")
    assert ground() == DARK.panel
    assert window.context.storage.settings.theme == "dark"
    window.book.run("view.theme-system")
    assert window.context.storage.settings.theme == "system"


def test_icons_follow_the_theme(window: MainWindow) -> None:
    def lightness() -> float:
        return icon("stop").pixmap(20, 20).toImage().pixelColor(10, 5).lightnessF()

    light = lightness()
    window.toggle_theme()
    assert light < 0.5 < lightness()


def test_errors_stay_and_the_same_notice_is_shown_once(window: MainWindow) -> None:
    for _ in range(2):
        window.context.notify("error", "bad.pt was not opened", "bad.pt: it is empty")
    assert [n.title for n in window.notices.notices] == ["bad.pt was not opened"]
    for number in range(4):
        window.context.notify("info", f"news {number}")
    assert [n.title for n in window.notices.notices] == ["news 1", "news 2", "news 3"]
    window.notices.cards[0].close_notice()
    assert len(window.notices.notices) == 2


def test_a_fault_can_be_copied(window: MainWindow) -> None:
    window.context.notify("error", "Something went wrong", report="Traceback …")
    assert [text for text, _ in window.notices.notices[0].buttons] == ["Copy report"]


def test_job_text_is_short() -> None:
    def news(progress: Progress | None, rate: float | None = None, stopping: bool = False) -> str:
        return job_text(JobNews(1, "t", JobState.RUNNING, progress, rate, None, stopping))

    assert news(None) == ""
    assert news(Progress(62, 100, "bytes"), 1.2e9) == "62 % · 1.20 GB/s"
    assert news(Progress(7, None, "tensors")) == "7 tensors"
    assert news(Progress(1, 2), stopping=True) == "stopping…"


def test_every_control_has_a_name(window: MainWindow) -> None:
    def nameless(widget: QWidget) -> bool:
        internal = widget.objectName().startswith("qt_") or not widget.isVisibleTo(window)
        return not internal and not (widget.objectName() and widget.accessibleName())

    kinds = (QAbstractButton, QLineEdit, QTableView)
    found = [w for kind in kinds for w in window.findChildren(kind) if nameless(w)]
    assert [f"{type(w).__name__} {w.objectName()!r} in {w.parent()}" for w in found] == []


def test_the_inspector_can_be_hidden(
    window: MainWindow, settled: Callable[[], None], make_file: Callable[..., Path]
) -> None:
    window.open_paths([make_file(DIGITS)])
    settled()
    panel = window.findChild(QWidget, "Inspector")
    assert panel is not None
    assert panel.isVisible()
    window.book.run("view.inspector")
    assert not panel.isVisible()
    window.book.run("view.inspector")
    window.resize(1000, 700)
    assert not panel.isVisible()


def test_f6_walks_the_panes(window: MainWindow) -> None:
    seen = set()
    for _ in range(4):
        window.book.run("view.panes")
        focus = window.focusWidget()
        assert focus is not None
        seen.add(focus.objectName())
    assert len(seen) >= 2
