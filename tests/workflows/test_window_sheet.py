"""Stories of the save sheet: metadata, shards, shared tensors, and the comparison afterwards."""

from __future__ import annotations

import dataclasses
import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from ruda.cli import main
from ruda.session import SavePlanPage
from ruda.store import CastPolicy, TensorIndex, TensorSnapshot, open_store, plan_save, write
from ruda.tensor import DType
from ruda_workbench import operations, save_operations
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.main_window import MainWindow
from ruda_workbench.plain_words import without_options
from ruda_workbench.workspaces.compare import CompareWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
OWN = {"author": "somebody", "epoch": "12", "licence": "CC-BY-4.0"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file with metadata, and two keys that are one tensor."""
    rng = np.random.default_rng(3)
    table = rng.standard_normal((40, 8)).astype(np.float32)
    first = TensorSnapshot.from_array("wte.weight", table)
    tied = TensorSnapshot.from_array("lm_head.weight", table)
    norm = TensorSnapshot.from_array("norm.weight", np.ones(8, np.float32))
    tensors = [first, dataclasses.replace(tied, shared_with="wte.weight"), norm]
    path = tmp_path / "tied.safetensors"
    from ruda.store import Aliases

    index = TensorIndex.of(tensors, format="safetensors")
    write(plan_save(index, path, metadata=OWN, aliases=Aliases.ONCE))
    return path


@pytest.fixture
def sheet(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, source: Path
) -> SaveSheet:
    window.open_paths([source])
    settled()
    weights.ask_save()
    found = QApplication.activeModalWidget()
    assert isinstance(found, SaveSheet)
    return found


def states(sheet: SaveSheet) -> dict[str, str]:
    return {row.line.key: row.line.state for row in sheet.metadata.rows}


def edit(sheet: SaveSheet, key: str, value: str) -> None:
    row = next(row for row in sheet.metadata.rows if row.line.key == key)
    row.value.setText(value)
    row.value.editingFinished.emit()


def test_metadata_is_changed_added_and_struck_out(
    sheet: SaveSheet, settled: Settled, tmp_path: Path
) -> None:
    assert states(sheet) == {**dict.fromkeys(OWN, "kept"), "aliases": "kept"}
    edit(sheet, "epoch", "13")
    sheet.metadata._struck("licence")
    sheet.metadata.add.click()
    sheet.metadata.rows[-1].key.setText("note")
    sheet.metadata.rows[-1].value.setText("äöü")
    sheet.metadata.rows[-1].value.editingFinished.emit()
    assert states(sheet) == {
        "author": "kept",
        "epoch": "changed",
        "licence": "removed",
        "aliases": "kept",
        "note": "added",
    }
    assert ("metadata left out", "licence") in facts(sheet)
    sheet._save()
    settled()
    with open_store(tmp_path / "tied-converted.safetensors") as saved:
        found = dict(saved.metadata)
    found.pop("aliases")
    assert found == {"author": "somebody", "epoch": "13", "note": "äöü"}


def facts(sheet: SaveSheet) -> list[tuple[str, str]]:
    return [(key.text(), value.text()) for key, value in sheet._facts._rows]


def test_an_entry_that_was_struck_out_comes_back(sheet: SaveSheet) -> None:
    for state in ("removed", "kept"):
        sheet.metadata._struck("author")
        assert states(sheet)["author"] == state
    assert sheet.options.drop_metadata == ()


def test_what_a_format_cannot_hold_is_said(sheet: SaveSheet) -> None:
    sheet.formats.choose("numpy")
    sheet.formats.chosen.emit("numpy")
    assert sheet.path.text().endswith(".npz")
    lost = [key for key, state in states(sheet).items() if state == "lost"]
    assert set(OWN) <= set(lost)
    assert not sheet.shards.isVisible()


def test_a_size_spreads_the_tensors_over_files(
    sheet: SaveSheet, settled: Settled, tmp_path: Path
) -> None:
    sheet.shards.setText("much")
    sheet.shards.editingFinished.emit()
    assert not sheet.save_button.isEnabled()
    assert "is no size" in sheet.banner.text
    sheet.shards.setText("1kB")
    sheet.shards.editingFinished.emit()
    assert sheet.save_button.isEnabled()
    assert sheet.page is not None
    assert sheet.page.files > 2
    sheet._save()
    settled()
    assert len(list(tmp_path.glob("tied-converted-0*.safetensors"))) == sheet_files(tmp_path)
    with open_store(tmp_path / "tied-converted.safetensors.index.json") as saved:
        assert {"wte.weight", "norm.weight"} <= set(saved)


def sheet_files(folder: Path) -> int:
    import json

    index = json.loads((folder / "tied-converted.safetensors.index.json").read_text())
    return len(set(index["weight_map"].values()))


def test_a_warning_names_the_button_that_heeds_it_and_no_option_of_the_command(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled
) -> None:
    operations.open_sample(window.context)  # PyTorch's, whose metadata transformers asks for
    settled()
    weights.ask_save()
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, SaveSheet)
    assert "“Mark as PyTorch”" in sheet.banner.text
    texts = [each.text() for each in sheet.findChildren(QLabel)]
    assert [text for text in texts if "--" in text] == []
    button = sheet.banner.findChild(QPushButton)
    assert button is not None
    button.click()
    assert sheet.options.metadata == (("format", "pt"),)
    assert "format=pt" not in sheet.banner.text
    sheet.reject()


def test_a_sentence_of_the_library_loses_its_options_only() -> None:
    text = "a cast to f16 in the recipe (--cast f16) lets such tensors load (as f16)"
    assert without_options(text) == "a cast to f16 in the recipe lets such tensors load (as f16)"


def test_the_owner_of_shared_tensors_is_chosen(
    sheet: SaveSheet, settled: Settled, tmp_path: Path
) -> None:
    assert sheet.page is not None
    assert [set(group) for group in sheet.page.shared] == [{"wte.weight", "lm_head.weight"}]
    assert sheet.options.aliases is None
    sheet.shared.how.choose("once")
    sheet.shared.how.chosen.emit("once")
    sheet.shared.owners_pickers[0].picked.emit("lm_head.weight")
    assert sheet.options.owners == ("lm_head.weight",)
    sheet._save()
    settled()
    with open_store(tmp_path / "tied-converted.safetensors") as saved:
        assert saved["wte.weight"].shared_with == "lm_head.weight"


def test_each_key_in_full_is_larger(sheet: SaveSheet) -> None:
    assert sheet.page is not None
    before = sheet.page.size_after
    sheet.shared.how.choose("full")
    sheet.shared.how.chosen.emit("full")
    assert sheet.page.size_after >= before + 40 * 8 * 4 - 64


def test_the_sheets_command_writes_the_same_bytes(
    sheet: SaveSheet, settled: Settled, tmp_path: Path
) -> None:
    edit(sheet, "epoch", "13 & more")
    sheet.metadata._struck("licence")
    sheet.shared.how.choose("once")
    sheet.shared.how.chosen.emit("once")
    sheet.shared.owners_pickers[0].picked.emit("lm_head.weight")
    sheet._copy()
    words = shlex.split(QGuiApplication.clipboard().text())
    sheet._save()
    settled()
    out = tmp_path / "tied-converted.safetensors"
    by_window = out.read_bytes()
    out.unlink()
    assert main(words[1:]) == 0
    assert out.read_bytes() == by_window


@pytest.mark.parametrize("closed", [False, True], ids=["open", "both closed"])
def test_the_saved_file_is_laid_beside_its_source(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    source: Path,
    closed: bool,
) -> None:
    window.open_paths([source])
    settled()
    document = weights.watch.document
    assert document is not None
    recipe = document.recipe.with_rule("^norm", "ln").with_cast(CastPolicy.every(DType.F16))
    window.context.session.edit(document.id, "Half", recipe)
    settled()
    weights.ask_save()
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, SaveSheet)
    sheet._save()
    settled()
    buttons = dict(window.notices.notices[-1].buttons)
    if closed:
        for each in window.context.session.documents:
            window.context.session.close(each.id)
        settled()
    buttons["Diff with source"]()
    settled()
    compare = window.workspace("compare")
    assert isinstance(compare, CompareWorkspace)
    assert window.current == "compare"
    counts = {s.value: chip.count for s, chip in compare.lines.chips.items() if chip.count}
    # Halves of random values lost digits; ones are ones in any type, under their new name.
    assert counts == {"same": 1, "changed": 2}
    assert compare.lines.page is not None
    assert compare.lines.page.values
    largest = {line.key: line.figures[0] for line in compare.lines.page.lines}
    assert largest["ln.weight"] == "0"
    assert 0 < float(largest["wte.weight"]) < 2e-3


def test_a_late_plan_does_not_allow_what_cannot_be_saved(
    sheet: SaveSheet, settled: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    plan_page = save_operations.plan_page

    def slow(*arguments: Any) -> SavePlanPage:
        gate.wait(10)
        return plan_page(*arguments)

    monkeypatch.setattr(save_operations, "AT_ONCE", 0)
    monkeypatch.setattr(save_operations, "plan_page", slow)
    sheet.shards.setText("5GB")
    sheet.shards.editingFinished.emit()
    sheet.shards.setText("many")
    sheet.shards.editingFinished.emit()
    problem = sheet.banner.text
    assert "many" in problem
    gate.set()
    settled()
    assert (sheet.banner.text, sheet.page) == (problem, None)
    assert not sheet.save_button.isEnabled()
    sheet._save()
    assert sheet.isVisible()
