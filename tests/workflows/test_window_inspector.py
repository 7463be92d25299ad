"""Stories of the inspector: planes of a tensor, its bytes and norms, beside another, and copies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QMenu
from pytestqt.qtbot import QtBot

from ruda.progress import Monitor
from ruda.session import OTHERS, PlaneChoice, hex_page, number_text
from ruda.store import CastPolicy, TensorIndex, TensorSnapshot, save
from ruda.tensor import DType
from ruda_workbench import settings_operations, tensor_views
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.inspector import InspectorPanel
from ruda_workbench.panels.inspector_hex import HexTab
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]


def kernel() -> np.ndarray:
    values = np.random.default_rng(1).standard_normal((16, 6, 3, 2)).astype(np.float32)
    values[5] = 0
    values[3, 4, 1, 0] = np.nan
    values[9, 2, 2, 1] = np.inf
    return values


@pytest.fixture
def inspector(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, tmp_path: Path
) -> InspectorPanel:
    values = kernel()
    tensors = [
        TensorSnapshot.from_array("a.weight", values),
        TensorSnapshot.from_array("b.weight", values + np.float32(0.5)),
        TensorSnapshot.from_array("bias", np.arange(4, dtype=np.float32)),
    ]
    path = tmp_path / "made.safetensors"
    save(TensorIndex.of(tensors, format="safetensors"), path)
    window.open_paths([path])
    settled()
    weights.reveal("a.weight")
    settled()
    return weights.inspector()


def show(inspector: InspectorPanel, tab: str) -> None:
    inspector.tabs.button(tab).click()


def test_axes_are_picked_and_slid_through(inspector: InspectorPanel, settled: Settled) -> None:
    show(inspector, "heat")
    assert inspector.heat.choice.columns == OTHERS
    inspector.heat.columns.picked.emit("2")
    settled()
    assert [*inspector.heat.sliders] == [1, 3]
    inspector.heat.sliders[1].setValue(4)
    inspector.heat.sliders[3].setValue(1)
    inspector.heat.axes._timer.timeout.emit()
    settled()
    assert inspector.heat.choice == PlaneChoice(0, 2, (0, 4, 0, 1))
    np.testing.assert_array_equal(inspector._grid_model._plane, kernel()[:, 4, :, 1])
    inspector.heat.rows.picked.emit("2")
    settled()
    assert inspector.heat.choice == PlaneChoice(2, 0, (0, 4, 0, 1))
    np.testing.assert_array_equal(inspector._grid_model._plane, kernel()[:, 4, :, 1].T)


def test_values_that_are_not_finite_are_gone_to(
    inspector: InspectorPanel, settled: Settled
) -> None:
    show(inspector, "heat")
    inspector.heat.columns.picked.emit("1")
    settled()
    assert inspector.heat.bad.text() == "Not finite: 2, hatched"
    inspector.heat.next_bad.click()
    settled()
    assert inspector.heat.hover.text() == "[3, 4, 1, 0] · 1 of 2"
    assert inspector.heat.choice == PlaneChoice(0, 1, (3, 4, 1, 0))
    assert inspector.heat._page is not None
    assert inspector.heat._page.values.nonfinite[3, 4]
    inspector.heat.next_bad.click()
    settled()
    assert inspector.heat.choice.fixed == (9, 2, 2, 1)


def test_bytes_and_norms(inspector: InspectorPanel, settled: Settled) -> None:
    show(inspector, "hex")
    settled()
    first = kernel().tobytes()[:8].hex(" ")
    lines = inspector.hex.text.toPlainText().splitlines()
    assert lines[0][6:29].replace("│", " ") == first
    inspector.hex.ahead.click()
    settled()
    assert inspector.hex.page is not None
    assert inspector.hex.page.start == 1024
    show(inspector, "norms")
    assert inspector.norms.rows.findings.text() == "all zero: 5"
    assert len(inspector.norms.columns.bars.bars) == 36


@pytest.mark.parametrize(("width", "count"), [(300, 8), (420, 8), (820, 16), (1600, 32)])
def test_lines_of_bytes_are_as_long_as_there_is_room(qtbot: QtBot, width: int, count: int) -> None:
    tab = HexTab()
    qtbot.addWidget(tab)
    tab.resize(width, 400)
    tab.show()
    tab.show_page(hex_page(TensorSnapshot.from_array("w", kernel())))
    first = tab.text.toPlainText().splitlines()[0]
    assert first[6:].replace("│", " ").startswith(kernel().tobytes()[:count].hex(" "))
    assert not first[6:].replace("│", " ").startswith(kernel().tobytes()[: count + 1].hex(" "))
    assert tab.text.horizontalScrollBar().maximum() == 0
    tab.resize(300, 400)
    assert tab.text.horizontalScrollBar().maximum() == 0
    again = tab.text.toPlainText().splitlines()[0]
    assert again[6:].replace("│", " ") == kernel().tobytes()[:8].hex(" ")


def test_two_tensors_beside_each_other(
    inspector: InspectorPanel, weights: WeightsWorkspace, settled: Settled
) -> None:
    button = inspector.findChild(QAbstractButton, "inspector.pin")
    assert button is not None
    show(inspector, "pinned")
    assert inspector.pinned.note.text() == "Pin a tensor to lay others beside it."
    button.click()
    assert inspector.pinned.note.text() == "Pinned: a.weight. Choose another one."
    weights.reveal("b.weight")
    settled()
    assert inspector.pinned.captions[0].text() == "Pinned: a.weight"
    assert not inspector.pinned.maps[2].isHidden()
    weights.reveal("bias")
    settled()
    assert "of shape [16, 6, 3, 2]; this one has [4]" in inspector.pinned.note.text()
    inspector.pinned.unpin.click()
    assert inspector.pinned.note.text() == "Pin a tensor to lay others beside it."


def test_a_tensor_is_copied_in_three_ways(
    inspector: InspectorPanel, weights: WeightsWorkspace, settled: Settled
) -> None:
    menu = inspector.findChild(QMenu, "inspector.copy-menu")
    assert menu is not None
    numpy, python, picture = (entry for entry in menu.actions() if isinstance(entry, QAction))
    board = QGuiApplication.clipboard()
    numpy.trigger()
    back = eval(board.text(), {"np": np})
    np.testing.assert_array_equal(back, kernel())
    python.trigger()
    scope: dict[str, np.ndarray] = {}
    exec(board.text(), scope)
    np.testing.assert_array_equal(scope["values"], kernel())
    picture.trigger()
    assert (board.image().width(), board.image().height()) == (36, 16)


def test_heights_by_the_logarithm_show_rare_values(
    inspector: InspectorPanel, settled: Settled
) -> None:
    plain = inspector._histogram.heights()
    inspector._log.click()
    logged = inspector._histogram.heights()
    assert max(plain) == max(logged) == 1.0
    assert sum(logged) > 1.5 * sum(plain)


def test_a_plane_that_is_being_read_is_stopped_when_the_tensor_is_left(
    inspector: InspectorPanel,
    weights: WeightsWorkspace,
    settled: Settled,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Monitor] = []

    def endless(_snapshot: TensorSnapshot, _choice: PlaneChoice, *, monitor: Monitor) -> None:
        asked.append(monitor)
        while True:
            monitor.check()

    monkeypatch.setattr(tensor_views, "plane_page", endless)
    inspector.heat.columns.picked.emit("3")
    weights.reveal("bias")
    settled()
    assert inspector.shown_key == "bias"
    assert inspector.heat._page is not None
    assert len(asked) <= 1


@pytest.fixture
def large(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, tmp_path: Path
) -> WeightsWorkspace:
    """Two tensors of more values than a table keeps."""
    values = np.arange(1500 * 1400, dtype=np.float32).reshape(1500, 1400)
    tensors = [
        TensorSnapshot.from_array("a.weight", values),
        TensorSnapshot.from_array("b.weight", values + np.float32(2)),
    ]
    path = tmp_path / "large.safetensors"
    save(TensorIndex.of(tensors, format="safetensors"), path)
    window.open_paths([path])
    settled()
    weights.reveal("a.weight")
    settled()
    return weights


def test_values_of_a_large_plane_come_when_they_are_looked_at(
    large: WeightsWorkspace, settled: Settled
) -> None:
    inspector = large.inspector()
    show(inspector, "values")
    model = inspector.grid.model()
    assert (model.rowCount(), model.columnCount()) == (1500, 1400)
    cell = model.index(1234, 700)
    assert cell.data() == "…"
    inspector.grid.scrollTo(cell)
    settled()
    assert cell.data() == number_text(1234 * 1400 + 700)
    assert model.index(1200, 700).data() == number_text(1200 * 1400 + 700)


def test_large_tensors_lie_beside_each_other_when_that_is_asked_for(
    large: WeightsWorkspace, settled: Settled, window: MainWindow
) -> None:
    inspector = large.inspector()
    inspector.pin.click()
    settings_operations.change(window.context, "statistics_limit", 1)
    large.reveal("b.weight")
    show(inspector, "pinned")
    settled()
    assert inspector.pinned.scan.text() == "Compute (16.8 MB)"
    inspector.pinned.scan.click()
    settled()
    assert inspector.pinned.note.text() == "Largest difference 2"
    assert inspector.pinned.scan.isHidden()


def test_an_edit_reads_no_tensor_again_that_it_leaves_alone(
    window: MainWindow, weights: WeightsWorkspace, inspector: InspectorPanel, settled: Settled
) -> None:
    weights.show_view("convert")
    weights.convert.table.select_row(0)
    settled()
    found = inspector.inspection
    assert found is not None
    document = window.context.session.active
    assert document is not None
    recipe = document.recipe.with_rule("^bias$", "offset").with_rule("^a", "first")
    window.context.session.edit(document.id, "Rename", recipe)
    settled()
    weights.convert.table.select_row(0)
    settled()
    assert inspector.shown_key == "first.weight"
    assert inspector.inspection is found
    recipe = document.recipe.with_cast(CastPolicy(DType.F16))
    window.context.session.edit(document.id, "Cast", recipe)
    settled()
    weights.convert.table.select_row(0)
    settled()
    assert inspector.inspection is not None
    assert inspector.inspection is not found


def test_what_is_pinned_outlives_a_switch_and_not_its_file(
    window: MainWindow, weights: WeightsWorkspace, inspector: InspectorPanel, settled: Settled
) -> None:
    session = window.context.session
    first = session.active
    assert first is not None
    inspector.pin.click()
    other = first.path.with_name("other.safetensors")
    other.write_bytes(first.path.read_bytes())
    window.open_paths([other])
    settled()
    weights.reveal("b.weight")
    show(inspector, "pinned")
    settled()
    assert inspector.pinned.captions[0].text() == "Pinned: a.weight"
    session.close(first.id)
    settled()
    note = inspector.pinned.note.text()
    assert note.startswith("The file of a.weight was closed; it is pinned no more.")
    assert inspector.pinned.unpin.isHidden()
    assert inspector.pinned.maps[0].isHidden()
