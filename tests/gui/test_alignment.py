"""What is seen at once: edges that line up, colours that follow, a focus that stays near."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction, QColor, QPixmap, QRegion, QTextTable
from PySide6.QtWidgets import QAbstractButton, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from tests.window_fixtures import make_file, settled, storage, weights, window

from ruda.session import RuleDraft, TargetChoice
from ruda_workbench import operations
from ruda_workbench.dialogs.help_window import HelpWindow
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panes import first_in
from ruda_workbench.tokens import DARK, LIGHT
from ruda_workbench.widgets.buttons import Picker, Segments, Switch
from ruda_workbench.workspaces.weights import WeightsWorkspace

__all__ = ["make_file", "settled", "storage", "weights", "window"]
pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]


def first_ink(widget: QWidget, ground: QColor) -> int:
    """The leftmost column of a widget's picture that is not ground."""
    picture = QPixmap(widget.size())
    picture.fill(ground)
    widget.render(picture, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)
    image = picture.toImage()
    for x in range(image.width()):
        if any(image.pixelColor(x, y) != ground for y in range(image.height())):
            return x
    return -1


def test_the_guide_follows_the_colours_and_stays_where_it_is(window: MainWindow) -> None:
    window.open_guide("load-diff")
    found = window.findChild(HelpWindow, "help")
    assert found is not None
    bar = found.reader.verticalScrollBar()
    bar.setValue(40)
    for theme, colours in (("dark", DARK), ("light", LIGHT)):
        window.context.theme.choose(theme)
        frames = found.reader.document().rootFrame().childFrames()
        tables = [frame for frame in frames if isinstance(frame, QTextTable)]
        assert tables
        assert {t.format().borderBrush().color().name() for t in tables} == {colours.hairline}
    assert bar.value() == 40


def test_the_mark_that_empties_the_search_is_one_of_ours(window: MainWindow) -> None:
    window.open_guide()
    found = window.findChild(HelpWindow, "help")
    assert found is not None
    (clear,) = found.field.findChildren(QAction)
    edge = clear.icon().pixmap(16, 16).toImage()
    assert edge.pixelColor(8, 0).alpha() == 0, "Qt's own is a disc"
    assert edge.pixelColor(2, 8).alpha() == 0


def test_offers_of_a_notice_stand_under_its_words(window: MainWindow) -> None:
    window.context.notify("info", "Title", "Text", ("Do it", lambda: None), ("No", lambda: None))
    (card,) = window.notices.cards
    text = next(each for each in card.findChildren(QLabel) if each.text() == "Text")
    button = card.findChild(QPushButton, "notice.do it")
    assert button is not None
    ground = QColor("#ff00ff")
    left = text.mapTo(card, QPoint(first_ink(text, ground), 0)).x()
    assert abs(button.mapTo(card, QPoint(first_ink(button, ground), 0)).x() - left) <= 1


def test_titles_of_all_screens_begin_at_one_edge(qtbot: QtBot) -> None:
    flush, quiet = (Picker(f"p{on}", "Side", quiet=True, flush=on) for on in (True, False))
    for picker in (flush, quiet):
        qtbot.addWidget(picker)
        picker.offer([("a", "Hill")], "a")
        picker.resize(picker.sizeHint())
    ground = QColor("#ff00ff")
    assert first_ink(quiet, ground) - first_ink(flush, ground) == 4


def test_a_switch_without_a_word_ends_where_its_track_does(qtbot: QtBot) -> None:
    switch = Switch("", "s")
    qtbot.addWidget(switch)
    assert switch.sizeHint().width() == 30


def test_what_a_rule_does_stands_under_its_field(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    path = make_file({"module.fc1.bias": (32,)})
    operations.open_document(window.context, path, target=TargetChoice.of("digits"))
    settled()
    rules = weights.diff.rules
    rules.add_draft(RuleDraft(r"^module\.", ""))
    settled()
    (row,) = rules.rows
    assert row._effect.x() == row.pattern.x()


def test_a_field_that_goes_gives_the_focus_to_what_is_near(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    path = make_file({"module.fc1.bias": (32,)})
    operations.open_document(window.context, path, target=TargetChoice.of("digits"))
    settled()
    rules = weights.diff.rules
    rules.add_draft(RuleDraft(r"^module\.", ""))
    settled()
    rules.set_open(on=True)
    window.activateWindow()
    rules.rows[0].pattern.setFocus()
    assert window.focusWidget() is rules.rows[0].pattern
    window.book.run("edit.undo")
    settled()
    assert rules.rows == ()
    focus = window.focusWidget()
    assert focus is not None
    assert weights.isAncestorOf(focus), "not the logo"


def test_of_choices_the_one_that_is_chosen_is_given_the_focus(qtbot: QtBot) -> None:
    segments = Segments([("a", "One"), ("b", "Two")], "views")
    qtbot.addWidget(segments)
    segments.choose("b")
    segments.show()
    found = first_in(segments)
    assert isinstance(found, QAbstractButton)
    assert found.text() == "Two"
