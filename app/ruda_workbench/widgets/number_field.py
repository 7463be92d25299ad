"""A field for a whole number: typed, or stepped by the arrow keys and the wheel."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QIntValidator, QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy

from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Size, Space


class NumberField(QLineEdit):
    """Takes a number when Enter is pressed or the focus leaves; the nearest one in its range."""

    changed = Signal(int)
    """The person has taken another number."""

    def __init__(self, name: str, title: str, low: int, high: int, *, digits: int = 4) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setToolTip(title)
        self._title = title
        self._low, self._high = low, high
        self._value = low
        self._digits = digits
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setValidator(QIntValidator(self))
        self.editingFinished.connect(self._take)
        self.set_range(low, high)

    @property
    def value(self) -> int:
        """The number that was taken last."""
        return self._value

    def set_range(self, low: int, high: int) -> None:
        """Allow other numbers; the value moves inside without telling anyone."""
        self._low, self._high = low, high
        self.show_value(self._value)

    def show_value(self, value: int) -> None:
        """Show a number without telling anyone."""
        self._value = min(max(value, self._low), self._high)
        self.setText(str(self._value))
        self.setAccessibleName(f"{self._title}: {self._value}")

    def choose(self, value: int) -> None:
        """Take a number as if it had been typed."""
        before = self._value
        self.show_value(value)
        if self._value != before:
            self.changed.emit(self._value)

    def sizeHint(self) -> QSize:
        """Room for its digits."""
        width = QFontMetrics(text_font()).horizontalAdvance("0" * self._digits)
        return QSize(width + 2 * Space.S + Space.XS, Size.CONTROL)

    def minimumSizeHint(self) -> QSize:
        """No digit is cut off."""
        return self.sizeHint()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The arrow keys step, the page keys step by ten, Escape takes back what was typed."""
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}
        steps |= {Qt.Key.Key_PageUp: 10, Qt.Key.Key_PageDown: -10}
        if event.key() in steps:
            self._take()
            self.choose(self._value + steps[Qt.Key(event.key())])
        elif event.key() == Qt.Key.Key_Escape and self.text() != str(self._value):
            self.show_value(self._value)
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Step while the field has the focus."""
        if self.hasFocus() and event.angleDelta().y():
            self.choose(self._value + (1 if event.angleDelta().y() > 0 else -1))
            event.accept()
        else:
            event.ignore()

    def _take(self) -> None:
        text = self.text().strip()
        self.choose(int(text) if text.lstrip("-").isdecimal() else self._value)
