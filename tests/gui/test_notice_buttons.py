"""The buttons of a notice are as wide as their words, however many there are."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from ruda_workbench.main_window import MainWindow
from ruda_workbench.widgets.notices import WIDTH, NoticeCard

pytestmark = pytest.mark.gui

WORDS = [
    pytest.param(("Open it",), id="one"),
    pytest.param(("Open it", "Diff with source", "Show in folder", "Copy command"), id="four"),
    pytest.param(("Im Ordner zeigen", "Mit der Quelle vergleichen", "Befehl kopieren"), id="long"),
]


@pytest.mark.parametrize("words", WORDS)
def test_no_word_of_a_button_is_cut(window: MainWindow, words: tuple[str, ...]) -> None:
    pressed: list[str] = []
    buttons = [(word, partial(pressed.append, word)) for word in words]
    window.context.notify("warning", "Saved it", "All values fit.", *buttons)
    QApplication.processEvents()
    card = window.findChildren(NoticeCard)[-1]
    found = [b for b in card.findChildren(QPushButton) if b.text()]
    assert [button.text() for button in found] == list(words)
    for button in found:
        assert button.width() >= button.sizeHint().width(), button.text()
        assert button.geometry().right() < WIDTH
        assert button.geometry().bottom() < card.height()
    found[-1].click()
    assert pressed == [words[-1]]
