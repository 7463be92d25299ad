"""Putting the finished files of a save in place: one in one step, several by a journal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ruda.errors import SaveError
from ruda.store._disk import lock, put_new, sync_folder
from ruda.store._set_journal import finish_interrupted, journal_path, journal_text, standing
from ruda.store._sibling import RENAME_PAUSES, Replace, Sibling


def commit(
    siblings: list[Sibling],
    *,
    release: Callable[[], None],
    replace: Replace,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Rename the temporary files over their targets, the last one last.

    Raises SaveError (stage ``rename``). Of several, those that could not be renamed stay in the
    folder: opening reads them where they lie, and the next save puts them in place.
    """
    folder = siblings[-1].target.parent
    names = [sibling.target.name for sibling in siblings]
    settle(folder, names, sleep=sleep)
    if len(siblings) == 1:
        siblings[0].rename_over(release=release, replace=replace, sleep=sleep)
        return
    journal = journal_path(siblings[-1].target)
    text = journal_text([(s.path, s.target) for s in siblings], replacing=replace is not put_new)
    try:
        handle = os.open(journal, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise SaveError(
            f"no file can be made in {folder}: {error.strerror or error}", stage="rename"
        ) from error
    try:
        lock(handle)
        _put_down(handle, text)
        sync_folder(folder)
        # Two that write the same set see each other here, at least one of them: it gives way.
        if standing(folder, names, but=journal) is not None:
            raise SaveError(_BUSY, stage="rename")
        _rename_all(siblings, release, replace, sleep)
    except BaseException:
        if any(s.is_in_place or not os.path.lexists(s.path) for s in siblings):
            for later in siblings:  # the journal stays, and with it what is still to be renamed
                later.keep()
            raise
        with suppress(OSError):
            journal.unlink()
        raise
    finally:
        os.close(handle)
    with suppress(OSError):  # it has nothing to rename any more
        journal.unlink()


_BUSY = "another program is replacing the same files just now; wait for it, and save again"


def settle(
    folder: Path, names: Iterable[str], *, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Finish what an earlier save of a set did not live to do, before these names are written.

    Otherwise its files would take their places later, over newer ones. Waits a moment for a
    program that is replacing a set just now. Raises SaveError (stage ``rename``).
    """
    for pause in (*RENAME_PAUSES, None):
        refusal: OSError | None = None
        try:
            finish_interrupted(folder)
        except OSError as error:
            refusal = error
        if standing(folder, names) is None:
            return
        if pause is not None:
            sleep(pause)
    if refusal is None:
        raise SaveError(_BUSY, stage="rename")
    name = os.path.basename(refusal.filename2 or refusal.filename or "one")
    raise SaveError(
        "an earlier save of this set was interrupted, and its files cannot take their places: "
        f"{name}: {refusal.strerror or refusal}; close the programs that have it open, and save "
        "again",
        stage="rename",
    ) from refusal


def _put_down(handle: int, text: bytes) -> None:
    try:
        done = 0
        while done < len(text):  # a disk that is nearly full takes a part, and says so
            done += os.write(handle, text[done:])
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
            raise SaveError(
                f"{number} of {len(siblings)} files of the set are in place, and then "
                f"{sibling.target.name} was refused: {error.message}; opening the set reads the "
                "others where they lie, and the next save into the folder puts them in place",
                stage="rename",
                path=sibling.target,
            ) from error
