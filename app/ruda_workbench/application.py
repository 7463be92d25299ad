"""Builds the window, and what it shows: first the frame, then session, jobs and workspaces.

A start from the command line paints the frame at once, imports the rest on a thread of its own
(``Completion``) and builds it in steps between which the window answers.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

from ruda.session import tr
from ruda_workbench import GARBAGE_THRESHOLDS, language
from ruda_workbench.glance import Glance
from ruda_workbench.main_window import MainWindow
from ruda_workbench.theme import Theme
from ruda_workbench.workspaces.table import WORKSPACES

if TYPE_CHECKING:
    from threading import Thread
    from types import TracebackType

    from ruda_workbench.context import Context
    from ruda_workbench.storage import Storage

SWITCH_INTERVAL = 0.0005
"""Seconds of one turn of a Python thread; Python's own default is ten times that."""
REST = (
    "ruda_workbench.storage",
    "ruda_workbench.actions",
    "ruda_workbench.settings_operations",
    "ruda_workbench.panels.drawer",
    "ruda_workbench.widgets.document_tabs",
    "ruda_workbench.widgets.drop_veil",
    "ruda_workbench.widgets.notices",
)
"""Modules that a complete window needs beside its workspaces and that its frame does without."""
STANDING = "standing"
"""Property of a window: numbers of jobs that stand still while a picture is taken."""
QUIET = 2.0
"""Seconds without a fault after which the same one is told again."""
PAINTING = frozenset(
    ("paintEvent", "paint", "paintSection", "drawRow", "data", "headerData", "sizeHint")
)
"""Methods that Qt calls to paint."""
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


def first_window(app: QApplication, seen: Glance, *, theme: str | None = None) -> MainWindow:
    """A window that can be shown at once, and is completed later: see ``Completion``."""
    language.use_language(seen.language)
    return MainWindow(Theme(app, theme or seen.theme, seen.contrast), seen)


def build_window(app: QApplication, storage: Storage, *, theme: str | None = None) -> MainWindow:
    """A complete window with nothing open."""
    settings = storage.settings
    seen = Glance(settings.theme, settings.contrast, settings.language)
    window = first_window(app, seen, theme=theme)
    for _ in completing(window, storage):
        pass
    return window


def completing(window: MainWindow, storage: Storage) -> Iterator[None]:
    """Put everything into a first window, in steps."""
    from ruda.session import Jobs, Session
    from ruda_workbench import settings_operations
    from ruda_workbench.context import Context

    settings = storage.settings
    note = language.use_language(settings.language)
    settings_operations.use_limits(settings)
    window.theme.choose_motion(settings.reduced_motion)
    yield
    jobs = Jobs(read_threads=settings.read_threads)
    context = Context(Session(), jobs, window.theme, storage)
    yield from window.steps(context)
    if note:
        context.notify("warning", tr("A file of the workbench was not understood"), note)
    storage.listen(StorageNews(context).tell)


class StorageNews(QObject):
    """Shows what the storage says of its files, from whichever thread it does."""

    _told = Signal(str, str)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._context = context
        self._told.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def tell(self, kind: str, note: str) -> None:
        """Show it when the window has time."""
        with suppress(RuntimeError):  # the window is gone
            self._told.emit(kind, note)

    @Slot(str, str)
    def _show(self, kind: str, note: str) -> None:
        title = tr("A file of the workbench was not understood")
        if kind == "write":
            title = tr("The workbench cannot write its own files")
        self._context.notify("warning", title, note)


class Completion(QObject):
    """Completes a window once it is painted: imports on a thread, then builds step by step."""

    _imported = Signal(object)
    """An error of the import, or None."""

    def __init__(self, window: MainWindow, folder: Path) -> None:
        super().__init__(window)
        self._window = window
        self._folder = folder
        self._steps: Iterator[None] = iter(())
        self._thread: Thread | None = None
        self._imported.connect(self._begin, Qt.ConnectionType.QueuedConnection)
        window.painted.connect(self._painted)

    def wait(self) -> None:
        """Wait for the end of the thread, where one runs: before the window is destroyed."""
        if self._thread is not None:
            self._thread.join()

    def _painted(self) -> None:
        QTimer.singleShot(0, self, self._import)  # this paint ends first

    def _import(self) -> None:
        from threading import Thread

        self._thread = Thread(target=self._import_rest, name="imports")
        self._thread.start()

    def _import_rest(self) -> None:
        error: Exception | None = None
        try:
            for name in (*REST, *(each.module for each in WORKSPACES)):
                if self._window.is_closed:
                    return
                import_module(name)
        except Exception as found:  # noqa: BLE001 - raised again where it is seen
            error = found
        self._imported.emit(error)

    def _begin(self, error: Exception | None) -> None:
        self.wait()
        self._steps = self._all(error)
        self._step()

    def _all(self, error: Exception | None) -> Iterator[None]:
        if error is not None:
            raise error
        from ruda_workbench.storage import Storage

        storage = Storage(self._folder)
        yield
        yield from completing(self._window, storage)

    def _step(self) -> None:
        if self._window.is_closed:
            self._steps = iter(())
            return
        try:
            is_left = next(self._steps, self) is not self
        except Exception:
            QApplication.exit(1)  # a window that waits for ever would be worse than none
            raise
        if is_left:
            QTimer.singleShot(0, self, self._step)


class Shell:
    """Holds the window, and makes it anew where a setting asks for that: another language.

    Session, jobs and files live in the context, which the new window takes over; undo, running
    jobs and open files are the same as before.
    """

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        window.soon(self._listen)

    def _listen(self) -> None:
        self.window.context.language_wanted.connect(self._later)

    def _later(self) -> None:
        # Not from within the click of a window that is about to go.
        QTimer.singleShot(0, self.window.context, self.renew)

    def renew(self) -> None:
        """Put another window in the place of this one."""
        from PySide6.QtWidgets import QDialog

        old = self.window
        context, kept, front = old.context, old.geometry_text(), old.current
        settings_open = old.findChild(QDialog, "settings") is not None
        settings = context.storage.settings
        note = language.use_language(settings.language)
        old.release()
        self.window = MainWindow(context.theme)
        self.window.complete(context)
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
    from ruda_workbench import operations

    storage = window.context.storage
    state, crashed = storage.last_session()
    wanted = crashed or (storage.settings.restore_session and not only_crashed)
    if state is not None and wanted:
        window.restore_geometry_text(state.geometry)
        operations.restore(window.context, state, crashed=crashed)
        if state.documents or state.dataset:
            window.show_workspace(state.workspace)


def settle(window: MainWindow, *, limit: int = SETTLE_LIMIT) -> None:
    """Run the event loop until no job is left and every answer has been drawn.

    Jobs that a picture holds still are not waited for: the window's property names them.
    """
    from PySide6.QtCore import QCoreApplication, QEventLoop

    from ruda_workbench.aside import Aside

    loop = QEventLoop()
    quiet = 0

    def look() -> None:
        nonlocal quiet
        context = window.context
        held = window.property(STANDING) or ()
        running = [job for job in context.jobs.running if job.id not in held]
        asides = any(each.is_busy for each in window.findChildren(Aside))
        is_busy = running or asides or context.storage.is_busy
        quiet = 0 if is_busy else quiet + 1
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
    from PySide6.QtCore import QCoreApplication, QEvent

    window.close_now()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def catch_faults(context: Context) -> None:
    """Show an uncaught error as a notice with a report; nothing is lost and nothing freezes.

    One that comes back is shown again when there was quiet before it: whoever presses a broken
    button once more wants an answer, and what a timer meets all the time needs only one. A fault of
    painting is shown once: every notice makes the window paint again.
    """
    import traceback

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        report = "".join(traceback.format_exception(kind, error, trace))
        now, before = monotonic(), met.get(report)
        met[report] = now
        if before is not None and (_is_painting(trace) or now - before < QUIET):
            return
        sys.stderr.write(report)
        # Not from within the call that failed: it may hold a painter or a lock.
        QTimer.singleShot(0, context, partial(_tell_fault, context, kind.__name__, error, report))

    met: dict[str, float] = {}
    sys.excepthook = hook


def _is_painting(trace: TracebackType | None) -> bool:
    """True for a fault on the way of a repaint: Qt calls these whenever it draws or measures."""
    while trace is not None:
        if trace.tb_frame.f_code.co_name in PAINTING:
            return True
        trace = trace.tb_next
    return False


def _tell_fault(context: Context, kind: str, error: BaseException, report: str) -> None:
    context.notify(
        "error",
        tr("Something went wrong in the workbench"),
        tr("{kind}: {error}. Your documents are untouched.", kind=kind, error=error),
        report=report,
    )
