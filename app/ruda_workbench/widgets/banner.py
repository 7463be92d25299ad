"""The banner over a table: the one thing to know first, and a button that mends it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QWidget

from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colours
from ruda_workbench.tokens import Radius, Space, mix
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.levels import level_word
from ruda_workbench.widgets.painting import draw_round


class _Sign(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.level = "error"
        self.setFixedSize(18, 18)

    def paintEvent(self, event: QPaintEvent) -> None:
        name = "error" if self.level == "error" else "warning"
        ink = str(getattr(colours(), "error" if self.level == "error" else "missing"))
        paint_icon(QPainter(self), name, QRectF(self.rect()), ink)


class Banner(QFrame):
    """A sentence on the tint of its level."""

    pressed = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._level = "error"
        self._sign = _Sign()
        self._text = label(wrap=True)
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self._button = push_button("", f"{name}.button", link=True)
        self._button.clicked.connect(self.pressed)
        row = QHBoxLayout(self)
        row.setContentsMargins(Space.M, Space.S - 2, Space.S, Space.S - 2)
        row.setSpacing(Space.S)
        row.addWidget(self._sign)
        row.addWidget(self._text, 1)
        row.addWidget(self._button)
        self.hide()

    @property
    def text(self) -> str:
        """The sentence that is shown; empty while hidden."""
        return self._text.text() if not self.isHidden() else ""

    def show_text(self, level: str, text: str, button: str = "") -> None:
        """Say something at ``error`` or ``warning`` level; an empty text hides the banner."""
        self._level = self._sign.level = level
        self._text.setText(text)
        self.setAccessibleName(f"{level_word(level)}: {text}")
        self._button.setText(button)
        self._button.setAccessibleName(button)
        self._button.setVisible(bool(button))
        self.setVisible(bool(text))
        self.update()
        self._sign.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the tint."""
        c = colours()
        ink = c.error if self._level == "error" else c.missing
        painter = QPainter(self)
        fill, line = QColor(mix(c.panel, ink, 0.08)), QColor(mix(c.panel, ink, 0.35))
        draw_round(painter, QRectF(self.rect()), Radius.CONTROL, fill=fill, line=line)
