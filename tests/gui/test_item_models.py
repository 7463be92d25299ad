"""Item models: Qt's own model test on each, and a million rows without a million questions."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from ruda.models import get
from ruda.session import (
    LossLine,
    Query,
    RuleDraft,
    SaveLine,
    TensorTable,
    diff_page,
    rules_page,
    tensor_page,
    tensor_table,
)
from ruda.store import DiffReport, Status, TensorIndex, TensorSnapshot, diff
from ruda_workbench.item_models.change_table import ChangeTableModel
from ruda_workbench.item_models.command_list import CommandList, Entry, find, find_keys
from ruda_workbench.item_models.convert_table import EFFECT, ConvertTableModel
from ruda_workbench.item_models.diff_table import SHAPE, SOURCE, STATUS, WHAT, DiffTableModel
from ruda_workbench.item_models.message_table import MessageTableModel
from ruda_workbench.item_models.tensor_table import KEY, TensorTableModel
from ruda_workbench.item_models.values_grid import ValuesGridModel
from ruda_workbench.widgets.data_table import CELL_ROLE, Column, DataTable, shared_widths
from ruda_workbench.widgets.notices import Notice

pytestmark = pytest.mark.gui

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


def index_of(keys: list[str]) -> TensorIndex:
    values = np.zeros((2, 3), np.float32)
    return TensorIndex.of((TensorSnapshot.from_array(k, values) for k in keys), format="made")


def table_of(count: int) -> TensorTable:
    keys = [f"block{i % 7}.weight{i}" for i in range(count)]
    shape = (2, 3)
    return TensorTable(
        keys=keys,
        dtypes=["f32"] * count,
        shapes=[shape] * count,
        nbytes=np.full(count, 24, dtype=np.int64),
        numel=np.full(count, 6, dtype=np.int64),
        shards=None,
        shared={},
    )


def report() -> DiffReport:
    keys = ["conv1.weight", "conv1.bias", "fc1.weight", "norm1.weight", "norm2.weight", "odd"]
    return diff(index_of(keys), get("digits").build())


def tensors(count: int) -> TensorTableModel:
    model = TensorTableModel()
    model.show_page(tensor_page(table_of(count)))
    return model


def differences() -> DiffTableModel:
    model = DiffTableModel()
    model.show_page(diff_page(report()))
    return model


def changes() -> ChangeTableModel:
    model = ChangeTableModel()
    page = rules_page(["a.x", "b.x", "c.y"], [RuleDraft("^[ab]", "z")], wanted=frozenset({"c.y"}))
    model.show_lines(page.changes)
    return model


def conversion() -> ConvertTableModel:
    model = ConvertTableModel()
    line = SaveLine("fc.weight", 1, "[2, 3]", "f16", "cast f16", 12, "Linear", ("fc.weight",))
    model.show_lines((line,))
    model.show_losses({("fc.weight", "f16"): LossLine("overflow 2", "error")})
    return model


def values() -> ValuesGridModel:
    model = ValuesGridModel()
    model.show_plane(np.arange(12.0).reshape(3, 4))
    return model


def commands() -> CommandList:
    model = CommandList()
    model.show_entries([Entry("action", "a", "Open")], [Entry("key", "k", "k")])
    return model


MODELS = [
    pytest.param(TensorTableModel, id="tensors, no page"),
    pytest.param(lambda: tensors(0), id="tensors, 0 rows"),
    pytest.param(lambda: tensors(1), id="tensors, 1 row"),
    pytest.param(lambda: tensors(10_000), id="tensors, 10 000 rows"),
    pytest.param(DiffTableModel, id="diff, no page"),
    pytest.param(differences, id="diff"),
    pytest.param(changes, id="changes"),
    pytest.param(conversion, id="conversion"),
    pytest.param(ValuesGridModel, id="values, none"),
    pytest.param(values, id="values"),
    pytest.param(commands, id="commands"),
]


@pytest.mark.parametrize("make", MODELS)
def test_model_keeps_qts_rules(qapp: QApplication, make: Callable[[], QAbstractItemModel]) -> None:
    model = make()
    tester = QAbstractItemModelTester(model, FATAL)
    for row in range(min(3, model.rowCount())):
        model.index(row, 0).data(Qt.ItemDataRole.DisplayRole)
    del tester


def test_a_reset_keeps_qts_rules(qapp: QApplication) -> None:
    model = tensors(10)
    tester = QAbstractItemModelTester(model, FATAL)
    model.show_page(tensor_page(table_of(3), fold=False))
    assert model.rowCount() == 3
    model.show_page(None)
    assert model.rowCount() == 0
    del tester


class Counting(TensorTableModel):
    asked = 0

    def data(self, index, role=Qt.ItemDataRole.DisplayRole):
        Counting.asked += 1
        return super().data(index, role)


def test_a_million_rows_ask_for_what_is_seen(qapp: QApplication) -> None:
    model = Counting()
    model.show_page(tensor_page(table_of(1_000_000), fold=False))
    view = DataTable("big", "Big")
    view.resize(1000, 800)
    view.setModel(model)
    Counting.asked = 0
    view.show()
    qapp.processEvents()
    view.scrollToBottom()
    qapp.processEvents()
    assert model.rowCount() == 1_000_000
    assert Counting.asked < 8000
    view.close()


def test_diff_cells_carry_status_and_fold(qapp: QApplication) -> None:
    model = differences()
    page = model.page
    assert page is not None
    row = next(i for i, line in enumerate(page.lines) if line.is_family)
    assert model.index(row, STATUS).data(CELL_ROLE).status == page.lines[row].status.value
    assert model.index(row, SOURCE).data(CELL_ROLE).fold == "closed"
    model.show_page(
        diff_page(report(), opened=frozenset({page.lines[row].name})),
        frozenset({page.lines[row].name}),
    )
    assert model.index(row, SOURCE).data(CELL_ROLE).fold == "open"
    assert model.index(row + 1, SOURCE).data(CELL_ROLE).fold == "inner"


def test_diff_rows_are_read_out_in_words(qapp: QApplication) -> None:
    model = differences()
    texts = [
        str(model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole))
        for row in range(model.rowCount())
    ]
    words = {status.value.capitalize() for status in Status}
    assert all(text.split(",")[0] in words for text in texts)


def test_families_say_how_many(qapp: QApplication) -> None:
    model = tensors(20)  # an index does not keep its model alive
    cell = model.index(0, KEY).data(CELL_ROLE)
    assert (cell.text, cell.suffix, cell.fold) == ("block*.weight*", "×20", "closed")


def test_overflow_is_an_error_cell(qapp: QApplication) -> None:
    model = conversion()
    cell = model.index(0, EFFECT).data(CELL_ROLE)
    assert (cell.text, cell.status) == ("overflow 2", "error")


def test_values_are_text_where_they_are_seen(qapp: QApplication) -> None:
    model = values()
    assert model.index(2, 3).data() == "11"


def test_commands_are_found_by_all_their_words() -> None:
    offers = [
        (Entry("action", "a", "Open…"), "open… file weights"),
        (Entry("action", "b", "Close"), "close file"),
    ]
    assert [e.value for e in find(offers, "file cl")] == ["b"]
    assert [e.value for e in find(offers, "")] == ["a", "b"]
    assert [e.value for e in find_keys(("x.Weight", "y.bias"), "weight")] == ["x.Weight"]
    assert find_keys(("x",), "  ") == []


def test_the_table_of_an_index_is_drawn(qapp: QApplication) -> None:
    model = TensorTableModel()
    model.show_page(tensor_page(tensor_table(index_of(["b", "a"])), sort="key"))
    assert [model.index(r, KEY).data() for r in range(2)] == ["a", "b"]


def test_columns_do_not_jump_while_one_searches(qapp: QApplication) -> None:
    table = table_of(500)
    model = TensorTableModel()
    view = DataTable("steady", "Steady")
    view.resize(900, 400)
    view.setModel(model)
    view.show()
    model.show_page(tensor_page(table, fold=False))
    before = [view.columnWidth(c) for c in range(5)]
    model.show_page(tensor_page(table, query=Query("weight7"), fold=False))
    assert [view.columnWidth(c) for c in range(5)] == before
    view.close()


@pytest.mark.parametrize(
    ("room", "widths"),
    [
        pytest.param(900, [300, 160, 220, 200], id="room for all"),
        pytest.param(800, [300, 160, 220, 120], id="the last gives way first"),
        pytest.param(700, [240, 160, 220, 80], id="then the widest key"),
        pytest.param(600, [150, 150, 220, 80], id="then both keys"),
        pytest.param(500, [100, 100, 220, 80], id="the shape last"),
        pytest.param(300, [100, 100, 80, 80], id="none below its narrowest"),
    ],
)
def test_columns_give_way_in_turns(room: int, widths: list[int]) -> None:
    columns = (
        Column("In the file", 84, shrinks=2),
        Column("In the model", 84, shrinks=2),
        Column("Shape", 64, shrinks=1),
        Column("What happens", 64, shrinks=3),
    )
    assert shared_widths(columns, [300, 160, 220, 200], room) == widths


@pytest.mark.parametrize(
    ("room", "widths"),
    [
        pytest.param(500, [220, 160, 120], id="the name first"),
        pytest.param(400, [156, 124, 120], id="then the shape, while the name keeps something"),
        pytest.param(356, [156, 80, 120], id="all of the shape"),
        pytest.param(300, [100, 80, 120], id="then the rest of the name"),
        pytest.param(250, [100, 80, 80], id="the words last"),
    ],
)
def test_a_name_keeps_something_while_a_shape_can_give(room: int, widths: list[int]) -> None:
    columns = (
        Column("In the file", 84, shrinks=3, keeps=140),
        Column("Shape", 64, shrinks=2),
        Column("What happens", 64, shrinks=1),
    )
    assert shared_widths(columns, [300, 160, 120], room) == widths


def test_names_give_way_before_the_words_that_say_what_happens(qapp: QApplication) -> None:
    shapes = {
        f"backbone.body.encoder.{'deep.' * n}conv1.weight": (8, 1, 3, 3) for n in range(1, 12)
    }
    shapes |= {"conv2.weight": (16, 6, 3, 3), "fc1.weight": (32, 400)}
    tensors = [TensorSnapshot.from_array(k, np.zeros(s, np.float32)) for k, s in shapes.items()]
    model = DiffTableModel()
    view = DataTable("names", "Names")
    view.resize(1000, 400)  # what a window 1440 wide leaves beside the inspector
    view.setModel(model)
    view.show()
    model.show_page(diff_page(diff(TensorIndex.of(tensors, format="made"), get("digits").build())))
    cells = [model.index(row, WHAT).data(CELL_ROLE) for row in range(model.rowCount())]
    assert {cell.text for cell in cells} >= {
        "keeps its initial value",
        "wanted by nobody",
        "axis 1: file 6, model 8",
        "the axes are swapped",
    }
    left = sum(view.columnWidth(column) for column in range(WHAT))
    assert view.viewport().width() - left >= max(cell.width() for cell in cells) + 16
    assert any(
        model.index(row, SOURCE).data(CELL_ROLE).width() > view.columnWidth(SOURCE)
        for row in range(model.rowCount())
    ), "the names are shortened instead"
    swapped = next(row for row, cell in enumerate(cells) if "swapped" in cell.text)
    tip = model.index(swapped, WHAT).data(Qt.ItemDataRole.ToolTipRole)
    assert tip.startswith("shape: the file has [32, 400], the target expects [400, 32]")
    view.close()


def test_unequal_shapes_are_shown_whole(qapp: QApplication) -> None:
    shapes = {"conv1.weight": (8, 3, 3, 3), "conv2.weight": (16, 6, 3, 3)}
    tensors = [TensorSnapshot.from_array(k, np.zeros(s, np.float32)) for k, s in shapes.items()]
    model = DiffTableModel()
    view = DataTable("whole", "Whole")
    view.resize(820, 400)
    view.setModel(model)
    view.show()
    found = diff(TensorIndex.of(tensors, format="made"), get("digits").build())
    model.show_page(diff_page(found, statuses=frozenset({Status.ERROR})))
    cell = model.index(1, SHAPE).data(CELL_ROLE)
    assert cell.text == "[16, 6, 3, 3] ≠ [16, 8, 3, 3]"
    assert view.columnWidth(SHAPE) >= cell.width()
    view.close()


def test_past_messages_hold_nothing_that_their_buttons_held(qapp: QApplication) -> None:
    class Held:
        pass

    held = Held()
    gone = weakref.ref(held)
    model = MessageTableModel()
    model.add(Notice("done", "Saved", "a.safetensors", (("Open it", partial(id, held)),), "all"))
    kept = model.notice(0)
    assert kept is not None
    assert (kept.title, kept.report) == ("Saved", "all")
    assert not kept.buttons
    del held
    assert gone() is None
