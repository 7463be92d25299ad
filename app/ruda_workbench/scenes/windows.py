"""The drawer, settings, guide, about and other windows."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QAbstractButton

from ruda.progress import Monitor, Progress
from ruda.session import JobNews, JobState, job_lines, tr
from ruda_workbench import operations
from ruda_workbench.dialogs.help_window import HelpWindow
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


SAVING = Progress(3_118_400_000, 4_900_000_000, "bytes")


def _job_running(scene: Scene) -> None:
    """A save half-way, in the list and in the status line, and a job that waits behind it.

    No job is started: a picture is taken when none is left, and this one has to stand still.
    """
    _jobs(scene)
    waiting = JobNews(
        9001, tr("Saving {name}", name="b.bpk"), JobState.PENDING, None, None, None, False
    )
    running = JobNews(
        9000,
        tr("Saving {name}", name="llama-7b-f16.safetensors"),
        JobState.RUNNING,
        SAVING,
        412_600_000.0,
        None,
        False,
    )
    window = scene.window
    drawer = window.drawer
    scene.settle()
    for news in (running, waiting):
        window.status.show_news(news)
    for _ in range(50):
        if window.status.shown_job is None:
            scene.settle()  # a job is shown a moment after it began
    drawer.job_model.show_lines(job_lines((running, waiting), window.context.jobs.past))
    drawer.jobs.select_row(0)


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
