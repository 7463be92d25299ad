"""Labels: elided text, captions, lines and rows of facts."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QSizePolicy, QWidget

from ruda_workbench.theme import colour, mono_font, text_font
from ruda_workbench.tokens import Space, Type


def label(
    text: str = "", *, role: str = "", font: QFont | None = None, wrap: bool = False
) -> QLabel:
    """A label in a role of the style sheet: dim, caption, faint, error, missing, applied."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    if role:
        made.setProperty("role", role)
    if font is not None:
        made.setFont(font)
    elif role == "caption":
        made.setFont(text_font(Type.CAPTION))
    made.setWordWrap(wrap)
    return made


def sentence(words: str) -> str:
    """Words that the library says within a line, as a sentence of their own."""
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def set_role(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet looks at, and have it look again."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def hairline(*, vertical: bool = False) -> QFrame:
    """A line of one pixel."""
    line = QFrame()
    line.setProperty("line", True)
    if vertical:
        line.setFixedWidth(1)
    else:
        line.setFixedHeight(1)
    return line


class ElidedLabel(QWidget):
    """One line of text that is shortened in the middle where it does not fit; full as tooltip."""

    def __init__(
        self,
        text: str = "",
        *,
        font: QFont | None = None,
        ink: str = "text",
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._text = ""
        self._ink = ink
        self._elide = elide
        self._font = text_font() if font is None else font
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    def text(self) -> str:
        """The whole text."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show another text."""
        self._text = text
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def set_ink(self, ink: str) -> None:
        """Draw in another colour token."""
        self._ink = ink
        self.update()

    def sizeHint(self) -> QSize:
        """The size of the whole text."""
        metrics = QFontMetrics(self._font)
        return QSize(metrics.horizontalAdvance(self._text) + 2, metrics.height() + 2)

    def minimumSizeHint(self) -> QSize:
        """Room for a few letters."""
        return QSize(min(40, self.sizeHint().width()), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the text, shortened to the width there is."""
        painter = QPainter(self)
        metrics = QFontMetrics(self._font)
        painter.setFont(self._font)
        painter.setPen(colour(self._ink if self.isEnabled() else "faint"))
        shown = metrics.elidedText(self._text, self._elide, self.width())
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(self.rect()), int(align), shown)

    def event(self, event: QEvent) -> bool:
        """Offer the whole text as tooltip only where it is shortened."""
        if event.type() == QEvent.Type.ToolTip:
            short = self.width() < QFontMetrics(self._font).horizontalAdvance(self._text)
            self.setToolTip(self._text if short else "")
        return super().event(event)


class Facts(QWidget):
    """Rows of a dim word and its value, aligned in two columns."""

    def __init__(self, *, key_width: int = 84, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.S)
        self._grid.setVerticalSpacing(Space.XS + 2)
        self._grid.setColumnMinimumWidth(0, key_width - Space.S)
        self._grid.setColumnStretch(1, 1)
        self._rows: list[tuple[QLabel, ElidedLabel]] = []

    def show_facts(self, facts: tuple[tuple[str, str], ...], *, mono: bool = False) -> None:
        """Show these rows; widgets are kept where the number of rows stays."""
        while len(self._rows) > len(facts):
            for widget in self._rows.pop():
                self._grid.removeWidget(widget)
                widget.setParent(None)
                widget.deleteLater()
        while len(self._rows) < len(facts):
            key = label(role="dim")
            value = ElidedLabel(font=mono_font() if mono else None)
            row = len(self._rows)
            self._grid.addWidget(key, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(value, row, 1)
            self._rows.append((key, value))
        for (key, value), (word, text) in zip(self._rows, facts, strict=True):
            key.setText(word)
            value.set_text(text)
            value.setAccessibleName(f"{word}: {text}")
