"""Stories of jobs that are stopped or fail: no screen stays dead, and a fault is told as one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from ruda.progress import Monitor
from ruda.session import TargetChoice
from ruda_workbench import data_operations, document_watch, fit_watch, operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels import inspector, load_diff, rules, tensors
from ruda_workbench.workspaces.run import RunWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

from .digits import WRAPPED

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]
DIGITS = TargetChoice.of("digits")


def endless(*_: Any, monitor: Monitor | None = None, **__: Any) -> Any:
    """Work that ends only when it is stopped."""
    found = monitor or next(each for each in _ if hasattr(each, "check"))
    while True:
        found.check()
        threading.Event().wait(0.002)


def broken(*_: Any, **__: Any) -> Any:
    """Work with a fault of the program."""
    raise ZeroDivisionError("a fault")


def stop(window: MainWindow, settled: Settled) -> None:
    """As Ctrl+. does, until nothing runs."""
    while window.context.jobs.running:
        for job in window.context.jobs.running:
            job.cancel()
        settled()


def faults(window: MainWindow) -> list[str]:
    """Titles of the notices that offer a report."""
    shown = window.notices.notices
    return [each.title for each in shown if "Copy report" in [text for text, _ in each.buttons]]


@pytest.mark.parametrize("work", ["tensor_table", "lay", "with_view", "suggest_lines"])
def test_what_was_stopped_of_a_file_is_said_and_made_when_asked(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
    work: str,
) -> None:
    with monkeypatch.context() as patch:
        if work == "suggest_lines":
            patch.setattr(window.context.derived, "suggestions", endless)
        else:
            patch.setattr(document_watch, work, endless)
        operations.open_document(window.context, make_file(WRAPPED), target=DIGITS)
        wait_for(window, settled, weights)
        stop(window, settled)
    assert weights.halted.text == "Stopped before everything was known of this file."
    weights.halted.pressed.emit()
    settled()
    assert weights.halted.text == ""
    assert weights.watch.table is not None
    assert weights.watch.current is not None
    assert weights.watch.current.plan is not None
    assert weights.watch.is_suggested
    assert weights.diff.model.rowCount() > 0
    assert weights.title._save.isEnabled()


def wait_for(window: MainWindow, settled: Settled, weights: WeightsWorkspace) -> None:
    """Until only what is held runs."""
    from PySide6.QtTest import QTest

    for _ in range(200):
        QTest.qWait(10)
        running = window.context.jobs.running
        if weights.watch.document is not None and len(running) <= 1:
            break
    QTest.qWait(150)


def test_a_stopped_laying_has_words_and_another_document_has_none_of_them(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(document_watch, "lay", endless)
        operations.open_document(window.context, make_file(WRAPPED), target=DIGITS)
        wait_for(window, settled, weights)
        stop(window, settled)
    assert weights.diff.table.empty_text == "Stopped"
    operations.open_document(window.context, make_file(WRAPPED, "b.safetensors"), target=DIGITS)
    settled()
    assert weights.halted.text == ""
    assert weights.diff.model.rowCount() > 0


def test_a_listing_with_a_fault_is_told_with_a_report(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operations.open_document(window.context, make_file({"other": (2,)}, "first.safetensors"))
    settled()
    monkeypatch.setattr(document_watch, "tensor_table", broken)
    operations.open_document(window.context, make_file(WRAPPED))
    settled()
    assert faults(window) == ["made.safetensors could not be listed"]
    assert "a fault" in weights.tensors.table.empty_text


@pytest.mark.parametrize(
    ("room", "work", "title"),
    [
        (fit_watch, "model_fits", "Looking for models"),
        (fit_watch, "model_coverages", "Counting what models would find"),
        (document_watch, "suggest_lines", "Looking for suggestions"),
        (document_watch, "lay", "Comparing made.safetensors"),
        (document_watch, "with_view", "Planning made.safetensors"),
    ],
    ids=["fits", "coverages", "suggestions", "laying", "view"],
)
def test_a_fault_is_not_told_as_nothing_found(
    window: MainWindow,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
    room: Any,
    work: str,
    title: str,
) -> None:
    monkeypatch.setattr(room, work, broken)
    target = None if room is fit_watch else DIGITS
    operations.open_document(window.context, make_file(WRAPPED), target=target)
    settled()
    assert faults(window) == [title]


def test_models_that_were_not_looked_for_are_looked_for_again(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(fit_watch, "model_fits", endless)
        operations.open_document(window.context, make_file(WRAPPED))
        wait_for(window, settled, weights)
        stop(window, settled)
    assert not weights.fits.is_found
    assert weights.chooser._note.text() == "Stopped"
    weights.halted.pressed.emit()
    settled()
    assert weights.fits.is_found
    assert weights.halted.text == ""


@pytest.mark.parametrize(
    ("room", "work"), [(load_diff, "diff_page"), (tensors, "tensor_page"), (rules, "rules_page")]
)
def test_a_search_that_was_stopped_or_failed_says_so(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
    room: Any,
    work: str,
) -> None:
    operations.open_document(window.context, make_file(WRAPPED), target=DIGITS)
    settled()
    monkeypatch.setattr(room, "AT_ONCE", 0)
    panel = weights.tensors if room is tensors else weights.diff
    with monkeypatch.context() as patch:
        patch.setattr(room, work, endless)
        panel.refresh()
        wait_for(window, settled, weights)
        stop(window, settled)
    if room is load_diff:
        assert weights.diff.banner.text == "Stopped"
        weights.diff.banner.pressed.emit()
        settled()
        assert weights.diff.banner.text != "Stopped"
    elif room is tensors:
        notice = window.notices.notices[-1]
        assert (notice.title, notice.text) == ("Stopped", "Searching")
        again = notice.buttons[0]
        assert again[0] == "Go on"
        weights.tensors.model.show_page(None)
        again[1]()
        settled()
        assert weights.tensors.model.rowCount() > 0
    else:
        assert weights.diff.rules._summary.text() == "Stopped"
    monkeypatch.setattr(room, work, broken)
    panel.refresh()
    settled()
    assert faults(window) == ["Trying the rules" if room is rules else "Searching"]


def test_a_scan_that_was_stopped_can_be_started_again(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(inspector, "inspect", endless)
        operations.open_document(window.context, make_file(WRAPPED))
        wait_for(window, settled, weights)
        stop(window, settled)
    panel = weights.inspector()
    assert panel._scan_note.text() == "Stopped"
    assert panel._scan.isVisible()
    panel._scan.click()
    settled()
    assert panel.inspection is not None
    assert panel._scan.isHidden()


def test_a_plane_that_is_asked_for_after_the_end_is_nothing(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    operations.open_document(window.context, make_file({"a": (4, 5, 6)}))
    settled()
    panel = weights.inspector()
    choice = panel.heat.choice
    assert window.context.session.active is not None
    window.context.session.close(window.context.session.active.id)
    panel.heat.wanted.emit(choice)  # the slider's timer
    panel.hex.wanted.emit(0)
    settled()
    assert panel.shown_key == ""


def test_a_comparison_that_was_stopped_goes_on_and_runs_nothing(
    ready: MainWindow, run: RunWorkspace, settled: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ready.context.derived, "report", endless)
        run.watch.choose("bert")
        run.watch.choose("digits")
        run.watch._compared = None
        run.watch.look()
        run.run_batch()
        assert run.watch.setup.is_waiting
        stop(ready, settled)
    assert not run.watch.setup.is_waiting
    assert run.missing.isVisible()
    assert (
        run.missing.sentence
        == f"Stopped before it was known whether {run.watch.setup.model} can run."
    )
    assert run.missing.button.text() == "Go on"
    run.missing.button.click()
    settled()
    assert run.watch.setup.can_run
    assert run.watch.batch is None, "the run was stopped, too"


@pytest.mark.parametrize("end", ["failed", "dropped"])
def test_a_run_that_was_not_begun_is_not_begun_later(
    ready: MainWindow,
    run: RunWorkspace,
    settled: Settled,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ready.context.derived, "report", broken if end == "failed" else endless)
        run.watch._compared = None
        run.watch.look()
        run.run_batch()
        if end == "dropped":
            run.left()
        settled()
    if end == "failed":
        assert len(faults(ready)) == 1
    run.watch._compared = None
    run.watch.look()
    settled()
    assert run.watch.setup.can_run
    assert run.watch.batch is None


def test_a_new_window_keeps_the_batch(window: MainWindow, settled: Settled, qtbot: QtBot) -> None:
    data_operations.open_sample(window.context)
    settled()
    data_operations.resize_batches(window.context, 7)
    data_operations.shuffle(window.context, 3)
    before = window.context.session.batch
    from ruda_workbench.workspaces.data import DataWorkspace

    made = DataWorkspace(window.context)
    qtbot.addWidget(made)
    assert window.context.session.batch == before
    assert (before.size, before.shuffle) == (7, 3)
