"""Stories of decisions that are written by hand: seen before they are taken, and undone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from ruda.session import TargetChoice
from ruda.store import open_store
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.decision_sheet import DecisionSheet
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]


@pytest.fixture
def wrong(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> WeightsWorkspace:
    source = make_file({"conv.weight": (8, 3, 7, 7), "fc.bias": (10,)}, "source.safetensors")
    target = make_file(
        {"conv.weight": (8, 3, 3, 3), "fc.bias": (12,), "head": (4,)}, "target.safetensors"
    )
    choice = TargetChoice.of(str(target), is_file=True)
    operations.open_document(window.context, source, target=choice)
    settled()
    return weights


def sheet_for(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, key: str
) -> DecisionSheet:
    weights.reveal(key)
    settled()
    weights.diff.ask_decision()
    sheet = window.findChild(DecisionSheet)
    assert sheet is not None
    return sheet


def facts(sheet: DecisionSheet) -> dict[str, str]:
    return {key.text(): value.text() for key, value in sheet.effect._rows}


def write(sheet: DecisionSheet, settled: Settled, text: str) -> None:
    sheet.text.setText(text)
    sheet.look()
    settled()


def test_a_decision_is_tried_and_then_taken(
    window: MainWindow, wrong: WeightsWorkspace, settled: Settled
) -> None:
    sheet = sheet_for(window, wrong, settled, "conv.weight")
    write(sheet, settled, "slice 2 2:5")
    assert facts(sheet)["then"].startswith("Error")
    assert not sheet.take.isEnabled()
    write(sheet, settled, "slice 2 2:5; slice 3 2:5")
    assert facts(sheet)["then"].startswith("Applied")
    document = wrong.watch.document
    assert document is not None
    assert document.recipe.is_identity, "nothing is taken before the button is pressed"
    sheet.take.click()
    settled()
    laid = wrong.watch.current
    assert laid is not None
    assert laid.view is not None
    made = laid.view["conv.weight"]
    with open_store(document.path) as index:
        np.testing.assert_array_equal(made.read(), index["conv.weight"].read()[:, :, 2:5, 2:5])
    assert any("slice" in step for step in made.trail)
    window.book.run("edit.undo")
    settled()
    assert wrong.watch.document is not None
    assert wrong.watch.document.recipe.is_identity


def test_a_pad_has_the_value_that_is_stated(
    window: MainWindow, wrong: WeightsWorkspace, settled: Settled
) -> None:
    sheet = sheet_for(window, wrong, settled, "fc.bias")
    write(sheet, settled, "pad 0 0:2 -1.5")
    sheet.take.click()
    settled()
    laid = wrong.watch.current
    assert laid is not None
    assert laid.view is not None
    np.testing.assert_array_equal(laid.view["fc.bias"].read()[10:], [-1.5, -1.5])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("slice 2", "is no decision"), ("cast f99", "f99"), ("skip; keep", "two decisions")],
)
def test_what_is_no_decision_says_why(
    window: MainWindow, wrong: WeightsWorkspace, settled: Settled, text: str, sentence: str
) -> None:
    sheet = sheet_for(window, wrong, settled, "conv.weight")
    write(sheet, settled, text)
    assert sentence in sheet.problem.text()
    assert sheet.text.property("invalid") is True
    assert not sheet.take.isEnabled()


def test_a_tensor_is_taken_from_another_file(
    window: MainWindow,
    wrong: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    other = make_file({"conv.weight": (8, 3, 3, 3)}, "an other.safetensors")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, **__: (str(other), ""))
    sheet = sheet_for(window, wrong, settled, "conv.weight")
    sheet.file.click()
    settled()
    assert facts(sheet)["then"].startswith("Applied")
    sheet.take.click()
    settled()
    laid = wrong.watch.current
    assert laid is not None
    assert laid.view is not None
    with open_store(other) as index:
        np.testing.assert_array_equal(laid.view["conv.weight"].read(), index["conv.weight"].read())
