"""What the command field offers: actions that can be run now, and tensor keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from ruda.session import tr

Index = QModelIndex | QPersistentModelIndex

ENTRY_ROLE = Qt.ItemDataRole.UserRole + 1
_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
_NO_FLAGS = Qt.ItemFlag.NoItemFlags
MOST_KEYS = 50
SEARCHED = 100_000
"""Keys that are looked at with every letter; the table's own search has no limit."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One offer: an action by its id, or a tensor by its key."""

    kind: str
    """``action``, ``key`` or ``heading``."""
    value: str
    title: str
    hint: str = ""
    icon: str = ""


def find(entries: Sequence[tuple[Entry, str]], text: str) -> list[Entry]:
    """Entries whose words hold every word of ``text``; those that start with it come first.

    Each entry comes with the lower-case words that it is found by.
    """
    wanted = text.lower().split()
    found = [(e, words) for e, words in entries if all(w in words for w in wanted)]
    start = text.strip().lower()
    found.sort(key=lambda pair: not pair[0].title.lower().startswith(start))
    return [entry for entry, _ in found]


def find_keys(keys: Iterable[str], text: str) -> list[Entry]:
    """The first fifty keys that hold ``text``, among the first hundred thousand."""
    wanted = text.strip().lower()
    if not wanted:
        return []
    found: list[Entry] = []
    for key in islice(keys, SEARCHED):
        if wanted in key.lower():
            found.append(Entry("key", key, key, icon="weights"))
            if len(found) >= MOST_KEYS:
                break
    return found


class CommandList(QAbstractListModel):
    """The offers of the command field, under headings."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: tuple[Entry, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is offered now."""
        return self._entries

    def show_entries(self, actions: Sequence[Entry], keys: Sequence[Entry]) -> None:
        """Offer these."""
        self.beginResetModel()
        made: list[Entry] = []
        if actions:
            made += [Entry("heading", "", tr("Commands")), *actions]
        if keys:
            made += [Entry("heading", "", tr("Tensors")), *keys]
        self._entries = tuple(made)
        self.endResetModel()

    def first(self) -> int:
        """Row of the first offer; -1 when there is none."""
        return self.step(-1, 1)

    def step(self, row: int, by: int) -> int:
        """The next offer from ``row`` on that is no heading; ``row`` itself where there is none."""
        place = row + by
        while 0 <= place < len(self._entries):
            if self._entries[place].kind != "heading":
                return place
            place += by
        return row

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Offers and headings."""
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Title, hint or the whole entry."""
        if not index.isValid():
            return None
        entry = self._entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.title
        if role == ENTRY_ROLE:
            return entry
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{entry.title} {entry.hint}".strip()
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Headings cannot be chosen."""
        if not index.isValid() or self._entries[index.row()].kind == "heading":
            return _NO_FLAGS
        return _FLAGS
