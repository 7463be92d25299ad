"""A crash in the runner: the process of a model dies or stands still, and the window lives on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.run import RunWorkspace

pytestmark = [
    pytest.mark.gui,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to kill with"),
]

Settled = Callable[[], None]


def test_a_crash_in_the_runner_ends_the_run_and_nothing_else(
    ready: MainWindow, run: RunWorkspace, settled: Settled, qtbot: QtBot
) -> None:
    context = ready.context
    document = context.session.active
    assert document is not None
    undo = context.session.history(document.id).undo_title
    assert undo is not None
    ready.book.run("run.batch")
    settled()
    shown, pid = run.watch.batch, context.models.pid
    assert shown is not None
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)  # so that it is amid the run when it dies
    ready.book.run("run.dataset")
    qtbot.waitUntil(lambda: context.models.is_at_work)
    os.kill(pid, signal.SIGSEGV)
    os.kill(pid, signal.SIGCONT)
    settled()
    (notice,) = ready.notices.notices
    assert (notice.kind, notice.title) == ("error", "The model could not be run")
    assert f"signal {int(signal.SIGSEGV)} (SIGSEGV)" in notice.text
    ((button, copy),) = notice.buttons
    copy()
    assert button == "Copy report"
    assert "Fatal Python error: Segmentation fault" in QGuiApplication.clipboard().text()
    assert run.banner.text == notice.text
    assert context.models.pid is None
    assert (context.session.active, run.watch.batch) == (document, shown)
    assert context.session.history(document.id).undo_title == undo
    ready.grab()
    ready.book.run("run.dataset")
    settled()
    figure = run.watch.page.dataset
    assert figure is not None
    assert figure.right >= 970
    assert context.models.pid not in (pid, None)
    assert run.banner.isHidden()


def test_a_run_that_hears_nothing_is_stopped(
    ready: MainWindow, run: RunWorkspace, settled: Settled, qtbot: QtBot
) -> None:
    ready.book.run("run.batch")
    settled()
    models = ready.context.models
    pid = models.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    ready.book.run("run.dataset")
    qtbot.waitUntil(lambda: models.is_at_work)
    qtbot.mouseClick(run.head.whole, Qt.MouseButton.LeftButton)
    settled()
    assert models.pid is None
    assert ready.notices.notices == ()
    ready.book.run("run.batch")
    settled()
    assert run.watch.batch is not None
