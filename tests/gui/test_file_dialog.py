"""The list of names that the file dialog drops down while somebody types."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit

from ruda_workbench.main_window import MainWindow
from ruda_workbench.theme import colours

pytestmark = pytest.mark.gui


def test_nothing_shows_through_the_names_that_are_offered(
    window: MainWindow, tmp_path: Path
) -> None:
    dialog = QFileDialog(window, "", str(tmp_path))
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
    field = dialog.findChild(QLineEdit, "fileNameEdit")
    assert field is not None
    popup = field.completer().popup()
    popup.resize(200, 80)
    popup.ensurePolished()
    QApplication.processEvents()
    seen = popup.grab().toImage().pixelColor(100, 40)
    assert seen.name() == colours().raised.lower()
    dialog.deleteLater()
