"""Less motion: what Qt's style fades and slides, and the cursor that blinks.

The program draws nothing that moves by itself; what moves is Qt's.
"""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

CHOICES = ("system", "always", "never")
_state: dict[str, int] = {}
_choice = ["system"]


def is_still() -> bool:
    """True if nothing should move: by choice, or since the system asks for it."""
    if _choice[0] != "system":
        return _choice[0] == "always"
    # Qt before 6.12 does not tell what the system asks for.
    ask = getattr(QGuiApplication.styleHints().accessibility(), "motionPreference", None)
    return ask is not None and getattr(ask(), "name", "").lower() == "reducedmotion"


def choose(choice: str) -> None:
    """Take one of ``CHOICES``; the style sheet follows with ``Theme.apply``."""
    if choice not in CHOICES:
        raise ValueError(f"less motion is one of {', '.join(CHOICES)}, got {choice!r}")
    _choice[0] = choice
    flash = _state.setdefault("flash", QApplication.cursorFlashTime())
    QApplication.setCursorFlashTime(0 if is_still() else flash)
