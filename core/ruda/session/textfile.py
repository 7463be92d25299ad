"""Small text files that must never be half-written or lost: settings, recents, session state."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from ruda.store import replace_file

S = TypeVar("S", bound=msgspec.Struct)


def replace_text(path: Path, text: str) -> None:
    """Write a whole file or leave the old one, as ``replace_file``. Makes the folder.

    Raises OSError where the system refuses; the old file is untouched then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode("utf-8"))


def write_struct(path: Path, content: msgspec.Struct) -> None:
    """Write a struct as JSON, all or nothing. Raises OSError where the system refuses."""
    text = msgspec.json.format(msgspec.json.encode(content), indent=2)
    replace_text(path, text.decode("utf-8") + "\n")


def read_struct(path: Path, kind: type[S], otherwise: str) -> tuple[S | None, tuple[str, ...]]:
    """The struct in a JSON file; none where it is absent, or broken (it is kept beside, noted).

    ``otherwise`` says what happens without it. Raises OSError if it is there and cannot be read.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None, ()
    try:
        return msgspec.json.decode(raw, type=kind), ()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        kept = set_aside(path)
        return None, (f"{path}: {error}; {otherwise}, a copy is in {kept.name}",)


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
