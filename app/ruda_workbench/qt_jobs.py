"""Brings the news of background jobs to the GUI thread, through one queued signal.

One ``QtJobs`` lives as long as the window. Work never touches Qt; handlers run in the GUI thread
only, and never for an owner whose Qt half is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
    halted = Signal(str, object)
    """Title of a question that was stopped from elsewhere, and a function that asks it again."""
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

    def shutdown(
        self, timeout: float = 5.0, waiting: Callable[[tuple[str, ...]], None] | None = None
    ) -> tuple[str, ...]:
        """Stop everything; titles of what did not stop in time. No handler is called afterwards.

        ``waiting`` is told what is waited for, if that takes longer than a moment.
        """
        self._unsubscribe()
        self._handlers.clear()
        return self._jobs.shutdown(timeout, waiting)

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


@dataclass(slots=True)
class _Held:
    """The job of a question: outlives the Qt half of who asks, so that it can be stopped then."""

    job: Job[Any] | None = None

    def stop(self) -> None:
        if self.job is not None:
            self.job.cancel()
            self.job = None


def _gone(held: _Held, _: QObject | None = None) -> None:
    held.stop()


class Latest(QObject):
    """The last question of one panel: a new one stops the one before and drops its answer.

    It ends with its panel: nobody is left to hear an answer, and a lane is free for others.
    """

    def __init__(self, jobs: QtJobs, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._generation = 0
        self._held = _Held()
        self.destroyed.connect(partial(_gone, self._held))

    @property
    def is_waiting(self) -> bool:
        """True while an answer is due."""
        return self._held.job is not None

    @property
    def job_id(self) -> int | None:
        """Number of the job that works on the answer; None while none is due."""
        return None if self._held.job is None else self._held.job.id

    def ask(
        self,
        title: str,
        work: Callable[[Monitor], R],
        done: Callable[[R], None],
        failed: Callable[[JobFailure], None] | None = None,
        cancelled: Callable[[], None] | None = None,
    ) -> None:
        """Ask in the background; ``done`` hears the answer unless a newer question was asked.

        ``cancelled`` hears of a stop from elsewhere, not of ``drop``. Who does not say what to do
        then, or with a failure, leaves both to the window: a notice says it.
        """
        self.drop()
        generation = self._generation

        def ended() -> bool:
            """True for the newest question, which waits no more then."""
            newest = generation == self._generation
            if newest:
                self._held.job = None
            return newest

        def answer(result: R) -> None:
            if ended():
                done(result)

        def failure(error: JobFailure) -> None:
            if not ended():
                return
            if failed is not None:
                failed(error)
            else:
                news = JobNews(job.id, title, JobState.FAILED, None, None, error, stopping=False)
                self._jobs.unhandled.emit(news)

        def again() -> None:
            if isValid(self) and generation == self._generation:
                self.ask(title, work, done, failed)

        def stopped() -> None:
            if not ended():
                return
            if cancelled is not None:
                cancelled()
            else:
                self._jobs.halted.emit(title, again)

        job = self._jobs.start(
            title, work, owner=self, done=answer, failed=failure, cancelled=stopped
        )
        self._held.job = job

    def drop(self) -> None:
        """Stop the question that is open, if there is one, and ignore its answer."""
        self._generation += 1
        self._held.stop()
