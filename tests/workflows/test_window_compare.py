"""Stories of the Compare workspace: two checkpoints by structure, by value, and as a command."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from ruda.cli import main
from ruda.progress import Monitor
from ruda.session import CompareOptions, CompareSide, RuleDraft, SideView, compare_documents
from ruda.store import CastPolicy, Likeness, TensorIndex, TensorSnapshot, save
from ruda.tensor import DType
from ruda_workbench import compare_watch
from ruda_workbench.application import build_window, let_go, restore_session, settle
from ruda_workbench.item_models.compare_table import LARGEST
from ruda_workbench.main_window import MainWindow
from ruda_workbench.storage import Storage
from ruda_workbench.workspaces.compare import CompareWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
Tensors = Mapping[str, np.ndarray]


def write(path: Path, tensors: Tensors) -> Path:
    made = [TensorSnapshot.from_array(key, value) for key, value in tensors.items()]
    save(TensorIndex.of(made, format="safetensors"), path, overwrite=True)
    return path


@pytest.fixture
def compare(window: MainWindow) -> CompareWorkspace:
    found = window.workspace("compare")
    assert isinstance(found, CompareWorkspace)
    return found


@pytest.fixture
def two(
    window: MainWindow, compare: CompareWorkspace, settled: Settled, tmp_path: Path
) -> tuple[Path, Path]:
    """Epoch 11 and 12 of one training, open beside each other."""
    rng = np.random.default_rng(5)
    before = {
        "layers.0.w": rng.standard_normal((4, 6)).astype(np.float32),
        "layers.1.w": rng.standard_normal((4, 6)).astype(np.float32),
        "norm": np.ones(4, np.float32),
        "old": np.zeros(2, np.float32),
    }
    after = {f"module.{key}": value.copy() for key, value in before.items() if key != "old"}
    after["module.layers.1.w"][2, 3] += 0.25
    after["module.norm"] += np.float32(1e-6)
    paths = (write(tmp_path / "11.safetensors", before), write(tmp_path / "12.safetensors", after))
    window.book.run("go.compare")
    for path in paths:
        window.open_paths([path])
        settled()
    return paths


STRIP = CompareSide(rules=(RuleDraft(r"^module\.", ""),))


def counts(compare: CompareWorkspace) -> dict[str, int]:
    return {status.value: chip.count for status, chip in compare.lines.chips.items() if chip.count}


def test_two_files_stand_beside_each_other(
    window: MainWindow, compare: CompareWorkspace, two: tuple[Path, Path]
) -> None:
    assert window.current == "compare"
    assert [picker.text() for picker in compare.head.sides] == [path.name for path in two]
    assert counts(compare) == {"only left": 4, "only right": 3}
    assert "values were not compared" in compare.head.facts
    assert compare.summary() == "4 and 3 tensors"


def test_a_rule_on_one_side_brings_the_keys_together(
    compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled, qtbot: QtBot
) -> None:
    card = compare.options
    card.toggle.click()
    card.right.add.click()
    qtbot.keyClicks(card.right.rules[0].pattern, r"^module\.")
    qtbot.keyClick(card.right.rules[0].pattern, Qt.Key.Key_Return)
    settled()
    assert counts(compare) == {"same": 3, "only left": 1}
    card.right.rules[0].remove.click()
    settled()
    assert counts(compare) == {"only left": 4, "only right": 3}


def test_values_are_compared_when_asked_and_a_tolerance_excuses(
    window: MainWindow,
    compare: CompareWorkspace,
    two: tuple[Path, Path],
    settled: Settled,
    qtbot: QtBot,
) -> None:
    compare.watch.ask_with(CompareOptions(right=STRIP))
    settled()
    window.book.run("compare.values")
    settled()
    assert counts(compare) == {"same": 1, "changed": 2, "only left": 1}
    compare.options.absolute.setText("1e-5")
    qtbot.keyClick(compare.options.absolute, Qt.Key.Key_Return)
    settled()
    assert "values were not compared" in compare.head.facts
    window.book.run("compare.values")
    settled()
    assert counts(compare) == {"same": 2, "changed": 1, "only left": 1}
    assert compare.lines.page is not None
    rows = {line.key: line for line in compare.lines.page.lines}
    assert rows["layers.1.w"].figures[0] == "0.25"
    assert rows["norm"].reason == "4 of 4 values differ, 0 beyond the tolerance"


def test_a_tolerance_that_is_none_is_outlined(
    compare: CompareWorkspace, two: tuple[Path, Path], qtbot: QtBot
) -> None:
    field = compare.options.relative
    for text, sentence in (("much", "not a number: much"), ("2", "a number from 0 to 1 is wanted")):
        field.setText(text)
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert field.property("invalid") is True
        assert field.toolTip() == sentence
    assert compare.watch.options.relative is None


def test_rows_are_sorted_by_their_largest_difference(
    window: MainWindow, compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled
) -> None:
    compare.watch.ask_with(CompareOptions(right=STRIP))
    window.book.run("compare.values")
    settled()
    compare.lines.fold.click()
    compare.lines.table.sortByColumn(LARGEST, Qt.SortOrder.DescendingOrder)
    keys = [compare.lines.model.line(i).key for i in range(2)]
    assert keys == ["layers.1.w", "norm"]


def test_the_chosen_tensor_is_drawn_on_both_sides_with_its_difference(
    window: MainWindow, compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled
) -> None:
    compare.watch.ask_with(CompareOptions(right=STRIP))
    settled()
    compare.lines.fold.click()
    compare.lines.reveal("layers.1.w")
    settled()
    found = compare.maps.values
    assert found is not None
    assert found.difference.grid[2, 3] == pytest.approx(0.25)
    assert np.count_nonzero(found.difference.grid) == 1
    compare.maps.maps[0].pointed.emit(2, 3)
    assert "difference 0.25" in compare.maps._hover.text()
    compare.lines.reveal("old")
    assert compare.maps.note == "Only one side has this tensor."


def test_f8_goes_from_difference_to_difference(
    window: MainWindow, compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled
) -> None:
    compare.watch.ask_with(CompareOptions(right=STRIP))
    window.book.run("compare.values")
    settled()
    compare.lines.fold.click()
    compare.lines.table.select_row(0)
    seen = []
    for _ in range(3):
        window.book.run("view.next-problem")
        seen.append(compare.lines.model.line(compare.lines.table.currentIndex().row()).key)
    assert seen == ["layers.1.w", "norm", "old"]
    window.book.run("view.previous-problem")
    assert compare.lines.table.currentIndex().row() == 2


def test_the_copied_command_gives_the_same_answer(
    window: MainWindow,
    compare: CompareWorkspace,
    two: tuple[Path, Path],
    settled: Settled,
    capsys: pytest.CaptureFixture[str],
) -> None:
    compare.watch.ask_with(CompareOptions(absolute=1e-5, right=STRIP))
    window.book.run("compare.values")
    settled()
    window.book.run("view.copy-command")
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:2] == ["ruda", "compare"]
    capsys.readouterr()
    assert main([*words[1:], "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {k: v for k, v in found["counts"].items() if v} == counts(compare)
    table = compare.watch.table
    assert table is not None
    assert found["rows"] == table.report.as_data()["rows"]


def test_a_comparison_that_runs_can_be_stopped(
    window: MainWindow,
    compare: CompareWorkspace,
    two: tuple[Path, Path],
    settled: Settled,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    began = threading.Event()

    def endless(*_: object, monitor: Monitor) -> None:
        began.set()
        while True:
            monitor.check()
            threading.Event().wait(0.005)

    table = compare.watch.table
    monkeypatch.setattr(compare_watch, "compare_documents", endless)
    compare.head.values.click()
    assert began.wait(10)
    assert not compare.head.values.isEnabled()
    window.book.run("jobs.stop")
    settled()
    assert compare.head.values.isEnabled()
    assert compare.watch.table is table
    assert not compare.watch.options.values
    assert "values were not compared" in compare.head.facts


def test_a_file_that_breaks_meanwhile_is_said_and_the_table_stays(
    window: MainWindow, compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled
) -> None:
    compare.watch.ask_with(CompareOptions(right=STRIP))
    settled()
    with two[1].open("r+b") as file:
        file.truncate(300)
    window.book.run("compare.values")
    settled()
    assert "12.safetensors" in compare.head.facts
    assert counts(compare) == {"same": 3, "only left": 1}


@pytest.mark.parametrize("suffix", [".html", ".md", ".csv", ".json"])
def test_the_comparison_is_exported(
    window: MainWindow,
    compare: CompareWorkspace,
    two: tuple[Path, Path],
    settled: Settled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
) -> None:
    out = tmp_path / f"report{suffix}"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(out), ""))
    window.book.run("compare.export")
    settled()
    assert "module.norm" in out.read_text("utf-8").replace("\\", "")
    assert [n.title for n in window.notices.notices] == [f"Saved report{suffix}"]


def test_weights_are_never_replaced_by_an_export(
    window: MainWindow,
    compare: CompareWorkspace,
    two: tuple[Path, Path],
    settled: Settled,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = two[0].read_bytes()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(two[0]), ""))
    window.book.run("compare.export")
    settled()
    assert two[0].read_bytes() == before
    assert [n.title for n in window.notices.notices] == ["11.safetensors was not saved"]


def test_sides_change_places_and_a_closed_document_leaves_its_side(
    window: MainWindow, compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled
) -> None:
    window.book.run("compare.swap")
    settled()
    assert counts(compare) == {"only left": 3, "only right": 4}
    left = compare.watch.left
    assert left is not None
    window.context.session.close(left.id)
    settled()
    assert compare.watch.left is None
    assert compare.head.sides[0].text() == "choose a document"
    assert compare.lines.model.rowCount() == 0
    assert not window.book.is_available("compare.values")


def test_a_document_is_compared_with_what_its_recipe_makes(
    window: MainWindow, compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled
) -> None:
    left, right = compare.watch.left, compare.watch.right
    assert left is not None
    assert right is not None
    recipe = right.recipe.with_rule(r"^module\.", "")
    window.context.session.edit(right.id, "Rule", recipe)
    settled()
    assert counts(compare) == {"only left": 4, "only right": 3}
    compare.watch.ask_with(CompareOptions(right=CompareSide(SideView.RECIPE)))
    settled()
    assert counts(compare) == {"same": 3, "only left": 1}
    window.book.run("edit.undo")
    settled()
    assert counts(compare) == {"only left": 4, "only right": 3}
    report = compare_documents(left, left, CompareOptions(values=True))
    assert report.counts[Likeness.SAME] == 4


def test_planes_of_a_tensor_with_four_axes_are_chosen(
    window: MainWindow, compare: CompareWorkspace, settled: Settled, tmp_path: Path
) -> None:
    before = np.random.default_rng(1).standard_normal((3, 2, 4, 5)).astype(np.float32)
    after = before.copy()
    after[2, 1, 3, 4] += 1
    window.book.run("go.compare")
    for name, values in (("a", before), ("b", after)):
        window.open_paths([write(tmp_path / f"{name}.safetensors", {"conv.weight": values})])
        settled()
    maps = compare.maps
    assert maps.axes.isVisibleTo(maps)
    assert maps.values is not None
    assert maps.values.difference.grid.shape == (3, 40)
    maps.axes.rows.picked.emit("2")
    settled()
    maps.axes.columns.picked.emit("3")
    settled()
    assert [*maps.axes.sliders] == [0, 1]
    assert not maps.values.difference.grid.any()
    maps.axes.sliders[0].setValue(2)
    maps.axes.sliders[1].setValue(1)
    maps.axes._timer.timeout.emit()
    settled()
    assert np.argwhere(maps.values.difference.grid).tolist() == [[3, 4]]


def test_scopes_are_one_pick_and_the_chips_follow(
    compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled
) -> None:
    compare.watch.ask_with(CompareOptions(right=STRIP))
    settled()
    lines = compare.lines
    assert lines.page is not None
    for scope, shown in (("differing", 1), ("one-side", 1), ("changed", 0), ("all", 4)):
        lines.scope.picked.emit(scope)
        assert lines.page.shown == shown, scope
    lines.chips[Likeness.SAME].setChecked(False)
    assert lines.scope.text() == "What differs"
    lines.chips[Likeness.CHANGED].setChecked(False)
    assert lines.scope.text() == "On one side only"


def test_only_keys_that_match_are_compared(
    compare: CompareWorkspace, two: tuple[Path, Path], settled: Settled, qtbot: QtBot
) -> None:
    compare.watch.ask_with(CompareOptions(right=STRIP))
    compare.options.toggle.click()
    field = compare.options.only
    field.setText("^layers")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    settled()
    assert counts(compare) == {"same": 2}
    assert compare.findings() == ("2 keys are outside of what is compared",)
    field.setText("(")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.property("invalid") is True
    assert compare.watch.options.only == "^layers"


def test_the_command_of_whole_recipes_gives_the_same_answer(
    window: MainWindow,
    compare: CompareWorkspace,
    two: tuple[Path, Path],
    settled: Settled,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = compare.watch.right
    assert right is not None
    recipe = right.recipe.with_rule(r"^module\.", "").with_cast(CastPolicy.every(DType.F16))
    window.context.session.edit(right.id, "Recipe", recipe)
    compare.watch.ask_with(CompareOptions(only="layers", right=CompareSide(SideView.RECIPE)))
    settled()
    window.book.run("view.copy-command")
    words = shlex.split(QGuiApplication.clipboard().text())
    assert "--cast-b" in words
    capsys.readouterr()
    assert main([*words[1:], "--json"]) == 1
    table = compare.watch.table
    assert table is not None
    assert json.loads(capsys.readouterr().out)["rows"] == table.report.as_data()["rows"]


def test_the_pair_and_its_rules_come_back_with_the_session(
    qapp: QApplication,
    window: MainWindow,
    compare: CompareWorkspace,
    two: tuple[Path, Path],
    settled: Settled,
    storage: Storage,
) -> None:
    compare.watch.swap()
    compare.watch.ask_with(CompareOptions(absolute=0.5, left=STRIP))
    settled()
    window.close()
    second = build_window(qapp, Storage(storage.folder), theme="light")
    restore_session(second)
    settle(second)
    found = second.workspace("compare")
    assert isinstance(found, CompareWorkspace)
    assert second.current == "compare"
    sides = [found.watch.left, found.watch.right]
    assert [side.path for side in sides if side is not None] == [two[1], two[0]]
    assert counts(found) == {"same": 3, "only right": 1}
    assert found.options.absolute.value == 0.5
    let_go(second)
