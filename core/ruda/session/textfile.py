"""Small text files that must never be half-written or lost: settings, recents, session state."""

from __future__ import annotations

from pathlib import Path

from ruda.store import replace_file


def replace_text(path: Path, text: str) -> None:
    """Write a whole file or leave the old one, as ``replace_file``. Makes the folder.

    Raises OSError where the system refuses; the old file is untouched then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode("utf-8"))


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
