"""Making very many frozen objects without searching them for garbage meanwhile."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_running = 0
_was_on = False
"""Whether the collector ran before the first of those that are in here came."""
_since = 0.0
"""When that one came."""
LONG = 0.1
"""Seconds of work from which on so much was made that the collector is spared a look at it."""


@contextmanager
def without_collections() -> Iterator[None]:
    """Garbage collection waits while a thread is in here.

    Headers, rows and snapshots refer to each other in one direction only: there is nothing to
    find among them. Of a million tensors the collector looks through millions of objects again and
    again as they grow, for seconds each time, and every other thread stands still.
    """
    global _running, _was_on, _since
    with _lock:
        if not _running:
            _was_on, _since = gc.isenabled(), time.perf_counter()
        _running += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _was_on and not _running:
                if time.perf_counter() - _since >= LONG:
                    _call_them_old()
                gc.enable()


def _call_them_old() -> None:
    """Count what was made as old, as if the collector had looked at it in vain.

    Else its first turns afterwards would look at all of it at once: for a tenth of a second at a
    dict of a million entries, whichever thread happened to make the next object. What is frozen and
    let go again is old, and both only move the ends of a list; what someone else froze stays
    frozen. It is done after long work only: in a loop over small files no turn of the collector
    would ever come, because this sets its counts to zero. How much was made cannot be asked: those
    counts have gone down with all that was let go in here, and a list of the young objects holds
    tuples that other threads are only making, which ends those with a SystemError, or the process.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
