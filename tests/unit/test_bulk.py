from __future__ import annotations

import gc
import sys
import threading

import pytest

from ruda import _bulk
from ruda._bulk import without_collections

MANY = 100_000


@pytest.fixture
def collecting(request):
    was_on = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("collecting", [True, False], indirect=True, ids=["on", "off"])
def test_the_collector_is_left_as_it_was(collecting: bool) -> None:
    with without_collections():
        with without_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is collecting
    with pytest.raises(KeyError, match="gone"), without_collections():
        raise KeyError("gone")
    assert gc.isenabled() is collecting


@pytest.mark.parametrize("collecting", [True, False], indirect=True, ids=["on", "off"])
def test_it_comes_back_with_the_last_of_two_threads(collecting: bool) -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with without_collections():
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=work)
    with without_collections():
        other.start()
        assert inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    other.join(10)
    assert gc.isenabled() is collecting


@pytest.fixture
def long_work(monkeypatch):
    """Any work counts as long."""
    monkeypatch.setattr(_bulk, "LONG", 0.0)


@pytest.mark.usefixtures("long_work")
def test_what_long_work_made_is_old_afterwards() -> None:
    gc.collect()
    with without_collections():
        made = [[] for _ in range(10)]
    old = {id(each) for each in gc.get_objects(2)}
    assert all(id(each) in old for each in made)
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_a_loop_over_small_files_leaves_the_collector_its_turns(monkeypatch) -> None:
    monkeypatch.setattr(_bulk, "LONG", 10.0)
    thresholds = gc.get_threshold()
    before = gc.get_stats()[0]["collections"]
    kept: list[list[object]] = []
    gc.set_threshold(700, 10, 10)
    try:
        for _ in range(100):
            with without_collections():
                kept += [[] for _ in range(5)]
            kept += [[] for _ in range(50)]
    finally:
        gc.set_threshold(*thresholds)
    assert gc.get_stats()[0]["collections"] > before


@pytest.mark.usefixtures("long_work")
def test_what_was_let_go_meanwhile_does_not_hide_what_was_made() -> None:
    before = [[] for _ in range(MANY)]
    gc.collect()
    with without_collections():
        made = [[] for _ in range(MANY + 10)]
        before.clear()  # the collector's count is about zero now
    old = {id(each) for each in gc.get_objects(2)}
    assert all(id(each) in old for each in made[:5])


@pytest.mark.usefixtures("long_work")
def test_a_container_of_many_is_old_afterwards() -> None:
    gc.collect()
    with without_collections():
        made = [None] * MANY
    assert any(each is made for each in gc.get_objects(2))


@pytest.mark.usefixtures("long_work")
def test_what_someone_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with without_collections():
            made = [[] for _ in range(MANY + 10)]
        assert gc.get_freeze_count() >= frozen - 1000  # what was frozen may still be freed
        assert made
    finally:
        gc.unfreeze()


@pytest.mark.usefixtures("long_work")
def test_tuples_that_another_thread_is_making_are_left_alone() -> None:
    """A list of all young objects would hold them, and CPython cannot finish a tuple then."""
    switching = sys.getswitchinterval()
    over = threading.Event()

    def bulk() -> None:
        while not over.is_set():
            with without_collections():
                pass

    other = threading.Thread(target=bulk)
    sys.setswitchinterval(1e-6)
    try:
        other.start()
        for _ in range(100_000):
            assert tuple([each] for each in range(3)) == ([0], [1], [2])
    finally:
        sys.setswitchinterval(switching)
        over.set()
        other.join(10)
