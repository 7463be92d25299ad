"""How large arrays are cut into pieces and shared among threads: the one policy of all kernels.

``RUDA_THREADS`` or ``set_thread_count`` gives the number of threads; with 1 there is no pool. A
number that was asked for bounds the threads of matrix products, too (``blas``). Threads wait for
work asleep, never by spinning. Between two pieces a job can be stopped: by the monitor that the
kernel was given, else by that of ``stopped_by``.

The calling thread takes pieces as its helpers do, so that no work waits for a thread to wake up.
Cuts depend on the array alone, never on the number of threads: sums are the same with any number.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Generic, TypeVar

from ruda._kernels.blas import bound_blas
from ruda._kernels.numbers import take_whole
from ruda.errors import SettingError
from ruda.progress import SILENT, Monitor, Progress

T = TypeVar("T")

VARIABLE = "RUDA_THREADS"
PIECE_BYTES = 3 << 19
"""Bytes of a piece, at least. Beginning one costs about 7 µs and waking a thread 20, and its work
then takes 100; up to twice as many bytes nothing is gained, and they are one piece."""
MOST_PIECES = 4
"""Larger pieces are made rather than more, until they are the largest: after each a thread needs
the interpreter's lock, for which it waits while another runs Python."""
LARGEST_BYTES = 4 << 20
"""Bytes of a piece, at most, however many that makes: work stops between two of them."""
LONGEST_QUEUE = 100
"""Calls for help that wait at most: who calls while all are busy for long does without."""
MOST_BY_DEFAULT = 4
"""The kernels are bound by memory: more threads than this rarely help."""
MOST_THREADS = 1024
"""More cannot be asked for: a mistyped number must not take all threads that the system has."""
_LONGEST = 4
"""Digits of a number of threads."""
_SHOWN = 40

_lock = threading.Lock()
_count: int | None = None
_pool: ThreadPoolExecutor | None = None
_helpers: _Helpers | None = None


def parse_count(text: str, name: str) -> int:
    """Thread count written as text. Raises SettingError unless it is a number from 1 to 1024."""
    digits = text.lstrip("0") if text.isascii() and text.isdecimal() else ""
    # The length first: Python refuses to read thousands of digits.
    if not digits or len(digits) > _LONGEST or int(digits) > MOST_THREADS:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise SettingError(
            f"{name}={shown} is not a number of threads; expected 1 to {MOST_THREADS}"
        )
    return int(digits)


def _forced_count() -> int | None:
    forced = os.environ.get(VARIABLE)
    return parse_count(forced, VARIABLE) if forced else None


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux tells which processors this process may use
        return os.cpu_count() or 1


def thread_count() -> int:
    """Number of threads that share large arrays.

    Unless set: what ``RUDA_THREADS`` says, else the processors of this process, at most 4.
    """
    with _lock:
        return _known_count()


def _known_count() -> int:
    # Under the lock.
    global _count
    if _count is None:
        forced = _forced_count()
        if forced is not None:
            bound_blas(forced)
        _count = min(_cores(), MOST_BY_DEFAULT) if forced is None else forced
    return _count


def set_thread_count(count: int | None) -> None:
    """Share large arrays among this many threads from now on; None is the default again.

    Matrix products of NumPy's OpenBLAS use at most as many; with None, as many as OpenBLAS would.
    Raises SettingError for what is no whole number from 1 to 1024.
    """
    global _count, _pool, _helpers
    count = None if count is None else take_whole(count, "threads", 1, MOST_THREADS)
    with _lock:
        # Whoever still holds the old pool finishes on it; it ends with its last reference.
        _pool, _count = None, count
        if _helpers is not None:
            _helpers.end()
            _helpers = None
        bound_blas(_forced_count() if count is None else count)


def _bound_at_first() -> None:
    # Matrix products may come before any kernel asks for the number. One that is none is said then.
    try:
        forced = _forced_count()
    except SettingError:
        return
    if forced is not None:
        bound_blas(forced)


_bound_at_first()


def _forget_pool() -> None:
    # A forked child has these objects but none of their threads.
    global _pool, _helpers, _lock
    _pool, _helpers, _lock = None, None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _shared_pool() -> ThreadPoolExecutor | None:
    """Threads for what is begun aside; None if there is only the calling one."""
    global _pool
    with _lock:
        count = _known_count()
        if count < 2:
            return None
        if _pool is None:
            _pool = ThreadPoolExecutor(count, thread_name_prefix="ruda-kernels")
        return _pool


def _shared_helpers() -> _Helpers | None:
    """Threads beside the calling one; None if it is alone."""
    global _helpers
    with _lock:
        count = _known_count()
        if count < 2:
            return None
        if _helpers is None:
            try:
                _helpers = _Helpers(count - 1)
            except RuntimeError:  # the interpreter is on its way out and starts no threads
                return None
        return _helpers


def aside(task: Callable[[], T]) -> Callable[[], T]:
    """Begin a task on the pool; what is returned waits for its result, or raises its error.

    With one thread it is done at once. The task must not call this itself.
    """
    pool = _shared_pool()
    if pool is not None:
        try:
            return pool.submit(task).result
        except RuntimeError:  # the interpreter is on its way out and pools take nothing any more
            pass
    result = task()
    return lambda: result


class _Stopper:
    """Asks another monitor whether to stop, and keeps from it how far a single kernel is."""

    def __init__(self, monitor: Monitor) -> None:
        self.check = monitor.check

    def report(self, progress: Progress) -> None:
        pass


_asked = threading.local()


def _stopper() -> Monitor:
    return getattr(_asked, "monitor", SILENT)


@contextmanager
def stopped_by(monitor: Monitor) -> Iterator[None]:
    """Inside, this monitor stops the kernels that this thread calls, between two pieces.

    It hears no progress: a job knows its own steps. May nest; the innermost counts. What a thread
    of its own calls is not stopped. A kernel that is stopped raises Cancelled and leaves its
    results unfinished.
    """
    before = _stopper()
    _asked.monitor = _Stopper(monitor)
    try:
        yield
    finally:
        _asked.monitor = before


def is_one_piece(length: int, item_bytes: int) -> bool:
    """Whether ``in_pieces`` would do it all in one call; a kernel may then be called at once."""
    return 0 < length * item_bytes <= 2 * PIECE_BYTES


def in_pieces(
    task: Callable[[slice], T], length: int, item_bytes: int, monitor: Monitor = SILENT
) -> list[T]:
    """Results of ``task`` over consecutive slices that cover 0 … length, in order.

    ``item_bytes`` is what one item reads and writes; it and the length alone decide the slices.
    They run in the calling thread and in its helpers, whoever comes first; this may be called
    inside a piece, too. The task must write only inside its own slice; when this returns or
    raises, none runs any more. What is raised is the error of the first slice that has
    one. Raises Cancelled from the monitor, which is asked before each piece, by the thread that
    runs it; it hears how many items are done from the calling thread only. In the place of a silent
    monitor that of ``stopped_by`` is asked.
    """
    monitor = _stopper() if monitor is SILENT else monitor
    if is_one_piece(length, item_bytes):
        monitor.check()
        return [task(slice(0, length))]
    cuts = _cuts(length, item_bytes)
    helpers = _shared_helpers()
    if helpers is None:
        return list(_one_by_one(task, cuts, monitor))
    work = _Work(task, cuts, monitor)
    try:
        helpers.call(work.help, len(cuts) - 1)
        work.run()
    finally:
        # After an error the rest is not wanted, and what runs must not write behind our back.
        work.close()
    return work.results()


def _cuts(length: int, item_bytes: int) -> list[slice]:
    size = max(PIECE_BYTES, min(-(-length * item_bytes // MOST_PIECES), LARGEST_BYTES))
    step = max(1, size // max(1, item_bytes))
    return [slice(at, min(at + step, length)) for at in range(0, length, step)]


def _one_by_one(task: Callable[[slice], T], cuts: list[slice], monitor: Monitor) -> Iterator[T]:
    for cut in cuts:
        monitor.check()
        yield task(cut)
        monitor.report(Progress(cut.stop, cuts[-1].stop, "values"))


class _Helpers:
    """Threads that wait, asleep, for work of others to take pieces of.

    Those of ThreadPoolExecutor would do, but calling them takes 40 µs in the midst of other work.
    """

    def __init__(self, count: int) -> None:
        """Start so many, or as many as the system allows; they end when they are told to.

        Otherwise with the process. Raises RuntimeError if not even one can be started.
        """
        self._count = 0
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        for number in range(count):
            name = f"ruda-kernels-helper_{number}"
            try:
                threading.Thread(target=self._answer, name=name, daemon=True).start()
            except RuntimeError:
                if not self._count:
                    raise
                return  # those that run are kept: who starts anew for each call leaves ever more
            self._count += 1

    def call(self, help_with: Callable[[], None], most: int) -> None:
        """Have threads call this as they wake up or become free, at most so many."""
        if self._calls.qsize() < LONGEST_QUEUE:
            for _ in range(min(self._count, most)):
                self._calls.put(help_with)

    def end(self) -> None:
        """Have the threads end after what they do now."""
        for _ in range(self._count):
            self._calls.put(None)

    def _answer(self) -> None:
        while (help_with := self._calls.get()) is not None:
            help_with()
            del help_with  # what it belongs to must not stay until the next call


class _Work(Generic[T]):
    """Pieces that the calling thread and its helpers take in turn, and what came of them."""

    def __init__(self, task: Callable[[slice], T], cuts: list[slice], monitor: Monitor) -> None:
        self._task, self._cuts, self._monitor = task, cuts, monitor
        self._lock = threading.Lock()
        # Under the lock: the piece that is next and the end of all, helpers at work, items done.
        self._next, self._end = 0, len(cuts)
        self._helping = 0
        self._last_leaves: threading.Lock | None = None  # released then
        self._done = 0
        self._reported = 0
        self._found: dict[int, T] = {}
        self._errors: dict[int, BaseException] = {}

    def run(self) -> None:
        """Work of the calling thread: until no piece is left or one has failed."""
        while self._do_next():
            self._report()

    def help(self) -> None:
        """The same in another thread, which may come too late for any piece."""
        with self._lock:
            if self._next == self._end:
                return
            self._helping += 1
        while self._do_next():
            pass
        with self._lock:
            self._helping -= 1
            if self._last_leaves is not None and not self._helping:
                self._last_leaves.release()

    def close(self) -> None:
        """Give out no piece any more, and wait for those that run."""
        leave = threading.Lock()
        with self._lock:
            self._next = self._end
            if self._helping:
                leave.acquire()
                self._last_leaves = leave
        leave.acquire()
        del self._task  # a helper that has not even woken must not keep arrays alive

    def results(self) -> list[T]:
        """Of all pieces in order; raises the error of the first that has one."""
        self._report()
        found, self._found = self._found, {}
        errors, self._errors = self._errors, {}
        try:
            if errors:
                raise errors[min(errors)]
        finally:
            del errors  # they have this frame
        return [found[at] for at in range(self._end)]

    def _do_next(self) -> bool:
        """Whether there was a piece, and it went well."""
        with self._lock:
            at = self._next
            if at == self._end:
                return False
            self._next = at + 1
        cut = self._cuts[at]
        try:
            self._monitor.check()
            found = self._task(cut)
        except BaseException as error:  # noqa: BLE001 - results() raises it
            with self._lock:
                self._errors[at] = error
                self._next = self._end
            return False
        with self._lock:
            self._found[at] = found
            self._done += cut.stop - cut.start
        return True

    def _report(self) -> None:
        done = self._done
        if done > self._reported:
            self._reported = done
            self._monitor.report(Progress(done, self._cuts[-1].stop, "values"))
