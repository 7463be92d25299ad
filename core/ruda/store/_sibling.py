"""The temporary file beside a target: created, locked, filled, and renamed or removed.

It is named ``.<name>.ruda-<pid>-<random>.tmp`` and is locked as long as its writer lives, so that
the next save into the folder can tell what a killed process left behind and remove it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ruda.errors import SaveError
from ruda.store._disk import is_abandoned, lock, sync_folder
from ruda.store._set_journal import TEMPORARY, finish_interrupted, promised, short_name
from ruda.store._windows import extended, is_in_use, is_windows
from ruda.store._writeback import Writeback, begin_writing
from ruda.store.bytefile import ByteFile

Replace = Callable[[Path, Path], None]

BUFFER_BYTES = 256 << 10

RENAME_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds to wait before each further attempt to rename over a file that is in use."""


class Sibling:
    """A new file in the folder of ``target``, open for writing. Use it in ``with``.

    Leaving the block without ``rename_over`` or ``keep`` removes the file. Raises SaveError
    (stage ``write``) if the folder does not take it, and (stage ``plan``) if the target is a
    folder, a pipe or a device: a rename would put a file in a device's place.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._before = _status(target)
        if self._before is not None and not stat.S_ISREG(self._before.st_mode):
            raise SaveError("the target is not a plain file", stage="plan")
        with suppress(OSError):
            finish_interrupted(target.parent)
        remove_stale(target.parent)
        self.path = extended(target.parent / _temporary_name(target.name))
        self._settled = self.is_in_place = False
        self._written = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        mode = 0o666 if self._before is None else stat.S_IMODE(self._before.st_mode) & 0o666 | 0o600
        try:
            handle = os.open(self.path, flags, mode)
        except OSError as error:
            raise SaveError(
                f"no file can be made in {target.parent}: {error.strerror or error}", stage="write"
            ) from error
        lock(handle)
        self.file: BinaryIO = os.fdopen(handle, "wb", buffering=BUFFER_BYTES)
        self._writeback = Writeback(handle)

    def __enter__(self) -> Sibling:
        return self

    def __exit__(self, *_: object) -> None:
        self._writeback.close()
        if self._settled:
            self.file.close()
            return
        with suppress(OSError):
            self.file.close()  # flushes: on a full disk that fails again
        with suppress(OSError):
            self.path.unlink()

    def write(self, piece: bytes | memoryview) -> None:
        """Append bytes. Raises OSError from the disk, which may concern earlier bytes."""
        self.file.write(piece)
        self._written += len(piece)
        self._writeback.advance(self._written)

    def take(self, file: ByteFile, offset: int, count: int) -> int:
        """Append a range of a file by the system's own copying; returns how much of it.

        0 where that cannot be done. Raises OSError for what was written before.
        """
        self.file.flush()
        taken = file.copy_to(self.file.fileno(), offset, count)
        if taken:
            self._written += taken
            self.file.seek(self._written)
            self._writeback.advance(self._written)
        return taken

    def patch(self, offset: int, piece: bytes) -> None:
        """Replace bytes that were written before; the end stays where it is. Raises OSError."""
        self.file.flush()
        if hasattr(os, "pwrite"):
            while piece:  # a system may take a part only, and say so
                done = os.pwrite(self.file.fileno(), piece, offset)
                offset, piece = offset + done, piece[done:]
            return
        self.file.seek(offset)
        self.file.write(piece)
        self.file.seek(0, os.SEEK_END)

    def keep(self) -> None:
        """Leave the temporary file where it is: others know of it and will rename it."""
        self._settled = True

    def finish(self, *, forget: bool) -> None:
        """Flush, take over the old file's permissions, and wait until the bytes are on the disk.

        ``forget`` drops them from the system's cache, so that a check reads what the disk has.
        """
        self.file.flush()
        self._writeback.close()
        if self._before is not None:
            _take_over(self.file.fileno(), self._before)
        os.fsync(self.file.fileno())
        if forget:
            begin_writing(self.file.fileno(), 0, 0)

    def rename_over(
        self,
        *,
        release: Callable[[], None],
        replace: Replace = os.replace,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Put the file in the target's place in one step, and make the folder remember it.

        Windows refuses while anyone has the target open: then ``release`` drops our own handles
        and the rename is tried again after each of RENAME_PAUSES. Raises SaveError (stage
        ``rename``) when that does not help.
        """
        if is_windows():
            self.file.close()
        for pause in (*RENAME_PAUSES, None):
            try:
                replace(self.path, extended(self.target))
                break
            except FileExistsError as error:
                raise SaveError(
                    "the file exists; pass overwrite=True to replace it", stage="rename"
                ) from error
            except OSError as error:
                if not is_in_use(error) or error.errno == errno.EPERM:
                    raise SaveError(_refused(error, self.target), stage="rename") from error
                if pause is None:
                    raise SaveError(
                        "another program holds the file open or protects it; close it there and "
                        f"save again ({error.strerror or error}, after {len(RENAME_PAUSES) + 1} "
                        "attempts)",
                        stage="rename",
                    ) from error
                release()
                sleep(pause)
        self._settled = self.is_in_place = True
        self.file.close()
        sync_folder(self.target.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Write a small file whole, or leave the old one as it was: sibling, sync, rename.

    A link is followed. Raises SaveError with its stage.
    """
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a NUL, or half of a character
        raise SaveError(f"no file can have this name: {error}", stage="plan", path=path) from None
    try:
        with Sibling(target) as sibling:
            sibling.write(content)
            sibling.finish(forget=False)
            sibling.rename_over(release=lambda: None, replace=os.replace)
    except SaveError as error:
        raise SaveError(error.message, stage=error.stage, path=path) from error
    except OSError as error:
        why = error.strerror or error
        raise SaveError(f"cannot be written: {why}", stage="write", path=path) from error


def remove_stale(folder: Path) -> None:
    """Remove temporary files in ``folder`` whose writers are gone; leave all others alone.

    Those that an interrupted save of a set still has to rename are needed.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return
    needed = promised(folder)
    if needed is None:
        return
    for name in names:
        match = TEMPORARY.fullmatch(name)
        path = extended(folder / name)
        if match and name not in needed and is_abandoned(path, int(match["process"])):
            with suppress(OSError):
                path.unlink()


def _temporary_name(name: str) -> str:
    return f".{short_name(name)}.ruda-{os.getpid()}-{secrets.token_hex(4)}.tmp"


def _refused(error: OSError, target: Path) -> str:
    """Why a rename failed that no waiting helps, and what does."""
    why = error.strerror or error
    if error.errno == errno.EPERM:
        return (
            f"{target.name} is another user's or may not be changed, and its folder keeps it so "
            f"({why}); save under another name"
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"the folder {target.parent} was removed or moved meanwhile ({why}); save again"
    return f"the finished file cannot be put in place: {why}"


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _take_over(handle: int, before: os.stat_result) -> None:
    if is_windows():
        return
    mode = stat.S_IMODE(before.st_mode)
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(handle, before.st_uid, before.st_gid)
        except OSError:  # only root may give a file away
            mode &= 0o777
            if not _give_to_group(handle, before.st_gid):
                # What the old group might is not for ours: it gets what all others have.
                mode = mode & ~0o070 | (mode & 0o007) << 3
    with suppress(OSError):  # some network file systems have no permissions; ours are no wider
        os.fchmod(handle, mode)


def _give_to_group(handle: int, group: int) -> bool:
    if os.fstat(handle).st_gid == group:
        return True
    try:
        os.fchown(handle, -1, group)
    except OSError:
        return False
    return True
