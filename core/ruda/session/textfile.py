"""Small text files that must never be half-written or lost: settings, recents, session state."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Write a whole file or leave the old one: sibling, sync, rename. Makes the folder.

    Raises OSError where the system refuses; the old file is untouched then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def set_aside(path: Path) -> Path:
    """Copy a file that could not be understood to the first free name beside it; returns that.

    ``settings.toml`` becomes ``settings.broken-1.toml``, then ``-2``; nothing is overwritten, and
    a file that is already kept under such a name is not copied again.
    """
    content = path.read_bytes()
    number = 1
    while True:
        kept = path.with_name(f"{path.stem}.broken-{number}{path.suffix}")
        try:
            with kept.open("xb") as file:
                file.write(content)
        except FileExistsError:
            if kept.is_file() and kept.read_bytes() == content:
                return kept
            number += 1
        else:
            return kept
