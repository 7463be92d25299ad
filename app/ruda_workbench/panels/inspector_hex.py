"""The bytes of the tensor, as many a line as there is room for; a page at a time."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from ruda.session import HexPage, tr
from ruda_workbench.theme import mono_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import icon_button
from ruda_workbench.widgets.labels import label


class _Bytes(QPlainTextEdit):
    """Text that tells when it has another width."""

    resized = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.resized.emit()

    @property
    def room(self) -> int:
        """Letters that a line has room for."""
        margin = 2 * round(self.document().documentMargin())
        letter = QFontMetricsF(self.font()).horizontalAdvance("0")
        return int((self.viewport().width() - margin) / letter)


class HexTab(QWidget):
    """Draws a ``HexPage``; ``wanted`` carries the byte that another page begins at."""

    wanted = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._page: HexPage | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        row = QHBoxLayout()
        self.caption = label(role="caption", wrap=True)
        self.back = icon_button("chevron-left", tr("Bytes before"), "inspector.hex.back")
        self.ahead = icon_button("chevron-right", tr("Bytes after"), "inspector.hex.next")
        self.back.clicked.connect(self._back)
        self.ahead.clicked.connect(self._ahead)
        row.addWidget(self.caption, 1)
        row.addWidget(self.back)
        row.addWidget(self.ahead)
        column.addLayout(row)
        self.text = _Bytes()
        self.text.resized.connect(self._draw)
        self.text.setObjectName("inspector.hex")
        self.text.setAccessibleName(tr("Bytes of the tensor"))
        self.text.setReadOnly(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.text.setFont(mono_font(11))
        self.text.setTabChangesFocus(True)
        column.addWidget(self.text, 1)
        self.show_page(None)

    @property
    def page(self) -> HexPage | None:
        """What is shown."""
        return self._page

    def show_page(self, page: HexPage | None, problem: str = "") -> None:
        """Draw other bytes, or why there are none."""
        is_other = page is not self._page
        self._page = page
        self.caption.setText(problem if page is None else page.caption)
        self._draw()
        if is_other:
            self.text.verticalScrollBar().setValue(0)
        self.back.setEnabled(page is not None and page.start > 0)
        self.ahead.setEnabled(page is not None and page.after is not None)

    def _draw(self) -> None:
        """Write the lines for the width there is; what stood at the top stays about there."""
        lines = () if self._page is None else self._page.lines_within(self.text.room)
        text = "\n".join(lines)
        if text == self.text.toPlainText():
            return
        bar = self.text.verticalScrollBar()
        share = bar.value() / bar.maximum() if bar.maximum() else 0.0
        self.text.setPlainText(text)
        bar.setValue(round(share * bar.maximum()))

    def _back(self) -> None:
        if self._page is not None:
            self.wanted.emit(self._page.before)

    def _ahead(self) -> None:
        if self._page is not None and self._page.after is not None:
            self.wanted.emit(self._page.after)
