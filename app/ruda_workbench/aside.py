"""Small looks at the disk in a thread that nobody waits for.

No job: a path on a network that is gone holds whoever looks at it for minutes, and the read lane
has two threads, which jobs that a person waits for need.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

R = TypeVar("R")
CLOSING = 0.2
"""Seconds that the end of the window waits for a look."""


class Aside(QObject):
    """Asks one thing at a time and answers in the GUI thread."""

    _answered = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._thread: Thread | None = None
        self._done: Callable[[Any], None] | None = None
        self._answered.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    @property
    def is_busy(self) -> bool:
        """True while an answer is due."""
        return self._done is not None

    def ask(self, work: Callable[[], R], done: Callable[[R], None]) -> bool:
        """Do ``work``, which raises nothing, and call ``done``; False while it is busy."""
        if self.is_busy:
            return False
        self._done = done
        self._thread = Thread(target=self._look, args=(work,), name="ruda-aside", daemon=True)
        self._thread.start()
        return True

    def stop(self) -> None:
        """Let go of the answer that is due."""
        self._done = None
        if self._thread is not None:
            self._thread.join(CLOSING)

    def _look(self, work: Callable[[], R]) -> None:
        answer = work()
        with suppress(RuntimeError):  # the window is gone
            self._answered.emit(answer)

    @Slot(object)
    def _deliver(self, answer: object) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(answer)
