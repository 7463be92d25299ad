"""One suggestion: how sure it is, what it does, why, and the buttons that try and take it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from ruda.session import SuggestLine, tr
from ruda_workbench.theme import mono_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import ElidedLabel, label
from ruda_workbench.widgets.status_word import StatusWord

MARGIN = 32
"""Room at the left, where the card's title has its chevron."""


class SuggestionRow(QWidget):
    """Draws a ``SuggestLine``; nothing happens before a button is pressed."""

    preview_asked = Signal(object)
    taken = Signal(object)

    def __init__(self, place: int, line: SuggestLine) -> None:
        super().__init__()
        self._line = line
        row = QHBoxLayout(self)
        row.setContentsMargins(MARGIN, 0, 0, 0)
        row.setSpacing(Space.S)
        row.addWidget(StatusWord(line.mark, line.verdict))
        title = ElidedLabel(line.title, font=mono_font())
        title.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        row.addWidget(title)
        why = ElidedLabel(line.evidence, ink="dim", elide=Qt.TextElideMode.ElideRight)
        why.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        row.addWidget(why, 1)
        row.addWidget(label(line.matches, role="dim"))
        preview = push_button(tr("Preview"), f"rules.preview.{place}", link=True)
        add = push_button(tr("Add"), f"rules.hint.{place}", link=True)
        add.setEnabled(line.can_take)
        preview.setAccessibleDescription(line.title)
        add.setAccessibleDescription(line.title)
        row.addWidget(preview)
        row.addWidget(add)
        preview.clicked.connect(self._preview)
        add.clicked.connect(self._take)

    def _preview(self) -> None:
        self.preview_asked.emit(self._line)

    def _take(self) -> None:
        self.taken.emit(self._line)
