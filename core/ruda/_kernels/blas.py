"""How many threads NumPy's OpenBLAS takes for a matrix product: bounded here, and nowhere else.

OpenBLAS shares even small matrix products among threads that wait by spinning. On two idle cores
that gains nothing for the products of a batch; when anything else runs beside it, the same batch
takes five to ten times as long. Work is shared among threads at the outermost level instead: see
``ruda.nn.predict``.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

_lock = threading.Lock()
_running = 0
_before = 1
"""Threads to go back to when nothing runs inside ``one_blas_thread`` any more."""
_inside = threading.local()
_at_first: int | None = None
"""Threads before ``bound_blas`` changed them; None while it has not."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep NumPy's OpenBLAS to one thread inside, in the whole process; may nest and overlap.

    Does nothing where NumPy uses another library.
    """
    global _running, _before
    controls = _controls()
    if controls is None:
        yield
        return
    count, limit = controls
    with _lock:
        if not _running:
            _before = count()
            limit(1)
        _running += 1
        _inside.depth = _depth() + 1
    try:
        yield
    finally:
        with _lock:
            _inside.depth -= 1
            _running -= 1
            if not _running:
                limit(_before)


def _depth() -> int:
    """How often this thread is inside ``one_blas_thread``."""
    depth: int = getattr(_inside, "depth", 0)
    return depth


def bound_blas(most: int | None) -> None:
    """Let OpenBLAS take at most so many threads from now on; None: as many as it took before.

    What runs inside ``one_blas_thread`` keeps to one until it ends.
    """
    global _before, _at_first
    controls = _controls()
    if controls is None:
        return
    count, limit = controls
    with _lock:
        if _at_first is None:
            if most is None:
                return
            _at_first = _before if _running else count()
        bound = _at_first if most is None else min(most, _at_first)
        _at_first = None if most is None else _at_first
        if _running:
            _before = bound
        else:
            limit(bound)


def _forget_threads() -> None:
    # A forked child has only the thread that forked: the others never leave ``one_blas_thread``
    # there, and whoever held the lock never gives it back.
    global _lock, _running
    _lock, before = threading.Lock(), _running
    _running = _depth()
    controls = _controls()
    if before and not _running and controls is not None:
        controls[1](_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@cache
def _controls() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Reader and setter of the thread count in the library that NumPy's own wheel brings."""
    try:
        # Looking a symbol up in the extension also searches the libraries it was linked with.
        library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
        count = library.scipy_openblas_get_num_threads64_
        limit = library.scipy_openblas_set_num_threads64_
    except (KeyError, OSError, AttributeError):
        return None
    count.restype, limit.restype, limit.argtypes = ctypes.c_int, None, [ctypes.c_int]
    return count, limit
