"""Work that is started and stopped again and again leaves nothing behind.

Counted are threads, objects of Qt and objects of Python, once after a few rounds have filled every
cache and once at the end; each round starts and stops one job of every kind below.
``RUDA_CYCLES=1000`` asks for a thousand rounds, which take minutes.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QApplication

from ruda.progress import Monitor
from ruda.session import TargetChoice
from ruda_workbench import operations
from ruda_workbench.application import settle
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

ROUNDS = int(os.environ.get("RUDA_CYCLES", "40"))
WARM = 12
SPARE_PER_ROUND = 3
"""Python objects that a round may leave on average: news of past jobs are kept for a while."""
SHAPES = {"a.weight": (24, 24), "a.bias": (24,), "b.weight": (8, 24), "b.bias": (8,)}


@dataclass(frozen=True)
class Census:
    threads: int
    widgets: int
    qt: int
    running: int
    python: int

    @classmethod
    def of(cls, window: MainWindow) -> Census:
        settle(window)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        return cls(
            # The pool of the kernels fills when first needed; threads of Qt's pool ("Dummy") stay
            # listed when Qt has ended them.
            sum(
                not one.name.startswith(("ruda-kernels", "Dummy")) for one in threading.enumerate()
            ),
            len(QApplication.allWidgets()),
            len(window.findChildren(QObject)),
            len(window.context.jobs.running),
            len(gc.get_objects()),
        )


def until_stopped(monitor: Monitor) -> None:
    pause = threading.Event()
    while True:
        monitor.check()
        pause.wait(0.001)


def one_round(window: MainWindow, weights: WeightsWorkspace, number: int) -> None:
    """Start and stop a job of either lane, statistics, a check of values and a save sheet."""
    for write in (False, True):
        job = window.context.jobs.start(
            "endless", until_stopped, owner=window, done=lambda _: None, write=write
        )
        job.cancel()
    keys = list(SHAPES)
    weights.reveal(keys[number % len(keys)])
    weights.show_view("convert")
    weights.convert.scan.click()
    window.stop_job()
    weights.ask_save()
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, SaveSheet)
    sheet.reject()
    weights.show_view("diff")
    if number % 10 == 0:
        settle(window)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_starting_and_stopping_leaves_nothing(
    window: MainWindow, weights: WeightsWorkspace, make_file: Callable[..., Path]
) -> None:
    path = make_file(SHAPES)
    target = TargetChoice.of(str(path), is_file=True)
    operations.open_document(window.context, path, target=target)
    settle(window)
    weights.convert.choose("f16")
    settle(window)
    for number in range(WARM):
        one_round(window, weights, number)
    before = Census.of(window)
    for number in range(ROUNDS):
        one_round(window, weights, number)
    after = Census.of(window)
    # What earlier tests left may go meanwhile; nothing may come.
    assert after.threads <= before.threads
    assert after.widgets <= before.widgets
    assert after.qt <= before.qt
    assert after.running == 0
    assert after.python - before.python <= SPARE_PER_ROUND * ROUNDS
