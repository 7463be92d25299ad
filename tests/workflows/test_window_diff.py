"""Stories of the load diff, told through the window: from nothing loads to everything does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from ruda.session import RuleDraft, TargetChoice
from ruda.store import Status
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.self_test import make_green
from ruda_workbench.workspaces.weights import WeightsWorkspace

from .digits import DIGITS, WRAPPED, counts

pytestmark = pytest.mark.gui

Settled = Callable[[], None]

MakeFile = Callable[..., Path]


def test_a_file_is_brought_to_green_and_back(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    operations.open_document(window.context, make_file(WRAPPED), target=TargetChoice.of("digits"))
    settled()
    assert weights.diff.coverage.headline == "0 % of elements would load"
    assert weights.diff.banner.text.startswith("Nothing would be loaded")
    weights.diff.rules.add_draft(RuleDraft(r"^module\.", ""))
    settled()
    assert counts(weights)["error"] == 2
    weights.diff.rules._layout_picked("pytorch-to-ruda")
    settled()
    assert counts(weights) == {"applied": 16}
    assert weights.diff.coverage.headline == "100 % of elements would load"
    assert weights.diff.banner.text == ""
    window.book.run("edit.undo")
    settled()
    assert counts(weights)["error"] == 2
    window.book.run("edit.undo")
    settled()
    assert counts(weights) == {"missing": 16, "unused": 16}
    assert weights.diff.rules.rows == ()
    window.book.run("edit.redo")
    window.book.run("edit.redo")
    settled()
    assert counts(weights) == {"applied": 16}
    assert window.context.session.dirty


def test_suggestions_lead_to_green(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    path = make_file(WRAPPED)
    operations.open_document(window.context, path, target=TargetChoice.of("digits"))
    settled()
    make_green(window)
    assert counts(weights) == {"applied": 16}


def test_a_rule_shows_its_effect_while_it_is_typed(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    qtbot: QtBot,
) -> None:
    operations.open_document(window.context, make_file(WRAPPED), target=TargetChoice.of("digits"))
    settled()
    rules = weights.diff.rules
    window.book.run("weights.add-rule")
    row = rules.rows[0]
    qtbot.keyClicks(row.pattern, r"^module\.(conv")
    assert "position 9" in row.effect
    assert row.pattern.property("invalid") is True
    assert rules.page is not None
    assert not rules.page.usable
    row.pattern.clear()
    qtbot.keyClicks(row.pattern, r"^module\.")
    assert row.effect == "16 keys, +12 matches"
    assert rules.changes.model().index(0, 2).data() == "conv*.weight"
    assert weights.watch.document.recipe.is_identity, "nothing is edited before Enter"
    qtbot.keyClick(row.pattern, Qt.Key.Key_Return)
    settled()
    assert [r.pattern for r in weights.watch.document.recipe.remap.rules] == [r"^module\."]


def test_colliding_rules_are_said_and_cannot_be_saved(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file(DIGITS)])
    settled()
    weights.diff.rules.add_draft(RuleDraft(r"conv\d", "conv"))
    settled()
    page = weights.diff.rules.page
    assert page is not None
    assert (page.usable, page.collisions) == (False, 4)
    weights.ask_save()
    notice = window.notices.notices[-1]
    assert notice.title == "This cannot be saved yet"
    assert "would both become" in notice.text


def test_chips_hide_rows_and_shift_shows_one_status(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    qtbot: QtBot,
) -> None:
    operations.open_document(window.context, make_file(DIGITS), target=TargetChoice.of("digits"))
    settled()
    chips, model = weights.diff.chips, weights.diff.model
    left, shift = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
    qtbot.mouseClick(chips[Status.ERROR], left, shift)
    assert {model.line(i).status for i in range(model.rowCount())} == {Status.ERROR}
    qtbot.mouseClick(chips[Status.ERROR], left, shift)
    assert all(chip.isChecked() for chip in chips.values())
    qtbot.mouseClick(chips[Status.APPLIED], left)
    assert Status.APPLIED not in {model.line(i).status for i in range(model.rowCount())}
    window.book.run("view.next-problem")
    row = weights.diff.table.currentIndex().row()
    assert model.line(row).status is not Status.APPLIED


def test_a_row_is_left_out_and_taken_in(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    from ruda_workbench import recipe_operations as edits

    window.open_paths([make_file(DIGITS)])
    settled()
    weights.choose_target("digits")
    settled()
    edits.skip(window.context, weights.watch.document, ("conv1.bias",), on=True)
    settled()
    assert counts(weights)["skipped"] == 1
    edits.skip(window.context, weights.watch.document, ("conv1.bias",), on=False)
    settled()
    assert "skipped" not in counts(weights)


def test_a_missing_row_says_what_the_model_expects(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file({"fc2.bias": (10,)})])
    settled()
    weights.choose_target("digits")
    settled()
    weights.reveal("conv1.bias")
    panel = weights.inspector()
    assert panel.shown_key == ""
    assert panel._missing_key.text() == "conv1.bias"
    assert panel._missing_note.text().startswith("Nothing in the source")


@pytest.mark.parametrize("before", ["", "resnet20"])
def test_a_missing_row_leaves_the_inspector_with_its_target(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    before: str,
) -> None:
    window.open_paths([make_file({"some.bias": (10,)})])
    settled()
    if before:
        weights.choose_target(before)
        settled()
    weights.choose_target("digits")
    settled()
    weights.reveal("conv1.bias")
    settled()
    panel = weights.inspector()
    assert panel.missing_key == "conv1.bias"
    window.book.run("edit.undo")
    assert panel.missing_key == "", "at once, before the other target is compared"
    settled()
    current = weights.diff.model.line(weights.diff.table.currentIndex().row())
    assert panel.missing_key == ""
    assert current is None or panel.shown_key == current.source_key
    window.book.run("edit.redo")
    settled()
    weights.reveal("conv1.bias")
    settled()
    weights.show_view("tensors")
    weights.tensors.reveal("some.bias")
    window.book.run("edit.undo")
    settled()
    assert panel.shown_key == "some.bias", "what another view chose stays"


def test_a_row_that_is_hidden_leaves_the_inspector(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    target = TargetChoice.of("digits")
    operations.open_document(window.context, make_file({"some.bias": (10,)}), target=target)
    settled()
    weights.reveal("conv1.bias")
    panel = weights.inspector()
    assert panel.missing_key == "conv1.bias"
    weights.diff.chips[Status.MISSING].click()
    assert (panel.missing_key, panel.shown_key) == ("", "")


def test_the_inspector_says_why_a_row_does_not_load(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    target = TargetChoice.of("digits")
    operations.open_document(window.context, make_file(DIGITS), target=target)
    settled()
    reason = weights.inspector().reason
    weights.reveal("fc1.weight")
    settled()
    assert reason.text().startswith("Shape: the file has [32, 400]")
    assert reason.property("role") == "error"
    weights.reveal("fc1.bias")
    settled()
    assert reason.isHidden()


@pytest.mark.cases
def test_a_real_checkpoint_is_loaded_by_the_adapter_alone(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, cases: Path
) -> None:
    path = cases / "models" / "burn_import_mnist" / "mnist.pt"
    operations.open_document(window.context, path, target=TargetChoice.of("import-mnist"))
    settled()
    assert counts(weights) == {"applied": 12, "missing": 4, "unused": 6, "error": 2}
    assert "adapter pytorch-to-ruda would match 6 more" in weights.diff.banner.text
    weights.diff.banner.pressed.emit()
    settled()
    assert counts(weights) == {"applied": 18, "unused": 2}
    harmless = [line.what for line in weights.diff.page.lines if line.status is Status.UNUSED]
    assert all("harmless" in what for what in harmless)
