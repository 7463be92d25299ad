"""The one policy by which large arrays are cut and shared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ruda import _kernels, tensor
from ruda._kernels import (
    difference,
    histogram,
    moments,
    narrow_bf16,
    set_thread_count,
    stopped_by,
    thread_count,
    threads,
)
from ruda.errors import SettingError
from ruda.progress import Cancelled, Progress


@pytest.fixture(autouse=True)
def _same_count_after() -> Iterator[None]:
    before = thread_count()
    yield
    set_thread_count(before)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 999, 1000, 1001, 12_345])
def test_pieces_cover_everything_once_in_order(
    length: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "PIECE_BYTES", 4000)
    set_thread_count(count)
    cuts = threads.in_pieces(lambda cut: list(range(cut.start, cut.stop)), length, item_bytes=4)
    assert [i for cut in cuts for i in cut] == list(range(length))


@pytest.mark.parametrize("pieces", [1, 2])
def test_little_work_is_one_call_in_the_calling_thread(pieces, monkeypatch):
    monkeypatch.setattr(threads, "PIECE_BYTES", 100)
    set_thread_count(2)
    where = threads.in_pieces(lambda cut: (threading.current_thread(), cut), 50 * pieces, 2)
    assert where == [(threading.current_thread(), slice(0, 50 * pieces))]
    assert threads.is_one_piece(50 * pieces, 2)
    assert not threads.is_one_piece(101, 2)


@pytest.mark.parametrize("whole", [7 << 19, 40 << 20, 5 << 30])
def test_pieces_are_few_and_neither_small_nor_large(whole):
    for item_bytes in (1, 6, 1000):
        cuts = threads._cuts(whole // item_bytes, item_bytes)
        sizes = [(cut.stop - cut.start) * item_bytes for cut in cuts]
        assert max(sizes) <= threads.LARGEST_BYTES
        assert min(sizes[:-1]) > threads.PIECE_BYTES - item_bytes
        assert len(cuts) <= max(threads.MOST_PIECES, whole // threads.LARGEST_BYTES) + 1


def test_items_larger_than_a_piece_are_pieces():
    assert threads._cuts(3, 1 << 30) == [slice(0, 1), slice(1, 2), slice(2, 3)]


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of one item of one byte, and two threads."""
    monkeypatch.setattr(threads, "PIECE_BYTES", 1)
    monkeypatch.setattr(threads, "MOST_PIECES", 1000)
    set_thread_count(2)


@pytest.fixture
def busy(small_pieces):
    """The one helper does something else until this event."""
    free, begun = threading.Event(), threading.Event()

    def other() -> None:
        begun.set()
        free.wait(30)

    threads._shared_helpers().call(other, 1)
    assert begun.wait(30)
    yield free
    free.set()


def test_the_calling_thread_and_a_helper_share(small_pieces):
    both = threading.Barrier(2, timeout=30)

    def task(cut):
        if cut.start < 2:
            both.wait()  # passes only when two threads are here at once
        return threading.current_thread()

    found = threads.in_pieces(task, 4, item_bytes=1)
    assert threading.current_thread() in found[:2]
    assert found[0] is not found[1]


def test_nobody_waits_for_a_helper_that_comes_late(busy):
    here = threads.in_pieces(lambda cut: threading.current_thread(), 9, item_bytes=1)
    assert here == [threading.current_thread()] * 9


def test_a_call_that_nobody_answered_keeps_nothing_alive(busy):
    values = np.ones(9, np.uint8)
    kept = weakref.ref(values)
    assert threads.in_pieces(lambda cut, own=values: own[cut].sum(), 9, 1) == [1] * 9
    del values
    assert kept() is None


def test_calls_that_nobody_answers_do_not_pile_up(busy):
    for _ in range(2 * threads.LONGEST_QUEUE):
        threads.in_pieces(lambda cut: None, 3, item_bytes=1)
    assert threads._shared_helpers()._calls.qsize() == threads.LONGEST_QUEUE
    busy.set()
    deadline = time.monotonic() + 30
    while threads._shared_helpers()._calls.qsize() and time.monotonic() < deadline:
        time.sleep(0.001)
    test_the_calling_thread_and_a_helper_share(None)


def test_work_inside_work_ends(small_pieces):
    def task(cut):
        return sum(threads.in_pieces(lambda inner: inner.start, 5, item_bytes=1))

    assert threads.in_pieces(task, 8, item_bytes=1) == [10] * 8
    waits = [threads.aside(lambda: task(slice(0, 1))) for _ in range(8)]
    assert [wait() for wait in waits] == [10] * 8


def test_results_do_not_depend_on_the_count() -> None:
    values = np.random.default_rng(3).standard_normal(5_000_000).astype(np.float32)
    results = []
    for count in (1, 2, 3):
        set_thread_count(count)
        halves, counts = narrow_bf16(values)
        figures = moments(values), moments(halves), difference(values, values[::-1])
        results.append((halves.tobytes(), counts, figures, histogram(values, -3, 3, 9).tolist()))
    assert results[0] == results[1] == results[2]


def test_several_callers_share_the_pool() -> None:
    set_thread_count(2)
    values = np.random.default_rng(3).standard_normal(5_000_000).astype(np.float32)
    expected = moments(values)
    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(moments, [values] * 8)) == [expected] * 8


def test_an_error_in_a_piece_reaches_the_caller(small_pieces):
    def task(cut):
        if cut.start == 3:
            raise ZeroDivisionError("in piece 3")

    with pytest.raises(ZeroDivisionError, match="in piece 3"):
        threads.in_pieces(task, 8, item_bytes=1)


def test_of_two_errors_the_first_piece_has_its_own_raised(small_pieces):
    both = threading.Barrier(2, timeout=30)

    def task(cut):
        both.wait()
        raise ValueError(f"in piece {cut.start}")

    for _ in range(20):
        with pytest.raises(ValueError, match="in piece 0"):
            threads.in_pieces(task, 2 + 1, item_bytes=1)


def test_after_an_error_no_piece_runs_any_more(small_pieces):
    both, ended = threading.Barrier(2, timeout=30), []

    def task(cut):
        both.wait()
        if threading.current_thread() is threading.main_thread():
            raise ValueError("here")
        time.sleep(0.05)
        ended.append(cut)

    with pytest.raises(ValueError, match="here"):
        threads.in_pieces(task, 8, item_bytes=1)
    assert len(ended) == 1


class Stops:
    """Lets so many pieces begin."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces
        self.reported = 0
        self.all: list[int] = []
        self.reporting: set[threading.Thread] = set()
        self.lock = threading.Lock()

    def check(self) -> None:
        with self.lock:
            self.left -= 1
            if self.left < 0:
                raise Cancelled("stopped")

    def report(self, progress: Progress) -> None:
        self.reported = progress.done
        self.all.append(progress.done)
        self.reporting.add(threading.current_thread())


@pytest.mark.parametrize("count", [1, 2])
def test_work_stops_between_pieces(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PIECE_BYTES", 4)
    monkeypatch.setattr(threads, "MOST_PIECES", 1000)
    set_thread_count(count)
    values, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    running = []

    def task(cut: slice) -> None:
        running.append(cut)
        out[cut] = values[cut]
        running.remove(cut)

    monitor = Stops(7)
    with pytest.raises(Cancelled, match="stopped"):
        threads.in_pieces(task, 100, 4, monitor)
    assert not running
    assert np.count_nonzero(out) == 7
    assert monitor.reported == 7


@pytest.mark.parametrize("count", [1, 2])
def test_work_in_pieces_is_reported(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PIECE_BYTES", 60)
    set_thread_count(count)
    monitor = Stops(100)
    narrow_bf16(np.ones(101, np.float32), monitor=monitor)
    assert monitor.reported == 101
    assert monitor.all == sorted(set(monitor.all))
    assert monitor.reporting == {threading.current_thread()}


def test_a_monitor_that_fails_stops_the_work(small_pieces):
    class Fails(Stops):
        def report(self, progress):
            raise OSError("nobody listens")

    running = []

    def task(cut):
        running.append(cut)
        time.sleep(0.001)
        running.remove(cut)

    with pytest.raises(OSError, match="nobody listens"):
        threads.in_pieces(task, 50, 1, Fails(100))
    assert not running


LARGE = np.ones((3000, 1000), np.float32)
GATES = {
    "softmax": lambda: _kernels.softmax(LARGE),
    "layer_norm": lambda: _kernels.layer_norm(LARGE, LARGE[0], LARGE[1]),
    "difference": lambda: difference(LARGE, LARGE),
    "moments": lambda: moments(LARGE),
    "histogram": lambda: histogram(LARGE, 0, 1, 4),
    "quantize_int8": lambda: _kernels.quantize_int8(LARGE, np.ones(3000, np.float32)),
    "erf": lambda: _kernels.erf(LARGE),
    "average_pool": lambda: _kernels.average_pool(LARGE.reshape(30, 100, 1000), (2, 2), (2, 2)),
    "largest_places": lambda: _kernels.largest_places(LARGE, 3),
    "narrow_bf16": lambda: narrow_bf16(LARGE),
}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", GATES)
def test_a_job_stops_every_gate_between_its_pieces(name, count):
    set_thread_count(count)
    GATES[name]()  # as such it does not fail
    monitor = Stops(1)
    with pytest.raises(Cancelled), stopped_by(monitor):
        GATES[name]()
    assert not monitor.all  # how far one kernel is says nothing about a job
    GATES[name]()  # outside nobody asks


def test_the_innermost_monitor_is_asked_and_one_that_was_given_comes_first():
    outer, inner, given = Stops(0), Stops(10**6), Stops(10**6)
    with stopped_by(outer):
        with stopped_by(inner):
            _kernels.softmax(LARGE)
        narrow_bf16(LARGE, monitor=given)
        with pytest.raises(Cancelled):
            narrow_bf16(LARGE)


def test_another_threads_kernels_are_not_stopped():
    with stopped_by(Stops(0)), ThreadPoolExecutor(1) as pool:
        assert pool.submit(narrow_bf16, LARGE).result()[0].shape == LARGE.shape


def test_helpers_end_when_the_count_changes():
    def helpers():
        return [t for t in threading.enumerate() if t.name.startswith("ruda-kernels-helper")]

    set_thread_count(4)
    narrow_bf16(np.ones(1 << 20, np.float32))
    mine = helpers()
    assert len(mine) >= 3
    set_thread_count(1)
    for thread in mine:
        thread.join(30)
    assert not any(thread.is_alive() for thread in mine)


LATER = """
import atexit, os, sys, threading
import numpy as np
from ruda._kernels import narrow_bf16, set_thread_count
values = np.ones(3_000_000, np.float32)

def work():
    halves, _ = narrow_bf16(values)
    assert (halves.view(np.uint16) == 0x3F80).all()
    print("done", flush=True)

set_thread_count(3)
"""


@pytest.mark.parametrize(
    ("code", "times"),
    [
        pytest.param("atexit.register(work)", 1, id="after the last line"),
        pytest.param("work(); atexit.register(work)", 2, id="with threads that are there already"),
        pytest.param("threading.Thread(target=work).start()", 1, id="in another thread"),
        pytest.param(
            "work()\nif not os.fork():\n    work(); os._exit(0)\nsys.exit(os.wait()[1])",
            2,
            id="in a forked child",
            marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
        ),
    ],
)
def test_work_ends_also_at_the_end_and_in_a_child(code, times):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.run(
        [sys.executable, "-c", LATER + code], env=env, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["done"] * times
    assert "Traceback" not in run.stderr


def test_the_setting_is_public_and_bounds_matrix_products(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []
    monkeypatch.setattr(threads, "bound_blas", asked.append)
    monkeypatch.delenv("RUDA_THREADS", raising=False)
    tensor.set_thread_count(3)
    assert tensor.thread_count() == 3
    tensor.set_thread_count(None)
    assert 1 <= tensor.thread_count() <= threads.MOST_BY_DEFAULT
    monkeypatch.setenv("RUDA_THREADS", "5")
    tensor.set_thread_count(None)
    assert tensor.thread_count() == 5
    assert asked == [3, None, 5, 5]


BAD_COUNTS = ["0", "00", "-1", "two", "1.5", " 2", "1e3", "²", "٣", "1025", "100000", "9" * 5000]


@pytest.mark.parametrize("text", BAD_COUNTS, ids=lambda text: text[:8])
def test_a_bad_count_is_an_error(text: str) -> None:
    wanted = f"RUDA_THREADS={re.escape(text[:40])}…? is not a number of threads; expected 1 to 1024"
    with pytest.raises(SettingError, match=wanted):
        threads.parse_count(text, "RUDA_THREADS")


def test_a_good_count_is_read() -> None:
    counts = [threads.parse_count(text, "RUDA_THREADS") for text in ("1", "0007", "1024")]
    assert counts == [1, 7, 1024]


@pytest.mark.parametrize(
    "count",
    [0, -1, 1025, 10**30, -(10**30), False, 2.0, 2.5, float("nan"), "3", b"2", [2], 2 + 0j],
    ids=repr,
)
def test_what_is_no_number_of_threads_is_an_error(count: Any) -> None:
    before = thread_count()
    with pytest.raises(SettingError, match=r"threads=.*: expected a whole number from 1 to 1024"):
        set_thread_count(count)
    assert thread_count() == before


def test_a_count_is_an_int_afterwards() -> None:
    try:
        set_thread_count(np.int64(2))  # type: ignore[arg-type]
        assert type(thread_count()) is int
    finally:
        set_thread_count(None)


@pytest.mark.parametrize("allowed", [0, 2])
def test_a_system_that_starts_no_more_threads_is_used_as_it_is(
    allowed: int, small_pieces: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was started serves on, and the next call starts no more."""
    started: list[str] = []
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if len(started) == allowed:
            raise RuntimeError("can't start new thread")
        started.append(thread.name)
        start(thread)

    set_thread_count(9)
    try:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            assert threads.in_pieces(lambda cut: cut.start, 9, 1 << 20) == sorted(
                cut.start for cut in threads._cuts(9, 1 << 20)
            )
        assert len(started) == allowed
    finally:
        set_thread_count(None)


def test_without_a_count_it_is_that_of_the_start() -> None:
    tensor.set_thread_count(None)
    first = tensor.thread_count()
    tensor.set_thread_count(first + 3)
    assert (tensor.thread_count(), thread_count()) == (first + 3, first + 3)
    tensor.set_thread_count(None)
    assert thread_count() == first


def test_the_environment_sets_the_count() -> None:
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "RUDA_THREADS": "3",
    }
    code = "from ruda._kernels import thread_count; print(thread_count())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "3"


@pytest.mark.parametrize("count", [1, 2])
def test_a_task_aside_gives_its_result_or_its_error(count, monkeypatch):
    monkeypatch.setattr(threads, "_count", count)
    monkeypatch.setattr(threads, "_pool", None)
    where = threads.aside(threading.current_thread)()
    assert where.name.startswith("ruda-kernels") is (count > 1)

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        threads.aside(fail)()
