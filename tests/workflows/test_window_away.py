"""Stories of a disk that does not answer: the window goes on without it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from ruda_workbench import path_looks
from ruda_workbench.main_window import MainWindow

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]
AWAY = "away"
"""Whatever has it in its path does not answer."""


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Files that lie on it are looked at for as long as the event is not set."""
    answers = threading.Event()

    def waiting(of: Callable[[Path], bool]) -> Callable[[Path], bool]:
        def look(path: Path) -> bool:
            if AWAY in path.parts:
                assert threading.current_thread() is not threading.main_thread()
                answers.wait(60)
            return of(path)

        return look

    for name in ("exists", "is_dir"):
        monkeypatch.setattr(Path, name, waiting(getattr(Path, name)))
    yield answers
    answers.set()


def opened(window: MainWindow) -> list[str]:
    return [document.name for document in window.context.session.documents]


def test_other_files_are_opened_while_a_disk_does_not_answer(
    window: MainWindow,
    settled: Settled,
    make_file: MakeFile,
    qtbot: QtBot,
    disk: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(path_looks, "PATIENCE", 200)
    far, near = make_file({"a": (2,)}, "far.safetensors"), make_file({"b": (2,)})
    folder = far.parent / AWAY
    folder.mkdir()
    far = far.rename(folder / far.name)
    window.open_paths([far])
    window.open_paths([near])
    qtbot.waitUntil(lambda: opened(window) == [near.name], timeout=20_000)
    titles = [notice.title for notice in window.notices.notices]
    assert "The disk of far.safetensors does not answer yet" in titles
    disk.set()
    qtbot.waitUntil(lambda: len(opened(window)) == 2, timeout=20_000)
    settled()


def test_files_are_opened_in_the_order_they_were_asked_for(
    window: MainWindow, settled: Settled, make_file: MakeFile
) -> None:
    files = [make_file({"a": (2,)}, f"{n}.safetensors") for n in range(8)]
    for file in files:
        window.open_paths([file])
    settled()
    assert opened(window) == [file.name for file in files]


def test_recent_files_are_looked_for_beside_the_window(
    window: MainWindow, settled: Settled, tmp_path: Path, qtbot: QtBot, disk: threading.Event
) -> None:
    window.context.storage.remember(tmp_path / AWAY / "gone.safetensors")
    window.show_workspace("data")
    window.show_workspace("weights")
    (row,) = window.findChildren(QAbstractButton, "welcome.recent")
    assert row.isEnabled()
    disk.set()
    settled()
    assert not row.isEnabled()
    assert row.accessibleName().endswith(", not found")
    window.show_workspace("data")
    window.show_workspace("weights")
    (again,) = window.findChildren(QAbstractButton, "welcome.recent")
    assert not again.isEnabled()
