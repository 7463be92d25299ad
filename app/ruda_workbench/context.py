"""Context: the one object that workspaces, panels and operations are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from ruda.session import (
    BatchChoice,
    Changes,
    Derived,
    JobFailure,
    Jobs,
    ModelProcess,
    Session,
    say,
    tr,
)
from ruda_workbench.aside import Aside
from ruda_workbench.own_writes import OwnWrites
from ruda_workbench.plain_words import without_options
from ruda_workbench.qt_jobs import QtJobs
from ruda_workbench.storage import Storage
from ruda_workbench.theme import Theme
from ruda_workbench.widgets.notices import Notice


class Context(QObject):
    """Session, jobs, theme and storage of one window, and the wishes that go to its frame."""

    changed = Signal(object)
    """``Changes`` after every operation of the session."""
    noticed = Signal(object)
    """A ``Notice`` to be shown."""
    workspace_wanted = Signal(str)
    key_wanted = Signal(str)
    """A tensor of the active document to be shown."""
    settings_changed = Signal()
    """A setting has another value."""
    guide_wanted = Signal(str)
    """A page of the guide is to be shown, by its name."""
    compare_wanted = Signal(int, int, object)
    """Two documents are to be compared by value: left, right, and the ``CompareOptions``."""
    language_wanted = Signal()
    """The window is to be made anew in the language of the settings."""
    refused_wanted = Signal(object)
    """A ``RefusedPage`` is to be shown: what a file asked for and did not get."""
    came_to_front = Signal()
    """The window has the focus again: another program had it."""
    summary_changed = Signal()
    """A workspace has something else to say in the status line."""

    def __init__(self, session: Session, jobs: Jobs, theme: Theme, storage: Storage) -> None:
        super().__init__()
        self.session = session
        session.choose_batch(BatchChoice(size=storage.settings.batch_size))
        self.jobs = QtJobs(jobs, self)
        self.theme = theme
        theme.setParent(self)
        self.storage = storage
        self.aside = Aside(self)
        self.writes = OwnWrites(self)
        self.derived = Derived()
        """Targets, reports and converted views, kept for screens that come back."""
        self.folder = Path.home()
        """Where the next file dialog starts."""
        self.models = ModelProcess()
        """Where models run: a process that is started by the first run."""
        self._unsubscribe = session.subscribe(self._tell)
        self.jobs.unhandled.connect(self._unhandled)
        self.jobs.halted.connect(self._halted)

    def notify(
        self,
        kind: str,
        title: str,
        text: str = "",
        *buttons: tuple[str, Callable[[], None]],
        report: str = "",
    ) -> None:
        """Show a notice: ``info``, ``done``, ``warning`` or ``error``; a library's text is said."""
        said = say(text)
        if kind in ("warning", "error"):
            said = without_options(said)
        self.noticed.emit(Notice(kind, title, said, tuple(buttons), report))

    def fail(self, title: str, failure: JobFailure) -> None:
        """Show why a job failed: the sentence, and the report where the fault is the program's."""
        self.notify(
            "error", title, failure.summary, report="" if failure.expected else failure.report
        )

    def close(self, waiting: Callable[[tuple[str, ...]], None] | None = None) -> tuple[str, ...]:
        """Stop listening and stop the jobs; titles of those that did not stop in time.

        ``waiting`` is told which are waited for, if that takes longer than a moment.
        """
        self._unsubscribe()
        left = self.jobs.shutdown(waiting=waiting)
        self.aside.stop()
        self.models.close()
        return left

    def _tell(self, changes: Changes) -> None:
        self.changed.emit(changes)

    def _unhandled(self, news: object) -> None:
        error = getattr(news, "error", None)
        if error is not None:
            self.fail(getattr(news, "title", ""), error)

    def _halted(self, title: str, again: Callable[[], None]) -> None:
        self.notify("info", tr("Stopped"), title, (tr("Go on"), again))
