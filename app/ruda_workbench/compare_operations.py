"""What a person can do with a comparison: copy its command, and write it down as a report."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QGuiApplication

from ruda.errors import RudaError
from ruda.progress import Monitor
from ruda.session import CompareTable, JobFailure, command_text, compare_command, tr
from ruda.store import write_comparison
from ruda_workbench import save_operations
from ruda_workbench.compare_watch import CompareWatch
from ruda_workbench.context import Context

REPORTS = "HTML (*.html);;Markdown (*.md);;CSV (*.csv);;JSON (*.json)"
"""The forms of a report, as a file dialog lists them."""


def copy_command(context: Context, watch: CompareWatch) -> None:
    """Put the ``ruda compare`` line that gives the same answer on the clipboard."""
    left, right = watch.left, watch.right
    if left is None or right is None:
        return
    try:
        text = command_text(compare_command(left, right, watch.options))
    except RudaError as error:
        context.notify("warning", tr("The command was not copied"), str(error))
        return
    QGuiApplication.clipboard().setText(text)
    context.notify("done", tr("Command copied"), text)


def export(context: Context, table: CompareTable, path: Path) -> None:
    """Write a comparison in the form of the suffix, in the write lane."""

    def work(monitor: Monitor) -> None:
        monitor.check()
        write_comparison(table.report, path)

    def done(_: None) -> None:
        show = (tr("Show in folder"), lambda: save_operations.show_folder(path))
        context.notify("done", tr("Saved {name}", name=path.name), "", show)

    def failed(failure: JobFailure) -> None:
        context.fail(tr("{name} was not saved", name=path.name), failure)

    title = tr("Saving {name}", name=path.name)
    context.jobs.start(title, work, owner=context, done=done, failed=failed, write=True)
