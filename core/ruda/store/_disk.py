"""Steps on a disk that systems do differently: locks, names that must not exist, folders synced."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


def put_new(source: Path, target: Path) -> None:
    """Rename where nothing may be replaced. Raises FileExistsError if there is a target by now."""
    if os.name == "nt":
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
    if os.name == "nt":
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
    if sys.platform == "win32":
        return  # an open file cannot be removed there, which says the same
    import fcntl

    with suppress(OSError):  # file systems without locks: the process number decides
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_abandoned(path: Path, process: int) -> bool:
    """True if the writer of a file that ``lock`` was called for is gone."""
    if sys.platform == "win32":
        return True  # removing and renaming fail as long as the writer has it open
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
        return not is_running(process)
    else:
        # Between creating and locking, a writer of this very moment holds no lock yet.
        return not (is_running(process) and os.fstat(handle).st_size == 0)
    finally:
        os.close(handle)


def is_running(process: int) -> bool:
    """True if there is a process of this number. For systems with signals only."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
