"""A line of very many tensors: gestures on it make none of their rows, and decisions are jobs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from ruda.progress import SILENT
from ruda.session import DiffLine, TargetChoice
from ruda.store import Recipe
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels import decision_sheet, load_diff
from ruda_workbench.panels.decision_sheet import DecisionSheet
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]
MANY = 200_000
FEW = 20
"""Rows that may be made for a line: those of its kinds, and what the inspector steps through."""


def write(path: Path, count: int) -> Path:
    """A file of so many tensors of one element, written at once."""
    entries = {
        f"layers.{at}.scale": {"dtype": "U8", "shape": [1], "data_offsets": [at, at + 1]}
        for at in range(count)
    }
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(count))
    return path


@pytest.fixture
def many(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, tmp_path: Path
) -> WeightsWorkspace:
    """A file laid onto itself: one line of all its tensors, which is chosen."""
    path = write(tmp_path / "many.safetensors", MANY)
    choice = TargetChoice.of(str(path), is_file=True)
    operations.open_document(window.context, path, target=choice)
    settled()
    weights.diff.table.select_row(0)
    settled()
    line = weights.diff.model.line(0)
    assert line is not None
    assert line.count == MANY
    return weights


def rows_made(weights: WeightsWorkspace) -> int:
    laid = weights.watch.laid
    assert laid is not None
    assert laid.report is not None
    return len(laid.report.table._made)


def menu_of(weights: WeightsWorkspace) -> QMenu:
    weights.diff.open_row_menu()
    found = weights.diff.findChild(QMenu, "diff.menu")
    assert isinstance(found, QMenu)
    return found


def choose(menu: QMenu, start: str) -> None:
    action = next(a for a in menu.actions() if a.text().startswith(start))
    menu.triggered.emit(action)
    menu.close()


def recipe_of(weights: WeightsWorkspace) -> Recipe:
    assert weights.watch.document is not None
    return weights.watch.document.recipe


def test_gestures_on_a_long_line_make_no_rows(
    window: MainWindow,
    many: WeightsWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    gate = threading.Event()
    with_decision = Recipe.with_decision

    def slow(recipe: Recipe, *decisions: Any) -> Recipe:
        if len(decisions) > FEW:
            assert threading.current_thread() is not threading.main_thread()
            gate.wait(60)
        return with_decision(recipe, *decisions)

    monkeypatch.setattr(Recipe, "with_decision", slow)
    before = rows_made(many)
    menu = menu_of(many)
    assert "Leave out" in [action.text() for action in menu.actions()]
    menu.close()
    many.diff.toggle_skip()
    many.diff.ask_decision()
    sheet = window.findChild(DecisionSheet)
    assert sheet is not None
    sheet.text.setText("skip")
    sheet.look()
    assert rows_made(many) - before <= FEW
    assert recipe_of(many).is_identity
    sheet.reject()
    gate.set()
    qtbot.waitUntil(lambda: not recipe_of(many).is_identity, timeout=60_000)
    for job in window.context.jobs.running:
        job.cancel()  # what comes of them
    assert len(recipe_of(many).skipped_keys) == MANY
    history = window.context.session.history(window.context.session.documents[0].id)
    assert history.undo_title == "Leave out layers.0.scale"


def test_a_decision_on_many_comes_too_late_for_another_recipe(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ruda_workbench import recipe_operations as edits

    path = make_file({"a.0.w": (2,), "a.1.w": (2,)})
    operations.open_document(window.context, path, target=TargetChoice.of(str(path), is_file=True))
    settled()
    monkeypatch.setattr(edits, "AT_ONCE", 0)
    document = weights.watch.document
    assert document is not None
    edits.skip(window.context, document, ("a.0.w", ""), on=True)
    edits.choose_layout(window.context, document, "pytorch-to-ruda")
    settled()
    assert recipe_of(weights).skipped_keys == frozenset()
    assert weights.watch.document is not None
    edits.skip(window.context, weights.watch.document, ("a.0.w", ""), on=True)
    settled()
    assert recipe_of(weights).skipped_keys == {"a.0.w"}


@pytest.fixture
def cut(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> WeightsWorkspace:
    """Two lines with shapes that do not fit, and one that does."""
    source = make_file({"a.weight": (4, 3), "b.weight": (6, 3), "c": (2,)}, "source.safetensors")
    target = make_file({"a.weight": (2, 3), "b.weight": (2, 3), "c": (2,)}, "target.safetensors")
    choice = TargetChoice.of(str(target), is_file=True)
    operations.open_document(window.context, source, target=choice)
    settled()
    return weights


def row_of(weights: WeightsWorkspace, key: str) -> int:
    lines = [weights.diff.model.line(row) for row in range(weights.diff.model.rowCount())]
    keys = [line.source_key for line in lines if isinstance(line, DiffLine)]
    return keys.index(key)


@pytest.mark.parametrize("entry", ["Cut axis 0 to 2", "Leave out", "Decide…"])
def test_an_entry_is_about_the_line_of_its_menu(
    window: MainWindow, cut: WeightsWorkspace, settled: Settled, entry: str
) -> None:
    table = cut.diff.table
    table.select_row(row_of(cut, "a.weight"))
    index = cut.diff.model.index(row_of(cut, "b.weight"), 0)
    at: QPoint = table.visualRect(index).center()
    cut.diff._menu(at)
    menu = cut.diff.findChild(QMenu, "diff.menu")
    assert isinstance(menu, QMenu)
    cut.diff.filter.setText("c")  # an answer that comes meanwhile draws other lines
    cut.diff._search("c", False, False)
    choose(menu, entry)
    sheet = window.findChild(DecisionSheet)
    if sheet is not None:
        sheet.text.setText("slice 0 0:2")
        sheet.look()
        settled()
        sheet.take.click()
    settled()
    assert {decision.key for decision in recipe_of(cut).decide} == {"b.weight"}


def test_an_entry_does_nothing_to_another_document(
    window: MainWindow, cut: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    cut.diff.table.select_row(row_of(cut, "b.weight"))
    menu = menu_of(cut)
    operations.open_document(
        window.context, make_file({"b.weight": (6, 3)}), target=TargetChoice.of("digits")
    )
    settled()
    choose(menu, "Leave out")
    settled()
    assert [each.recipe.decide for each in window.context.session.documents] == [(), ()]


def test_what_is_decided_is_what_was_tried(
    window: MainWindow, cut: WeightsWorkspace, settled: Settled
) -> None:
    cut.diff.table.select_row(row_of(cut, "a.weight"))
    cut.diff.ask_decision()
    sheet = window.findChild(DecisionSheet)
    assert sheet is not None
    sheet.text.setText("slice 0 0:2")
    sheet.look()
    settled()
    assert sheet.take.isEnabled()
    sheet.text.setText("slice 0 0:3")
    sheet._edited()
    assert not sheet.take.isEnabled()
    sheet._take()
    settled()
    assert recipe_of(cut).decide == ()
    assert list(decision_sheet._decisions(("a", "", "b"), ("skip",), SILENT))[1].key == "b"
    assert load_diff.AT_ONCE < MANY
