"""Background work: two lanes of threads, news for whoever listens, and a stop that is heard.

A job's work is a plain function of a Monitor; it never touches a screen. Listeners are called in
the thread that has the news (usually a worker); a window queues them to its own thread.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Literal, TypeVar

from ruda.errors import RudaError
from ruda.progress import Cancelled, Monitor, Progress
from ruda.session.sentences import say
from ruda.tensor import stopped_by

R = TypeVar("R")
Lane = Literal["read", "write"]
"""``read`` runs on several threads, ``write`` on exactly one, so that writes never race."""

REPORT_INTERVAL = 0.05
"""Seconds between two progress reports of one job; more frequent ones are kept, not told."""

MOMENT = 0.3
"""Seconds that the end waits for what runs before it says so."""

RATE_WINDOW = 2.0
"""Seconds over which the rate of a job is measured."""

_log = logging.getLogger(__name__)


class JobState(Enum):
    """Where a job is in its life. The last three are final."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """True once nothing more will happen to the job."""
        return self in (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Why a job failed: one sentence for a person, and a report that can be copied."""

    sentence: str
    """As the library says it; the report has it, too."""
    report: str
    expected: bool
    """True for an error that Ruda raises on purpose; False for one that is a fault of Ruda."""

    @property
    def summary(self) -> str:
        """The sentence in the language of the screens."""
        return say(self.sentence)


class WorkError(RudaError):
    """Raised by a job whose work failed in another process: what that process said of it.

    ``report`` is the trace from there; ``expected`` as in ``JobFailure``.
    """

    def __init__(self, summary: str, report: str, *, expected: bool) -> None:
        super().__init__(summary)
        self.report = report
        self.expected = expected


@dataclass(frozen=True, slots=True)
class JobNews:
    """What a listener is told: the state of one job at one moment."""

    job_id: int
    title: str
    state: JobState
    progress: Progress | None
    rate: float | None
    """Units of ``progress`` per second over the last two seconds; None while unknown."""
    error: JobFailure | None
    stopping: bool
    """True between a request to stop and the end of the work."""


Listener = Callable[[JobNews], None]


class Job(Generic[R]):
    """One piece of running work. It is the Monitor that the work reports to.

    Every method may be called from any thread.
    """

    def __init__(
        self,
        job_id: int,
        title: str,
        lane: Lane,
        tell: Listener,
        clock: Callable[[], float],
    ) -> None:
        self.id = job_id
        self.title = title
        self.lane: Lane = lane
        self.future: Future[R] = Future()
        self._tell = tell
        self._clock = clock
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._state = JobState.PENDING
        self._progress: Progress | None = None
        self._error: JobFailure | None = None
        self._told_at: float | None = None
        self._marks: deque[tuple[float, int]] = deque(maxlen=64)

    @property
    def state(self) -> JobState:
        """The state at this moment."""
        return self._state

    @property
    def stop_asked(self) -> bool:
        """True once the job was asked to stop, whether or not it heard of it in time."""
        return self._stop.is_set()

    @property
    def progress(self) -> Progress | None:
        """The last report of the work, also where listeners were spared it."""
        return self._progress

    @property
    def error(self) -> JobFailure | None:
        """What went wrong; None while nothing has."""
        return self._error

    @property
    def rate(self) -> float | None:
        """Units per second over the last two seconds; None before two reports."""
        with self._lock:
            if len(self._marks) < 2:
                return None
            (start, first), (end, last) = self._marks[0], self._marks[-1]
            return None if end <= start else (last - first) / (end - start)

    @property
    def news(self) -> JobNews:
        """A snapshot of the job."""
        with self._lock:
            return JobNews(
                job_id=self.id,
                title=self.title,
                state=self._state,
                progress=self._progress,
                rate=self.rate,
                error=self._error,
                stopping=self._stop.is_set() and not self._state.is_final,
            )

    def result(self, timeout: float | None = None) -> R:
        """Wait for the result. Raises what the work raised, or Cancelled."""
        return self.future.result(timeout)

    def report(self, progress: Progress) -> None:
        """Take note of how far the work is; tells listeners at most once per 50 ms."""
        now = self._clock()
        told_at = self._told_at
        if told_at is not None and now - told_at < REPORT_INTERVAL:
            # Most reports of quick work end here, so they take no lock and make no mark.
            if not self._state.is_final:
                self._progress = progress
            return
        with self._lock:
            if self._state.is_final:
                return
            self._mark(now, progress)
            self._progress = progress
            self._told_at = now
            self._tell(self.news)

    def check(self) -> None:
        """Raise Cancelled if the job was asked to stop."""
        if self._stop.is_set():
            raise Cancelled(self.title)

    def cancel(self) -> None:
        """Ask the work to stop; one that has not begun ends at once. Harmless when it is over.

        Work of the write lane that ends before it hears of the stop is done, not cancelled.
        """
        with self._lock:
            if self._state.is_final or self._stop.is_set():
                return
            self._stop.set()
            if self._state is JobState.PENDING:
                self._end(JobState.CANCELLED, Cancelled(self.title))
            else:
                self._tell(self.news)

    def run(self, work: Callable[[Monitor], R]) -> None:
        """Do the work in this thread and settle the job. Called by Jobs, once."""
        with self._lock:
            if self._state.is_final:
                return
            self._state = JobState.RUNNING
            self._tell(self.news)
        # A writer stops only where it asks itself: it knows where nothing is left half done.
        stops = stopped_by(self) if self.lane == "read" else nullcontext()
        try:
            with stops:
                result = work(self)
        except Cancelled as stop:
            self._end(JobState.CANCELLED, stop)
        except BaseException as error:  # noqa: BLE001 - every failure belongs to the job
            self._fail(error)
        else:
            self._finish(result)

    def _finish(self, result: R) -> None:
        with self._lock:
            if self._stop.is_set() and self.lane == "read":
                # A result that comes after the stop was asked for is not wanted any more. What
                # was written is there all the same, so a writer that ended is told as done.
                self._end(JobState.CANCELLED, Cancelled(self.title))
                return
            self._state = JobState.DONE
            self.future.set_result(result)
            self._tell(self.news)

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = failure_of(self.title, error)
            # What breaks while it is being stopped is part of the stop; its report is kept. Of a
            # writer it may say how it left the file, which a person has to know.
            stopped = self._stop.is_set() and self.lane == "read"
            self._end(JobState.CANCELLED if stopped else JobState.FAILED, error)

    def _mark(self, now: float, progress: Progress) -> None:
        before = self._progress
        if before is not None and (before.unit != progress.unit or progress.done < before.done):
            self._marks.clear()
        while self._marks and now - self._marks[0][0] > RATE_WINDOW:
            self._marks.popleft()
        self._marks.append((now, progress.done))

    def _end(self, state: JobState, error: BaseException) -> None:
        with self._lock:
            self._state = state
            # Settled before it is told: a listener may ask for the result.
            self.future.set_exception(error)
            self._tell(self.news)


class Jobs:
    """The lanes, the jobs that are not over, and the listeners. Safe to use from any thread."""

    def __init__(
        self,
        *,
        read_threads: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._lanes: dict[Lane, ThreadPoolExecutor] = {
            "read": ThreadPoolExecutor(read_threads, thread_name_prefix="ruda-read"),
            "write": ThreadPoolExecutor(1, thread_name_prefix="ruda-write"),
        }
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._live: dict[int, Job[object]] = {}
        self._past: deque[JobNews] = deque(maxlen=100)
        self._listeners: tuple[Listener, ...] = ()
        self._closed = False

    @property
    def live(self) -> tuple[Job[object], ...]:
        """Jobs that wait or run, oldest first."""
        with self._lock:
            return tuple(self._live.values())

    @property
    def past(self) -> tuple[JobNews, ...]:
        """The last news of the hundred jobs that ended last, oldest first."""
        with self._lock:
            return tuple(self._past)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with all news, in the thread that has it; returns the undo."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = tuple(x for x in self._listeners if x is not listener)

        return unsubscribe

    def start(self, title: str, work: Callable[[Monitor], R], lane: Lane = "read") -> Job[R]:
        """Queue ``work(monitor)`` in a lane. Raises RudaError after ``shutdown``."""
        with self._lock:
            if self._closed:
                raise RudaError(f"{title}: the program is closing, no new work is started")
            job: Job[R] = Job(next(self._ids), title, lane, self._tell, self._clock)
            self._live[job.id] = job  # type: ignore[assignment]
        self._tell(job.news)
        self._lanes[lane].submit(job.run, work)
        return job

    def shutdown(
        self, timeout: float = 5.0, waiting: Callable[[tuple[str, ...]], None] | None = None
    ) -> tuple[str, ...]:
        """Stop everything and wait up to ``timeout`` seconds; titles of what did not stop.

        ``waiting`` is told what is waited for, if that takes longer than a moment.
        """
        with self._lock:
            self._closed = True
        jobs = self.live
        for job in jobs:
            job.cancel()
        begun = time.monotonic()
        wait_for([job.future for job in jobs], min(MOMENT, timeout))
        left = tuple(job.title for job in jobs if not job.future.done())
        if left and waiting is not None:
            waiting(left)
        rest = max(0.0, timeout - (time.monotonic() - begun))
        wait_for([job.future for job in jobs], rest)
        for pool in self._lanes.values():
            pool.shutdown(wait=False, cancel_futures=True)
        return tuple(job.title for job in jobs if not job.future.done())

    def _tell(self, news: JobNews) -> None:
        with self._lock:
            if news.state.is_final:
                self._live.pop(news.job_id, None)
                self._past.append(news)
            listeners = self._listeners
        for listener in listeners:
            try:
                listener(news)
            except Exception:  # noqa: BLE001 - it is logged; the job goes on
                # A broken listener must not take the job with it.
                _log.exception("a listener of job %r failed", news.title)


def failure_of(title: str, error: BaseException) -> JobFailure:
    """What a person is told of an error that ended a job of this title."""
    if isinstance(error, WorkError):
        return JobFailure(
            error.message, f"{title}\n{error.message}\n\n{error.report}", error.expected
        )
    expected = isinstance(error, RudaError | OSError | MemoryError)
    if isinstance(error, RudaError):
        summary = str(error)
    else:
        text = str(error)
        summary = type(error).__name__ + (f": {text}" if text else "")
    trace = "".join(traceback.format_exception(error))
    return JobFailure(summary, f"{title}\n{summary}\n\n{trace}", expected)
