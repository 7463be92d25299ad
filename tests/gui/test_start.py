"""The command: arguments, no display, pictures, and the screens there are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from ruda_workbench import display
from ruda_workbench.__main__ import main
from ruda_workbench.application import catch_faults, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.shots import SCREENS, Look, take_screen
from ruda_workbench.storage import Storage
from ruda_workbench.theme import colours
from ruda_workbench.widgets.notices import Notice
from ruda_workbench.widgets.plots import diverging_image

pytestmark = pytest.mark.gui


def run(project: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(project / "core"), str(project / "app")])
    env = {**os.environ, "PYTHONPATH": path, **changes}
    env = {key: value for key, value in env.items() if value}
    command = [sys.executable, "-m", "ruda_workbench", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


def test_without_a_display_one_sentence_is_said(project: Path) -> None:
    nothing = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}
    if sys.platform in ("win32", "darwin"):
        return
    found = run(project, **nothing)
    assert found.returncode == 2
    assert found.stderr.startswith("ruda-workbench: there is no display")
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("missing", "answers", "sentence"),
    [
        pytest.param("", True, None, id="all is there"),
        pytest.param("libxcb-icccm.so.4: no such file", True, "libxcb-icccm4", id="library"),
        pytest.param("", False, "the display :0 does not answer", id="no server"),
    ],
)
def test_a_display_is_tried_before_qt_is(
    monkeypatch: pytest.MonkeyPatch, missing: str, answers: bool, sentence: str | None
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(display, "_missing_library", lambda: missing)
    monkeypatch.setattr(display, "_answers", lambda: answers)
    found = display.no_display()
    assert found is None if sentence is None else found is not None and sentence in found


def test_a_server_that_is_not_there_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", "127.0.0.1:987")
    if sys.platform == "linux":
        assert display._answers() is False


def test_the_self_test_is_green(project: Path) -> None:
    found = run(project, "--self-test")
    assert (found.returncode, found.stdout) == (0, "ruda-workbench --self-test: all went well\n")


def test_a_picture_of_the_sample_is_written(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "window.png"
    found = run(project, "--sample", "--theme", "dark", "--screenshot", str(out))
    assert found.returncode == 0, found.stderr
    assert QImage(str(out)).width() == 1440


@pytest.mark.parametrize("name", list(SCREENS))
def test_every_screen_can_be_built(qapp: QApplication, tmp_path: Path, name: str) -> None:
    out = tmp_path / f"{name}.png"
    assert take_screen(name, Look("dark"), out) == 0
    assert QImage(str(out)).size().width() == 1440


def test_an_unknown_screen_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert take_screen("nowhere", Look(), tmp_path / "x.png") == 2
    assert "no screen is called 'nowhere'; there are welcome" in capsys.readouterr().err


def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--theme", "pink"])
    assert "invalid choice: 'pink'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_costs_only_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    storage = Storage(tmp_path / "file" / "below")
    storage.change(theme="dark")
    storage.remember(tmp_path / "x.pt")
    assert storage.settings.theme == "dark"
    assert [note for note in storage.notes if str(tmp_path) not in note] == []


def test_the_heat_map_diverges_about_zero(qapp: QApplication) -> None:
    image = diverging_image(np.array([[-1.0, 0.0, 1.0]], np.float32), 1.0)
    below, zero, above = (image.pixelColor(x, 0) for x in range(3))
    assert below.blue() > below.red()
    assert above.red() > above.blue()
    assert zero.name() == colours().diverging_zero


def test_a_fault_is_told_once_and_later(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    catch_faults(window.context)
    fault = ValueError("a slip")
    for _ in range(3):
        sys.excepthook(ValueError, fault, None)
    assert window.notices.notices == ()
    settle(window)
    (notice,) = window.notices.notices
    assert notice.text == "ValueError: a slip. Your documents are untouched."
    assert [text for text, _ in notice.buttons] == ["Copy report"]
    assert capsys.readouterr().err == "ValueError: a slip\n"


def press() -> None:
    raise ValueError("a slip")


def paintEvent() -> None:
    press()


@pytest.mark.parametrize(
    ("broken", "expected"), [(press, 2), (paintEvent, 1)], ids=["a button", "painting"]
)
def test_a_fault_is_told_again_after_some_quiet(
    window: MainWindow,
    monkeypatch: pytest.MonkeyPatch,
    broken: Callable[[], None],
    expected: int,
) -> None:
    """A timer that meets it all the time is never quiet, and a notice makes the window paint."""
    now = [100.0]
    monkeypatch.setattr("ruda_workbench.application.monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    catch_faults(window.context)
    heard: list[Notice] = []
    window.context.noticed.connect(heard.append)
    for step in (0.0, 1.5, 1.5, 1.5, 2.5):
        now[0] += step
        try:
            broken()
        except ValueError as fault:
            sys.excepthook(ValueError, fault, fault.__traceback__)
    settle(window)
    assert [notice.text for notice in heard] == [
        "ValueError: a slip. Your documents are untouched."
    ] * expected
