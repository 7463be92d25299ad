"""What a newcomer looks for in the wrong place is found from there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QPushButton

from ruda.store import available_formats
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]


def test_types_are_found_from_the_save_sheet(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file({"conv1.weight": (8, 1, 3, 3)})])
    settled()
    weights.show_view("diff")
    weights.ask_save()
    (sheet,) = window.findChildren(SaveSheet)
    types = sheet.findChild(QPushButton, "save.types")
    assert types is not None
    assert "f16" in types.text(), "the link names what a newcomer looks for"
    types.click()
    settled()
    assert not window.findChildren(SaveSheet)
    assert weights.views.value == "convert"
    assert weights.convert.isVisible()


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
