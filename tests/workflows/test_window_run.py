"""Stories of the Data and Run workspaces, told through the window."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QColor, QDropEvent
from PySide6.QtWidgets import QAbstractButton, QLineEdit
from pytestqt.qtbot import QtBot

from ruda.data import DataLoader, Dataset, InMemDataset, StackBatcher, open_dataset, write_idx
from ruda.errors import ItemError
from ruda.session import BatchChoice, JobState, OpenDataset, TargetChoice
from ruda_workbench import assets, data_operations, operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.self_test import make_green
from ruda_workbench.storage import Storage
from ruda_workbench.widgets.tile_grid import PICTURE_ROLE
from ruda_workbench.workspaces.data import DataWorkspace
from ruda_workbench.workspaces.run import RunWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]


@pytest.fixture
def data(window: MainWindow) -> DataWorkspace:
    found = window.workspace("data")
    assert isinstance(found, DataWorkspace)
    return found


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A dataset folder of 70 pictures, 28 × 28, of three classes."""
    return write_letters(tmp_path / "letters", "test", 70)


def write_letters(folder: Path, split: str, count: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    images = np.arange(count, dtype=np.uint8)[:, None, None] * np.ones((28, 28), np.uint8)
    write_idx(folder / f"{split}-images-idx3-ubyte.gz", images)
    write_idx(folder / f"{split}-labels-idx1-ubyte.gz", np.arange(count, dtype=np.uint8) % 3)
    return folder


def drop(window: MainWindow, *paths: Path) -> None:
    content = QMimeData()
    content.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    window.dropEvent(
        QDropEvent(
            QPointF(700, 400),
            Qt.DropAction.CopyAction,
            content,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )


def shown_indices(data: DataWorkspace) -> list[int]:
    page = data.batch.model.page
    assert page is not None
    return [tile.index for tile in page.tiles]


# Data


@pytest.mark.parametrize("name", ["", "test-images-idx3-ubyte.gz"], ids=["folder", "file"])
def test_a_dropped_dataset_is_opened(
    window: MainWindow, data: DataWorkspace, letters: Path, settled: Settled, name: str
) -> None:
    drop(window, letters / name)
    settled()
    assert window.current == "data"
    assert data.head.title == "letters test images · 70 items"
    assert data.head.facts == "28 × 28 pixels, u8 · 3 classes · IDX images and labels (MNIST)"
    assert data.classes.headline == "3 classes, 23 to 24 items each"
    assert [bar.figure for bar in data.classes.bars.bars] == ["24", "23", "23"]
    assert shown_indices(data) == list(range(32))
    assert data.batch.pager.span == "items 0–31"
    assert data.summary() == "70 items · batch 1 of 3"
    assert [(r.name, r.kind) for r in window.context.storage.recents] == [
        ((letters / name).name, "dataset")
    ]


def test_batches_are_paged_by_keys_buttons_and_number(
    window: MainWindow, data: DataWorkspace, letters: Path, settled: Settled, qtbot: QtBot
) -> None:
    drop(window, letters)
    settled()
    grid, pager = data.batch.grid, data.batch.pager
    assert window.focusWidget() is grid
    assert not pager.back.isEnabled()
    qtbot.keyClick(grid, Qt.Key.Key_PageDown)
    settled()
    assert shown_indices(data) == list(range(32, 64))
    qtbot.mouseClick(pager.ahead, Qt.MouseButton.LeftButton)
    settled()
    assert shown_indices(data) == list(range(64, 70))
    assert not pager.ahead.isEnabled()
    qtbot.keyClick(grid, Qt.Key.Key_PageDown)
    assert window.context.session.batch.number == 2, "the end stays where it is"
    pager.number.choose(1)
    settled()
    assert shown_indices(data)[0] == 0
    qtbot.keyClick(grid, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
    settled()
    assert shown_indices(data)[0] == 64


def test_another_size_keeps_the_place_and_is_remembered(
    window: MainWindow,
    data: DataWorkspace,
    storage: Storage,
    letters: Path,
    settled: Settled,
) -> None:
    drop(window, letters)
    data_operations.go_to_batch(window.context, 1)
    settled()
    data.batch.pager.number.choose(2)
    data.batch.pager.per_batch.choose(8)
    settled()
    assert shown_indices(data) == list(range(32, 40))
    assert storage.settings.batch_size == 8


def test_a_shuffled_batch_is_the_loaders_batch(
    window: MainWindow, data: DataWorkspace, letters: Path, settled: Settled, qtbot: QtBot
) -> None:
    drop(window, letters)
    settled()
    qtbot.mouseClick(data.batch.pager.shuffle, Qt.MouseButton.LeftButton)
    data.batch.pager.seed.choose(7)
    data.batch.pager.number.choose(2)
    settled()
    loader = DataLoader(open_dataset(letters), StackBatcher(), batch_size=32, shuffle=7)
    expected = list(loader)[1]["image"].numpy()
    page = data.batch.model.page
    assert page is not None
    np.testing.assert_array_equal(np.stack([tile.image for tile in page.tiles]), expected)
    assert data.batch.pager.span == "32 items in the order of seed 7"


def test_the_chosen_item_is_inspected(
    window: MainWindow, data: DataWorkspace, letters: Path, settled: Settled, qtbot: QtBot
) -> None:
    drop(window, letters)
    settled()
    qtbot.keyClick(data.batch.grid, Qt.Key.Key_Right)
    settled()
    page = data.inspector().page
    assert page is not None
    facts = {fact.label: fact.text for fact in page.facts}
    assert (page.index, facts["label"], facts["min, max"]) == (1, "1", "1, 1")
    assert data.inspector()._model.rowCount() == 28


def test_another_part_is_chosen_in_the_sentence(
    window: MainWindow, data: DataWorkspace, letters: Path, settled: Settled
) -> None:
    write_letters(letters, "train", 90)
    drop(window, letters)
    settled()
    assert data.head.title == "letters test images · 70 items"
    data.head.split.picked.emit("train")
    settled()
    assert data.head.title == "letters train images · 90 items"
    assert len(window.context.storage.recents) == 1


class Torn(Dataset[dict[str, Any]]):
    """Pictures of digits; number 2 is broken."""

    def __len__(self) -> int:
        return 6

    def get(self, index: int) -> dict[str, Any]:
        self.check_index(index)
        if index == 2:
            raise ItemError("cut short", index=index, source="torn")
        return {"image": np.full((28, 28), 40 * index, np.uint8), "label": index}


def test_a_broken_item_is_a_tile_with_the_sentence(
    window: MainWindow, data: DataWorkspace, settled: Settled, tmp_path: Path
) -> None:
    window.context.session.set_dataset(OpenDataset(tmp_path, Torn()))
    window.show_workspace("data")
    settled()
    tile = data.batch.model.tile(2)
    assert tile is not None
    assert tile.problem == "torn, item 2: cut short"
    assert data.findings() == ("torn, item 2: cut short",)
    assert data.classes.note == "1 item cannot be read"
    data.batch.grid.select_row(2)
    settled()
    page = data.inspector().page
    assert page is not None
    assert page.problem == "torn, item 2: cut short"
    window.grab()


BAD = [
    pytest.param(b"", "at least 4 bytes, got 0", id="empty"),
    pytest.param(b"PK\3\4", "starts with 00 00", id="another format"),
    pytest.param(bytes((0, 0, 8, 3, 0, 0, 0, 9)), "3 axes take 12 bytes", id="cut header"),
    pytest.param(
        bytes((0, 0, 8, 1)) + (9).to_bytes(4, "big") + b"abc", "needs 9 bytes", id="cut values"
    ),
]


@pytest.mark.parametrize(("content", "sentence"), BAD)
def test_a_bad_dataset_is_a_notice(
    window: MainWindow, settled: Settled, tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "test-images-idx3-ubyte"
    path.write_bytes(content)
    drop(window, path)
    settled()
    (notice,) = window.notices.notices
    assert (notice.kind, notice.title) == ("error", "test-images-idx3-ubyte was not opened")
    assert sentence in notice.text
    assert notice.report == ""
    assert window.context.session.dataset is None


def test_a_folder_that_is_no_dataset_is_a_notice(
    window: MainWindow, data: DataWorkspace, settled: Settled, tmp_path: Path
) -> None:
    window.show_workspace("data")
    drop(window, tmp_path)
    settled()
    (notice,) = window.notices.notices
    assert "no dataset source recognises this folder" in notice.text
    assert data.welcome.isVisible()


def test_an_empty_dataset_says_so(
    window: MainWindow, data: DataWorkspace, settled: Settled, tmp_path: Path
) -> None:
    window.context.session.set_dataset(OpenDataset(tmp_path, InMemDataset([])))
    window.show_workspace("data")
    settled()
    assert data.batch.grid.empty_text == "The dataset has no items."
    assert data.classes.headline == "No labels to count"
    window.grab()


def test_the_dataset_comes_back_with_the_session(
    window: MainWindow, data: DataWorkspace, storage: Storage, letters: Path, settled: Settled
) -> None:
    write_letters(letters, "train", 90)
    drop(window, letters)
    settled()
    data.head.split.picked.emit("train")
    settled()
    storage.keep_session(window.context.session, "data", "")
    state, _ = storage.last_session()
    assert state is not None
    data_operations.close_dataset(window.context)
    assert data.welcome.isVisible()
    operations.restore(window.context, state, crashed=False)
    settled()
    assert data.head.title == "letters train images · 90 items"


# Run


def test_the_sample_is_run_on_a_batch(
    ready: MainWindow, run: RunWorkspace, settled: Settled, qtbot: QtBot
) -> None:
    assert run.head.facts.endswith("batch 1 of 32 of digits test images · 1 000 items")
    assert run.batch.figure.headline == "Not run yet"
    assert run.batch.strip.isHidden()
    qtbot.keyClick(ready, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    settled()
    figure = run.watch.page.batch
    assert figure is not None
    assert figure.right >= 30
    assert run.batch.figure.headline == figure.headline
    tiles = run.batch.model.page.tiles
    assert all(tile.prediction.startswith(f"{tile.label} · ") for tile in tiles if tile.correct)
    assert {tile.verdict for tile in tiles} <= {"right", "wrong"}
    assert [bar.name for bar in run.batch.strip.bars.bars][:2] == ["conv1", "norm1"]
    page = run.inspector().page
    assert page is not None
    assert page.said.startswith("Predicted ")
    assert len(page.scores) == 10
    run.show_view("layers")
    assert run.layers.model.rowCount() == len(run.watch.page.layers)


def test_another_batch_is_another_question(
    ready: MainWindow, run: RunWorkspace, settled: Settled
) -> None:
    ready.book.run("run.batch")
    settled()
    ready.book.run("data.next")
    settled()
    assert run.watch.batch is None
    assert [tile.index for tile in run.batch.model.page.tiles] == list(range(32, 64))
    assert run.batch.model.page.tiles[0].prediction == ""
    ready.book.run("run.batch")
    settled()
    assert [said.index for said in run.watch.page.predictions] == list(range(32, 64))


def test_the_batch_is_run_from_the_data_screen(
    ready: MainWindow, run: RunWorkspace, settled: Settled
) -> None:
    ready.show_workspace("data")
    data_operations.shuffle(ready.context, 5)
    ready.book.run("run.batch")
    settled()
    assert ready.current == "run"
    dataset = ready.context.session.dataset.dataset
    expected = BatchChoice(0, 32, 5).indices(dataset)
    assert tuple(said.index for said in run.watch.page.predictions) == expected


def test_the_whole_dataset_is_run(ready: MainWindow, run: RunWorkspace, settled: Settled) -> None:
    ready.book.run("run.dataset")
    settled()
    figure = run.watch.page.dataset
    assert figure is not None
    assert figure.right >= 970
    assert run.dataset.figure.headline == figure.headline
    assert run.dataset.model.rowCount() == figure.wrong
    assert "taken for" in run.dataset.worst
    page = run.inspector().page
    assert page is not None
    assert page.verdict == "wrong"
    ready.book.run("data.next")
    assert run.watch.dataset is not None, "it is about every batch"


def test_a_run_over_everything_is_stopped(
    ready: MainWindow, run: RunWorkspace, settled: Settled, qtbot: QtBot, tmp_path: Path
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    class Slow(InMemDataset[dict[str, Any]]):
        def get_many(self, indices: Any) -> list[dict[str, Any]]:
            reached.set()
            go_on.wait(5)
            return super().get_many(indices)

    image = np.zeros((28, 28), np.uint8)
    slow = Slow([{"image": image, "label": 0}] * 2000)
    ready.show_workspace("weights")
    ready.context.session.set_dataset(OpenDataset(tmp_path, slow))
    go_on.set()
    ready.show_workspace("run")
    settled()
    go_on.clear()
    reached.clear()
    ready.book.run("run.dataset")
    qtbot.waitUntil(reached.is_set)
    (job,) = ready.context.jobs.running
    assert run.head.whole.text() == "Stop"
    qtbot.mouseClick(run.head.whole, Qt.MouseButton.LeftButton)
    go_on.set()
    qtbot.waitUntil(lambda: job.state is JobState.CANCELLED)
    settled()
    assert run.watch.dataset is None
    assert run.head.whole.text() == "Run the whole dataset"


def test_a_stop_from_the_status_line_is_heard(
    ready: MainWindow, run: RunWorkspace, settled: Settled
) -> None:
    run.watch.run_dataset()
    ready.stop_job()
    settled()
    assert run.watch.dataset is None
    assert not run.watch.is_running_dataset
    assert run.head.whole.text() == "Run the whole dataset"


def test_a_parameter_that_keeps_its_initial_value_is_said_above_the_outputs(
    ready: MainWindow, run: RunWorkspace, settled: Settled, qtbot: QtBot
) -> None:
    document = ready.context.session.active
    assert document is not None
    recipe = document.recipe.with_rule(r"^fc2\.bias$", "fc2.offset")
    ready.context.session.edit(document.id, "Rename", recipe)
    settled()
    assert run.banner.text == "1 of 16 parameters keeps its initial value."
    ready.book.run("run.batch")
    settled()
    assert run.banner.text == "1 parameter keeps its initial value: fc2.bias"
    assert run.watch.batch is not None
    run.banner.pressed.emit()
    settled()
    weights = ready.workspace("weights")
    assert isinstance(weights, WeightsWorkspace)
    assert (ready.current, weights.views.value) == ("weights", "diff")


def test_a_changed_recipe_drops_the_answers(
    ready: MainWindow, run: RunWorkspace, settled: Settled
) -> None:
    ready.book.run("run.batch")
    ready.book.run("run.dataset")
    settled()
    ready.book.run("edit.undo")
    settled()
    assert (run.watch.batch, run.watch.dataset) == (None, None)
    assert run.missing.isVisible()


def test_what_is_missing_is_said_with_the_button_that_mends_it(
    window: MainWindow,
    run: RunWorkspace,
    settled: Settled,
    make_file: MakeFile,
    letters: Path,
    qtbot: QtBot,
) -> None:
    left = Qt.MouseButton.LeftButton
    window.show_workspace("run")
    assert run.missing.sentence == "A run needs weights, and none are open."
    qtbot.mouseClick(run.missing.button, left)
    assert window.current == "weights"
    path = make_file({"a": (2, 3)})
    operations.open_document(window.context, path)
    settled()
    window.show_workspace("run")
    assert run.missing.sentence == "Say which model made.safetensors is for."
    run.watch.choose("digits")
    settled()
    assert run.missing.sentence.startswith("Nothing would be loaded: 0 of 16")
    qtbot.mouseClick(run.missing.button, left)
    settled()
    assert window.current == "weights"
    assert window.context.session.active.target == TargetChoice.of("digits")


def test_a_run_without_data_asks_for_a_dataset(
    window: MainWindow, run: RunWorkspace, settled: Settled, letters: Path, qtbot: QtBot
) -> None:
    path = assets.sample_weights()
    assert path is not None
    operations.open_document(window.context, path, target=TargetChoice.of("digits"))
    settled()
    make_green(window)
    window.show_workspace("run")
    settled()
    assert run.missing.sentence == "A run needs data, and no dataset is open."
    qtbot.mouseClick(run.missing.button, Qt.MouseButton.LeftButton)
    assert window.current == "data"
    drop(window, letters)
    settled()
    window.book.run("run.batch")
    settled()
    assert run.watch.page.batch is not None


def test_pictures_of_another_size_are_refused_in_a_sentence(
    ready: MainWindow, run: RunWorkspace, settled: Settled, tmp_path: Path
) -> None:
    small = InMemDataset([{"image": np.zeros((9, 9), np.uint8), "label": 1}] * 3)
    ready.context.session.set_dataset(OpenDataset(tmp_path, small))
    settled()
    ready.book.run("run.batch")
    settled()
    assert "expected images of 28 × 28 pixels" in run.banner.text
    assert run.watch.batch is None
    assert ready.notices.notices == ()


def test_a_batch_is_run_around_its_broken_item(
    ready: MainWindow, run: RunWorkspace, settled: Settled, tmp_path: Path
) -> None:
    ready.context.session.set_dataset(OpenDataset(tmp_path, Torn()))
    settled()
    ready.book.run("run.batch")
    settled()
    tiles = run.batch.model.page.tiles
    assert [bool(tile.prediction) for tile in tiles] == [True, True, False, True, True, True]
    assert tiles[2].problem == "torn, item 2: cut short"
    ready.grab()


def test_another_dataset_leaves_nothing_of_the_old_one(
    ready: MainWindow, run: RunWorkspace, settled: Settled, letters: Path
) -> None:
    before = run.batch.model.page
    data_operations.open_dataset(ready.context, letters, show=False)
    settled()
    page = run.batch.model.page
    assert page is not None
    assert before is not None
    assert page.indices == before.indices
    assert page.tiles[5].image.max() == 5
    picture = run.batch.model.index(5).data(PICTURE_ROLE)
    assert picture.pixelColor(3, 3) == QColor(5, 5, 5)


def test_another_model_is_picked_for_a_run(
    ready: MainWindow, run: RunWorkspace, settled: Settled
) -> None:
    run.head.model.picked.emit("import-mnist")
    settled()
    assert run.watch.setup.model == "import-mnist"
    assert run.missing.isVisible()
    assert ready.context.session.active.target == TargetChoice.of("digits")
    run.head.model.picked.emit("digits")
    settled()
    assert run.missing.isHidden()


@pytest.mark.parametrize("name", ["data", "run"])
def test_what_can_be_used_has_names(ready: MainWindow, name: str, settled: Settled) -> None:
    ready.show_workspace(name)
    ready.book.run("run.dataset")
    ready.show_workspace(name)
    settled()
    workspace = ready.workspace(name)
    found = [*workspace.findChildren(QAbstractButton), *workspace.findChildren(QLineEdit)]
    used = [w for w in found if w.isVisibleTo(workspace)]
    nameless = [w for w in used if not (w.accessibleName() and w.objectName())]
    assert [type(w).__name__ for w in nameless] == []


@pytest.mark.cases
def test_mnist_is_run_by_both_networks(
    window: MainWindow, run: RunWorkspace, settled: Settled, cases: Path
) -> None:
    data_operations.open_dataset(window.context, cases / "data" / "mnist")
    path = cases / "models" / "burn_mnist_bpk" / "model.bpk"
    operations.open_document(window.context, path, target=TargetChoice.of("burn-mnist"))
    settled()
    window.book.run("run.dataset")
    settled()
    assert run.watch.page.dataset.headline == "98.4 % of the dataset is right"
