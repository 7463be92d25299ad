"""The first paint: what it imports, and that nothing a person does before all is ready is lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDropEvent
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from ruda.store import TensorIndex, TensorSnapshot, save
from ruda_workbench.__main__ import parser, start
from ruda_workbench.application import Completion, Shell, let_go, settle
from ruda_workbench.glance import Glance, glance
from ruda_workbench.main_window import MainWindow
from ruda_workbench.storage import Storage

pytestmark = pytest.mark.gui

PAINTED = """
import sys
from ruda_workbench import __main__ as command

def stop_at_the_first_paint(window):
    from PySide6.QtCore import QEventLoop
    loop = QEventLoop()
    window.painted.connect(lambda: print(*sys.modules, flush=True))
    window.painted.connect(loop.quit)
    loop.exec()
    assert not window.is_complete
    window.close_now()
    return 0

command.run_events = stop_at_the_first_paint
sys.exit(command.main(["--config", sys.argv[1]]))
"""
LATER = (
    "numpy",
    "msgspec",
    "psutil",
    "pyqtgraph",
    "click",
    "rich",
    "ruda.store",
    "ruda.tensor",
    "ruda.nn",
    "ruda.models",
    "ruda.data",
    "ruda._kernels",
    "ruda.session.session",
    "ruda.session.jobs",
    "ruda_workbench.context",
    "ruda_workbench.actions",
    "ruda_workbench.panels.drawer",
    "ruda_workbench.panels.command_offers",
    "ruda_workbench.workspaces.weights",
)
"""What is imported after the first paint, behind it."""


def test_the_first_paint_imports_little(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PAINTED, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "ruda_workbench.panels.welcome" in loaded
    assert sorted(loaded.intersection(LATER)) == []


@pytest.fixture
def weights_file(tmp_path: Path) -> Path:
    path = tmp_path / "few.safetensors"
    tensors = [TensorSnapshot.from_array("fc.weight", np.ones((2, 3), np.float32))]
    save(TensorIndex.of(tensors, format="safetensors"), path)
    return path


Begin = Callable[..., MainWindow]


@pytest.fixture
def begin(qapp: QApplication, tmp_path: Path, qtbot: QtBot) -> Iterator[Begin]:
    """Starts the command with these words up to the first paint; nothing else is built yet."""
    begun: list[tuple[Shell, Completion]] = []

    def begin(*words: str) -> MainWindow:
        options = parser().parse_args(["--config", str(tmp_path / "config"), *words])
        begun.append(start(options))
        window = begun[-1][0].window
        with qtbot.waitSignal(window.painted, timeout=60_000):
            window.show()
        assert not window.is_complete
        return window

    hook = sys.excepthook
    yield begin
    sys.excepthook = hook
    for shell, completion in begun:
        completion.wait()
        let_go(shell.window)


def complete(window: MainWindow, qtbot: QtBot) -> None:
    if not window.is_complete:
        with qtbot.waitSignal(window.completed, timeout=60_000):
            pass
    settle(window)


def test_a_file_of_the_command_line_is_opened(
    begin: Begin, qtbot: QtBot, weights_file: Path
) -> None:
    window = begin(str(weights_file))
    complete(window, qtbot)
    assert [d.path for d in window.context.session.documents] == [weights_file]


def test_a_file_that_is_dropped_at_once_is_opened(
    begin: Begin, qtbot: QtBot, weights_file: Path
) -> None:
    window = begin()
    dropped = QMimeData()
    dropped.setUrls([QUrl.fromLocalFile(str(weights_file))])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    window.dropEvent(QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, dropped, left, none))
    complete(window, qtbot)
    assert [d.path for d in window.context.session.documents] == [weights_file]


def test_keys_and_clicks_are_done_in_their_order(begin: Begin, qtbot: QtBot) -> None:
    window = begin()
    control = Qt.KeyboardModifier.ControlModifier
    qtbot.keyClick(window.focusWidget() or window, Qt.Key.Key_2, control)
    rail = window.findChild(QAbstractButton, "rail.data")
    assert rail is not None
    qtbot.mouseClick(rail, Qt.MouseButton.LeftButton)
    complete(window, qtbot)
    assert window.current == "data"


def test_shortcuts_that_are_there_early_wait_in_their_order(begin: Begin, qtbot: QtBot) -> None:
    window = begin()
    rail = window.findChild(QAbstractButton, "rail.data")
    assert rail is not None
    qtbot.mouseClick(rail, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.findChild(QAction, "go.compare") is not None, timeout=60_000)
    assert not window.is_complete
    window.book.qaction("go.compare").trigger()
    complete(window, qtbot)
    assert window.current == "compare"


def test_keys_alone_reach_their_action(begin: Begin, qtbot: QtBot) -> None:
    window = begin()
    control = Qt.KeyboardModifier.ControlModifier
    qtbot.keyClick(window.focusWidget() or window, Qt.Key.Key_2, control)
    complete(window, qtbot)
    assert window.current == "compare"


def test_a_command_that_is_typed_at_once_runs(begin: Begin, qtbot: QtBot) -> None:
    window = begin()
    window.activateWindow()
    window.command.setFocus()
    qtbot.keyClicks(window.command, "switch between light")
    qtbot.keyClick(window.command, Qt.Key.Key_Return)
    before = window.theme.scheme.is_dark
    complete(window, qtbot)
    assert window.theme.scheme.is_dark is not before


def test_the_sample_button_of_the_first_page_opens_the_sample_once(
    begin: Begin, qtbot: QtBot
) -> None:
    window = begin()
    button = window.findChild(QAbstractButton, "welcome.sample")
    assert button is not None
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    complete(window, qtbot)
    assert len(window.context.session.documents) == 1


def test_a_window_that_is_closed_at_once_leaves_the_kept_session_alone(
    begin: Begin, qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "config").mkdir()
    kept = tmp_path / "config" / "session.json"
    kept.write_text('{"version": 1, "workspace": "data"}')
    window = begin()
    assert window.close()
    assert kept.read_text() == '{"version": 1, "workspace": "data"}'


def test_what_a_glance_sees_is_what_storage_reads(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.change(theme="dark", contrast="high", language="de")
    storage.remember(tmp_path / "a.pt")
    seen = glance(tmp_path)
    settings = Storage(tmp_path).settings
    assert seen[:3] == (settings.theme, settings.contrast, settings.language)
    assert [tuple(each) for each in seen.recents] == [(str(tmp_path / "a.pt"), "weights")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("settings.toml", b"theme = [", id="no TOML"),
        pytest.param("settings.toml", b"theme = 'pink'\nlanguage = 3", id="no such values"),
        pytest.param("settings.toml", b"\xff\xfe", id="no text"),
        pytest.param("recents.json", b'{"recents": [1, {"path": 2}]}', id="no paths"),
        pytest.param("recents.json", b"[" * 100_000, id="too deep"),
        pytest.param("session.json", b'{"geometry": {}}', id="no geometry"),
    ],
)
def test_a_broken_file_is_passed_over(tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    assert glance(tmp_path) == Glance()
    assert file.read_bytes() == content


def test_a_crashed_session_is_placed_even_where_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text('{"geometry": "old"}')
    (tmp_path / "recovery.json").write_text('{"geometry": "crashed"}')
    assert glance(tmp_path, only_crashed=True).geometry == "crashed"
    (tmp_path / "recovery.json").unlink()
    assert glance(tmp_path, only_crashed=True).geometry == ""
    assert glance(tmp_path).geometry == "old"
    assert glance(tmp_path, restore=False).geometry == ""
