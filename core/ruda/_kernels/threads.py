"""How large arrays are cut into pieces and shared among threads: the one policy of all kernels.

``RUDA_THREADS`` or ``set_thread_count`` gives the number of threads; with 1 there is no pool. A
number that was asked for bounds the threads of matrix products, too (``blas``). Threads wait for
work asleep, never by spinning. Between two pieces a job can be stopped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from ruda._kernels.blas import bound_blas
from ruda.errors import SettingError
from ruda.progress import SILENT, Monitor, Progress

T = TypeVar("T")

VARIABLE = "RUDA_THREADS"
PIECE_BYTES = 4 << 20
"""Bytes of one piece: work of several hundred microseconds."""
FEWEST_SHARED = 4
"""Pieces from which the pool is used: waking its threads costs as much as one or two of them."""
MOST_BY_DEFAULT = 4
"""The kernels are bound by memory: more threads than this rarely help."""

_lock = threading.Lock()
_count: int | None = None
_pool: ThreadPoolExecutor | None = None


def parse_count(text: str, name: str) -> int:
    """Thread count written as text. Raises SettingError unless it is a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise SettingError(f"{name}={text} is not a number of threads; expected 1 or more")
    return int(text)


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
    global _count
    with _lock:
        if _count is None:
            forced = _forced_count()
            if forced is not None:
                bound_blas(forced)
            _count = min(_cores(), MOST_BY_DEFAULT) if forced is None else forced
        return _count


def set_thread_count(count: int | None) -> None:
    """Share large arrays among this many threads from now on; None is the default again.

    Matrix products of NumPy's OpenBLAS use at most as many; with None, as many as OpenBLAS would.
    Raises SettingError below 1.
    """
    global _count, _pool
    if count is not None and count < 1:
        raise SettingError(f"threads={count}: expected 1 or more")
    with _lock:
        # Whoever still holds the old pool finishes on it; it ends with its last reference.
        _pool, _count = None, count
        bound_blas(_forced_count() if count is None else count)


def _forget_pool() -> None:
    # A forked child has the pool object but none of its threads.
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _shared_pool(count: int) -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(count, thread_name_prefix="ruda-kernels")
        return _pool


def aside(task: Callable[[], T]) -> Callable[[], T]:
    """Begin a task on the pool; what is returned waits for its result, or raises its error.

    With one thread it is done at once. The task must not call this or ``in_pieces`` itself.
    """
    count = thread_count()
    if count > 1:
        try:
            return _shared_pool(count).submit(task).result
        except RuntimeError:  # as below
            pass
    result = task()
    return lambda: result


def is_one_piece(length: int, item_bytes: int) -> bool:
    """Whether ``in_pieces`` would do it all in one call; a kernel may then be called at once."""
    return 0 < length * item_bytes <= PIECE_BYTES


def in_pieces(
    task: Callable[[slice], T], length: int, item_bytes: int, monitor: Monitor = SILENT
) -> list[T]:
    """Results of ``task`` over consecutive slices that cover 0 … length, in order.

    ``item_bytes`` is what one item reads and writes. A few pieces run in the calling thread,
    more on the pool. The task must write only inside its own slice; when this returns or raises,
    none runs any more. Raises Cancelled from the monitor, which is asked before each piece.
    """
    if 0 < length * item_bytes <= PIECE_BYTES:
        monitor.check()
        return [task(slice(0, length))]
    step = max(1, PIECE_BYTES // max(1, item_bytes))
    cuts = [slice(at, min(at + step, length)) for at in range(0, length, step)]
    count = thread_count()
    if count > 1 and len(cuts) >= FEWEST_SHARED:
        pool = _shared_pool(count)
        try:
            futures = [pool.submit(_unless_stopped, task, cut, monitor) for cut in cuts]
        except RuntimeError:  # the interpreter is on its way out and pools take nothing any more
            pass
        else:
            return list(_in_order(futures, cuts, monitor))
    found = []
    for cut in cuts:
        monitor.check()
        found.append(task(cut))
        monitor.report(Progress(cut.stop, length, "values"))
    return found


def _unless_stopped(task: Callable[[slice], T], cut: slice, monitor: Monitor) -> T:
    monitor.check()
    return task(cut)


def _in_order(futures: list[Future[T]], cuts: list[slice], monitor: Monitor) -> Iterator[T]:
    try:
        for future, cut in zip(futures, cuts, strict=True):
            yield future.result()
            monitor.report(Progress(cut.stop, cuts[-1].stop, "values"))
    finally:
        # After an error the rest is not wanted, and what runs must not write behind our back.
        for future in futures:
            future.cancel()
        wait(futures)
