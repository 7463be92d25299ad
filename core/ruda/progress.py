"""How long work reports and how it is stopped, without knowing who listens.

A long function takes ``*, monitor: Monitor = SILENT`` and loops with ``track(...)``; every item is
one point where it can stop. ``Cancelled`` is not a RudaError: a stop is not a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


class Cancelled(Exception):  # noqa: N818 - a stop is not an error
    """Raised inside work that was asked to stop."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far work is: ``done`` of ``total`` (None if unknown), counted in ``unit``."""

    done: int
    total: int | None = None
    unit: str = "items"

    @property
    def fraction(self) -> float | None:
        """Share done, 0.0 to 1.0; None when the total is unknown. An empty total counts as done."""
        if self.total is None:
            return None
        return 1.0 if self.total == 0 else min(1.0, self.done / self.total)


class Monitor(Protocol):
    """What work talks to. Both methods may be called from any thread."""

    def report(self, progress: Progress) -> None:
        """Take note of how far the work is."""

    def check(self) -> None:
        """Raise Cancelled if the work should stop; return at once otherwise."""


class _Silent:
    def report(self, progress: Progress) -> None:
        pass

    def check(self) -> None:
        pass


SILENT: Monitor = _Silent()
REPORTS = 2000
"""Reports that ``track`` makes at most, about: more are not seen and cost more than quick work."""


def track(
    items: Iterable[T],
    monitor: Monitor = SILENT,
    unit: str = "items",
    total: int | None = None,
) -> Iterator[T]:
    """Yield the items, with a stop point before each and a report after each.

    Of more items than ``REPORTS`` only so many are reported, evenly, and the last one.
    Raises Cancelled from the monitor's ``check``.
    """
    step = 1 if total is None else max(1, total // REPORTS)
    for done, item in enumerate(items, start=1):
        monitor.check()
        yield item
        if done % step == 0 or done == total:
            monitor.report(Progress(done, total, unit))
