"""Stories of the recipe card: order by drag, schemas, rules from rows, files, and the way back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QLabel
from pytestqt.qtbot import QtBot

from ruda.session import RuleDraft, TargetChoice
from ruda.store import KeyRemapper, Recipe, read_recipe
from ruda_workbench import operations, recipe_files
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.rules import RulesCard
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
SHAPES = {
    "module.conv1.weight": (8, 1, 3, 3),
    "module.conv1.bias": (8,),
    "module.conv2.weight": (16, 8, 3, 3),
    "module.conv2.bias": (16,),
}


@pytest.fixture
def card(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: Callable[..., Path]
) -> RulesCard:
    operations.open_document(window.context, make_file(SHAPES), target=TargetChoice.of("digits"))
    settled()
    weights.diff.rules.set_open(on=True)
    return weights.diff.rules


def patterns(window: MainWindow) -> list[str]:
    document = window.context.session.active
    assert document is not None
    return [rule.pattern for rule in document.recipe.remap.rules]


def press(card: RulesCard, name: str) -> None:
    found = card.findChild(QAction, f"rules.menu.{name}")
    assert found is not None
    found.trigger()


def test_a_rule_is_dragged_to_another_place(
    window: MainWindow, card: RulesCard, settled: Settled, qtbot: QtBot
) -> None:
    for pattern in ("^a", "^b", "^c"):
        card.add_draft(RuleDraft(pattern, ""))
    settled()
    grip = card.findChild(QLabel, "rule.0.grip")
    assert grip is not None
    height = card.rows[0].height() + 8
    left, middle = Qt.MouseButton.LeftButton, QPoint(3, 3)
    qtbot.mousePress(grip, left, pos=middle)
    qtbot.mouseMove(grip, QPoint(3, 3 + height))
    qtbot.mouseMove(grip, QPoint(3, 3 + 2 * height))
    assert [row.pattern.text() for row in card.rows] == ["^b", "^c", "^a"]
    assert patterns(window) == ["^a", "^b", "^c"], "nothing is edited before the rule is let go"
    qtbot.mouseRelease(grip, left, pos=QPoint(3, 3 + 2 * height))
    settled()
    assert patterns(window) == ["^b", "^c", "^a"]
    window.book.run("edit.undo")
    settled()
    assert patterns(window) == ["^a", "^b", "^c"]


def test_the_list_scrolls_with_a_rule_that_is_pulled_to_its_end(
    window: MainWindow, card: RulesCard, settled: Settled, qtbot: QtBot
) -> None:
    recipe = Recipe().with_remap(KeyRemapper.of(*((f"^{letter}", "") for letter in "abcdefghij")))
    document = window.context.session.active
    assert document is not None
    window.context.session.edit(document.id, "Many", recipe)
    card.set_open(on=True)
    settled()
    area, bar = card.list.viewport(), card.list.verticalScrollBar()
    assert bar.maximum() > 0
    grip = card.findChild(QLabel, "rule.0.grip")
    assert grip is not None
    left = Qt.MouseButton.LeftButton
    qtbot.mousePress(grip, left, pos=QPoint(3, 3))
    below = area.mapToGlobal(QPoint(3, area.height() + 40))
    qtbot.mouseMove(grip, grip.mapFromGlobal(below))
    qtbot.waitUntil(lambda: bar.value() == bar.maximum())
    qtbot.waitUntil(lambda: card.rows[-1].pattern.text() == "^a")
    qtbot.mouseRelease(grip, left, pos=grip.mapFromGlobal(below))
    settled()
    assert patterns(window) == [f"^{letter}" for letter in "bcdefghija"]
    assert window.context.session.history(document.id).undo_title == "Order of the rules"


def test_rules_change_places_by_keys_and_the_focus_goes_along(
    window: MainWindow, card: RulesCard, settled: Settled, qtbot: QtBot
) -> None:
    for pattern in ("^a", "^b", "^c"):
        card.add_draft(RuleDraft(pattern, ""))
    settled()
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    window.activateWindow()  # shortcuts belong to the window that is worked in
    qtbot.waitUntil(window.isActiveWindow)
    card.rows[0].replacement.setFocus()
    qtbot.waitUntil(lambda: card.rows[0].replacement.hasFocus())
    qtbot.keyClick(card.rows[0].replacement, Qt.Key.Key_Down, both)
    settled()
    assert patterns(window) == ["^b", "^a", "^c"]
    assert window.focusWidget() is card.rows[1].replacement
    window.activateWindow()
    qtbot.waitUntil(lambda: card.rows[1].replacement.hasFocus())
    qtbot.keyClick(card.rows[1].replacement, Qt.Key.Key_Up, both)
    settled()
    assert patterns(window) == ["^a", "^b", "^c"]
    window.book.run("edit.undo")
    settled()
    assert patterns(window) == ["^b", "^a", "^c"]


def test_rules_are_written_as_schemas(
    window: MainWindow, card: RulesCard, settled: Settled, qtbot: QtBot
) -> None:
    card.schemas.trigger()
    card.add_rule()
    row = card.rows[0]
    qtbot.keyClicks(row.pattern, "module.conv{n}.{what")
    assert "no partner" in row.effect
    assert row.pattern.property("invalid") is True
    qtbot.keyClicks(row.pattern, "}")
    qtbot.keyClicks(row.replacement, "conv{n}.{what}")
    assert row.effect == "4 keys, +4 matches"
    qtbot.keyClick(row.replacement, Qt.Key.Key_Return)
    settled()
    assert patterns(window) == [r"^module\.conv([^.]+)\.([^.]+)$"]
    card.schemas.trigger()
    assert card.rows[0].pattern.text() == r"^module\.conv([^.]+)\.([^.]+)$"
    card.schemas.trigger()
    assert card.rows[0].pattern.text() == "module.conv{f1}.{f2}"
    assert card.rows[0].replacement.text() == "conv{f1}.{f2}"
    assert patterns(window) == [r"^module\.conv([^.]+)\.([^.]+)$"]


def test_a_rule_is_made_from_the_chosen_row(
    window: MainWindow, weights: WeightsWorkspace, card: RulesCard, settled: Settled
) -> None:
    weights.reveal("conv1.bias")
    settled()
    press(card, "selection")
    settled()
    assert patterns(window) == [r"^module\.conv(\d+)\.bias$"]
    page = weights.diff.page
    assert page is not None
    assert {chip.status.value: chip.count for chip in page.chips}["applied"] == 2


def test_recipes_go_to_files_and_come_back(
    window: MainWindow,
    card: RulesCard,
    settled: Settled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "made.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(path), ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, **__: (str(path), ""))
    card.add_draft(RuleDraft(r"^module\.", ""))
    settled()
    assert window.context.session.dirty
    press(card, "export")
    settled()
    assert not window.context.session.dirty
    document = window.context.session.active
    assert document is not None
    assert read_recipe(path) == document.recipe
    window.book.run("edit.undo")
    assert patterns(window) == []
    press(card, "import")
    settled()
    assert patterns(window) == [r"^module\."]
    path.write_text("nothing")
    press(card, "import")
    settled()
    assert window.notices.notices[-1].title == "made.toml was not taken"
    assert patterns(window) == [r"^module\."]


def test_files_of_recipes_are_read_and_written_beside_the_window(
    window: MainWindow,
    card: RulesCard,
    settled: Settled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, threads = tmp_path / "made.toml", []

    def seen(call: Callable[..., object]) -> Callable[..., object]:
        def work(*given: object) -> object:
            threads.append(threading.current_thread())
            return call(*given)

        return work

    for name in ("read_recipe", "write_recipe"):
        monkeypatch.setattr(recipe_files, name, seen(getattr(recipe_files, name)))
    document = window.context.session.active
    assert document is not None
    recipe_files.export_recipe(window.context, document, path)
    settled()
    recipe_files.import_recipe(window.context, document, path)
    settled()
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_a_file_that_nobody_named_is_not_replaced(
    window: MainWindow, card: RulesCard, settled: Settled, tmp_path: Path
) -> None:
    path = tmp_path / "made.toml"
    path.write_text("mine")
    document = window.context.session.active
    assert document is not None
    recipe_files.export_recipe(window.context, document, tmp_path / "made")
    settled()
    assert window.notices.notices[-1].title == "made.toml was not written"
    assert path.read_text() == "mine"
    recipe_files.export_recipe(window.context, document, tmp_path / "other")
    settled()
    assert read_recipe(tmp_path / "other.toml") == document.recipe


def test_an_edit_while_a_recipe_is_written_stays_unsaved(
    window: MainWindow, card: RulesCard, settled: Settled, tmp_path: Path
) -> None:
    card.add_draft(RuleDraft(r"^module\.", ""))
    settled()
    session = window.context.session
    document = session.active
    assert document is not None
    recipe_files.export_recipe(window.context, document, tmp_path / "made.toml")
    session.edit(document.id, "Rule", document.recipe.with_rule("conv", "c"))
    settled()
    assert session.dirty
    session.undo(document.id)
    assert not session.dirty


def test_a_recipe_is_reversed_where_it_can_be(
    window: MainWindow, card: RulesCard, settled: Settled
) -> None:
    press(card, "reverse")
    assert window.notices.notices[-1].text == "It has no step."
    card.add_draft(RuleDraft(r"^module\.", "net."))
    settled()
    press(card, "reverse")
    settled()
    assert patterns(window) == [r"^net\."]
    window.book.run("edit.undo")
    card.add_draft(RuleDraft(r"(conv|fc)\d", "x"))
    settled()
    press(card, "reverse")
    assert window.notices.notices[-1].title == "The recipe was not reversed"
    assert patterns(window) == [r"^module\.", r"(conv|fc)\d"]
