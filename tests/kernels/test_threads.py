"""The one policy by which large arrays are cut and shared."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ruda import tensor
from ruda._kernels import moments, narrow_bf16, set_thread_count, thread_count, threads
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


@pytest.mark.parametrize(("pieces", "shared"), [(1, False), (3, False), (4, True)])
def test_only_several_pieces_leave_the_calling_thread(
    pieces: int, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "PIECE_BYTES", 1)
    set_thread_count(2)
    where = threads.in_pieces(lambda cut: threading.current_thread(), pieces, item_bytes=1)
    assert len(where) == pieces
    assert (threading.current_thread() not in where) == shared


def test_results_do_not_depend_on_the_count() -> None:
    values = np.random.default_rng(3).standard_normal(5_000_000).astype(np.float32)
    results = []
    for count in (1, 2, 3):
        set_thread_count(count)
        halves, counts = narrow_bf16(values)
        results.append((halves.tobytes(), counts, moments(values)))
    assert results[0] == results[1] == results[2]


def test_several_callers_share_the_pool() -> None:
    set_thread_count(2)
    values = np.random.default_rng(3).standard_normal(5_000_000).astype(np.float32)
    expected = moments(values)
    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(moments, [values] * 8)) == [expected] * 8


def test_an_error_in_a_piece_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PIECE_BYTES", 1)

    def task(cut: slice) -> None:
        if cut.start == 3:
            raise ZeroDivisionError("in piece 3")

    set_thread_count(2)
    with pytest.raises(ZeroDivisionError, match="in piece 3"):
        threads.in_pieces(task, 8, item_bytes=1)


class Stops:
    """Lets so many pieces begin."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces
        self.reported = 0
        self.lock = threading.Lock()

    def check(self) -> None:
        with self.lock:
            self.left -= 1
            if self.left < 0:
                raise Cancelled("stopped")

    def report(self, progress: Progress) -> None:
        self.reported = progress.done


@pytest.mark.parametrize("count", [1, 2])
def test_work_stops_between_pieces(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PIECE_BYTES", 4)
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


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_bad_count_is_an_error(text: str) -> None:
    with pytest.raises(SettingError, match=f"RUDA_THREADS={text} is not a number of threads"):
        threads.parse_count(text, "RUDA_THREADS")


def test_less_than_one_thread_is_an_error() -> None:
    with pytest.raises(SettingError, match="threads=0: expected 1 or more"):
        set_thread_count(0)


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
