"""Windows on a small screen: 1920 × 1080 at 200 % is 960 × 540."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QScreen
from PySide6.QtWidgets import QApplication, QWidget

from ruda_workbench.main_window import MainWindow
from ruda_workbench.widgets.placing import TITLE_BAR, room_for

pytestmark = pytest.mark.gui

CASES = [
    pytest.param(QSize(1920, 1080), QSize(940, 720), id="all of it"),
    pytest.param(QSize(960, 540), QSize(940, 540 - TITLE_BAR), id="lower"),
    pytest.param(QSize(800, 1280), QSize(800, 720), id="narrower"),
]


@pytest.mark.parametrize(("screen", "found"), CASES)
def test_a_window_fits_on_its_screen(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, screen: QSize, found: QSize
) -> None:
    monkeypatch.setattr(QScreen, "availableSize", lambda _: screen)
    assert room_for(QWidget(), 940, 720) == found


def test_the_window_can_be_as_small_as_a_small_screen(window: MainWindow) -> None:
    window.resize(960, 520)
    assert window.size() == QSize(960, 520)
