"""How grave something is that the window says, as a word."""

from __future__ import annotations

from ruda.session import later, tr

LEVELS = {
    "info": later("Note"),
    "done": later("Done"),
    "warning": later("Warning"),
    "error": later("Error"),
}


def level_word(level: str) -> str:
    """The word of a level, for those who do not see its sign."""
    return tr(LEVELS[level])
