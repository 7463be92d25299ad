"""Making very many frozen objects without searching them for garbage meanwhile."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_running = 0
_was_on = False
"""Whether the collector ran before the first of those that are in here came."""


@contextmanager
def without_collections() -> Iterator[None]:
    """Garbage collection waits while a thread is in here.

    Headers, rows and snapshots refer to each other in one direction only: there is nothing to
    find among them. Of a million tensors the collector looks through millions of objects again and
    again as they grow, for seconds each time, and every other thread stands still.
    """
    global _running, _was_on
    with _lock:
        if not _running:
            _was_on = gc.isenabled()
        _running += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _was_on and not _running:
                _call_them_old()
                gc.enable()


def _call_them_old() -> None:
    """Count what was made as old, as if the collector had looked at it in vain.

    Else its first turns afterwards would look at all of it at once: for a tenth of a second at a
    dict of a million entries, whichever thread happened to make the next object. What is frozen and
    let go again is old, and both only move the ends of a list; what someone else froze stays
    frozen. Whether it was much is not asked: the collector's own count has gone down with all that
    was let go in here, and a list of the young objects holds tuples that other threads are only
    making, which ends those with a SystemError, or the process.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
