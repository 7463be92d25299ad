"""Builds session, jobs, theme, storage and window, and joins them."""

from __future__ import annotations

import gc
import sys
import traceback
from functools import partial
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QTimer
from PySide6.QtWidgets import QApplication, QDialog

from ruda.session import Jobs, Session, tr
from ruda_workbench import operations, settings_operations
from ruda_workbench.context import Context
from ruda_workbench.main_window import MainWindow
from ruda_workbench.storage import Storage
from ruda_workbench.theme import Theme

SWITCH_INTERVAL = 0.0005
"""Seconds of one turn of a Python thread; Python's own default is ten times that."""
GARBAGE_THRESHOLDS = (50_000, 20, 500)
"""New objects until Python looks for cycles among the young; and how seldom among all."""
SETTLE_LIMIT = 120_000
"""Milliseconds that ``settle`` waits for jobs at most."""


def application(arguments: list[str] | None = None) -> QApplication:
    """The one QApplication of this process, with the program's name and style."""
    found = QApplication.instance()
    if isinstance(found, QApplication):
        return found
    made = QApplication(arguments or ["ruda-workbench"])
    made.setApplicationName("ruda-workbench")
    made.setApplicationDisplayName("Ruda")
    made.setDesktopFileName("ruda-workbench")
    made.setStyle("Fusion")
    # Qt asks Python for every cell it paints, and each time the window waits for the turn of a
    # working thread to end: short turns keep it alive while a large file is worked on.
    sys.setswitchinterval(SWITCH_INTERVAL)
    # A search for cycles among the millions of objects of a large file stops every thread.
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    return made


def build_window(app: QApplication, storage: Storage, *, theme: str | None = None) -> MainWindow:
    """A window with nothing open."""
    settings = storage.settings
    notes = [*storage.notes, settings_operations.use_language(settings)]
    settings_operations.use_limits(settings)
    jobs = Jobs(read_threads=settings.read_threads)
    made = Theme(app, theme or settings.theme, settings.contrast)
    made.choose_motion(settings.reduced_motion)
    context = Context(Session(), jobs, made, storage)
    window = MainWindow(context)
    for note in filter(None, notes):
        context.notify("warning", tr("A file of the workbench was not understood"), note)
    return window


class Shell:
    """Holds the window, and makes it anew where a setting asks for that: another language.

    Session, jobs and files live in the context, which the new window takes over; undo, running
    jobs and open files are the same as before.
    """

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        window.context.language_wanted.connect(self._later)

    def _later(self) -> None:
        # Not from within the click of a window that is about to go.
        QTimer.singleShot(0, self.window.context, self.renew)

    def renew(self) -> None:
        """Put another window in the place of this one."""
        old = self.window
        context, kept, front = old.context, old.geometry_text(), old.current
        settings_open = old.findChild(QDialog, "settings") is not None
        note = settings_operations.use_language(context.storage.settings)
        old.release()
        self.window = MainWindow(context)
        self.window.restore_geometry_text(kept)
        self.window.show_workspace(front)
        self.window.setVisible(old.isVisible())
        if settings_open:
            self.window.open_settings()
        if note:
            context.notify("warning", tr("The language was not changed"), note)
        old.hide()
        old.deleteLater()


def restore_session(window: MainWindow, *, only_crashed: bool = False) -> None:
    """Open what was open last, as the settings say; what a crash left is brought back always."""
    storage = window.context.storage
    state, crashed = storage.last_session()
    wanted = crashed or (storage.settings.restore_session and not only_crashed)
    if state is not None and wanted:
        window.restore_geometry_text(state.geometry)
        operations.restore(window.context, state, crashed=crashed)
        if state.documents or state.dataset:
            window.show_workspace(state.workspace)


def settle(window: MainWindow, *, limit: int = SETTLE_LIMIT) -> None:
    """Run the event loop until no job is left and every answer has been drawn."""
    loop = QEventLoop()
    quiet = 0

    def look() -> None:
        nonlocal quiet
        quiet = 0 if window.context.jobs.running else quiet + 1
        if quiet >= 3:
            loop.quit()

    timer = QTimer()
    timer.setInterval(20)
    timer.timeout.connect(look)
    timer.start()
    QTimer.singleShot(limit, loop.quit)
    loop.exec()
    timer.stop()
    QCoreApplication.processEvents()


def let_go(window: MainWindow) -> None:
    """Close a window and destroy it now, in Qt's order, not in that of Python's collector."""
    window.close_now()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def catch_faults(context: Context) -> None:
    """Show an uncaught error as a notice with a report; nothing is lost and nothing freezes."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        report = "".join(traceback.format_exception(kind, error, trace))
        if report in told:
            return  # a fault while painting comes back with every repaint
        told.add(report)
        sys.stderr.write(report)
        # Not from within the call that failed: it may hold a painter or a lock.
        QTimer.singleShot(0, context, partial(_tell_fault, context, kind.__name__, error, report))

    told: set[str] = set()
    sys.excepthook = hook


def _tell_fault(context: Context, kind: str, error: BaseException, report: str) -> None:
    context.notify(
        "error",
        tr("Something went wrong in the workbench"),
        tr("{kind}: {error}. Your documents are untouched.", kind=kind, error=error),
        report=report,
    )


def open_named(window: MainWindow, paths: list[Path]) -> None:
    """Open the paths of a command line."""
    window.open_paths(paths)
