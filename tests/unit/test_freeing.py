from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ruda import _freeing
from ruda._freeing import MANY, PIECE, LargeDict, LargeList, LargeTuple, free_aside, free_at_once

Made = Callable[[list[Any]], Any]
KINDS: dict[str, Made] = {
    "dict": lambda values: LargeDict(enumerate(values)),
    "list": LargeList,
    "tuple": LargeTuple,
}


class Noting:
    """Says in which thread it was let go."""

    def __init__(self, into: list[str]) -> None:
        self.into = into

    def __del__(self) -> None:
        self.into.append(threading.current_thread().name)


@pytest.fixture
def aside() -> Iterator[None]:
    free_aside()
    yield
    free_at_once()


@pytest.fixture(params=KINDS, ids=str)
def made(request: pytest.FixtureRequest) -> Made:
    return KINDS[request.param]


def freed(made: Made, count: int) -> list[str]:
    """The threads in which the values of a container were let go, in order."""
    found: list[str] = []
    made([Noting(found) for _ in range(count)])
    free_at_once()
    return found


@pytest.mark.usefixtures("aside")
@pytest.mark.parametrize("count", [MANY, MANY + 1, MANY + PIECE // 2])
def test_large_ones_are_freed_on_the_thread(made: Made, count: int) -> None:
    assert freed(made, count) == ["ruda-freeing"] * count


@pytest.mark.usefixtures("aside")
def test_small_ones_are_freed_where_they_are(made: Made) -> None:
    assert set(freed(made, MANY - 1)) == {"MainThread"}


def test_without_the_thread_all_are_freed_where_they_are(made: Made) -> None:
    assert set(freed(made, MANY)) == {"MainThread"}


@pytest.mark.usefixtures("aside")
def test_nothing_is_emptied_while_somebody_has_it(made: Made) -> None:
    kept = made(list(range(MANY)))
    other = [kept]
    del kept
    free_at_once()
    assert len(other[0]) == MANY


@pytest.mark.usefixtures("aside")
def test_what_a_large_one_held_is_freed_as_well() -> None:
    found: list[str] = []
    LargeList([LargeDict((n, Noting(found)) for n in range(MANY)), *range(MANY)])
    free_at_once()
    assert len(found) == MANY


def test_beginning_and_ending_twice_changes_nothing() -> None:
    free_aside()
    first = _freeing._thread
    free_aside()
    assert _freeing._thread is first
    free_at_once()
    free_at_once()
    assert _freeing._thread is None
    assert first is not None
    assert not first.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.usefixtures("aside")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_frees_for_itself() -> None:
    child = os.fork()
    if not child:
        found: list[str] = []
        try:
            LargeList([Noting(found) for _ in range(MANY)])
        finally:  # whatever happens: else two test runs would go on
            os._exit(0 if set(found) == {"MainThread"} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_they_are_what_they_are_made_of() -> None:
    assert LargeDict({"a": 1}) == {"a": 1}
    assert LargeList([1, 2]) == [1, 2]
    assert LargeTuple([1, 2]) == (1, 2)
    assert hash(LargeTuple([1, 2])) == hash((1, 2))
