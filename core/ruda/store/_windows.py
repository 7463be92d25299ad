"""What Windows asks of names and paths, and how it says that a file is in use."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SYSTEM = os.name
IN_USE = (5, 32, 33, 1224)
"""Its errors for a file that someone has open, has locked, or has mapped."""
PATH_LIMIT = 259
"""Longest path that it takes as it is."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\..*)?", re.I)
_FORBIDDEN = '<>:"/\\|?*'


def is_windows() -> bool:
    """True on Windows."""
    return _SYSTEM == "nt"


def name_problem(name: str) -> str | None:
    """What about the name of a file Windows refuses or understands as something else; or None."""
    found = next((sign for sign in name if sign in _FORBIDDEN or ord(sign) < 32), None)
    if found == ":":
        return "has a colon, which Windows takes for a hidden part of another file"
    if found is not None:
        return f"has {found!r}, which is in no file name of Windows"
    if name.endswith((" ", ".")):
        return "ends in a space or a dot, which Windows drops, so that it would be another file"
    if _DEVICE.fullmatch(name):
        return "is the name of a device of Windows, with any suffix"
    return None


def extended(path: Path) -> Path:
    """The path in the form that may have more than PATH_LIMIT characters, where it has to be."""
    text = os.fspath(path)
    if not is_windows() or len(text) <= PATH_LIMIT or text.startswith("\\\\?\\"):
        return path
    if not path.is_absolute():  # that form knows of no folder that one is in
        text = os.path.abspath(text)
    if text.startswith("\\\\"):
        return type(path)("\\\\?\\UNC\\" + text[2:])
    return type(path)("\\\\?\\" + text)


def is_in_use(error: OSError) -> bool:
    """True if a rename failed because someone has one of the files open."""
    if getattr(error, "winerror", None) in IN_USE:
        return True
    return isinstance(error, PermissionError)
