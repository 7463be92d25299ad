"""How large arrays are cut into pieces and shared among threads: the one policy of all kernels.

``RUDA_THREADS`` or ``set_thread_count`` gives the number of threads; with 1 there is no pool.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ruda.errors import SettingError

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


def _default_count() -> int:
    forced = os.environ.get(VARIABLE)
    if forced:
        return parse_count(forced, VARIABLE)
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux tells which processors this process may use
        cores = os.cpu_count() or 1
    return min(cores, MOST_BY_DEFAULT)


def thread_count() -> int:
    """Number of threads that share large arrays."""
    global _count
    with _lock:
        if _count is None:
            _count = _default_count()
        return _count


def set_thread_count(count: int | None) -> None:
    """Share large arrays among this many threads from now on; None for as many as at the start.

    Raises SettingError below 1.
    """
    global _count, _pool
    if count is not None and count < 1:
        raise SettingError(f"threads={count}: expected 1 or more")
    with _lock:
        # Whoever still holds the old pool finishes on it; it ends with its last reference.
        _pool, _count = None, count


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


def in_pieces(task: Callable[[slice], T], length: int, item_bytes: int) -> list[T]:
    """Results of ``task`` over consecutive slices that cover 0 … length, in order.

    ``item_bytes`` is what one item reads and writes. A few pieces run in the calling thread,
    more on the pool. The task must write only inside its own slice.
    """
    if 0 < length * item_bytes <= PIECE_BYTES:
        return [task(slice(0, length))]
    step = max(1, PIECE_BYTES // max(1, item_bytes))
    cuts = [slice(at, min(at + step, length)) for at in range(0, length, step)]
    count = thread_count()
    if count == 1 or len(cuts) < FEWEST_SHARED:
        return [task(cut) for cut in cuts]
    pool = _shared_pool(count)
    try:
        futures = [pool.submit(task, cut) for cut in cuts]
    except RuntimeError:  # the interpreter is on its way out and pools take nothing any more
        return [task(cut) for cut in cuts]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
