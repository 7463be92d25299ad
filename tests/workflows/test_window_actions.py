"""What the cards of Weights do is in the table of actions: for the menu and the command field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from ruda.session import TargetChoice
from ruda.store import CastPolicy, Recipe, read_recipe
from ruda.tensor import DType
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.decision_sheet import DecisionSheet
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]
SHAPES = {"module.conv1.weight": (8, 1, 3, 3), "module.conv1.bias": (8,), "odd": (2,)}
OWN = ("recipe.", "rows.", "convert.", "tensor.")


@pytest.fixture
def opened(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> WeightsWorkspace:
    window.open_paths([make_file(SHAPES)])
    settled()
    return weights


def edit(window: MainWindow, recipe: Recipe) -> None:
    document = window.context.session.active
    assert document is not None
    window.context.session.edit(document.id, "Edit", recipe)


def recipe_of(window: MainWindow) -> Recipe:
    document = window.context.session.active
    assert document is not None
    return document.recipe


def lay(window: MainWindow, settled: Settled) -> None:
    document = window.context.session.active
    assert document is not None
    window.context.session.retarget(document.id, TargetChoice.of("digits"))
    settled()
    window.book.run("weights.diff")
    settled()


def test_nothing_of_it_can_be_run_without_a_document(window: MainWindow) -> None:
    own = [a.id for a in window.book.records() if a.id.startswith(OWN)]
    assert len(own) > 20
    assert [each for each in own if window.book.is_available(each)] == []


def test_recipes_are_written_taken_and_reversed(
    window: MainWindow,
    opened: WeightsWorkspace,
    settled: Settled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "made.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(path), ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, **__: (str(path), ""))
    assert not window.book.is_available("recipe.reverse")
    edit(window, Recipe().with_rule(r"^module\.", "net."))
    settled()
    assert window.book.run("recipe.export")
    settled()
    assert read_recipe(path) == recipe_of(window)
    assert window.book.run("recipe.reverse")
    assert recipe_of(window).remap.rules[0].pattern == r"^net\."
    assert window.book.run("recipe.import")
    settled()
    assert recipe_of(window) == read_recipe(path)


def test_rows_are_left_out_decided_on_and_made_rules_of(
    window: MainWindow, opened: WeightsWorkspace, settled: Settled
) -> None:
    assert not window.book.is_available("rows.skip")
    lay(window, settled)
    opened.diff.reveal("odd")
    settled()
    assert window.book.run("rows.skip")
    settled()
    assert recipe_of(window).skipped_keys == {"odd"}
    opened.diff.reveal("conv1.weight")
    settled()
    assert window.book.run("recipe.selection")
    assert len(opened.diff.rules.rows) == 1
    window.book.run("recipe.schemas")
    assert opened.diff.rules.schemas.isChecked()
    assert window.book.run("rows.decide")
    sheet = window.findChild(DecisionSheet)
    assert sheet is not None
    sheet.reject()
    settled()


def test_suggestions_are_taken(
    window: MainWindow, opened: WeightsWorkspace, settled: Settled
) -> None:
    assert not window.book.is_available("rows.suggestions")
    lay(window, settled)
    assert window.book.run("rows.suggestions")
    settled()
    assert recipe_of(window).remap.rules


def test_presets_are_offered(
    window: MainWindow,
    opened: WeightsWorkspace,
    settled: Settled,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lay(window, settled)
    shown: list[object] = []
    presets = opened.diff.rules.presets
    monkeypatch.setattr(presets, "showMenu", lambda: shown.append(presets))
    assert window.book.run("recipe.presets")
    assert shown == [presets]


def test_a_conversion_is_checked_and_mended(
    window: MainWindow, opened: WeightsWorkspace, settled: Settled
) -> None:
    assert not window.book.is_available("convert.check")
    edit(window, Recipe().with_cast(CastPolicy.every(DType.F16)))
    settled()
    for name in ("convert.estimate", "convert.check"):
        assert window.book.run(name)
        settled()
        assert opened.views.value == "convert"
        assert opened.convert.model._losses
    opened.convert.table.select_row(0)
    settled()
    assert window.book.run("convert.bf16")
    settled()
    assert len(recipe_of(window).policy) == 1
    opened.convert.table.select_row(0)
    settled()
    assert window.book.run("convert.as-others")
    settled()
    assert not recipe_of(window).policy


def test_a_tensor_is_pinned_and_copied(
    window: MainWindow, opened: WeightsWorkspace, settled: Settled
) -> None:
    opened.reveal("odd")
    settled()
    assert window.book.run("tensor.pin")
    assert opened.inspector().pinned.note.text() == "Pinned: odd. Choose another one."
    assert window.book.run("tensor.copy-numpy")
    assert "array" in QGuiApplication.clipboard().text()
    assert window.book.run("tensor.copy-python")
    assert "'odd'" in QGuiApplication.clipboard().text().replace('"', "'")


def test_the_menu_has_them_in_groups(window: MainWindow, qapp: QApplication) -> None:
    menu = window.book.menu(window)
    groups = [group.title() for group in menu.findChildren(QMenu)]
    menu.close()
    assert {"Recipe", "Load diff", "Convert", "Tensor"} <= set(groups)
