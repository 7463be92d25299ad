"""Writing reports down: the load diff and the comparison, in the form of the file's suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from ruda.progress import Monitor
from ruda.session import JobFailure, tr
from ruda_workbench import save_operations
from ruda_workbench.context import Context

FORMS = "HTML (*.html);;Markdown (*.md);;CSV (*.csv);;JSON (*.json)"
"""The forms of a report, as a file dialog lists them."""


def ask_and_export(
    context: Context, parent: QWidget, title: str, name: str, write: Callable[[Path], None]
) -> None:
    """Ask where a report goes and write it; ``name`` is proposed."""
    start = str(context.folder / name)
    found, _ = QFileDialog.getSaveFileName(parent, title, start, FORMS)
    if found:
        export(context, Path(found), write)


def export(context: Context, path: Path, write: Callable[[Path], None]) -> None:
    """Write a report in the write lane; the result and every refusal become notices."""

    def work(monitor: Monitor) -> None:
        monitor.check()
        write(path)

    def done(_: None) -> None:
        show = (tr("Show in folder"), lambda: save_operations.show_folder(path))
        context.notify("done", tr("Saved {name}", name=path.name), "", show)

    def failed(failure: JobFailure) -> None:
        context.fail(tr("{name} was not saved", name=path.name), failure)

    title = tr("Saving {name}", name=path.name)
    context.jobs.start(title, work, owner=context, done=done, failed=failed, write=True)
