"""Recent files: a small list in a file of its own, shared by every window of the program.

Adding reads the file again and merges, so that two windows do not undo each other's entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ruda.session.textfile import read_struct, write_struct

RecentKind = Literal["weights", "dataset", "recipe"]


class Recent(msgspec.Struct, frozen=True):
    """One file or folder that was opened."""

    path: str
    kind: RecentKind = "weights"

    @property
    def name(self) -> str:
        """Name of the file."""
        return Path(self.path).name

    @property
    def exists(self) -> bool:
        """True if it is there now; asks the disk."""
        return Path(self.path).exists()


class _File(msgspec.Struct, frozen=True):
    version: int = 1
    recents: list[Recent] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Recents:
    """Recent files, newest first, and what was wrong with the list's own file."""

    entries: tuple[Recent, ...] = ()
    notes: tuple[str, ...] = ()


def read_recents(file: Path) -> Recents:
    """The list; empty where the file is absent or broken (a broken one is kept beside it).

    Raises OSError if the file is there and cannot be read.
    """
    found, notes = read_struct(file, _File, "the list starts anew")
    return Recents(() if found is None else tuple(found.recents), notes)


def add_recent(file: Path, path: Path, kind: RecentKind = "weights", *, limit: int = 20) -> Recents:
    """Put ``path``, made absolute, first in the list that is on disk now, and write it.

    Raises OSError where the system refuses.
    """
    fresh = Recent(str(Path(path).resolve()), kind)
    found = read_recents(file)
    rest = [entry for entry in found.entries if entry.path != fresh.path]
    return _write(file, [fresh, *rest][:limit], found.notes)


def remove_recent(file: Path, path: str) -> Recents:
    """Take one entry out of the list that is on disk now, and write it."""
    found = read_recents(file)
    return _write(file, [entry for entry in found.entries if entry.path != path], found.notes)


def _write(file: Path, entries: list[Recent], notes: tuple[str, ...]) -> Recents:
    write_struct(file, _File(recents=entries))
    return Recents(tuple(entries), notes)
