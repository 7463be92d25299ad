"""A thread that sends what was written of a growing file to the disk while more is written.

Otherwise the system waits with it, and the sync at the end waits for the whole file.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

STEP_BYTES = 32 << 20
"""The disk is set to work each time this much was written."""


class Writeback:
    """Sets the disk to work on the bytes of an open file. ``close`` it before the file.

    It waits for nothing and takes no news of a failing disk away from the sync that follows.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._position = self._begun = 0
        self._is_over = False
        self._news = threading.Event()
        self._thread: threading.Thread | None = None

    def advance(self, position: int) -> None:
        """Be told that the file was written up to here."""
        if position - self._position < STEP_BYTES or not hasattr(os, "posix_fadvise"):
            return
        self._position = position
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ruda-writeback", daemon=True)
            self._thread.start()
        self._news.set()

    def close(self) -> None:
        """End the thread, if there ever was one."""
        if self._thread is not None:
            self._is_over = True
            self._news.set()
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            if self._is_over:
                return
            position = self._position
            begin_writing(self._handle, self._begun, position - self._begun)
            self._begun = position


def begin_writing(handle: int, offset: int, count: int) -> None:
    """Linux begins to write dirty pages of the range at once, and forgets the clean ones.

    ``count`` 0 means up to the end.
    """
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(handle, offset, count, os.POSIX_FADV_DONTNEED)
