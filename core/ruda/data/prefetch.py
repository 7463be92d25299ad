"""OrderedWorkers: threads that make numbered pieces ahead of need and hand them over in order.

Nothing here knows of datasets. A worker takes the next number, makes that piece, and leaves it, or
the exception that it raised, under its number. Which thread made a piece never shows.
"""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

P = TypeVar("P")

POLL_SECONDS = 0.1
"""No wait is longer than this; it only costs a look around."""
JOIN_SECONDS = 10.0
"""How long ``close`` waits for a worker that is inside a piece."""

_serials = itertools.count()


@dataclass(frozen=True, slots=True)
class _Made(Generic[P]):
    piece: P


@dataclass(frozen=True, slots=True)
class _Failed:
    error: BaseException


class OrderedWorkers(Generic[P]):
    """Makes the pieces ``start`` … ``end`` - 1 on threads, at most ``window`` ahead of the taker.

    The threads start with the first ``take`` and are daemons, so that they never hold up an
    interpreter that leaves. One thread takes; ``close`` may be called from any.
    """

    def __init__(
        self, make: Callable[[int], P], *, start: int, end: int, workers: int, window: int
    ) -> None:
        self._make = make
        self._next_made = start
        self._next_taken = start
        self._end = end
        self._window = window
        self._ready: dict[int, _Made[P] | _Failed] = {}
        self._news = threading.Condition()  # re-entrant: a collection may close us under the lock
        self._stopped = False
        serial = next(_serials)
        self._threads = [
            threading.Thread(
                target=self._work, name=f"ruda-loader-{serial}-worker-{number}", daemon=True
            )
            for number in range(min(workers, end - start))
        ]
        self._started = False

    def take(self) -> P:
        """The next piece, in order. Raises what making it raised."""
        with self._news:
            if not self._started and not self._stopped:
                self._started = True
                for thread in self._threads:
                    thread.start()
            while self._next_taken not in self._ready:
                if self._stopped:
                    raise RuntimeError("the workers were stopped while a piece was waited for")
                self._news.wait(POLL_SECONDS)
            outcome = self._ready.pop(self._next_taken)
            self._next_taken += 1
            self._news.notify_all()
        if isinstance(outcome, _Failed):
            raise outcome.error
        return outcome.piece

    def close(self) -> None:
        """Stop and join the threads; pieces not taken are dropped. May be called again."""
        with self._news:
            self._stopped = True
            self._ready.clear()
            self._news.notify_all()
            threads = self._threads if self._started else []
        deadline = time.monotonic() + JOIN_SECONDS
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        late = [t.name for t in threads if t.is_alive() and t is not threading.current_thread()]
        if late:
            warnings.warn(
                f"after {JOIN_SECONDS:g} s still at work: {', '.join(late)}",
                ResourceWarning,
                stacklevel=2,
            )

    def _work(self) -> None:
        while (number := self._claim()) is not None:
            outcome: _Made[P] | _Failed
            try:
                outcome = _Made(self._make(number))
            except BaseException as error:  # noqa: BLE001 - raised again by take, in order
                outcome = _Failed(error)
            with self._news:
                if not self._stopped:
                    self._ready[number] = outcome
                    self._news.notify_all()
            del outcome  # a worker that waits keeps no piece alive

    def _claim(self) -> int | None:
        """The number to make next, waiting while the taker is too far behind; None to leave."""
        with self._news:
            while not self._stopped and self._next_made < self._end:
                if self._next_made < self._next_taken + self._window:
                    self._next_made += 1
                    return self._next_made - 1
                self._news.wait(POLL_SECONDS)
            return None
