"""Stories of the Weights workspace, told through the window: opening, looking, jobs."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from pytestqt.qtbot import QtBot

from ruda.progress import Monitor
from ruda.session import JobState
from ruda.store import TensorIndex, TensorSnapshot, open_store, save
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace

from .digits import DIGITS, WRAPPED, counts

pytestmark = pytest.mark.gui

Settled = Callable[[], None]

MakeFile = Callable[..., Path]


def drop(window: MainWindow, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    window.dropEvent(
        QDropEvent(
            QPointF(700, 400),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )


ODD = [
    pytest.param(np.float32(1.5).reshape(()), id="scalar"),
    pytest.param(np.zeros((0,), np.float32), id="empty"),
    pytest.param(np.zeros((3, 0, 2), np.float32), id="empty axis"),
    pytest.param(np.array([True, False]), id="bool"),
    pytest.param(np.array([[-(1 << 62), 5]], np.int64), id="i64"),
    pytest.param(np.arange(5, dtype=np.uint8), id="u8"),
    pytest.param(np.array([1, np.inf], np.float16), id="f16"),
    pytest.param(np.array([1, np.nan], ml_dtypes.bfloat16), id="bf16"),
    pytest.param(np.array([1, 2], ml_dtypes.float8_e4m3fn), id="f8"),
    pytest.param(np.full(4, np.nan, np.float32), id="all NaN"),
    pytest.param(np.full((2, 2), 3e38, np.float32), id="constant and large"),
    pytest.param(np.zeros((2, 3, 4, 5, 6), np.float32), id="five axes"),
]

BAD = [
    pytest.param("empty.pt", b"", "the file is empty", id="empty"),
    pytest.param("page.bin", b"<!DOCTYPE html><html></html>", "HTML page", id="HTML"),
    pytest.param(
        "pointer.safetensors",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
        "LFS pointer",
        id="LFS pointer",
    ),
    pytest.param("cut.safetensors", (99).to_bytes(8, "little") + b"{}", "only 2 follow", id="cut"),
]


def test_a_dropped_file_is_opened(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    path = make_file(DIGITS)
    drop(window, path)
    settled()
    assert window.windowTitle() == "made.safetensors – Ruda"
    assert window.tabs.tabText(0) == "made.safetensors"
    assert weights.title.facts == "16 tensors · 58.0 kB · safetensors file · no recipe"
    assert [r.path for r in window.context.storage.recents] == [str(path)]
    assert weights.summary().startswith("16 tensors · 14 506 values")


def test_a_file_that_hangs_over_the_window_is_shown(window: MainWindow, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "x.pt"))])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    copy = Qt.DropAction.CopyAction
    window.dragEnterEvent(QDragEnterEvent(QPoint(9, 9), copy, data, left, none))
    assert window._veil.isVisible()
    window.dragLeaveEvent(QDragLeaveEvent())
    assert not window._veil.isVisible()


def test_the_table_is_searched_sorted_and_unfolded(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    qtbot: QtBot,
) -> None:
    window.open_paths([make_file(DIGITS)])
    settled()
    panel = weights.tensors
    assert panel.model.rowCount() == 8
    panel.fold.click()
    assert panel.model.rowCount() == 16
    window.book.run("view.search")
    qtbot.keyClicks(panel.filter, "CONV")
    qtbot.waitUntil(lambda: panel.model.rowCount() == 4)
    panel.filter.case.click()
    assert panel.model.rowCount() == 0
    panel.filter.case.click()
    panel.filter.setText("(conv|fc)1")
    panel.filter.regex.click()
    assert panel.model.rowCount() == 4
    panel.table.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    assert [panel.model.row(i).key for i in range(2)] == ["fc1.weight", "conv1.weight"]


def test_a_broken_pattern_is_outlined_and_the_rows_stay(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file(DIGITS)])
    settled()
    panel = weights.tensors
    panel.filter.regex.setChecked(True)
    panel.filter.setText("conv(")
    panel.filter.returnPressed.emit()
    assert panel.filter.property("invalid") is True
    assert "at position 4" in panel.filter.toolTip()
    assert panel.model.rowCount() == 8


def test_a_family_opens_and_is_stepped_through(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    qtbot: QtBot,
) -> None:
    window.open_paths([make_file(DIGITS)])
    settled()
    panel = weights.tensors
    panel.table.select_row(0)
    qtbot.keyClick(panel.table, Qt.Key.Key_Right)
    assert [panel.model.row(i).key for i in range(3)] == [
        "conv*.weight",
        "conv1.weight",
        "conv2.weight",
    ]
    qtbot.keyClick(panel.table, Qt.Key.Key_Left)
    assert panel.model.row(1).key == "conv*.bias"
    inspector = weights.inspector()
    assert inspector.shown_key == "conv1.weight"
    inspector._ahead()
    settled()
    assert inspector.shown_key == "conv2.weight"


def test_a_long_family_says_how_many_it_has_and_is_let_go_with_its_file(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file({f"layers.{n}.weight": (2, 2) for n in range(130)})])
    settled()
    inspector = weights.inspector()
    said = "1 of the first 100 of 130 in the family"
    weights.tensors.table.select_row(0)
    assert inspector._step_text.text() == said
    weights.show_view("convert")
    settled()
    weights.convert.select_again()
    settled()
    assert inspector._step_text.text() == said
    inspector._back()
    assert inspector.shown_key == "layers.99.weight"
    assert inspector._step_text.text() == "100 of the first 100 of 130 in the family"
    table = weakref.ref(weights.watch.table)
    weights.show_view("diff")
    settled()
    operations.close_active(window.context)
    settled()
    assert table() is None


def test_the_inspector_reads_the_chosen_tensor(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file(DIGITS)])
    settled()
    weights.reveal("fc2.weight")
    settled()
    found = weights.inspector().inspection
    assert found is not None
    with open_store(weights.watch.document.path) as index:
        values = index["fc2.weight"].read()
    assert found.stats.minimum == float(values.min())
    np.testing.assert_array_equal(found.plane, values)
    assert dict(found.halves).keys() == {"as f16", "as bf16"}


@pytest.mark.parametrize("values", ODD)
def test_odd_tensors_are_inspected(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    tmp_path: Path,
    values: np.ndarray,
) -> None:
    path = tmp_path / "odd.safetensors"
    odd = TensorSnapshot.from_array("odd", values)
    save(TensorIndex.of([odd], format="safetensors"), path)
    window.open_paths([path])
    settled()
    weights.reveal("odd")
    settled()
    panel = weights.inspector()
    found = panel.inspection
    assert found is not None, panel._scan_note.text()
    assert found.stats.count == values.size
    for tab in ("heat", "values", "overview"):
        panel.tabs.button(tab).click()
        window.grab()


def test_a_large_tensor_waits_for_a_click(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    qtbot: QtBot,
) -> None:
    window.context.storage.change(statistics_limit=0)
    window.open_paths([make_file(DIGITS)])
    settled()
    weights.reveal("fc1.weight")
    settled()
    panel = weights.inspector()
    assert panel.inspection is None
    assert panel._scan.text() == "Compute (51.2 kB)"
    qtbot.mouseClick(panel._scan, Qt.MouseButton.LeftButton)
    settled()
    assert panel.inspection is not None
    assert not panel._scan.isVisible()


@pytest.mark.parametrize(("name", "content", "sentence"), BAD)
def test_a_bad_file_is_a_notice(
    window: MainWindow, settled: Settled, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    drop(window, path)
    settled()
    (notice,) = window.notices.notices
    assert (notice.kind, notice.title) == ("error", f"{name} was not opened")
    assert sentence.lower() in notice.text.lower()
    assert notice.report == "", "a refusal is no fault of the program"
    assert window.context.session.documents == ()


def test_the_good_one_of_two_files_is_opened(
    window: MainWindow, settled: Settled, make_file: MakeFile, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.pt"
    bad.write_bytes(b"nothing")
    drop(window, bad, make_file(DIGITS))
    settled()
    assert [d.name for d in window.context.session.documents] == ["made.safetensors"]
    assert len(window.notices.notices) == 1


def test_documents_keep_their_own_view(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file(DIGITS, "one.safetensors")])
    settled()
    weights.choose_target("digits")
    settled()
    window.open_paths([make_file(WRAPPED, "two.safetensors")])
    settled()
    assert weights.views.value == "tensors"
    window.book.run("file.previous")
    settled()
    assert (weights.views.value, window.tabs.currentIndex()) == ("diff", 0)
    assert counts(weights)["applied"] > 0
    window.book.run("file.close")
    settled()
    assert [window.tabs.tabText(i) for i in range(window.tabs.count())] == ["two.safetensors"]
    window.book.run("file.close")
    settled()
    assert weights.welcome.isVisible()


def test_a_job_is_stopped_from_the_status_line(window: MainWindow, qtbot: QtBot) -> None:
    pause = threading.Event()

    def work(monitor: Monitor) -> None:
        while True:
            monitor.check()
            pause.wait(0.002)

    job = window.context.jobs.start("Counting sheep", work, owner=window, done=lambda _: None)
    cancel = window.status._cancel
    qtbot.waitUntil(cancel.isVisible)
    assert window.status._job_title.text() == "Counting sheep"
    qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: job.state is JobState.CANCELLED)
    qtbot.waitUntil(lambda: not cancel.isVisible())


def test_closing_stops_what_runs(window: MainWindow, qtbot: QtBot) -> None:
    pause = threading.Event()

    def work(monitor: Monitor) -> None:
        while True:
            monitor.check()
            pause.wait(0.002)

    job = window.context.jobs.start("Long", work, owner=window, done=lambda _: None)
    qtbot.waitUntil(lambda: job.state is JobState.RUNNING)
    window.close()
    assert job.state is JobState.CANCELLED


@pytest.mark.cases
def test_a_pickle_that_asks_for_code_is_read_and_said(
    window: MainWindow, settled: Settled, cases: Path
) -> None:
    window.open_paths([cases / "zoo" / "containers" / "full_module_custom_class.pt"])
    settled()
    (notice,) = window.notices.notices
    title = "full_module_custom_class.pt asks for code, none of it was run"
    assert (notice.kind, notice.title) == ("warning", title)
    assert "__main__.Mlp" in notice.text
    assert window.status._findings.text().endswith("findings")


@pytest.mark.cases
@pytest.mark.parametrize(
    "name",
    [
        "burn_mnist_bpk/model.bpk",
        "burn_import_mnist/mnist.safetensors",
        "resnet20_cifar10/resnet20-12fca82f.th",
        "crepe_tiny/tiny.pth",
    ],
)
def test_real_files_are_opened_and_read(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, cases: Path, name: str
) -> None:
    window.open_paths([cases / "models" / name])
    settled()
    assert window.notices.notices == ()
    weights.tensors.table.select_row(0)
    settled()
    found = weights.inspector().inspection
    assert found is not None
    assert found.stats.count > 0
