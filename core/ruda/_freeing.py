"""Lists and dicts of very many entries that are freed on a thread, piece by piece.

Python frees a dict of a million entries in one go, for a quarter of a second, in whichever thread
lets go of it last: in a window that is the one that draws, and every other waits for it. A program
with a window calls ``free_aside`` once; elsewhere large ones are freed as all others are.
"""

from __future__ import annotations

import os
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

MANY = 20_000
"""Entries from which on it is worth another thread: those of a few milliseconds."""
PIECE = 256
"""Entries of a list that are freed in one step, which no other thread interrupts."""

# A simple queue, because it may be put to in the middle of anything, of its own work too: that is
# where Python lets go of objects.
_waiting: SimpleQueue[Any] | None = None
_thread: Thread | None = None


class LargeDict(dict[K, V]):
    """A dict that, once nobody has it any more, is emptied on the thread of ``free_aside``."""

    __slots__ = ()

    def __del__(self) -> None:
        _leave(self)


class LargeList(list[T]):
    """A list that, once nobody has it any more, is emptied on the thread of ``free_aside``."""

    __slots__ = ()

    def __del__(self) -> None:
        _leave(self)


class LargeTuple(tuple[T, ...]):
    """A tuple that, once nobody has it any more, is freed on the thread of ``free_aside``."""

    __slots__ = ()

    def __del__(self) -> None:
        _leave(self)


def grown(lists: dict[K, list[T]], key: K) -> list[T]:
    """The list at a key, to append to; a new one where there is none."""
    found = lists.get(key)
    if found is None:
        found = lists[key] = LargeList()
    return found


def free_aside() -> None:
    """Begin to free large ones on a thread of their own; ``free_at_once`` ends it."""
    global _waiting, _thread
    if _waiting is None:
        _waiting = SimpleQueue()
        _thread = Thread(target=_free, args=(_waiting,), name="ruda-freeing", daemon=True)
        _thread.start()


def free_at_once(*, wait: bool = True) -> None:
    """Free everything where it is let go again; ``wait`` for what the thread still has to free."""
    global _waiting, _thread
    waiting, thread = _waiting, _thread
    _waiting = _thread = None
    if waiting is not None and thread is not None:
        waiting.put(None)
        if wait:
            thread.join()


def _forget_thread() -> None:
    # A forked child has the queue but nobody who empties it.
    global _waiting, _thread
    _waiting = _thread = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)


def _leave(container: LargeDict[Any, Any] | LargeList[Any] | LargeTuple[Any]) -> None:
    # The queue is its last owner. Python calls ``__del__`` once, so it does not come here again.
    waiting = _waiting
    if waiting is not None and len(container) >= MANY:
        waiting.put(container)


def _free(waiting: SimpleQueue[Any]) -> None:
    while (container := waiting.get()) is not None:
        if isinstance(container, dict):
            while container:
                container.popitem()  # each a step of its own: other threads get their turn
            continue
        # A tuple has no pieces. It goes without its entries, which the list still has.
        container = list(container)
        while container:
            del container[-PIECE:]
