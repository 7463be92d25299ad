"""Stories of a file that another program writes to while it is open."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QAbstractButton

from ruda.session import TargetChoice
from ruda.store import Recipe, TensorIndex, TensorSnapshot, save
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
TARGET = TargetChoice.of("digits")


def write_file(path: Path, value: float, **more: tuple[int, ...]) -> None:
    shapes = {"module.conv1.bias": (8,), "module.fc1.bias": (32,), **more}
    tensors = [
        TensorSnapshot.from_array(key, np.full(shape, value, np.float32))
        for key, shape in shapes.items()
    ]
    aside = path.with_suffix(".new")
    save(TensorIndex.of(tensors, format="safetensors"), aside, format="safetensors")
    with path.open("wb") as file:  # as a program does that writes in place
        file.write(aside.read_bytes())
    aside.unlink()
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1_000_000_000))


@pytest.fixture
def open_file(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, tmp_path: Path
) -> Path:
    path = tmp_path / "epoch.safetensors"
    write_file(path, 1.0)
    recipe = Recipe().with_rule(r"^module\.", "")
    operations.open_document(window.context, path, target=TARGET)
    settled()
    document = weights.watch.document
    assert document is not None
    window.context.session.edit(document.id, "Rule", recipe)
    settled()
    return path


def inspect(weights: WeightsWorkspace, key: str) -> None:
    weights.show_view("tensors")
    weights.tensors.reveal(key)


def shown_maximum(weights: WeightsWorkspace) -> str:
    facts = weights.inspector()._statistics._rows
    return next(value.text() for key, value in facts if key.text() == "min, max")


def test_a_file_that_was_written_to_is_opened_anew_in_place(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, open_file: Path
) -> None:
    before = weights.watch.document
    assert before is not None
    write_file(open_file, 3.0, **{"module.fc2.bias": (10,)})
    assert weights.stale.text == ""
    inspect(weights, "module.conv1.bias")
    settled()
    assert "Another program wrote to epoch.safetensors" in weights.stale.text
    (notice,) = window.notices.notices
    assert notice.title == "epoch.safetensors was written to"
    assert dict(notice.buttons).keys() == {"Reopen"}
    button = weights.stale.findChild(QAbstractButton, "weights.stale.button")
    assert button is not None
    assert button.text() == "Reopen"
    button.click()
    settled()
    after = weights.watch.document
    assert after is not None
    assert after.id == before.id
    assert (after.recipe, after.target) == (before.recipe, TARGET)
    assert "module.fc2.bias" in after.index
    assert weights.stale.text == ""
    inspect(weights, "module.conv1.bias")
    settled()
    assert shown_maximum(weights) == "3, 3"
    assert [each.path for each in window.context.session.documents] == [open_file]


def test_what_was_done_can_still_be_undone_and_is_still_not_saved(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, open_file: Path
) -> None:
    write_file(open_file, 3.0)
    document = weights.watch.document
    assert document is not None
    old = document.index
    operations.reopen_document(window.context, document.id)
    settled()
    history = window.context.session.history(document.id)
    assert history.is_dirty
    window.book.run("edit.undo")
    settled()
    undone = weights.watch.document
    assert undone is not None
    assert undone.recipe.is_identity
    assert undone.index is not old, "no step leads back to the file that is gone"
    np.testing.assert_array_equal(
        undone.index["module.fc1.bias"].read(), np.full(32, 3.0, np.float32)
    )


def test_the_notice_opens_it_anew_from_anywhere(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, open_file: Path
) -> None:
    write_file(open_file, 3.0)
    inspect(weights, "module.conv1.bias")
    settled()
    inspect(weights, "module.fc1.bias")
    settled()
    (notice,) = window.notices.notices  # said once, however often it is met
    window.show_workspace("compare")
    dict(notice.buttons)["Reopen"]()
    settled()
    assert weights.stale.text == ""
    window.context.session.close(window.context.session.documents[0].id)
    settled()
    dict(notice.buttons)["Reopen"]()  # of a file that was closed since: nothing
    settled()
    assert window.context.session.documents == ()


def test_a_file_that_is_no_model_any_more_is_refused_and_stays_as_it_was(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, open_file: Path
) -> None:
    open_file.write_bytes(b"<!DOCTYPE html>")
    inspect(weights, "module.conv1.bias")
    settled()
    document = weights.watch.document
    assert document is not None
    operations.reopen_document(window.context, document.id)
    settled()
    assert window.notices.notices[-1].title == "epoch.safetensors was not opened"
    assert weights.watch.document is document
    assert weights.stale.text != ""


def test_a_failure_of_anything_else_says_nothing_of_the_file(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, open_file: Path, tmp_path: Path
) -> None:
    window.open_paths([tmp_path / "none.safetensors"])
    settled()
    assert [n.title for n in window.notices.notices] == ["none.safetensors was not opened"]
    assert weights.stale.text == ""
