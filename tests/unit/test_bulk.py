from __future__ import annotations

import gc
import threading

import pytest

from ruda._bulk import MANY, without_collections


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


@pytest.mark.parametrize(("count", "is_old"), [(10, False), (MANY + 10, True)], ids=["few", "many"])
def test_what_was_made_is_old_afterwards(count: int, is_old: bool) -> None:
    gc.collect()
    with without_collections():
        made = [[] for _ in range(count)]
    old = {id(each) for each in gc.get_objects(2)}
    assert all(id(each) in old for each in made[:5]) is is_old
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_what_was_let_go_meanwhile_does_not_hide_what_was_made() -> None:
    before = [[] for _ in range(MANY)]
    gc.collect()
    with without_collections():
        made = [[] for _ in range(MANY + 10)]
        before.clear()  # the collector's count is about zero now
    old = {id(each) for each in gc.get_objects(2)}
    assert all(id(each) in old for each in made[:5])


def test_a_container_of_many_is_old_afterwards() -> None:
    gc.collect()
    with without_collections():
        made = [None] * MANY
    assert any(each is made for each in gc.get_objects(2))


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
