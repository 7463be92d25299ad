"""Steps on a disk that systems do differently: locks, names that must not exist, folders synced."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ruda.store._processes import may_be_writing
from ruda.store._windows import is_windows


def put_new(source: Path, target: Path) -> None:
    """Rename where nothing may be replaced. Raises FileExistsError if there is a target by now."""
    if is_windows():
        os.rename(source, target)
        return
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system: the check just before has to do
        os.replace(source, target)
    else:
        os.unlink(source)


def sync_folder(folder: Path) -> None:
    """Make the disk remember the names in a folder, where the system can be asked to."""
    if is_windows():
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        with suppress(OSError):  # some network file systems do not sync folders
            os.fsync(handle)
    finally:
        os.close(handle)


def lock(handle: int) -> None:
    """Mark an open file as in use until it is closed or its process ends."""
    if is_windows():
        return  # an open file cannot be renamed there, which says the same
    import fcntl

    with suppress(OSError):  # file systems without locks: the process number decides
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_abandoned(path: Path, process: int, *, stays_open: bool = False) -> bool:
    """True if the writer of a file that ``lock`` was called for is gone.

    ``stays_open``: it never closes the file before it is done.
    """
    if is_windows():
        return _is_closed(path) and (stays_open or not _may_be_at_it(path, process))
    import fcntl

    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not may_be_writing(process, os.fstat(handle).st_mtime)
    else:
        # Between creating and locking, a writer of this very moment holds no lock yet.
        found = os.fstat(handle)
        return found.st_size > 0 or not may_be_writing(process, found.st_mtime)
    finally:
        os.close(handle)


def _may_be_at_it(path: Path, process: int) -> bool:
    """Windows: a writer closes its file just before it renames it, so being closed says little."""
    try:
        return may_be_writing(process, os.stat(path).st_mtime)
    except OSError:
        return True


def _is_closed(path: Path) -> bool:
    """Windows: True if nobody has the file open. Renaming it to its own name shows it."""
    try:
        os.rename(path, path)
    except OSError:
        return False
    return True
