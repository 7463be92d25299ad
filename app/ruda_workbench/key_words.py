"""Shortcuts as a person reads them: in the signs of the platform, in the words of the language."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence

from ruda.session import later, tr

_WORDS = (later("Ctrl"), later("Shift"), later("Alt"))
"""What is written on keys; where a platform has signs for them, none of these appears."""


def keys_text(keys: str) -> str:
    """``Ctrl+K`` as it is read here, given in Qt's portable spelling."""
    native = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    for word in _WORDS:
        native = native.replace(f"{word}+", f"{tr(word)}+")
    return native
