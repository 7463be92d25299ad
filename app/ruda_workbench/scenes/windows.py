"""The drawer, settings, guide, about and other windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import sleep
from typing import Any

import numpy as np
from PySide6.QtWidgets import QAbstractButton

from ruda.progress import Monitor
from ruda.session import Job, JobState, SaveOptions, job_line, tr
from ruda.store import TensorIndex, TensorSnapshot
from ruda.tensor import DType
from ruda_workbench import operations
from ruda_workbench.application import STANDING
from ruda_workbench.dialogs.help_window import HelpWindow
from ruda_workbench.main_window import MainWindow
from ruda_workbench.save_operations import save
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.scenes.weights import diff_problems, rules


def _jobs(scene: Scene) -> None:
    diff_problems(scene)
    scene.settle()
    broken = scene.folder / "broken.safetensors"
    broken.write_bytes((1 << 40).to_bytes(8, "little") + b'{"a": 1}')
    scene.window.open_paths([broken])
    scene.settle()
    scene.window.notices.clear()
    scene.window.show_drawer("jobs")


PIECES = 24
"""Tensors of the file that a picture shows being saved; 14 of them are written."""


@dataclass(frozen=True, slots=True, eq=False)
class _Slow:
    """Values that take a moment, and from the fifteenth tensor on until the window is closed."""

    number: int
    window: MainWindow

    def read(self) -> np.ndarray[Any, Any]:
        sleep(0.06)  # longer than between two pieces of news, so that each is told
        while self.number >= 14 and not self.window.is_closed:
            sleep(0.02)
        return np.zeros(1 << 18, np.float32)


def _job_running(scene: Scene) -> None:
    """A save that stands still half-way, in the list and in the status line, and one behind it."""
    _jobs(scene)
    scene.settle()
    window, (document,) = scene.window, scene.window.context.session.documents
    tensors = [
        TensorSnapshot(
            f"layers.{n}.weight", DType.F32, (1 << 18,), 1 << 20, source=_Slow(n, window)
        )
        for n in range(PIECES)
    ]
    view = TensorIndex.of(tensors, format="safetensors")
    jobs = window.context.jobs
    for name in ("llama-7b-f16.safetensors", "b.bpk"):
        save(window.context, document, view, SaveOptions(scene.folder / name))
    window.setProperty(STANDING, [job.id for job in jobs.running])
    saving, waiting = jobs.running[-2:]
    while not _stands(saving, window):
        scene.settle()
    assert waiting.state is JobState.PENDING
    row = window.drawer.job_model.row_of(saving.id)
    window.drawer.jobs.select_row(row)


def _stands(job: Job[object], window: MainWindow) -> bool:
    """True once nothing more comes of a job, and all that came is shown."""
    progress, model = job.progress, window.drawer.job_model
    if progress is None or progress.done < 14 << 20 or window.status.shown_job != job.id:
        return False
    shown = model.line(model.row_of(job.id))
    return shown is not None and shown.done == job_line(job.news).done


def _job_failed(scene: Scene) -> None:
    """A job that failed by a fault of the program: its report can be copied."""
    scene.sample()
    context = scene.window.context

    def work(_: Monitor) -> None:
        raise ZeroDivisionError("made up for a picture")

    context.jobs.start(
        tr("Saving {name}", name="digits.bpk"),
        work,
        owner=context,
        done=lambda _: None,
        failed=lambda failure: context.fail(tr("{name} was not saved", name="digits.bpk"), failure),
        write=True,
    )
    scene.settle()
    scene.window.show_drawer("jobs")
    drawer = scene.window.drawer
    failed = context.jobs.past[-1]
    drawer.jobs.select_row(drawer.job_model.row_of(failed.job_id))


def _history(scene: Scene) -> None:
    rules(scene)
    scene.settle()
    for _ in range(2):
        operations.undo(scene.window.context)
    scene.settle()
    scene.window.show_drawer("history")


def _suggestion(scene: Scene) -> None:
    scene.sample()
    scene.settle()
    button = scene.window.findChild(QAbstractButton, "rules.preview.0")
    assert button is not None
    button.click()


def _settings(scene: Scene) -> None:
    diff_problems(scene)
    scene.settle()
    scene.window.open_settings()


def _guide(scene: Scene) -> None:
    scene.sample()
    scene.window.open_guide("load-diff")


def _guide_search(scene: Scene) -> None:
    _guide(scene)
    found = scene.window.findChild(HelpWindow, "help")
    assert found is not None
    found.field.setText("metadata")


def _about(scene: Scene) -> None:
    scene.sample()
    scene.window.open_about()


SCREENS: dict[str, Callable[[Scene], None]] = {
    "jobs": _jobs,
    "job-running": _job_running,
    "job-failed": _job_failed,
    "history": _history,
    "suggestion": _suggestion,
    "settings": _settings,
    "guide": _guide,
    "guide-search": _guide_search,
    "about": _about,
}
