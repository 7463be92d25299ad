"""Stories of the load diff: suggestions that are tried first, the overview, and its export."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QFileDialog
from pytestqt.qtbot import QtBot

from ruda.session import TargetChoice
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.suggest_preview import SuggestPreviewWindow
from ruda_workbench.widgets.overview_strip import worst_per_mark
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
SHAPES = {
    "module.conv1.weight": (8, 1, 3, 3),
    "module.conv1.bias": (8,),
    "module.conv2.weight": (16, 8, 3, 3),
    "module.conv2.bias": (16,),
    "module.fc2.bias": (10,),
    "module.extra": (3,),
}


@pytest.fixture
def wrapped(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: Callable[..., Path]
) -> WeightsWorkspace:
    operations.open_document(window.context, make_file(SHAPES), target=TargetChoice.of("digits"))
    settled()
    return weights


def press(window: MainWindow, name: str) -> None:
    found = window.findChild(QAbstractButton, name)
    assert found is not None, name
    found.click()


def test_a_suggestion_is_tried_before_it_is_taken(
    window: MainWindow, wrapped: WeightsWorkspace, settled: Settled
) -> None:
    lines = wrapped.diff.rules.suggestions
    assert lines[0].step.rule is not None
    assert lines[0].verdict in ("Certain", "Likely")
    assert "module." in lines[0].evidence
    press(window, "rules.preview.0")
    preview = window.findChild(SuggestPreviewWindow)
    assert preview is not None
    assert not preview.add.isEnabled()
    settled()
    facts = {key.text(): value.text() for key, value in preview._facts._rows}
    assert facts["now"].startswith("0 % of elements would load · 0 of 16")
    assert "5 of 16 model tensors" in facts["with it"]
    changed = {preview.model.cell(row, 2).text for row in range(preview.model.rowCount())}
    assert "conv*.weight" in changed
    document = wrapped.watch.document
    assert document is not None
    assert document.recipe.is_identity
    preview.add.click()
    settled()
    document = wrapped.watch.document
    assert document is not None
    assert [rule.pattern for rule in document.recipe.remap.rules] == [r"^module\."]
    page = wrapped.diff.page
    assert page is not None
    assert {c.status.value: c.count for c in page.chips}["applied"] == 5
    window.book.run("edit.undo")
    settled()
    document = wrapped.watch.document
    assert document is not None
    assert document.recipe.is_identity


MANY = {f"stage{n}.part{n}.kernel": (3 + n, 2, 5) for n in range(6)}


def test_every_suggestion_is_reached_in_place(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: Callable[..., Path]
) -> None:
    source = make_file({key.replace("part", "piece"): shape for key, shape in MANY.items()})
    names = (f"alpha{n}.weight{'abcdef'[n]}" for n in range(6))
    target = make_file(dict(zip(names, MANY.values(), strict=True)), name="target.safetensors")
    choice = TargetChoice.of(str(target), is_file=True)
    operations.open_document(window.context, source, target=choice)
    settled()
    rules = weights.diff.rules
    total = len(rules.suggestions)
    assert total > 3
    assert len(rules.offers.rows) == 3
    assert rules.offers.more.text() == f"Show {total - 3} more"
    low = rules.offers.height()
    rules.offers.more.click()
    assert len(rules.offers.rows) == total
    settled()
    assert rules.offers.height() > low
    last = rules.suggestions[-1]
    press(window, f"rules.hint.{total - 1}")
    settled()
    document = weights.watch.document
    assert document is not None
    assert window.context.session.history(document.id).undo_title == last.title
    assert len(rules.offers.rows) == min(3, len(rules.suggestions))


def test_a_suggestion_is_taken_at_once(
    window: MainWindow, wrapped: WeightsWorkspace, settled: Settled
) -> None:
    press(window, "rules.hint.0")
    settled()
    assert wrapped.watch.document is not None
    assert len(wrapped.watch.document.recipe.remap.rules) == 1
    history = window.context.session.history(wrapped.watch.document.id)
    assert history.undo_title == r"Strip ^module\."


def test_all_certain_suggestions_are_one_step(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled
) -> None:
    operations.open_sample(window.context)
    settled()
    assert [line.is_certain for line in weights.diff.rules.suggestions] == [True, True]
    button = window.findChild(QAbstractButton, "diff.banner.button")
    assert button is not None
    assert button.text() == "Take all 2 certain suggestions"
    gains = [line.step.matches for line in weights.diff.rules.suggestions]
    text = weights.diff.banner.text
    assert text.endswith(f"the 2 certain suggestions would match {sum(gains)} more.")
    button.click()
    settled()
    page = weights.diff.page
    assert page is not None
    assert page.is_complete
    document = weights.watch.document
    assert document is not None
    assert window.context.session.history(document.id).undo_title == "2 suggestions"
    window.book.run("edit.undo")
    settled()
    assert weights.watch.document is not None
    assert weights.watch.document.recipe.is_identity


def test_the_overview_marks_problems_and_a_click_goes_there(
    window: MainWindow, wrapped: WeightsWorkspace, settled: Settled, qtbot: QtBot
) -> None:
    press(window, "rules.hint.0")
    settled()
    wrapped.diff.fold.click()
    strip, table = wrapped.diff.overview, wrapped.diff.table
    assert "Unused 1" in strip.accessibleDescription()
    last = wrapped.diff.model.rowCount() - 1
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(5, strip.height() - 2))
    assert table.currentIndex().row() == last
    assert wrapped.diff.model.line(last).status.value == "unused"


@pytest.mark.parametrize(
    ("ranks", "marks", "found"),
    [
        ([], 3, [-1, -1, -1]),
        ([0, 4], 4, [0, -1, 4, -1]),
        ([0, 1, 2, 3, 0, 0], 3, [1, 3, 0]),
        ([2], 1, [2]),
    ],
    ids=["none", "fewer rows than marks", "more rows", "one"],
)
def test_a_mark_shows_the_worst_of_its_rows(ranks: list[int], marks: int, found: list[int]) -> None:
    assert worst_per_mark(np.array(ranks, dtype=np.int64), marks).tolist() == found


@pytest.mark.parametrize("suffix", [".html", ".md", ".csv", ".json"])
def test_the_load_diff_is_exported(
    window: MainWindow,
    wrapped: WeightsWorkspace,
    settled: Settled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
) -> None:
    out = tmp_path / f"diff{suffix}"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(out), ""))
    window.book.run("weights.export")
    settled()
    text = out.read_text("utf-8")
    assert "extra" in text
    if suffix == ".json":
        assert json.loads(text)["counts"]["unused"] == 6
    assert [n.title for n in window.notices.notices] == [f"Saved diff{suffix}"]
