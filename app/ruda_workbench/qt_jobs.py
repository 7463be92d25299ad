"""Brings the news of background jobs to the GUI thread, through one queued signal.

One ``QtJobs`` lives as long as the window. Work never touches Qt; handlers run in the GUI thread
only, and never for an owner whose Qt half is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot
from shiboken6 import isValid

from ruda.progress import Monitor
from ruda.session import Job, JobFailure, JobNews, Jobs, JobState

R = TypeVar("R")
RESULT_TIMEOUT = 5.0
"""Seconds to wait for a result whose news has arrived; it follows the news at once."""


@dataclass(frozen=True, slots=True)
class _Handlers:
    job: Job[Any]
    owner: QObject
    done: Callable[[Any], None]
    failed: Callable[[JobFailure], None] | None
    cancelled: Callable[[], None] | None


class QtJobs(QObject):
    """Starts jobs and hands their results over in the GUI thread."""

    news = Signal(object)
    """JobNews of any job, in the GUI thread."""
    unhandled = Signal(object)
    """JobNews of a job that failed and whose starter did not say what to do then."""
    _arrived = Signal(object)

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._handlers: dict[int, _Handlers] = {}
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._unsubscribe = jobs.subscribe(self._tell)

    @property
    def running(self) -> tuple[Job[object], ...]:
        """Jobs that wait or run, or whose end is not told yet, oldest first.

        A job that has ended is none of the session's any more a moment before its news is on the
        way here; whoever waits for its answer has to wait for that, too.
        """
        return tuple(handlers.job for handlers in self._handlers.values())

    @property
    def past(self) -> tuple[JobNews, ...]:
        """The last news of the jobs that ended last, oldest first."""
        return self._jobs.past

    def start(
        self,
        title: str,
        work: Callable[[Monitor], R],
        *,
        owner: QObject,
        done: Callable[[R], None],
        failed: Callable[[JobFailure], None] | None = None,
        cancelled: Callable[[], None] | None = None,
        write: bool = False,
    ) -> Job[R]:
        """Run ``work(monitor)`` in a lane; exactly one handler is called, while ``owner`` lives."""
        job = self._jobs.start(title, work, "write" if write else "read")
        # News is queued to this thread, so nothing can arrive before this line.
        self._handlers[job.id] = _Handlers(job, owner, done, failed, cancelled)
        return job

    def shutdown(self, timeout: float = 5.0) -> tuple[str, ...]:
        """Stop everything; titles of what did not stop in time. No handler is called afterwards."""
        self._unsubscribe()
        self._handlers.clear()
        return self._jobs.shutdown(timeout)

    def _tell(self, news: JobNews) -> None:
        self._arrived.emit(news)

    @Slot(object)
    def _deliver(self, news: JobNews) -> None:
        handlers = self._handlers.pop(news.job_id, None) if news.state.is_final else None
        self.news.emit(news)
        if handlers is None or not isValid(handlers.owner):
            return
        if news.state is JobState.DONE:
            handlers.done(handlers.job.result(RESULT_TIMEOUT))
        elif news.state is JobState.CANCELLED:
            if handlers.cancelled is not None:
                handlers.cancelled()
        elif handlers.failed is not None and news.error is not None:
            handlers.failed(news.error)
        else:
            self.unhandled.emit(news)


class Latest(QObject):
    """The last question of one panel: a new one stops the one before and drops its answer."""

    def __init__(self, jobs: QtJobs, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._generation = 0
        self._job: Job[Any] | None = None

    @property
    def is_waiting(self) -> bool:
        """True while an answer is due."""
        return self._job is not None

    @property
    def job_id(self) -> int | None:
        """Number of the job that works on the answer; None while none is due."""
        return None if self._job is None else self._job.id

    def ask(
        self,
        title: str,
        work: Callable[[Monitor], R],
        done: Callable[[R], None],
        failed: Callable[[JobFailure], None] | None = None,
        cancelled: Callable[[], None] | None = None,
    ) -> None:
        """Ask in the background; ``done`` hears the answer unless a newer question was asked.

        ``cancelled`` hears of a stop from elsewhere, not of ``drop``.
        """
        self.drop()
        generation = self._generation

        def answer(result: R) -> None:
            if generation == self._generation:
                self._job = None
                done(result)

        def failure(error: JobFailure) -> None:
            if generation == self._generation:
                self._job = None
                if failed is not None:
                    failed(error)

        def stopped() -> None:
            if generation == self._generation:
                self._job = None
                if cancelled is not None:
                    cancelled()

        self._job = self._jobs.start(
            title, work, owner=self, done=answer, failed=failure, cancelled=stopped
        )

    def drop(self) -> None:
        """Stop the question that is open, if there is one, and ignore its answer."""
        self._generation += 1
        if self._job is not None:
            self._job.cancel()
            self._job = None
