"""Putting the finished files of a save in place: one in one step, several by a journal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from ruda.errors import SaveError
from ruda.store._disk import lock, put_new, sync_folder
from ruda.store._set_journal import journal_path, journal_text
from ruda.store._sibling import Replace, Sibling


def commit(
    siblings: list[Sibling],
    *,
    release: Callable[[], None],
    replace: Replace,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Rename the temporary files over their targets, the last one last.

    Raises SaveError (stage ``rename``). Of several, those that could not be renamed stay in the
    folder, and the next save or opening puts them in place.
    """
    if len(siblings) == 1:
        siblings[0].rename_over(release=release, replace=replace, sleep=sleep)
        return
    journal = journal_path(siblings[-1].target)
    text = journal_text([(s.path, s.target) for s in siblings], replacing=replace is not put_new)
    try:
        handle = os.open(journal, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise SaveError(
            f"no file can be made in {journal.parent}: {error.strerror or error}", stage="rename"
        ) from error
    try:
        lock(handle)
        _put_down(handle, text)
        sync_folder(journal.parent)
        _rename_all(siblings, release, replace, sleep)
    except BaseException:
        if any(s.is_in_place for s in siblings):
            raise  # the journal stays, and with it what is still to be renamed
        with suppress(OSError):
            journal.unlink()
        raise
    finally:
        os.close(handle)
    journal.unlink(missing_ok=True)


def _put_down(handle: int, text: bytes) -> None:
    try:
        os.write(handle, text)
        os.fsync(handle)
    except OSError as error:
        raise SaveError(
            f"the names of the set cannot be written down: {error.strerror or error}",
            stage="rename",
        ) from error


def _rename_all(
    siblings: list[Sibling],
    release: Callable[[], None],
    replace: Replace,
    sleep: Callable[[float], None],
) -> None:
    for number, sibling in enumerate(siblings):
        try:
            sibling.rename_over(release=release, replace=replace, sleep=sleep)
        except SaveError as error:
            if not number:
                raise
            for later in siblings[number:]:
                later.keep()
            raise SaveError(
                f"{number} of {len(siblings)} files of the set are in place, and then "
                f"{sibling.target.name} was refused: {error.message}; the next save or opening "
                "of the set puts the others in place",
                stage="rename",
                path=sibling.target,
            ) from error
