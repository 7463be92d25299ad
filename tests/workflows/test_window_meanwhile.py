"""Stories of what a person does while a save runs: edits, closes, opens anew, stops."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from ruda.session import Document, Jobs, JobState, RuleDraft, SaveOptions, TargetChoice
from ruda.store import open_store
from ruda_workbench import operations, save_operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.qt_jobs import QtJobs
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]

SHAPES = {"module.fc1.bias": (32,), "module.fc2.bias": (10,)}
TARGET = TargetChoice.of("digits")


class Held:
    """A save that waits before its first byte, or after its last, until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.at_end = False
        self._write = save_operations.write
        monkeypatch.setattr(save_operations, "write", self._held)

    def _held(self, *args: object, **more: object) -> object:
        if not self.at_end:
            self._wait()
        made = self._write(*args, **more)  # type: ignore[arg-type]
        if self.at_end:
            self._wait()
        return made

    def _wait(self) -> None:
        self.begun.set()
        assert self.go_on.wait(20)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made = Held(monkeypatch)
    yield made
    made.go_on.set()


@pytest.fixture
def source(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> Path:
    """A file that is open under a target and a rule."""
    path = make_file(SHAPES)
    operations.open_document(window.context, path, target=TARGET)
    settled()
    weights.diff.rules.add_draft(RuleDraft(r"^module\.", ""))
    settled()
    return path


def begin(
    window: MainWindow, weights: WeightsWorkspace, held: Held, out: Path, qtbot: QtBot
) -> Document:
    """Start to save the document in front; it is amid the save afterwards."""
    document, laid = weights.watch.document, weights.watch.current
    assert document is not None
    assert laid is not None
    assert laid.view is not None
    save_operations.save(window.context, document, laid.view, SaveOptions(out, overwrite=True))
    qtbot.waitUntil(held.begun.is_set)
    return document


def titles(window: MainWindow) -> list[str]:
    return [notice.title for notice in window.notices.notices]


def test_an_edit_made_while_it_is_saved_is_not_saved(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    held: Held,
    source: Path,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    document = begin(window, weights, held, tmp_path / "out.safetensors", qtbot)
    weights.diff.rules.add_draft(RuleDraft("bias$", "beta"))
    held.go_on.set()
    settled()
    assert [each.id for each in window.context.session.dirty] == [document.id]
    window.book.run("edit.undo")
    assert window.context.session.dirty == ()
    window.book.run("edit.redo")
    window.book.run("file.close")
    assert "made.safetensors was closed" in titles(window)
    window.notices.notices[-1].buttons[0][1]()
    settled()
    (back,) = window.context.session.dirty
    assert [rule.pattern for rule in back.recipe.remap.rules] == [r"^module\.", "bias$"]


def test_a_file_that_is_edited_while_it_is_saved_over_keeps_the_edit(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    held: Held,
    source: Path,
    make_file: MakeFile,
    qtbot: QtBot,
) -> None:
    window.open_paths([make_file(SHAPES, "second.safetensors")])
    settled()
    first, _second = window.context.session.documents
    window.context.session.activate(first.id)
    settled()
    document = begin(window, weights, held, source, qtbot)
    weights.diff.rules.add_draft(RuleDraft("bias$", "beta"))
    held.go_on.set()
    settled()
    now = weights.watch.document
    assert now is not None
    assert now.id == document.id
    assert [each.name for each in window.context.session.documents] == [
        "made.safetensors",
        "second.safetensors",
    ]
    assert list(now.index) == ["fc1.bias", "fc2.bias"]
    assert [rule.pattern for rule in now.recipe.remap.rules] == ["bias$"]
    assert now.target == TARGET
    assert [each.id for each in window.context.session.dirty] == [document.id]
    assert titles(window)[-1] == "made.safetensors was edited while it was saved"
    window.book.run("edit.undo")
    settled()
    assert weights.watch.document is not None
    assert weights.watch.document.recipe.is_identity
    assert window.context.session.dirty == ()


@pytest.mark.parametrize("way", ["closed", "opened anew"])
def test_a_save_ends_well_though_its_document(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    held: Held,
    source: Path,
    tmp_path: Path,
    qtbot: QtBot,
    way: str,
) -> None:
    out = tmp_path / "out.safetensors"
    document = begin(window, weights, held, out, qtbot)
    index = document.index
    if way == "closed":
        operations.close_document(window.context, document.id)
        assert window.context.session.documents == ()
    else:
        operations.reopen_document(window.context, document.id)
        qtbot.waitUntil(lambda: weights.watch.document is not document)
    held.go_on.set()
    settled()
    assert titles(window)[-1].startswith("Saved out.safetensors")
    with open_store(out) as saved:
        assert list(saved) == ["fc1.bias", "fc2.bias"]
    with pytest.raises(OSError, match="closed"):
        index["module.fc1.bias"].read()


def test_a_stop_that_comes_too_late_is_told_as_it_was(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    held: Held,
    source: Path,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    held.at_end = True
    out = tmp_path / "out.safetensors"
    begin(window, weights, held, out, qtbot)
    window.stop_job()
    held.go_on.set()
    settled()
    assert out.is_file()
    notice = window.notices.notices[-1]
    assert notice.title.startswith("Saved out.safetensors")
    assert notice.text.startswith("The stop came too late, the file is written whole.")
    assert window.context.jobs.past[-1].state is JobState.DONE


def test_the_end_says_what_it_waits_for(
    window: MainWindow,
    weights: WeightsWorkspace,
    held: Held,
    source: Path,
    tmp_path: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    begin(window, weights, held, tmp_path / "out.safetensors", qtbot)
    seen: list[str] = []

    def shown() -> None:
        summary = window.status._summary
        seen.append(summary.text())
        assert summary.width() >= summary.sizeHint().width(), "it is there to be read"

    monkeypatch.setattr(window.status, "repaint", shown)
    monkeypatch.setattr(Jobs.shutdown, "__defaults__", (0.6, None))
    monkeypatch.setattr(QtJobs.shutdown, "__defaults__", (0.6, None))
    window.close_now()
    assert seen == ["Waiting until this has stopped: Saving out.safetensors"]
    assert "Ended while this was at work: Saving out.safetensors" in caplog.text
    held.go_on.set()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="who has it open is read in /proc")
@pytest.mark.parametrize("kept", [False, True], ids=["let go by us", "held by others, too"])
def test_where_open_files_cannot_be_replaced_ours_are_let_go(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: bool,
) -> None:
    """As Windows has it: whoever has the file open or mapped is in the way."""
    monkeypatch.setattr("ruda.store._sibling.RENAME_PAUSES", (0.0, 0.0))
    refused: list[str] = []
    replace = os.replace

    def refusing(old: Path, new: Path) -> None:
        if kept or is_open(new):
            refused.append(Path(new).name)
            raise PermissionError(13, "Access is denied")
        replace(old, new)

    monkeypatch.setattr(os, "replace", refusing)
    operations.open_document(window.context, source)  # the same once more
    settled()
    first, second = window.context.session.documents
    window.context.session.activate(first.id)
    settled()
    laid = weights.watch.current
    assert laid is not None
    assert laid.view is not None
    save_operations.save(window.context, first, laid.view, SaveOptions(source, overwrite=True))
    settled()
    assert source.name in refused
    monkeypatch.setattr(os, "replace", replace)
    key = "module.fc1.bias" if kept else "fc1.bias"
    expected = "made.safetensors was not saved" if kept else "Saved made.safetensors"
    assert titles(window)[-1].startswith(expected)
    for number in (first.id, second.id):
        assert window.context.session.document(number).index[key].read().shape == (32,)


def is_open(path: Path) -> bool:
    for handle in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{handle}") == str(path):
                return True
        except OSError:
            continue
    return str(path) in Path("/proc/self/maps").read_text()
