"""Settings, guide, about, and the drawer with jobs, history and messages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextTable
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QScrollBar,
    QStyle,
    QWidget,
)
from pytestqt.qtbot import QtBot

from ruda.errors import HeaderError
from ruda.progress import Monitor, Progress
from ruda.session import LANGUAGES, JobState, Settings, setting_infos
from ruda.store import available_formats, open_store
from ruda.tensor import thread_count
from ruda_workbench import settings_operations
from ruda_workbench.about import components, versions_text
from ruda_workbench.application import build_window, let_go, settle
from ruda_workbench.dialogs.about_window import AboutWindow
from ruda_workbench.dialogs.help_window import HelpWindow
from ruda_workbench.dialogs.settings_window import SettingsWindow
from ruda_workbench.guide import GuidePage, guide_pages, search
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.decision_sheet import DecisionSheet
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.shots import SCREENS
from ruda_workbench.storage import Storage
from ruda_workbench.tokens import DARK, HIGH_LIGHT, LIGHT

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]


@pytest.fixture
def settings(window: MainWindow) -> SettingsWindow:
    window.book.run("edit.settings")
    found = window.findChild(SettingsWindow, "settings")
    assert found is not None
    return found


def button(parent: QWidget, name: str) -> QAbstractButton:
    found = parent.findChild(QAbstractButton, name)
    assert found is not None, name
    return found


# Settings


def test_every_setting_has_a_control_with_title_and_help(settings: SettingsWindow) -> None:
    shown = {label.text() for label in settings.findChildren(QLabel)}
    for info in setting_infos():
        assert {info.title, info.help} <= shown
        assert settings.findChild(QWidget, f"settings.{info.key}") is not None


def test_contrast_repaints_and_is_kept(window: MainWindow, settings: SettingsWindow) -> None:
    def ground() -> str:
        return window.grab().toImage().pixelColor(700, 880).name()

    assert ground() == LIGHT.panel
    button(settings, "settings.contrast.high").click()
    assert window.context.theme.scheme.is_high
    assert window.grab().toImage().pixelColor(700, 872).name() == HIGH_LIGHT.hairline
    assert Storage(window.context.storage.folder).settings.contrast == "high"


def test_a_theme_that_is_chosen_elsewhere_is_shown(
    window: MainWindow, settings: SettingsWindow
) -> None:
    window.book.run("view.theme")
    assert button(settings, "settings.theme.dark").isChecked()


def test_memory_is_shown_or_not(window: MainWindow, settings: SettingsWindow) -> None:
    memory = window.findChild(QLabel, "status.memory")
    assert memory is not None
    assert " of " in memory.text()
    button(settings, "settings.show_memory").click()
    assert not memory.isVisible()
    button(settings, "settings.show_memory").click()
    assert memory.isVisible()


def test_defaults_come_back(window: MainWindow, settings: SettingsWindow) -> None:
    button(settings, "settings.verify_saved").click()
    button(settings, "settings.theme.dark").click()
    button(settings, "settings.reset").click()
    assert window.context.storage.settings == Settings()
    assert button(settings, "settings.verify_saved").isChecked()


def test_the_header_limit_reaches_the_reader(
    window: MainWindow, settings: SettingsWindow, make_file: MakeFile
) -> None:
    path = make_file({f"a-long-key-{'x' * 200}.{n}": (1,) for n in range(8_000)})
    reader = next(each for each in available_formats() if each.name == "safetensors")
    before = reader.header_limit
    try:
        settings_operations.change(window.context, "header_limit", 1)
        with pytest.raises(HeaderError, match="the limit is 1048576"):
            open_store(path)
    finally:
        settings_operations.change(window.context, "header_limit", 1024)
    assert reader.header_limit == before
    open_store(path).close()


def test_the_number_of_threads_reaches_the_kernels(
    window: MainWindow, settings: SettingsWindow
) -> None:
    before = thread_count()
    settings_operations.change(window.context, "compute_threads", before + 2)
    assert thread_count() == before + 2
    button(settings, "settings.reset").click()
    assert thread_count() == before


def test_less_motion_stills_the_style_and_the_cursor(
    window: MainWindow, settings: SettingsWindow
) -> None:
    bar = settings.findChild(QScrollBar)
    assert bar is not None

    def duration() -> int:
        return bar.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, bar)

    moving, flash = duration(), QApplication.cursorFlashTime()
    assert moving > 0
    button(settings, "settings.reduced_motion.always").click()
    assert (duration(), QApplication.cursorFlashTime()) == (0, 0)
    button(settings, "settings.reduced_motion.never").click()
    assert (duration(), QApplication.cursorFlashTime()) == (moving, flash)
    button(settings, "settings.reset").click()


def test_settings_are_opened_once(window: MainWindow, settings: SettingsWindow) -> None:
    window.book.run("edit.settings")
    assert len(window.findChildren(SettingsWindow)) == 1


# Guide


PAGES = (
    GuidePage("a", "Saving", "# Saving\n\nShards and *metadata* go there."),
    GuidePage("b", "Recipes", "# Recipes\n\nMetadata, metadata: a `rule`."),
)


def test_the_guide_is_searched_by_words() -> None:
    assert [hit.page.name for hit in search(PAGES, "METADATA")] == ["b", "a"]
    assert [hit.page.name for hit in search(PAGES, "saving metadata")] == ["a"]
    assert search(PAGES, "nowhere") == ()
    assert [hit.count for hit in search(PAGES, "")] == [0, 0]
    assert "metadata go there" in search(PAGES, "metadata")[1].excerpt


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_of_the_guide_is_there_and_its_links_lead_somewhere(language: str) -> None:
    pages = guide_pages(language)
    assert [page.name for page in pages] == [page.name for page in guide_pages()]
    names = {page.name for page in pages}
    assert {"start", "load-diff", "recipes", "converting", "compare", "unsafe-files"} <= names
    assert {"data", "run", "command-line", "keyboard"} <= names
    import re

    links = {link for page in pages for link in re.findall(r"\]\(([^)]*)\.md\)", page.text)}
    assert links - names == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_keys_in_the_guide_are_those_of_the_actions(window: MainWindow, language: str) -> None:
    import re

    keys = {key.strip() for a in window.book.records() for key in a.keys.split(";")}
    text = next(page.text for page in guide_pages(language) if page.name == "keyboard")
    named = set(re.findall(r"`([^`]+)`", text))
    assert named - keys == set()


def test_the_guide_opens_searches_and_follows_links(window: MainWindow, qtbot: QtBot) -> None:
    window.book.run("help.guide")
    guide = window.findChild(HelpWindow, "help")
    assert guide is not None
    assert guide.page is not None
    assert guide.page.name == "start"
    qtbot.keyClicks(guide.field, "pickle")
    assert guide.page.name == "unsafe-files"
    assert guide.reader.textCursor().selectedText().lower() == "pickle"
    guide.field.setText("no such words anywhere")
    assert guide.page is None
    window.open_guide("recipes")
    assert guide.page.name == "recipes"
    from PySide6.QtCore import QUrl

    guide.reader.anchorClicked.emit(QUrl("load-diff.md"))
    assert guide.page.name == "load-diff"


# About


def test_about_names_versions_and_licences(window: MainWindow) -> None:
    window.book.run("help.about")
    about = window.findChild(AboutWindow, "about")
    assert about is not None
    found = {each.name: each for each in components()}
    assert found["ruda"].licence == "Apache-2.0"
    assert "LGPL" in found["PySide6-Essentials"].licence
    assert [each.name for each in found.values() if not (each.version and each.licence)] == []
    button(about, "about.copy").click()
    assert QGuiApplication.clipboard().text() == versions_text()
    assert "numpy" in versions_text()


# The drawer


def test_a_job_is_listed_with_bytes_and_rate_and_stopped(
    window: MainWindow, settled: Settled, qtbot: QtBot
) -> None:
    go_on = threading.Event()
    stopped = threading.Event()

    def work(monitor: Monitor) -> None:
        for done in range(0, 1_000_000_000, 1_000_000):
            monitor.report(Progress(done, 4_000_000_000, "bytes"))
            if go_on.wait(0.005):
                return
            monitor.check()

    window.book.run("jobs.show")
    job = window.context.jobs.start(
        "Copying", work, owner=window, done=lambda _: None, cancelled=stopped.set
    )
    model = window.drawer.job_model
    qtbot.waitUntil(lambda: bool(model.line(0) and model.line(0).rate), timeout=10_000)
    line = model.line(0)
    assert line.done.endswith("of 4.00 GB")
    assert line.share.endswith("%")
    assert line.rate.endswith("B/s")
    window.drawer.jobs.select_row(0)
    button(window, "drawer.stop").click()
    settled()
    assert stopped.is_set()
    window.drawer.refresh()
    assert [model.line(0).word, model.line(0).id] == ["Stopped", job.id]


def test_the_report_of_a_failure_is_copied(
    window: MainWindow, settled: Settled, tmp_path: Path
) -> None:
    path = tmp_path / "cut.safetensors"
    path.write_bytes((99).to_bytes(8, "little") + b"{}")
    window.open_paths([path])
    settled()
    window.book.run("jobs.show")
    assert window.drawer.job_model.line(0).word == "Failed"
    window.drawer.jobs.select_row(0)
    button(window, "drawer.copy").click()
    report = QGuiApplication.clipboard().text()
    assert "Opening cut.safetensors" in report
    assert "Traceback" in report
    window.book.run("view.messages")
    notice = window.drawer.message_model.notice(0)
    assert notice is not None
    assert notice.title == "cut.safetensors was not opened"


def test_a_click_in_the_history_goes_there(
    window: MainWindow, settled: Settled, make_file: MakeFile, qtbot: QtBot
) -> None:
    window.open_paths([make_file({"a": (2,)})])
    settled()
    session = window.context.session
    for name in ("b", "c", "d"):
        document = session.active
        assert document is not None
        session.edit(document.id, f"Rule {name}", document.recipe.with_rule("a", name))
    settled()
    window.book.run("edit.history")
    model, table = window.drawer.history_model, window.drawer.history
    titles = [model.line(i).title for i in range(model.rowCount())]
    assert titles == ["Open", "Rule b", "Rule c", "Rule d"]
    place = table.visualRect(model.index(1, 1)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    settled()
    assert session.active is not None
    assert [rule.replacement for rule in session.active.recipe.remap.rules] == ["b"]
    assert [model.line(i).is_undone for i in range(4)] == [False, False, True, True]
    window.book.run("edit.redo")
    assert model.line(2).is_current
    window.book.run("edit.history")
    assert not window.drawer.isVisible()


def test_the_arrangement_of_the_window_is_remembered(
    qapp: QApplication, window: MainWindow, storage: Storage
) -> None:
    window.book.run("view.inspector")
    window.book.run("edit.history")
    window.close()
    second = build_window(qapp, Storage(storage.folder), theme="light")
    state, _ = second.context.storage.last_session()
    assert state is not None
    second.show()
    second.restore_geometry_text(state.geometry)
    settle(second)
    assert second.drawer.isVisible()
    assert second.drawer.views.value == "history"
    assert not second._inspector_wanted
    for broken in ("", "abc", "{}", '{"window": 3}'):
        second.restore_geometry_text(broken)
    let_go(second)


def test_the_picture_of_a_running_job_has_bytes_rate_and_a_way_to_stop(
    window: MainWindow, tmp_path: Path
) -> None:
    SCREENS["job-running"](Scene(window, tmp_path))
    drawer = window.drawer
    row = drawer.jobs.currentIndex().row()
    cells = [drawer.job_model.cell(row, column).text for column in range(5)]
    assert cells[:4] == [
        "Running",
        "Saving llama-7b-f16.safetensors",
        "58 %",
        "14.7 MB of 25.2 MB",
    ]
    assert cells[4].endswith("MB/s")
    running = window.context.jobs.running
    assert [job.state for job in running] == [JobState.RUNNING, JobState.PENDING], "of real jobs"
    assert drawer.stop.isEnabled()
    assert button(window, "status.cancel").isVisible()
    texts = {label.text() for label in window.status.findChildren(QLabel)}
    assert any(text.startswith("58 % · ") and text.endswith("MB/s") for text in texts)


def test_the_picture_of_a_failed_job_has_its_report_ready_to_be_copied(
    window: MainWindow, tmp_path: Path
) -> None:
    SCREENS["job-failed"](Scene(window, tmp_path))
    drawer = window.drawer
    assert drawer.copy.isEnabled()
    drawer.copy.click()
    report = QGuiApplication.clipboard().text()
    assert report.startswith("Saving digits.bpk\nZeroDivisionError: made up for a picture")
    assert "Traceback" in report


def test_tables_of_the_guide_have_hairlines(window: MainWindow) -> None:
    window.context.theme.choose("dark")
    window.open_guide("load-diff")
    found = window.findChild(HelpWindow, "help")
    assert found is not None
    frames = found.reader.document().rootFrame().childFrames()
    tables = [frame for frame in frames if isinstance(frame, QTextTable)]
    assert tables
    for table in tables:
        assert table.format().borderBrush().color().name() == DARK.hairline
    found.close()


def test_a_long_refusal_of_a_decision_is_read_whole(window: MainWindow, tmp_path: Path) -> None:
    SCREENS["decision"](Scene(window, tmp_path))
    settle(window)
    sheet = window.findChild(DecisionSheet)
    assert sheet is not None
    low = sheet.height()
    sheet.text.setText("slice " + "of everything " * 40)
    sheet.look()
    settle(window)
    assert sheet.height() > low
    assert sheet.problem.height() >= sheet.problem.heightForWidth(sheet.problem.width())
    sheet.reject()
