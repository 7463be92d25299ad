"""Stories of a file that changes on the disk, noticed before anything fails."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from ruda.session import SaveOptions
from ruda.store import Stamp
from ruda_workbench import operations, save_operations
from ruda_workbench.change_watch import change_of
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]
SHAPES = {"a.weight": (4, 4), "a.bias": (4,)}


def written(path: Path) -> None:
    """As by a program that writes in place."""
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1_000_000_000))


def replaced(path: Path) -> None:
    """As by a program that writes aside and renames."""
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def gone(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))


@pytest.fixture
def open_file(window: MainWindow, settled: Settled, make_file: MakeFile) -> Path:
    path = make_file(SHAPES)
    window.open_paths([path])
    settled()
    return path


def told(stamps: tuple[Stamp, ...]) -> tuple[str, str]:
    change = change_of(stamps)
    assert change is not None
    return change.kind, change.name


def titles(window: MainWindow) -> list[str]:
    return [notice.title for notice in window.notices.notices]


def come_back(window: MainWindow, qtbot: QtBot) -> None:
    """Go to another program and come back."""
    other = QWidget()
    other.show()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    other.close()


@pytest.mark.parametrize(
    ("change", "title", "can_reopen"),
    [
        (written, "made.safetensors was written to", True),
        (replaced, "made.safetensors was replaced on disk", True),
        (gone, "made.safetensors is not there any more", False),
    ],
)
def test_it_is_noticed_when_the_window_comes_to_the_front(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    open_file: Path,
    qtbot: QtBot,
    change: Callable[[Path], None],
    title: str,
    can_reopen: bool,
) -> None:
    come_back(window, qtbot)
    settled()
    assert titles(window) == []
    change(open_file)
    come_back(window, qtbot)
    settled()
    come_back(window, qtbot)
    settled()
    (notice,) = window.notices.notices
    assert notice.title == title
    assert [text for text, _ in notice.buttons] == ["Reopen"] * can_reopen
    assert weights.stale.text == notice.text
    window.notices.clear()
    come_back(window, qtbot)
    settled()
    assert titles(window) == [], "one change is told once"


def test_every_change_is_told_and_one_that_is_taken_back_is_forgotten(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, open_file: Path
) -> None:
    for _ in range(2):
        written(open_file)
        window.context.came_to_front.emit()
        settled()
        assert titles(window) == ["made.safetensors was written to"]
        window.notices.clear()
    operations.reopen_document(window.context, window.context.session.documents[0].id)
    settled()
    gone(open_file)
    window.context.came_to_front.emit()
    settled()
    assert titles(window) == ["made.safetensors is not there any more"]
    open_file.with_suffix(".moved").rename(open_file)
    window.context.came_to_front.emit()
    settled()
    assert weights.stale.text == ""


def test_it_is_noticed_when_a_document_comes_to_the_front(
    window: MainWindow, settled: Settled, open_file: Path, make_file: MakeFile
) -> None:
    window.open_paths([make_file(SHAPES, "second.safetensors")])
    settled()
    written(open_file)
    window.context.session.activate(window.context.session.documents[0].id)
    settled()
    assert titles(window) == ["made.safetensors was written to"]


def test_what_this_window_saves_is_no_news(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, open_file: Path, qtbot: QtBot
) -> None:
    window.open_paths([open_file])  # a second time
    settled()
    document, laid = weights.watch.document, weights.watch.current
    assert document is not None
    assert laid is not None
    assert laid.view is not None
    options = SaveOptions(open_file, overwrite=True)
    save_operations.save(window.context, document, laid.view, options)
    window.context.came_to_front.emit()
    settled()
    come_back(window, qtbot)
    settled()
    assert [t for t in titles(window) if "written to" in t or "replaced" in t] == []
    first = window.context.session.documents[0]
    assert first.id != document.id
    window.context.session.activate(first.id)
    settled()
    assert weights.stale.text.startswith("made.safetensors was saved anew in this window")


def test_a_disk_that_does_not_answer_holds_nobody(
    window: MainWindow, settled: Settled, open_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, asked = Event(), Event()
    real = Stamp.of

    def slow(place: Path | None) -> Stamp | None:
        asked.set()
        answer.wait(20)
        return real(place)

    monkeypatch.setattr(Stamp, "of", slow)
    written(open_file)
    window.context.came_to_front.emit()
    assert asked.wait(10)
    window.context.came_to_front.emit()
    assert window.context.aside.is_busy
    assert window.context.jobs.running == (), "no lane is held"
    answer.set()
    settled()
    assert titles(window) == ["made.safetensors was written to"]


def test_the_worst_of_several_files_is_told_and_what_cannot_be_asked_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / name for name in ("one", "two", "three")]
    for path in paths:
        path.write_bytes(b"x")
    stamps = tuple(filter(None, map(Stamp.of, paths)))
    assert change_of(stamps) is None
    assert change_of(()) is None, "a file at an address"
    replaced(paths[0])
    assert told(stamps) == ("replaced", "one")
    written(paths[1])
    assert told(stamps) == ("written", "two")
    gone(paths[2])
    assert told(stamps) == ("gone", "three")

    def away(*_: object) -> None:
        raise PermissionError(13, "not now")

    monkeypatch.setattr(os, "stat", away)
    assert change_of(stamps) is None
