"""A field for a number with a fraction, or none: what a tolerance is typed into."""

from __future__ import annotations

import math

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QLineEdit, QSizePolicy

from ruda.session import tr
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Size, Space
from ruda_workbench.widgets.labels import set_role


class DecimalField(QLineEdit):
    """Takes a number from ``low`` to ``high`` when Enter is pressed or the focus leaves."""

    changed = Signal()
    """Another number was taken, or none."""

    def __init__(self, name: str, title: str, *, low: float = 0.0, high: float = math.inf) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setToolTip(title)
        self.setPlaceholderText("0")
        self._low, self._high = low, high
        self._value: float | None = None
        self._problem = ""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.editingFinished.connect(self._take)

    @property
    def value(self) -> float | None:
        """The number that was taken last; None for an empty field."""
        return self._value

    @property
    def problem(self) -> str:
        """Why what stands in the field is no number; empty for none."""
        return self._problem

    def show_value(self, value: float | None) -> None:
        """Show a number, or none, without telling anyone."""
        self._value = value
        self.setText("" if value is None else f"{value:g}")
        self._say("")

    def sizeHint(self) -> QSize:
        """Room for ``1.5e-05``."""
        width = QFontMetrics(text_font()).horizontalAdvance("0.0000e-00")
        return QSize(width + 2 * Space.S, Size.CONTROL)

    def _take(self) -> None:
        before, had = self._value, self._problem
        text = self.text().strip().replace(",", ".")
        problem = ""
        if not text:
            self._value = None
        else:
            problem = self._read(text)
        self._say(problem)
        if self._value != before or bool(problem) != bool(had):
            self.changed.emit()

    def _read(self, text: str) -> str:
        try:
            number = float(text)
        except ValueError:
            return tr("not a number: {text}", text=text)
        if not self._low <= number <= self._high:
            low, high = f"{self._low:g}", f"{self._high:g}"
            return tr("a number from {low} to {high} is wanted", low=low, high=high)
        self._value = number
        return ""

    def _say(self, problem: str) -> None:
        self._problem = problem
        set_role(self, "invalid", bool(problem))
        self.setToolTip(problem or self.accessibleName())
        self.setAccessibleDescription(problem)
