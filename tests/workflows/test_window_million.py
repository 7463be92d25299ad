"""A file of a million tensors: it opens, lists, searches, sorts and compares, and nothing blocks.

A watchdog measures the time that the GUI thread itself works between two turns of its event
loop. Time in which the thread waits for its turn is not counted: it says nothing of the code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QAbstractEventDispatcher, QObject, Qt
from PySide6.QtWidgets import QApplication

from ruda.session import TargetChoice
from ruda_workbench import operations
from ruda_workbench.application import settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.compare import CompareWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.alone]

MILLION = 1_000_000
LIMIT = 0.1
"""Seconds of work that one turn of the event loop may take."""


class Watchdog(QObject):
    """Notes the longest work of one turn of the event loop, in seconds of this thread's time."""

    def __init__(self) -> None:
        super().__init__()
        self.worst = 0.0
        self._since = time.thread_time()
        dispatcher = QAbstractEventDispatcher.instance()
        assert dispatcher is not None
        dispatcher.awake.connect(self._awake, Qt.ConnectionType.DirectConnection)
        dispatcher.aboutToBlock.connect(self._rest, Qt.ConnectionType.DirectConnection)

    def _awake(self) -> None:
        self._since = time.thread_time()

    def _rest(self) -> None:
        self.worst = max(self.worst, time.thread_time() - self._since)

    def take(self) -> float:
        """The longest work since the last call."""
        found, self.worst = self.worst, 0.0
        return found


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A safetensors file of a million one-byte tensors, written by hand."""
    path = tmp_path_factory.mktemp("million") / "million.safetensors"
    kinds = ("attn.q.weight", "attn.k.weight", "mlp.up.weight", "mlp.down.weight")
    entries = {
        f"layers.{n // 4}.{kinds[n % 4]}": {"dtype": "U8", "shape": [1], "data_offsets": [n, n + 1]}
        for n in range(MILLION)
    }
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        file.write(np.arange(MILLION, dtype=np.uint32).astype(np.uint8).tobytes())
    return path


def test_nothing_blocks_the_window_for_a_tenth_of_a_second(
    qapp: QApplication, window: MainWindow, weights: WeightsWorkspace, million: Path
) -> None:
    dog = Watchdog()
    times: dict[str, float] = {}

    def step(name: str, run: Callable[[], object]) -> None:
        dog.take()
        start = time.thread_time()
        run()
        called = time.thread_time() - start
        settle(window)
        times[name] = max(called, dog.take())

    panel = weights.tensors
    step("open", lambda: window.open_paths([million]))
    assert panel.model.page is not None
    assert panel.model.page.total == MILLION
    step("search", lambda: panel.filter.asked.emit("layers.77", False, False))
    assert panel.model.page.shown == 4 * (1 + 10 + 100 + 1000)
    step("regex", lambda: panel.filter.asked.emit(r"77\.mlp", True, False))
    step("all again", lambda: panel.filter.asked.emit("", False, False))
    step("unfold", panel.fold.click)
    assert panel.model.rowCount() == MILLION
    step("sort", lambda: panel.table.sortByColumn(0, Qt.SortOrder.DescendingOrder))
    step("end", panel.table.scrollToBottom)
    step("inspect", lambda: panel.table.select_row(5))
    step("convert", lambda: weights.show_view("convert"))
    target = TargetChoice.of(str(million), is_file=True)
    document = weights.watch.document
    assert document is not None
    step("target", lambda: operations.choose_target(window.context, document, target))
    step("load diff", lambda: weights.show_view("diff"))
    assert weights.diff.page is not None
    assert weights.diff.page.total == MILLION
    step("next problem", lambda: window.book.run("view.next-problem"))
    compare = window.workspace("compare")
    assert isinstance(compare, CompareWorkspace)
    step("compare", lambda: window.show_workspace("compare"))
    step("other side", lambda: compare.watch.choose(1, document.id))
    assert compare.lines.page is not None
    assert compare.lines.page.headline.startswith("All of 1 000 000 tensors")
    step("unfold the comparison", compare.lines.fold.click)
    assert compare.lines.model.rowCount() == MILLION
    step("next difference", lambda: window.book.run("view.next-problem"))
    slow = {name: f"{seconds * 1000:.0f} ms" for name, seconds in times.items() if seconds > LIMIT}
    assert slow == {}
