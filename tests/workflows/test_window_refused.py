"""The story of a file that asks for code: it is refused, named, and the tensors are there."""

from __future__ import annotations

import os
import pickle
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QPushButton

from ruda.store import TensorIndex, TensorSnapshot, save
from ruda_workbench.dialogs.refused_sheet import RefusedSheet
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui


class Marker:
    """A class of somebody, which a file of weights may ask for."""


class Harm:
    """Unpickled by Python, it would make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.path}",)


def with_entry(folder: Path, value: object) -> Path:
    """A PyTorch file of one tensor whose pickle has this value beside it."""
    good, made = folder / "good.pt", folder / "asks.pt"
    weight = TensorSnapshot.from_array("w", np.ones((2, 2), np.float32))
    save(TensorIndex.of([weight], format="pytorch"), good)
    call = pickle.dumps({"x": value}, protocol=2)
    # The dictionary of the file is on the stack at its end: one more key and value are set in it.
    entry = call[call.index(b"X\x01\x00\x00\x00x") : -2].rstrip(b"s")
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(made, "w") as out:
        for info in source.infolist():
            data = source.read(info)
            more = info.filename.endswith("data.pkl")
            out.writestr(info, data[:-1] + entry + b"s." if more else data)
    return made


def test_what_was_refused_is_listed_beside_what_was_read(
    window: MainWindow, weights: WeightsWorkspace, settled: Callable[[], None], tmp_path: Path
) -> None:
    window.open_paths([with_entry(tmp_path, Marker())])
    settled()
    document = weights.watch.document
    assert document is not None, [n.text for n in window.notices.notices]
    np.testing.assert_array_equal(document.index["w"].read(), np.ones((2, 2)))
    (text, show) = window.notices.notices[-1].buttons[0]
    assert text == "Show"
    show()
    sheet = window.findChild(RefusedSheet)
    assert sheet is not None
    (asked,) = sheet.page.names
    assert asked.name.endswith("Marker")
    assert not asked.is_grave
    assert dict(sheet.page.facts)["read"] == "1 tensor, 16 B"
    buttons = [each.objectName() for each in sheet.findChildren(QPushButton) if each.isVisible()]
    assert buttons == ["refused.close"], "there is no way to run it"
    sheet.accept()


def test_a_file_that_asks_for_harm_is_not_opened_and_runs_nothing(
    window: MainWindow, weights: WeightsWorkspace, settled: Callable[[], None], tmp_path: Path
) -> None:
    window.open_paths([with_entry(tmp_path, Harm(tmp_path / "harm"))])
    settled()
    assert weights.watch.document is None
    notice = window.notices.notices[-1]
    assert "system, which could run code; nothing was run" in notice.text
    (text, show) = notice.buttons[0]
    assert text == "Show"
    show()
    sheet = window.findChild(RefusedSheet)
    assert sheet is not None
    (asked,) = sheet.page.names
    assert asked.is_grave
    assert asked.effect == "would have run a command of the shell"
    assert dict(sheet.page.facts)["read"] == "nothing"
    buttons = [each.objectName() for each in sheet.findChildren(QPushButton) if each.isVisible()]
    assert buttons == ["refused.close"], "there is no way to run it"
    assert len(notice.buttons) == 1
    sheet.accept()
    assert not (tmp_path / "harm").exists()


def test_a_file_without_code_has_nothing_to_show(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Callable[[], None],
    make_file: Callable[..., Path],
) -> None:
    window.open_paths([make_file({"w": (2,)})])
    settled()
    assert weights.watch.document is not None
    assert not window.book.is_available("weights.refused")


def test_its_tensors_are_summed_beside_the_window(
    window: MainWindow,
    settled: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = with_entry(tmp_path, Marker())
    threads: list[threading.Thread] = []

    def seen(of: Callable[[TensorIndex], object]) -> Callable[[TensorIndex], object]:
        def look(index: TensorIndex) -> object:
            threads.append(threading.current_thread())
            return of(index)

        return look

    for name in ("facts", "values"):
        monkeypatch.setattr(TensorIndex, name, seen(getattr(TensorIndex, name)))
    window.open_paths([path])
    settled()
    assert window.notices.notices[-1].buttons
    assert threads
    assert threading.main_thread() not in threads
