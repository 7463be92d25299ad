"""How many threads share the work on large arrays: one number for casts, statistics and models."""

from __future__ import annotations

from ruda import _kernels
from ruda.tensor.sizes import whole


def thread_count() -> int:
    """Number of threads that share large arrays."""
    return _kernels.thread_count()


def set_thread_count(count: int | None) -> None:
    """Share large arrays among this many threads from now on, in the whole process.

    None for as many as at the start: ``RUDA_THREADS``, or the cores of this process up to a few,
    since most of this work waits for memory. Matrix products of NumPy's OpenBLAS take at most as
    many as are given. Results of kernels are the same with every number. Raises SettingError
    below 1, DTypeError for what is not whole.
    """
    number = None if count is None else whole("set_thread_count", "a number of threads", count)
    _kernels.set_thread_count(number)
