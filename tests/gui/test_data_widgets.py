"""Data and Run: item models, and the widgets that draw pictures, numbers and bars."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QAbstractItemModel, QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from ruda.data import InMemDataset
from ruda.session import (
    BatchPage,
    ConfusionView,
    LayerLine,
    Prediction,
    Remedy,
    RunSetup,
    Score,
    batch_page,
)
from ruda_workbench.item_models.batch_grid import BatchGridModel
from ruda_workbench.item_models.layer_table import (
    PARAMETERS,
    SHARE_ROLE,
    TIME,
    LayerTableModel,
)
from ruda_workbench.panels.run_missing import MissingCard
from ruda_workbench.widgets.column_bars import ColumnBar, ColumnBars
from ruda_workbench.widgets.confusion import ConfusionMatrix
from ruda_workbench.widgets.data_table import CELL_ROLE
from ruda_workbench.widgets.number_field import NumberField
from ruda_workbench.widgets.pictures import PictureView, picture_image, picture_size
from ruda_workbench.widgets.score_bars import ScoreBars
from ruda_workbench.widgets.tile_grid import PICTURE_ROLE, TILE_ROLE, TileGrid

pytestmark = pytest.mark.gui

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


def page_of(count: int, said: dict[int, Prediction] | None = None) -> BatchPage:
    items = [{"image": np.full((4, 4), i % 256, np.uint8), "label": i % 3} for i in range(count)]
    return batch_page(InMemDataset(items), size=max(1, count), predictions=said)


def batch_model(count: int) -> BatchGridModel:
    model = BatchGridModel()
    model.show_page(page_of(count))
    return model


def layer_model(count: int) -> LayerTableModel:
    model = LayerTableModel()
    lines = [
        LayerLine(f"layer{i}", "Linear", "[2, 3]", float(i), i / max(1, count), 10 * i)
        for i in range(count)
    ]
    model.show_lines(tuple(lines))
    return model


MODELS = [
    pytest.param(batch_model, 0, id="empty batch"),
    pytest.param(batch_model, 1, id="batch of one"),
    pytest.param(batch_model, 1024, id="large batch"),
    pytest.param(layer_model, 0, id="no layers"),
    pytest.param(layer_model, 200, id="layers"),
]


@pytest.mark.parametrize(("make", "count"), MODELS)
def test_models_keep_qts_rules(
    qapp: QApplication, make: Callable[[int], QAbstractItemModel], count: int
) -> None:
    model = make(count)
    QAbstractItemModelTester(model, FATAL)
    assert model.rowCount() == count


def test_a_batch_is_replaced_under_qts_eyes(qapp: QApplication) -> None:
    model = batch_model(5)
    QAbstractItemModelTester(model, FATAL)
    for page in (page_of(9), None, page_of(2)):
        model.show_page(page)
        assert model.rowCount() == (0 if page is None else len(page.tiles))
    model.forget()
    assert (model.rowCount(), model.page) == (0, None)


def test_the_same_items_with_predictions_are_no_reset(qapp: QApplication, qtbot: QtBot) -> None:
    model = batch_model(5)
    said = {2: Prediction(2, 1, "1 · 80.0 %", 0.8, False)}
    with qtbot.waitSignal(model.dataChanged), qtbot.assertNotEmitted(model.modelReset):
        model.show_page(page_of(5, said))
    assert model.index(2).data(TILE_ROLE).verdict == "wrong"
    words = model.index(2).data(Qt.ItemDataRole.AccessibleTextRole)
    assert words == "item 2, label 2, predicted 1 · 80.0 %, wrong"
    assert (model.row_of(4), model.row_of(9)) == (4, -1)


def test_the_same_places_of_another_dataset_have_its_pictures(qapp: QApplication) -> None:
    model = batch_model(5)
    assert model.index(2).data(PICTURE_ROLE).pixelColor(0, 0) == QColor(2, 2, 2)
    other = [{"image": np.full((4, 4), 99, np.uint8), "label": 0}] * 5
    model.show_page(batch_page(InMemDataset(other), size=5))
    assert model.index(2).data(PICTURE_ROLE).pixelColor(0, 0) == QColor(99, 99, 99)


def test_a_picture_is_made_when_it_is_asked_for(qapp: QApplication) -> None:
    model = batch_model(1000)
    assert len(model._pictures) == 0
    assert model.index(7).data(PICTURE_ROLE).pixelColor(0, 0) == QColor(7, 7, 7)
    assert len(model._pictures) == 1


def test_layers_say_their_time_and_their_part_of_the_longest(qapp: QApplication) -> None:
    model = layer_model(5)
    assert model.index(4, TIME).data(CELL_ROLE).text == "4.00 ms"
    assert model.index(0, PARAMETERS).data(CELL_ROLE).text == "–"
    assert model.index(2, 0).data(SHARE_ROLE) == pytest.approx(0.5)


PICTURES = [
    pytest.param(np.zeros((5, 7), np.uint8), (7, 5), id="grey"),
    pytest.param(np.zeros((5, 7, 3), np.uint8), (7, 5), id="colours"),
    pytest.param(np.zeros((5, 7, 4), np.uint8), (7, 5), id="see-through"),
    pytest.param(np.zeros((10, 14), np.uint8)[::2, ::2], (7, 5), id="strided"),
]


@pytest.mark.parametrize(("array", "size"), PICTURES)
def test_arrays_become_pictures(
    qapp: QApplication, array: np.ndarray, size: tuple[int, int]
) -> None:
    image = picture_image(array)
    assert (image.width(), image.height()) == size


def test_a_picture_owns_its_bytes(qapp: QApplication) -> None:
    array = np.full((3, 5), 9, np.uint8)
    image = picture_image(array)
    array[:] = 200
    assert image.pixelColor(4, 2) == QColor(9, 9, 9)


SIZES = [
    pytest.param(28, 84, 1.0, 84.0, id="three pixels each"),
    pytest.param(28, 100, 1.0, 84.0, id="whole multiples only"),
    pytest.param(28, 84, 2.0, 84.0, id="six device pixels each"),
    pytest.param(28, 90, 1.5, 112 / 1.5, id="fractional screen"),
    pytest.param(224, 84, 1.0, 84.0, id="made smaller"),
]


@pytest.mark.parametrize(("side", "room", "ratio", "shown"), SIZES)
def test_pictures_are_crisp(
    qapp: QApplication, side: int, room: float, ratio: float, shown: float
) -> None:
    image = picture_image(np.zeros((side, side), np.uint8))
    assert picture_size(image, room, ratio) == pytest.approx((shown, shown))


@pytest.fixture
def grid(qtbot: QtBot) -> TileGrid:
    made = TileGrid("grid", "Items")
    qtbot.addWidget(made)
    model = batch_model(40)
    model.setParent(made)
    made.setModel(model)
    made.resize(600, 300)
    made.show()
    return made


def test_tiles_stand_in_as_many_columns_as_fit(grid: TileGrid, qtbot: QtBot) -> None:
    for width in (600, 731, 1062, 480):
        grid.resize(width, 300)
        QApplication.processEvents()
        tops = [grid.visualRect(grid.model().index(i, 0)).top() for i in range(grid.columns + 1)]
        assert len(set(tops[:-1])) == 1, "a row is as long as was reckoned"
        assert tops[-1] > tops[0]


def test_keys_of_the_grid(grid: TileGrid, qtbot: QtBot) -> None:
    asked: list[object] = []
    grid.batch_asked.connect(asked.append)
    grid.end_asked.connect(asked.append)
    grid.select_row(0)
    qtbot.keyClick(grid, Qt.Key.Key_PageDown)
    qtbot.keyClick(grid, Qt.Key.Key_PageUp)
    qtbot.keyClick(grid, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(grid, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    assert asked == [1, -1, True, False]
    qtbot.keyClick(grid, Qt.Key.Key_Right)
    qtbot.keyClick(grid, Qt.Key.Key_Down)
    assert grid.currentIndex().row() == 1 + grid.columns


@pytest.fixture
def number(qtbot: QtBot) -> NumberField:
    made = NumberField("number", "Batch", 1, 32)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_number_is_taken_with_enter(number: NumberField, qtbot: QtBot) -> None:
    taken: list[int] = []
    number.changed.connect(taken.append)
    number.selectAll()
    qtbot.keyClicks(number, "17")
    assert taken == []
    qtbot.keyClick(number, Qt.Key.Key_Return)
    qtbot.keyClick(number, Qt.Key.Key_Up)
    qtbot.keyClick(number, Qt.Key.Key_PageDown)
    assert taken == [17, 18, 8]
    assert number.accessibleName() == "Batch: 8"


def test_a_number_outside_is_the_nearest_one(number: NumberField, qtbot: QtBot) -> None:
    number.selectAll()
    qtbot.keyClicks(number, "99")
    qtbot.keyClick(number, Qt.Key.Key_Return)
    assert (number.value, number.text()) == (32, "32")
    qtbot.keyClick(number, Qt.Key.Key_Up)
    assert number.value == 32
    number.set_range(1, 5)
    assert number.text() == "5"


def test_what_is_no_number_is_taken_back(number: NumberField, qtbot: QtBot) -> None:
    number.show_value(4)
    number.setText("")
    qtbot.keyClick(number, Qt.Key.Key_Escape)
    assert number.text() == "4"
    number.setText("")
    number.editingFinished.emit()
    assert (number.text(), number.value) == ("4", 4)


def pixels(widget: ColumnBars | ConfusionMatrix | ScoreBars | PictureView) -> set[str]:
    image = widget.grab().toImage()
    points = [QPoint(x, y) for x in range(image.width()) for y in range(image.height())]
    return {image.pixelColor(point).name() for point in points}


@pytest.mark.parametrize("count", [0, 1, 10, 200])
def test_column_bars_draw_any_number(qtbot: QtBot, count: int) -> None:
    bars = ColumnBars("bars")
    qtbot.addWidget(bars)
    bars.resize(300, 92)
    made = tuple(ColumnBar(f"class {i}", float(i), str(i), f"{i} items") for i in range(count))
    bars.show_bars(made, "classes")
    assert ("#1f5fd6" in pixels(bars)) == (count > 1)
    assert bars.accessibleName() == "classes"


def test_the_confusion_matrix_draws_counts_and_mistakes(qtbot: QtBot) -> None:
    matrix = ConfusionMatrix("matrix")
    qtbot.addWidget(matrix)
    matrix.resize(400, 400)
    plain = len(pixels(matrix))
    counts = np.array([[9, 1, 0], [0, 10, 0], [2, 0, 8]])
    worst = ("c taken for a: 2 times",)
    matrix.show_view(ConfusionView(counts, ("a", "b", "a name that is far too long"), worst))
    assert matrix.accessibleName() == "Confusion of 3 classes. c taken for a: 2 times"
    assert len(pixels(matrix)) > plain
    empty = ConfusionView(np.zeros((0, 0), np.int64), (), ())
    matrix.show_view(empty)
    matrix.grab()


def test_a_thousand_classes_are_one_picture(qtbot: QtBot) -> None:
    matrix = ConfusionMatrix("matrix")
    qtbot.addWidget(matrix)
    matrix.resize(400, 400)
    counts = np.zeros((1000, 1000), np.int64)
    counts[:500, :500] = 3
    matrix.show_view(ConfusionView(counts, tuple(f"c{i}" for i in range(1000)), ()))
    found = pixels(matrix)
    assert "#f6f7f9" in found, "cells without a count"
    assert len(found) < 400


def test_scores_are_as_high_as_their_rows(qtbot: QtBot) -> None:
    bars = ScoreBars("scores")
    qtbot.addWidget(bars)
    bars.show_scores((Score("cat", 0.9, "90.0 %", True), Score("dog", 0.1, "10.0 %", False)))
    assert bars.sizeHint().height() == 40
    assert bars.accessibleName() == "Probabilities: cat 90.0 %, dog 10.0 %"
    bars.grab()


def test_a_long_sentence_about_a_run_is_shown_whole(qapp: QApplication) -> None:
    card = MissingCard()
    card.resize(900, 600)
    sentence = "2 of 18 cannot be applied, and 4 keep their initial value; " * 3
    card.show_setup(RunSetup("a.pt", "digits", "", "", sentence, Remedy.DIFF), has_sample=False)
    card.show()
    shown = card.findChild(QLabel, "run.problem")
    assert shown is not None
    assert shown.height() >= shown.heightForWidth(shown.width())
    card.close()
