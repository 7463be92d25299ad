"""Which files the window itself wrote, so that they are not told as the work of another program."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from ruda.store import Stamp


class OwnWrites(QObject):
    """Counts the saves that run and keeps how they left their files."""

    ended = Signal()
    """A save is over, whatever came of it."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._running = 0
        self._left: dict[str, Stamp] = {}
        self.number = 0
        """How many saves have begun: another number says that a look may have seen half of one."""

    @property
    def is_busy(self) -> bool:
        """True while a save runs, or its end is not told yet."""
        return self._running > 0

    def begin(self) -> None:
        """A save is asked for."""
        self._running += 1
        self.number += 1

    def end(self, stamps: Iterable[Stamp] = ()) -> None:
        """A save is over and left its files like this."""
        self._running -= 1
        self._left.update({stamp.path: stamp for stamp in stamps})
        self.ended.emit()

    def has_left(self, stamps: Iterable[Stamp]) -> bool:
        """True if every one of these files is as a save of this window left it."""
        return all(self._left.get(stamp.path) == stamp for stamp in stamps)


def stamps_of(paths: Iterable[Path]) -> tuple[Stamp, ...]:
    """Stamps of files that were written just now."""
    return tuple(filter(None, map(Stamp.of, dict.fromkeys(paths))))
