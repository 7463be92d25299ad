"""The buttons of a notice: as wide as their words, however many, and there until they are read."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QEvent, QPointF
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QPushButton

from ruda_workbench.main_window import MainWindow
from ruda_workbench.widgets.notices import STAY, STAY_WITH_BUTTONS, WIDTH, NoticeCard

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


@pytest.mark.parametrize(
    ("kind", "offers", "stays"),
    [
        pytest.param("done", False, STAY, id="said"),
        pytest.param("done", True, STAY_WITH_BUTTONS, id="offered"),
        pytest.param("error", True, None, id="error"),
    ],
)
def test_the_clock_of_a_notice_rests_under_the_mouse(
    window: MainWindow, kind: str, offers: bool, stays: int | None
) -> None:
    buttons = [("Open it", lambda: None)] if offers else []
    window.context.notify(kind, "Saved it", "All values fit.", *buttons)
    card = window.findChildren(NoticeCard)[-1]
    assert (card.clock.interval() if card.clock.isActive() else None) == stays
    QApplication.sendEvent(card, QEnterEvent(QPointF(), QPointF(), QPointF()))
    assert not card.clock.isActive()
    QApplication.sendEvent(card, QEvent(QEvent.Type.Leave))
    assert card.clock.isActive() == (stays is not None)
    card.clock.timeout.emit()
    assert card.notice not in window.notices.notices
