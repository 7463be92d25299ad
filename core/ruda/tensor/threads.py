"""How many threads share the work on large arrays, and what stops it: for casts, models and all."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ruda import _kernels
from ruda.progress import Monitor
from ruda.tensor.sizes import whole


def thread_count() -> int:
    """Number of threads that share large arrays."""
    return _kernels.thread_count()


def set_thread_count(count: int | None) -> None:
    """Share large arrays among this many threads from now on, in the whole process.

    None for as many as at the start: ``RUDA_THREADS``, or the cores of this process up to a few,
    since most of this work waits for memory. Matrix products of NumPy's OpenBLAS take at most as
    many as are given. Results of kernels are the same with every number. Raises SettingError
    outside 1 to 1024, DTypeError for what is not whole.
    """
    number = None if count is None else whole("set_thread_count", "a number of threads", count)
    _kernels.set_thread_count(number)


def stopped_by(monitor: Monitor) -> AbstractContextManager[None]:
    """Inside, ``monitor.check`` can stop operations on large arrays, which then raise Cancelled.

    It is asked between the pieces of a few MB in which this thread's kernels work; what other
    threads compute, and NumPy's own operations, run to their end. No progress is reported to it.
    May nest; the innermost counts.
    """
    return _kernels.stopped_by(monitor)
