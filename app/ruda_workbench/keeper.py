"""Writing what is asked for last, in a thread that no window waits for."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Thread
from typing import Generic, TypeVar

T = TypeVar("T")
AT_END = 5.0
"""Seconds that the end of the window waits for a write: a disk that is gone must not hold it."""


class Keeper(Generic[T]):
    """Calls ``write``, which raises nothing, with one thing after another.

    What is put while it writes takes the place of what waits: only the last counts. No job: the
    lanes are for work that a person asked for. The thread ends where nothing waits, and it does not
    hold up the end of the program: ``write`` has to leave the old or the new file.
    """

    def __init__(self, write: Callable[[T], None]) -> None:
        self._write = write
        self._free = Condition()
        self._waiting: list[T] = []
        self._is_writing = False

    @property
    def is_busy(self) -> bool:
        """True while something is written or waits."""
        return self._is_writing

    def put(self, what: T) -> None:
        """Write this, once what is being written is."""
        with self._free:
            self._waiting[:] = [what]
            if not self._is_writing:
                self._is_writing = True
                Thread(target=self._run, name="ruda-keeper", daemon=True).start()

    def finish(self, timeout: float = AT_END) -> bool:
        """Wait until all is written; False if that takes longer."""
        with self._free:
            return self._free.wait_for(lambda: not self._is_writing, timeout)

    def drop(self, timeout: float = AT_END) -> bool:
        """Forget what waits, and wait for what is being written; False if that takes longer."""
        with self._free:
            self._waiting.clear()
        return self.finish(timeout)

    def _run(self) -> None:
        while True:
            with self._free:
                if not self._waiting:
                    self._is_writing = False
                    self._free.notify_all()
                    return
                what = [self._waiting.pop()]
            self._write(what.pop())
