"""Stories that cross the window: mending a shape, overflow, quitting, the keyboard alone."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from ruda.cli import main
from ruda.progress import Monitor
from ruda.session import TargetChoice
from ruda.store import Status, TensorIndex, TensorSnapshot, open_store, save
from ruda_workbench import operations, run_work, save_operations
from ruda_workbench.dialogs.quit_sheet import QuitSheet
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.main_window import MainWindow
from ruda_workbench.self_test import make_green
from ruda_workbench.workspaces.weights import WeightsWorkspace

from .digits import counts

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]


def menu_of(weights: WeightsWorkspace) -> QMenu:
    found = weights.diff.findChild(QMenu, "diff.menu")
    assert found is not None
    return found


def choose(menu: QMenu, start: str) -> None:
    action = next(a for a in menu.actions() if a.text().startswith(start))
    menu.triggered.emit(action)
    menu.close()


# A shape that does not fit


def test_a_wrong_shape_is_mended_by_a_decision(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    tmp_path: Path,
) -> None:
    source = make_file({"emb.weight": (12, 4), "out.bias": (10,)}, "grown.safetensors")
    target = make_file({"emb.weight": (10, 4), "out.bias": (10,)}, "wanted.safetensors")
    operations.open_document(
        window.context, source, target=TargetChoice.of(str(target), is_file=True)
    )
    settled()
    assert counts(weights) == {"applied": 1, "error": 1}
    window.book.run("view.next-problem")
    weights.diff.open_row_menu()
    choose(menu_of(weights), "Cut axis 0 to 10")
    settled()
    assert counts(weights) == {"applied": 2}
    out = tmp_path / "cut.safetensors"
    window.book.run("view.copy-command")
    assert "slice 0 0:10" in QGuiApplication.clipboard().text()
    document = weights.watch.document
    assert document is not None
    with open_store(source) as index:
        expected = index["emb.weight"].read()[:10]
    weights.ask_save()
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, SaveSheet)
    sheet.path.setText(str(out))
    sheet._path_changed()
    sheet._copy()
    words = shlex.split(QGuiApplication.clipboard().text())
    sheet._save()
    settled()
    with open_store(out) as saved:
        np.testing.assert_array_equal(saved["emb.weight"].read(), expected)
    by_window = out.read_bytes()
    out.unlink()
    assert main(words[1:]) == 0
    assert out.read_bytes() == by_window
    window.book.run("edit.undo")
    settled()
    assert counts(weights) == {"applied": 1, "error": 1}


def test_a_decision_is_taken_back_from_the_row(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    source = make_file({"w.0": (4, 6), "w.1": (4, 6)}, "source.safetensors")
    target = make_file({"w.0": (6, 4), "w.1": (6, 4)}, "target.safetensors")
    operations.open_document(
        window.context, source, target=TargetChoice.of(str(target), is_file=True)
    )
    settled()
    weights.diff.table.select_row(0)
    line = weights.diff.model.line(0)
    assert line is not None
    assert line.count == 2
    weights.diff.open_row_menu()
    choose(menu_of(weights), "Transpose to 1, 0")
    settled()
    assert counts(weights) == {"applied": 2}
    weights.diff.table.select_row(0)
    weights.diff.open_row_menu()
    choose(menu_of(weights), "Take the decision back")
    settled()
    assert counts(weights) == {"error": 2}


# Overflow


def test_values_that_overflow_are_said_before_and_after(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, tmp_path: Path
) -> None:
    tensors = [
        TensorSnapshot.from_array("head.scale", np.array([1.0, 1e6, -1e6], np.float32)),
        TensorSnapshot.from_array("head.weight", np.ones((4, 4), np.float32)),
    ]
    path = tmp_path / "wide.safetensors"
    save(TensorIndex.of(tensors, format="safetensors"), path)
    window.open_paths([path])
    settled()
    weights.show_view("convert")
    weights.convert.every.setChecked(True)
    weights.convert.choose("f16")
    settled()
    weights.convert.scan.click()
    settled()
    assert weights.convert.banner.text == "2 values would overflow to infinity."
    weights.ask_save()
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, SaveSheet)
    sheet._save()
    settled()
    notice = window.notices.notices[-1]
    assert notice.kind == "warning"
    assert "head.scale: 3 values cast: overflow 2" in notice.text


# A fault while a model runs


def test_a_fault_in_a_run_is_a_notice_with_its_report(
    window: MainWindow, settled: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of the model")

    operations.open_sample(window.context)
    settled()
    make_green(window)
    settled()
    window.show_workspace("run")
    monkeypatch.setattr(run_work, "run_choice", broken)
    window.book.run("run.batch")
    settled()
    assert window.isVisible()
    shown = [n for n in window.notices.notices if "ZeroDivisionError" in n.text]
    jobs = [news for news in window.context.jobs.past if news.error is not None]
    assert shown or "a fault of the model" in jobs[-1].error.summary
    assert "Traceback" in jobs[-1].error.report
    monkeypatch.undo()
    window.book.run("run.batch")
    settled()
    assert not [news for news in window.context.jobs.past[-1:] if news.error]


# A file of a set that is not there


def test_a_missing_shard_is_named(
    window: MainWindow, settled: Settled, make_file: MakeFile, tmp_path: Path
) -> None:
    from ruda.store import plan_save, write

    rng = np.random.default_rng(1)
    tensors = [
        TensorSnapshot.from_array(f"w.{n}", rng.standard_normal(300).astype(np.float32))
        for n in range(4)
    ]
    index = TensorIndex.of(tensors, format="safetensors")
    write(plan_save(index, tmp_path / "model.safetensors", shard_size=2500))
    shards = sorted(tmp_path.glob("model-0*.safetensors"))
    assert len(shards) > 1
    shards[1].unlink()
    window.open_paths([tmp_path / "model.safetensors.index.json"])
    settled()
    said = [f"{n.title} {n.text}" for n in window.notices.notices]
    said += window.workspace("weights").findings()
    assert any(shards[1].name in sentence for sentence in said)


# Quitting


def sheet_of(window: MainWindow) -> QuitSheet:
    found = window.findChild(QuitSheet)
    assert found is not None
    return found


def dirty(window: MainWindow, path: Path, settled: Settled) -> None:
    window.open_paths([path])
    settled()
    document = window.context.session.active
    assert document is not None
    window.context.session.edit(document.id, "Rule", document.recipe.with_rule("a", "b"))


def test_a_recipe_that_would_be_lost_is_asked_for_once(
    window: MainWindow, settled: Settled, make_file: MakeFile
) -> None:
    dirty(window, make_file({"a": (2,)}), settled)
    window.context.storage.change(restore_session=False)
    assert not window.close()
    assert not window.close()
    assert len(window.findChildren(QuitSheet)) == 1
    assert sheet_of(window).reasons == ("Not saved: the recipe of made.safetensors.",)
    sheet_of(window).stay.click()
    assert window.isVisible()
    QApplication.sendPostedEvents(None, 52)
    assert not window.close()
    sheet_of(window).quit.click()
    assert not window.isVisible()


def test_a_recipe_that_comes_back_is_not_asked_for(
    window: MainWindow, settled: Settled, make_file: MakeFile
) -> None:
    dirty(window, make_file({"a": (2,)}), settled)
    assert window.close()


def test_a_save_that_runs_is_asked_for(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    began = threading.Event()

    def endless(*_: object, monitor: Monitor, **__: object) -> None:
        began.set()
        while True:
            monitor.check()
            threading.Event().wait(0.005)

    path = make_file({"a": (2,)})
    window.open_paths([path])
    settled()
    monkeypatch.setattr(save_operations, "write", endless)
    weights.ask_save()
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, SaveSheet)
    sheet._save()
    assert began.wait(10)
    assert not window.close()
    assert sheet_of(window).reasons == (
        "Saving made-converted.safetensors: it would be stopped, the old file stays.",
    )
    sheet_of(window).quit.click()
    assert not window.isVisible()
    assert not path.with_name("made-converted.safetensors").exists()


# The keyboard alone


def tab_to(window: MainWindow, qtbot: QtBot, name: str) -> QWidget:
    """Press Tab until a widget has the focus."""
    for _ in range(200):
        focus = QApplication.focusWidget()
        assert focus is not None
        if focus.objectName() == name:
            return focus
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
    raise AssertionError(f"no way to {name} by Tab")


def test_a_load_diff_is_brought_to_green_by_the_keyboard_alone(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, qtbot: QtBot
) -> None:
    window.activateWindow()
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    field = QApplication.focusWidget()
    assert field is window.command
    qtbot.keyClicks(field, "open the sample")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    settled()
    assert counts(weights) == {"missing": 16, "unused": 18}
    window._stack.setFocus()
    for _ in range(4):
        if not weights.diff.rules.suggestions:
            break
        add = tab_to(window, qtbot, "rules.hint.0")
        qtbot.keyClick(add, Qt.Key.Key_Space)
        settled()
        window._stack.setFocus()
    page = weights.diff.page
    assert page is not None
    assert page.is_complete
    table = tab_to(window, qtbot, "diff.table")
    qtbot.keyClick(table, Qt.Key.Key_F8)
    line = weights.diff.model.line(weights.diff.table.currentIndex().row())
    assert line is not None
    assert line.status is Status.UNUSED
    qtbot.keyClick(table, Qt.Key.Key_Space)
    settled()
    document = weights.watch.document
    assert document is not None
    assert document.recipe.skipped_keys
    qtbot.keyClick(table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    settled()
    document = weights.watch.document
    assert document is not None
    assert not document.recipe.skipped_keys
