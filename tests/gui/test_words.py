"""Words that are put together from parts are said in the language of the window, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from ruda.models import get
from ruda.session import History, diff_page, step_lines, use_catalogue
from ruda.session.document import Document
from ruda.store import Recipe, TensorIndex, TensorSnapshot, diff
from ruda_workbench.action_book import ActionBook
from ruda_workbench.item_models.diff_table import DiffTableModel
from ruda_workbench.key_words import keys_text
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.notices import Notice, NoticeCard
from ruda_workbench.widgets.status_line import MOST, StatusLine

pytestmark = pytest.mark.gui

Speak = Callable[..., None]


@pytest.fixture
def speak() -> Iterator[Speak]:
    """Uses these words instead of the English ones."""
    yield lambda words: use_catalogue(words)
    use_catalogue({})


def test_levels_are_words(qtbot: QtBot, speak: Speak) -> None:
    speak({"Warning": "Warnung", "Error": "Fehler"})
    banner, card = Banner("b"), NoticeCard(Notice("error", "A", "b"))
    qtbot.addWidget(banner)
    qtbot.addWidget(card)
    banner.show_text("warning", "It is old.")
    assert banner.accessibleName() == "Warnung: It is old."
    assert card.accessibleName() == "Fehler: A. b"


def test_groups_are_translated_once(qtbot: QtBot, speak: Speak) -> None:
    speak({"Go": "Gehe zu", "Gehe zu": "twice"})
    window = QWidget()
    qtbot.addWidget(window)
    book = ActionBook(window, lambda call: call())
    book.add_keys("go.data", "Data", "data", "Ctrl+3", lambda: None)
    (menu,) = book.menu(window).actions()
    assert menu.text() == "Gehe zu"


def test_lines_of_a_load_diff_are_described(speak: Speak) -> None:
    speak({"{source} onto {target}": "{source} auf {target}"})
    values = np.zeros((2, 3), np.float32)
    index = TensorIndex.of([TensorSnapshot.from_array("conv1.weight", values)], format="made")
    model = DiffTableModel()
    model.show_page(diff_page(diff(index, get("digits").build())))
    said = [model.describe(row) for row in range(model.rowCount())]
    assert any("conv1.weight auf conv1.weight" in text for text in said)


def test_steps_and_the_first_state_are_said(speak: Speak) -> None:
    speak({"skip {keys}": "ohne {keys}", "Open": "Offen"})
    recipe = Recipe().with_skip("a", "b")
    assert step_lines(recipe) == ("ohne a and b",)
    document = Document(1, path=None, index=TensorIndex.of([], format="made"), recipe=recipe)  # type: ignore[arg-type]
    assert History.begin(document).steps[0].title == "Offen"


def test_findings_beyond_those_that_are_listed_are_counted(qtbot: QtBot) -> None:
    line = StatusLine()
    qtbot.addWidget(line)
    for count, last in ((MOST, f"finding {MOST - 1}"), (MOST + 3, "and 3 more")):
        line.show_findings(tuple(f"finding {n}" for n in range(count)))
        menu = line._findings.menu()
        assert menu is not None
        assert menu.actions()[-1].text() == last


def test_keys_are_the_platforms_and_the_languages(
    qapp: object, speak: Speak, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keys_text("Ctrl+Shift+Up") == "Ctrl+Shift+Up"
    speak({"Ctrl": "Strg", "Shift": "Umschalt"})
    assert keys_text("Ctrl+Shift+Up") == "Strg+Umschalt+Up"
    monkeypatch.setattr(QKeySequence, "toString", lambda *_: "⌘K")
    assert keys_text("Ctrl+K") == "⌘K"
