"""The journal of a set of files that take their places together.

Renaming several files is not one step. Therefore the renames are written down first, when all
files are complete and on the disk: ``.<index>.ruda-set-<pid>-<random>`` lists them. If the writer
dies, the next save into the folder does the rest, and opening reads the new files where they lie:
looking at a folder never changes it. Only temporary files of Ruda beside the journal count, each
for the name that it was made for.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ruda.store._disk import is_abandoned, put_new, sync_folder
from ruda.store._windows import extended

TEMPORARY = re.compile(r"\.(?P<name>.+)\.ruda-(?P<process>\d+)-[0-9a-f]{8}\.tmp")
JOURNAL = re.compile(r"\.(?P<name>.+)\.ruda-set-(?P<process>\d+)(-[0-9a-f]{8})?")
_LIMIT = 64 << 20


def short_name(name: str) -> str:
    """The name, or its digest where it is so long that nothing can be added to it."""
    if len(os.fsencode(name)) <= 200:  # file names have at most 255 bytes
        return name
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def journal_path(target: Path) -> Path:
    """Where the journal of a set with this index file lies."""
    end = f"ruda-set-{os.getpid()}-{secrets.token_hex(4)}"
    return extended(target.with_name(f".{short_name(target.name)}.{end}"))


def journal_text(renames: list[tuple[Path, Path]], *, replacing: bool) -> bytes:
    """The content of a journal. ``replacing`` False: no file may be there by the new name."""
    pairs = [[before.name, after.name] for before, after in renames]
    return json.dumps({"replacing": replacing, "renames": pairs}, ensure_ascii=True).encode()


def promised(folder: Path) -> frozenset[str] | None:
    """Names of temporary files in a folder that a journal still wants to rename.

    None if there is a journal that we may not read: then any of them may be wanted.
    """
    journals = _journals(folder)
    if not all(os.access(journal, os.R_OK) or not journal.exists() for journal in journals):
        return None
    return frozenset(before for journal in journals for before, _ in _read(journal)[0])


def standing(folder: Path, names: Iterable[str], *, but: Path | None = None) -> Path | None:
    """A journal, other than ``but``, that may want to put a file under one of these names."""
    wanted = set(names)
    for journal in _journals(folder):
        if but is not None and journal.name == but.name:
            continue
        match = JOURNAL.fullmatch(journal.name)
        renames, _ = _read(journal)
        if not renames and match is not None and _is_abandoned(journal, match):
            continue  # its writer died before it had written it down
        # What may not be read, or is not yet written, is of the set that its name tells.
        named = match is not None and match["name"] in {short_name(name) for name in wanted}
        if any(after in wanted for _, after in renames) or (not renames and named):
            return journal
    return None


def pending_indexes(folder: Path) -> frozenset[str]:
    """Names of index files of sets that are on their way into a folder."""
    found = (_read(journal)[0] for journal in _journals(folder))
    return frozenset(renames[-1][1] for renames in found if renames)


def interrupted(index: Path) -> dict[str, str] | None:
    """Where the files of a set lie whose writer died: final name → temporary name, in part or none.

    None while the writer is still at it.
    """
    found: dict[str, str] = {}
    for journal in _journals(index.parent):
        match = JOURNAL.fullmatch(journal.name)
        if match is None or match["name"] != short_name(index.name):
            continue
        if not _is_abandoned(journal, match):
            return None
        found |= {a: b for b, a in _read(journal)[0] if extended(index.parent / b).is_file()}
    return found


def finish_interrupted(folder: Path) -> tuple[str, ...]:
    """Do the renames that a process did not live to do; names of the files now in place.

    Raises OSError where the folder does not let us.
    """
    done: list[str] = []
    for journal in _journals(folder):
        match = JOURNAL.fullmatch(journal.name)
        if match is None or not _is_abandoned(journal, match):
            continue
        renames, replacing = _read(journal)
        for before, after in renames:
            with suppress(FileNotFoundError, FileExistsError):
                place = os.replace if replacing else put_new
                place(extended(folder / before), extended(folder / after))
                done.append(after)
        sync_folder(folder)
        journal.unlink(missing_ok=True)
    return tuple(done)


def _is_abandoned(journal: Path, match: re.Match[str]) -> bool:
    return is_abandoned(journal, int(match["process"]), stays_open=True)


def _journals(folder: Path) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [extended(folder / name) for name in sorted(names) if JOURNAL.fullmatch(name)]


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
    meant = all(match is not None and match["name"] == short_name(after) for match, after in made)
    return (pairs, replacing) if plain and meant else ([], False)
