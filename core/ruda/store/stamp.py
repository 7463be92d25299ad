"""Stamp: whether a file on disk is still the one that was opened, or the same as another.

When it was written last and how long it is tell a file from itself after someone wrote to it; its
inode tells it from another that took its place by a rename. Whoever holds the file open reads on
after a rename, so of an open one only the first two are asked.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from ruda.errors import FileAccessError, FileChangedError
from ruda.store._absent import absence
from ruda.store._windows import extended
from ruda.store.uri import Place


class Stamp(NamedTuple):
    """What tells a file on disk from another that takes its place, and from itself changed."""

    path: str
    inode: int
    nbytes: int
    changed_ns: int

    @classmethod
    def of(cls, place: Place | None) -> Stamp | None:
        """The stamp of a file as it is now; None for an address, and where there is no file."""
        if not isinstance(place, Path):
            return None
        try:
            found = os.stat(extended(place))
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None  # a folder changes with everything that is put into it
        return cls(str(place), found.st_ino, found.st_size, found.st_mtime_ns)

    @classmethod
    def of_open(cls, path: Path, handle: int) -> Stamp:
        """The stamp of an open file. Raises OSError."""
        found = os.fstat(handle)
        return cls(str(path), found.st_ino, found.st_size, found.st_mtime_ns)

    def is_of_open(self, handle: int) -> bool:
        """True if nobody wrote to this open file since. Raises OSError for one that was closed.

        It is asked after each read of a tensor, so it makes no second stamp to compare.
        """
        found = os.fstat(handle)
        return found.st_mtime_ns == self.changed_ns and found.st_size == self.nbytes

    @property
    def is_current(self) -> bool:
        """True if this very file lies at its path, and nobody wrote to it since."""
        return Stamp.of(Path(self.path)) == self

    def require_current(self) -> None:
        """Raise FileChangedError for another file or a changed one, FileAccessError for none."""
        if self.is_current:
            return
        path = Path(self.path)
        if not os.path.lexists(path):
            raise FileAccessError(absence(path), path=path)
        raise FileChangedError(path)


def is_same_file(one: Place | None, other: Place | None) -> bool:
    """True if both paths lead to one file on disk: by a link, or by other letters of its name.

    False where either is no file there, or cannot be reached.
    """
    if not isinstance(one, Path) or not isinstance(other, Path):
        return False
    try:
        return os.path.samefile(extended(one), extended(other))
    except (OSError, ValueError):
        return False
