"""The filter field: text with marks for regular expressions and for letter case."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton

from ruda.session import QueryProblem, tr
from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.labels import set_role

DEBOUNCE = 80
"""Milliseconds between the last key and the search."""


class FilterField(QLineEdit):
    """Search text; ``.*`` makes it a regular expression and ``Aa`` minds upper and lower case."""

    asked = Signal(str, bool, bool)
    """Text, is a regular expression, minds case; after a short rest or at once with Enter."""

    def __init__(self, name: str, placeholder: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(placeholder)
        self.setPlaceholderText(placeholder)
        # The placeholder is read whole, beside both marks.
        words = QFontMetrics(text_font()).horizontalAdvance(placeholder)
        self.setMinimumWidth(max(130, words + 64 + 2 * Space.S + Space.M))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 6, 0)
        row.setSpacing(4)
        row.addStretch(1)
        self.regex = self._mark(".*", tr("Regular expression"), f"{name}.regex")
        self.case = self._mark("Aa", tr("Match upper and lower case"), f"{name}.case")
        row.addWidget(self.regex)
        row.addWidget(self.case)
        self.setTextMargins(0, 0, 64, 0)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(DEBOUNCE)
        self._rest.timeout.connect(self._ask)
        self.textChanged.connect(self._typed)
        self.returnPressed.connect(self._ask)

    def _mark(self, text: str, title: str, name: str) -> QToolButton:
        made = QToolButton(self)
        made.setText(text)
        made.setFont(mono_font(11))
        made.setObjectName(name)
        made.setToolTip(title)
        made.setAccessibleName(title)
        made.setCheckable(True)
        made.setProperty("mark", True)
        made.setCursor(Qt.CursorShape.ArrowCursor)
        made.setFixedSize(26, 20)
        made.toggled.connect(self._ask)
        return made

    def show_problem(self, problem: QueryProblem | None) -> None:
        """Outline the field and say what is wrong and where, or take that back."""
        sentence = ""
        if problem is not None:
            sentence = tr("Not a regular expression: {message}", message=problem.message)
            if problem.position is not None:
                sentence += tr(" at position {position}", position=problem.position)
        set_role(self, "invalid", bool(sentence))
        self.setToolTip(sentence)
        self.setAccessibleDescription(sentence)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape empties the field."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            return
        super().keyPressEvent(event)

    def _typed(self) -> None:
        self._rest.start()

    def _ask(self) -> None:
        self._rest.stop()
        self.asked.emit(self.text(), self.regex.isChecked(), self.case.isChecked())
