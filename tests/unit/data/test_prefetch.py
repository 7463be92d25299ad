"""OrderedWorkers: order, window, failures and leaving."""

from __future__ import annotations

import threading

import pytest

from ruda.data import prefetch
from ruda.data.prefetch import OrderedWorkers

WAIT = 10.0


def test_pieces_come_in_order_from_a_start_in_the_middle() -> None:
    workers = OrderedWorkers(lambda n: n * n, start=3, end=20, workers=4, window=5)
    assert [workers.take() for _ in range(3, 20)] == [n * n for n in range(3, 20)]
    workers.close()


def test_no_worker_runs_further_ahead_than_the_window() -> None:
    made: list[int] = []
    full = threading.Event()

    def make(number: int) -> int:
        made.append(number)
        if len(made) == 4:
            full.set()
        return number

    workers = OrderedWorkers(make, start=0, end=100, workers=2, window=3)
    assert workers.take() == 0
    assert full.wait(WAIT)
    # 0 is taken, so 1, 2 and 3 are the window; nobody may have begun 4.
    assert sorted(made) == [0, 1, 2, 3]
    workers.close()


def test_there_are_never_more_threads_than_pieces() -> None:
    before = threading.active_count()
    release = threading.Event()
    workers = OrderedWorkers(lambda _: release.wait(WAIT), start=0, end=2, workers=100, window=100)
    assert threading.active_count() == before
    release.set()
    assert workers.take()
    assert threading.active_count() <= before + 2
    workers.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("error", [ValueError("bad piece"), SystemExit(3), StopIteration()])
def test_any_exception_is_raised_in_its_place(error: BaseException) -> None:
    def make(number: int) -> int:
        if number == 1:
            raise error
        return number

    workers = OrderedWorkers(make, start=0, end=3, workers=2, window=3)
    assert workers.take() == 0
    with pytest.raises(type(error)) as told:
        workers.take()
    assert told.value is error
    assert workers.take() == 2
    workers.close()


def test_closing_waits_for_the_piece_at_work_and_starts_no_other() -> None:
    made: list[int] = []
    begun, release = threading.Event(), threading.Event()

    def make(number: int) -> int:
        made.append(number)
        if number == 1:
            begun.set()
            release.wait(WAIT)
        return number

    workers = OrderedWorkers(make, start=0, end=9, workers=1, window=9)
    assert workers.take() == 0
    assert begun.wait(WAIT)
    closing = threading.Thread(target=workers.close)
    closing.start()
    release.set()
    closing.join(WAIT)
    assert not closing.is_alive()
    assert made == [0, 1]
    with pytest.raises(RuntimeError, match="stopped while a piece was waited for"):
        workers.take()


def test_a_worker_that_does_not_come_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetch, "JOIN_SECONDS", 0.05)
    begun, release = threading.Event(), threading.Event()

    def make(number: int) -> int:
        begun.set()
        release.wait(WAIT)
        return number

    workers = OrderedWorkers(make, start=0, end=1, workers=1, window=1)

    def take() -> None:
        with pytest.raises(RuntimeError, match="stopped while a piece was waited for"):
            workers.take()

    taking = threading.Thread(target=take)
    taking.start()
    assert begun.wait(WAIT)
    with pytest.warns(ResourceWarning, match=r"still at work: ruda-loader-\d+-worker-0"):
        workers.close()
    release.set()
    taking.join(WAIT)


def test_a_worker_may_close_its_own_workers() -> None:
    """A garbage collection runs in whatever thread it likes."""
    held: list[OrderedWorkers[int]] = []

    def make(number: int) -> int:
        held[0].close()
        return number

    held.append(OrderedWorkers(make, start=0, end=5, workers=1, window=5))
    with pytest.raises(RuntimeError, match="stopped while a piece was waited for"):
        held[0].take()


def test_closing_before_the_first_piece_starts_no_thread() -> None:
    before = threading.active_count()
    workers = OrderedWorkers(lambda n: n, start=0, end=5, workers=3, window=5)
    workers.close()
    with pytest.raises(RuntimeError, match="stopped"):
        workers.take()
    assert threading.active_count() == before
