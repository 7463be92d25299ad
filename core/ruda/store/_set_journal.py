"""The journal of a set of files that take their places together.

Renaming several files is not one step. Therefore the renames are written down first, when all
files are complete and on the disk: ``.<index>.ruda-set-<pid>`` lists them. If the writer dies, the
next save into the folder does the rest, and opening reads the new files where they lie: looking at
a folder never changes it. Only temporary files of Ruda beside the journal count, each for the name
that it was made for.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from ruda.store._disk import is_abandoned, put_new, sync_folder

TEMPORARY = re.compile(r"\.(?P<name>.+)\.ruda-(?P<process>\d+)-[0-9a-f]{8}\.tmp")
_JOURNAL = re.compile(r"\..+\.ruda-set-(?P<process>\d+)")
_LIMIT = 64 << 20


def journal_path(target: Path) -> Path:
    """Where the journal of a set with this index file lies."""
    return target.with_name(f".{target.name}.ruda-set-{os.getpid()}")


def journal_text(renames: list[tuple[Path, Path]], *, replacing: bool) -> bytes:
    """The content of a journal. ``replacing`` False: no file may be there by the new name."""
    pairs = [[before.name, after.name] for before, after in renames]
    return json.dumps({"replacing": replacing, "renames": pairs}, ensure_ascii=True).encode()


def promised(folder: Path) -> frozenset[str]:
    """Names of temporary files in a folder that a journal still wants to rename."""
    return frozenset(before for journal in _journals(folder) for before, _ in _read(journal)[0])


def interrupted(index: Path) -> dict[str, str] | None:
    """Where the files of a set lie whose writer died: final name → temporary name, in part or none.

    None while the writer is still at it.
    """
    found: dict[str, str] = {}
    for journal in _journals(index.parent):
        match = _JOURNAL.fullmatch(journal.name)
        if match is None or not journal.name.startswith(f".{index.name}.ruda-set-"):
            continue
        if not is_abandoned(journal, int(match["process"])):
            return None
        found |= {a: b for b, a in _read(journal)[0] if (index.parent / b).is_file()}
    return found


def finish_interrupted(folder: Path) -> tuple[str, ...]:
    """Do the renames that a process did not live to do; names of the files now in place.

    Raises OSError where the folder does not let us.
    """
    done: list[str] = []
    for journal in _journals(folder):
        match = _JOURNAL.fullmatch(journal.name)
        if match is None or not is_abandoned(journal, int(match["process"])):
            continue
        renames, replacing = _read(journal)
        for before, after in renames:
            with suppress(FileNotFoundError, FileExistsError):
                (os.replace if replacing else put_new)(folder / before, folder / after)
                done.append(after)
        sync_folder(folder)
        journal.unlink(missing_ok=True)
    return tuple(done)


def _journals(folder: Path) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in sorted(names) if _JOURNAL.fullmatch(name)]


def _read(journal: Path) -> tuple[list[tuple[str, str]], bool]:
    """Renames that are still to do; none if this is no journal, or one that was not finished."""
    try:
        if journal.is_symlink() or journal.stat().st_size > _LIMIT:
            return [], False
        found = json.loads(journal.read_bytes())
        pairs = [(str(before), str(after)) for before, after in found["renames"]]
        replacing = bool(found["replacing"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return [], False
    plain = all(
        set(after).isdisjoint("/\\:\0") and after[:1] not in ("", ".") for _, after in pairs
    )
    made = [(TEMPORARY.fullmatch(before), after) for before, after in pairs]
    meant = all(match is not None and match["name"] == after for match, after in made)
    return (pairs, replacing) if plain and meant else ([], False)
