"""The menu whose entries have several words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot

from ruda_workbench.widgets.buttons import Picker
from ruda_workbench.widgets.column_menu import ColumnMenu

pytestmark = pytest.mark.gui


@pytest.fixture
def menu(qtbot: QtBot) -> Iterator[ColumnMenu]:
    home = QWidget()
    qtbot.addWidget(home)
    made = ColumnMenu(home)
    for text in ("a\tShort\tfits 5 of 38", "a-much-longer-name\tA longer title here\t", "A file…"):
        made.add_entry(text)
    made.fit_columns()
    yield made
    home.close()


def test_words_stand_below_one_another_and_are_shown_whole(menu: ColumnMenu) -> None:
    menu.popup(menu.pos())
    first, second, plain = (list(menu.columns(entry)) for entry in menu.actions())
    assert [place.left() for place, _, _ in first] == [place.left() for place, _, _ in second]
    assert first[0][0].right() < first[1][0].left() < first[1][0].right() < first[2][0].left()
    assert first[2][0].right() <= menu.width()
    assert plain[0][0].left() == first[0][0].left()
    menu.hide()


def test_a_screen_reader_hears_the_words_of_an_entry(menu: ColumnMenu) -> None:
    texts = [entry.text() for entry in menu.actions()]
    assert texts == ["a, Short, fits 5 of 38", "a-much-longer-name, A longer title here", "A file…"]


def test_an_open_menu_grows_with_what_becomes_known(qtbot: QtBot) -> None:
    picker = Picker("p", "Model")
    qtbot.addWidget(picker)
    picker.offer([("a", "a\tShort\t"), ("b", "b\tOther\t")], "")
    menu = picker.findChild(QMenu)
    assert isinstance(menu, ColumnMenu)
    menu.popup(menu.pos())
    before = menu.width()
    picker.offer([("b", "b\tOther\tfits 1234 of 1234 tensors"), ("a", "a\tShort\t")], "")
    assert [entry.data() for entry in menu.actions()] == ["a", "b"], "entries keep their places"
    last = list(menu.columns(menu.actions()[1]))[-1]
    assert last[1] == "fits 1234 of 1234 tensors"
    assert before < last[0].right() <= menu.width()
    menu.hide()
