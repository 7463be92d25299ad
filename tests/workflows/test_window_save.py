"""Stories of conversion and saving, told through the window."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from ruda.session import RuleDraft, SaveOptions, TargetChoice, convert_command
from ruda.store import open_store
from ruda_workbench import document_watch, operations, save_operations
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.main_window import MainWindow
from ruda_workbench.self_test import make_green
from ruda_workbench.workspaces.weights import WeightsWorkspace

from .digits import DIGITS, WRAPPED

pytestmark = pytest.mark.gui

Settled = Callable[[], None]

MakeFile = Callable[..., Path]


def open_sheet() -> SaveSheet:
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, SaveSheet)
    return sheet


def test_half_precision_is_saved_and_verified(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    path = make_file(WRAPPED)
    operations.open_document(window.context, path, target=TargetChoice.of("digits"))
    settled()
    make_green(window)
    weights.show_view("convert")
    weights.convert.choose("f16")
    settled()
    assert weights.convert.summary.startswith("58.0 kB → 29.2 kB (-50 %)")
    weights.convert.scan.click()
    settled()
    effects = {
        weights.convert.model.cell(r, 6).text for r in range(weights.convert.model.rowCount())
    }
    assert {effect.partition(" · ")[0] for effect in effects} == {"all in range", ""}
    weights.convert.table.select_row(0)
    settled()
    found = weights.inspector().inspection
    assert found is not None
    assert (found.key, found.halves) == ("conv1.weight", ())
    weights.ask_save()
    sheet = open_sheet()
    out = tmp_path / "half.bpk"
    sheet.path.setText(str(out))
    sheet._path_changed()
    assert sheet.formats.value == "rudapack"
    assert sheet.page is not None
    assert sheet.verify.isChecked()
    qtbot.mouseClick(sheet.save_button, Qt.MouseButton.LeftButton)
    settled()
    with open_store(out) as saved, open_store(path) as source:
        assert saved["fc1.weight"].dtype.label == "f16"
        assert saved["norm1.gamma"].dtype.label == "f32"
        transposed = source["module.fc1.weight"].read().T.astype(np.float16)
        np.testing.assert_array_equal(saved["fc1.weight"].read(), transposed)
        assert saved.nbytes < source.nbytes
    notice = window.notices.notices[-1]
    assert notice.title.startswith("Saved half.bpk")
    assert "read back and compared" in notice.title
    assert not window.context.session.dirty


def test_the_command_line_writes_the_same_bytes(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    tmp_path: Path,
    project: Path,
) -> None:
    path = make_file(WRAPPED)
    operations.open_document(window.context, path, target=TargetChoice.of("digits"))
    settled()
    make_green(window)
    weights.convert.choose("bf16")
    settled()
    here, there = tmp_path / "window" / "out.safetensors", tmp_path / "line" / "out.safetensors"
    for out in (here, there):
        out.parent.mkdir()
    document, laid = weights.watch.document, weights.watch.current
    assert document is not None
    assert laid is not None
    save_operations.save(window.context, document, laid.view, SaveOptions(here))
    settled()
    words = convert_command(document, SaveOptions(there))
    env = {**os.environ, "PYTHONPATH": str(project / "core")}
    done = subprocess.run(
        [sys.executable, "-m", "ruda.cli", *words[1:]], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert here.read_bytes() == there.read_bytes()


def test_a_file_can_be_marked_for_transformers(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    tmp_path: Path,
) -> None:
    operations.open_sample(window.context)
    settled()
    weights.ask_save()
    sheet = open_sheet()
    out = tmp_path / "marked.safetensors"
    sheet.path.setText(str(out))
    sheet._path_changed()
    assert "format=pt" in sheet.banner.text
    sheet.metadata.pytorch.click()
    assert sheet.banner.text == ""
    sheet._save()
    settled()
    with open_store(out) as saved:
        assert saved.metadata["format"] == "pt"


def test_overwriting_is_asked_for(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    qtbot: QtBot,
) -> None:
    path = make_file(DIGITS)
    window.open_paths([path])
    settled()
    weights.ask_save()
    sheet = open_sheet()
    sheet.path.setText(str(path))
    sheet._path_changed()
    assert not sheet.save_button.isEnabled()
    assert "is there already" in sheet.banner.text
    assert "• The file is there already. Allow replacing it" in sheet._notes.text()
    assert "overwrite" not in sheet._notes.text(), "the sheet has a switch for it"
    sheet.replace.click()
    settled()
    assert "is there already" not in sheet._notes.text()
    assert sheet.save_button.isEnabled()
    before = path.read_bytes()
    qtbot.mouseClick(sheet.save_button, Qt.MouseButton.LeftButton)
    settled()
    assert path.read_bytes() == before
    assert [d.name for d in window.context.session.documents] == [path.name]
    assert window.notices.notices[-1].title.startswith("Saved made.safetensors")


def test_a_file_that_was_saved_over_is_shown_as_it_is_now(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    path = make_file(WRAPPED)
    operations.open_document(window.context, path, target=TargetChoice.of("digits"))
    settled()
    make_green(window)
    document, laid = weights.watch.document, weights.watch.current
    assert document is not None
    assert laid is not None
    save_operations.save(
        window.context, document, laid.view, SaveOptions(path, overwrite=True, verify=True)
    )
    settled()
    fresh = weights.watch.document
    assert fresh is not None
    assert fresh.recipe.is_identity
    assert "norm1.gamma" in fresh.index
    assert weights.diff.coverage.headline == "100 % of elements would load"
    assert not window.context.session.dirty


@pytest.mark.parametrize(
    ("name", "suffix", "sentence"),
    [
        pytest.param("out.gguf", ".gguf", "stands for no format", id="GGUF"),
        pytest.param("out.xyz", ".xyz", "stands for no format", id="unknown suffix"),
        pytest.param("no/folder/out.bpk", ".bpk", "does not exist", id="no folder"),
    ],
)
def test_a_save_that_cannot_be_is_said_before(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    tmp_path: Path,
    name: str,
    suffix: str,
    sentence: str,
) -> None:
    window.open_paths([make_file(DIGITS)])
    settled()
    weights.ask_save()
    sheet = open_sheet()
    sheet.path.setText(str(tmp_path / name))
    sheet._path_changed()
    assert Path(sheet.path.text()).suffix == suffix
    assert sentence in sheet.banner.text
    assert not sheet.save_button.isEnabled()
    sheet.reject()


def test_the_command_that_is_copied_is_the_diff(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    path = make_file(WRAPPED)
    operations.open_document(window.context, path, target=TargetChoice.of("digits"))
    settled()
    make_green(window)
    weights.copy_command()
    text = QGuiApplication.clipboard().text()
    assert text.startswith(f"ruda diff {path} digits")
    assert "--remap '^module\\.' ''" in text
    assert "--adapt pytorch-to-ruda" in text


def test_a_save_that_is_stopped_leaves_the_old_file(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    path = make_file(DIGITS)
    window.open_paths([path])
    settled()
    before = path.read_bytes()
    weights.ask_save()
    sheet = open_sheet()
    sheet.path.setText(str(path))
    sheet._path_changed()
    sheet.replace.click()
    sheet._save()
    window.stop_job()
    settled()
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.glob("*.safetensors*")) == [path.name]


def test_a_closed_recipe_can_be_brought_back(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file(WRAPPED)])
    settled()
    weights.diff.rules.add_draft(RuleDraft(r"^module\.", ""))
    settled()
    window.book.run("file.close")
    (notice,) = window.notices.notices
    assert (notice.title, notice.buttons[0][0]) == ("made.safetensors was closed", "Bring it back")
    notice.buttons[0][1]()
    settled()
    assert [r.pattern for r in weights.watch.document.recipe.remap.rules] == [r"^module\."]


def test_the_plan_of_a_large_file_waits_until_it_is_looked_at(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(save_operations, "AT_ONCE", 3)
    monkeypatch.setattr(document_watch, "AT_ONCE", 3)
    operations.open_document(window.context, make_file(WRAPPED))
    settled()
    laid = weights.watch.current
    assert laid is not None
    assert (laid.view is not None, laid.plan) == (True, None)
    weights.show_view("convert")
    settled()
    assert weights.convert.summary.startswith("58.0 kB")
    assert weights.convert.model.rowCount() > 0
    weights.ask_save()
    sheet = open_sheet()
    assert not sheet.save_button.isEnabled()
    settled()
    assert sheet.page is not None
    assert sheet.save_button.isEnabled()
    sheet.reject()
