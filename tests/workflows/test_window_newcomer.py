"""What a newcomer looks for in the wrong place is found from there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QPushButton

from ruda.models import get
from ruda.nn import ModuleSpec
from ruda.store import available_formats, open_store
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.welcome import WelcomeText
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]


def digits_shapes() -> dict[str, tuple[int, ...]]:
    return {entry.key: tuple(entry.shape) for entry in ModuleSpec.of(get("digits").build())}


def sheets(window: MainWindow) -> list[SaveSheet]:
    return window.findChildren(SaveSheet)


@pytest.fixture
def choosing(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> SaveSheet:
    """The save sheet that has sent a person to the types, with two things chosen on it."""
    window.open_paths([make_file({"conv1.weight": (8, 1, 3, 3)})])
    settled()
    weights.show_view("diff")
    weights.ask_save()
    (sheet,) = sheets(window)
    sheet.verify.setChecked(not sheet.verify.isChecked())
    sheet.metadata._add()
    sheet.metadata.rows[0].key.setText("note")
    sheet.metadata.rows[0].value.setText("mine")
    sheet.metadata.rows[0].changed.emit()
    types = sheet.findChild(QPushButton, "save.types")
    assert types is not None
    assert "f16" in types.text(), "the link names what a newcomer looks for"
    types.setFocus()  # as the mouse does
    types.click()
    settled()
    return sheet


def test_the_save_sheet_waits_while_types_are_chosen_and_comes_back(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    choosing: SaveSheet,
    tmp_path: Path,
) -> None:
    verify = choosing.verify.isChecked()
    assert weights.views.value == "convert"
    assert weights.convert.isVisible()
    assert not choosing.isVisible()
    weights.convert.every.setChecked(True)
    weights.convert.choose("f16")
    settled()
    back = weights.convert.findChild(QPushButton, "convert.back")
    assert back is not None
    assert back.isVisible()
    back.click()
    settled()
    assert sheets(window) == [choosing]
    assert choosing.isVisible()
    assert not back.isVisible()
    assert choosing.verify.isChecked() is verify
    assert choosing.metadata.changes == (("note", "mine"),)
    assert Path(choosing.path.text()).name == "made-f16.safetensors", "the name says the type"
    focused = choosing.focusWidget()
    assert focused is not None
    QTest.keyClick(focused, Qt.Key.Key_Return)  # saves; it does not go to the types again
    settled()
    with open_store(tmp_path / "made-f16.safetensors") as saved:
        assert saved["conv1.weight"].dtype_label == "f16"
        assert saved.metadata["note"] == "mine"


@pytest.mark.parametrize("way", ["another file", "closed", "saving is asked for"])
def test_a_sheet_that_waits_goes_with_its_file(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    choosing: SaveSheet,
    way: str,
) -> None:
    back = weights.convert.findChild(QPushButton, "convert.back")
    assert back is not None
    if way == "another file":
        window.open_paths([make_file({"alpha": (3, 3)}, name="other.safetensors")])
    elif way == "closed":
        document = weights.watch.document
        assert document is not None
        window.context.session.close(document.id)
    else:
        weights.ask_save()
        settled()
        assert choosing.isVisible()
        choosing.reject()
    settled()
    assert sheets(window) == []
    assert not back.isVisibleTo(weights.convert)
    if way == "another file":
        weights.ask_save()
        (sheet,) = sheets(window)
        assert Path(sheet.path.text()).name == "other-converted.safetensors"
        sheet.reject()


def test_the_menu_of_models_says_which_fits_best(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file(digits_shapes())])
    settled()
    texts = [entry.text() for entry in weights.title.target.menu().actions()]
    assert texts[0] == "digits, Sample digits, fits 16 of 16 tensors"
    assert len(texts) > 20, "the others are still there"
    assert not any("fits" in text for text in texts if text.startswith("gpt2"))


def test_the_list_of_models_says_how_well_each_fits_and_follows_the_file(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    shapes = digits_shapes()
    del shapes["fc2.bias"]
    window.open_paths([make_file(shapes)])
    settled()
    weights.show_view("diff")
    settled()
    row = weights.chooser.findChild(QAbstractButton, "chooser.digits")
    assert row is not None
    assert row.accessibleName().endswith("fits 15 of 16 tensors")
    above = [each for each in weights.chooser.findChildren(QAbstractButton) if each.y() < row.y()]
    assert [each.objectName() for each in above if each.parent() is row.parent()] == [
        "chooser.file.file"
    ], "the best stands first among the models"
    window.open_paths([make_file({"alpha": (3, 3)}, name="other.safetensors")])
    settled()
    assert weights.fits.coverages == ()
    assert "fits" not in row.accessibleName()


def test_a_file_that_has_a_model_finds_out_when_the_menu_is_opened(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file(digits_shapes())])
    settled()
    weights.choose_target("resnet20")
    settled()
    document = weights.watch.document
    assert document is not None
    edited = document.recipe.with_rule("^x", "y")
    window.context.session.edit(document.id, "Rule", edited)
    settled()
    menu = weights.title.target.menu()
    assert not any("fits" in entry.text() for entry in menu.actions()), "the recipe is another"
    menu.aboutToShow.emit()
    settled()
    assert menu.actions()[0].text().endswith(", fits 16 of 16 tensors")


def test_the_open_dialog_shows_every_format_that_is_read(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(*words: object) -> tuple[list[str], str]:
        asked.append(str(words[3]))
        return [], ""

    monkeypatch.setattr(QFileDialog, "getOpenFileNames", ask)
    window.ask_open()
    (shown,) = asked
    weights, every = shown.split(";;")
    assert every == "All files (*)"
    wanted = {f"*{suffix}" for each in available_formats() for suffix in each.suffixes}
    assert wanted <= set(weights.partition("(")[2].rstrip(")").split())
    assert {"*.gguf", "*.onnx", "*.h5", "*.npz", "*.keras"} <= wanted


def test_the_start_names_a_suffix_of_every_format() -> None:
    named = set(WelcomeText().kinds.split())
    for each in available_formats():
        assert named & set(each.suffixes), each.name
