"""The command field: finds actions and tensor keys, always in reach with Ctrl+K."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetrics, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QWidget

from ruda.session import tr
from ruda_workbench.key_words import keys_text
from ruda_workbench.theme import colour, text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.painting import draw_round, draw_text

if TYPE_CHECKING:
    from ruda_workbench.item_models.command_list import CommandList, Entry
    from ruda_workbench.panels.command_offers import CommandOffers

    Finder = Callable[[str], tuple[list[Entry], list[Entry]]]


class CommandField(QLineEdit):
    """A field whose offers open under it while it has the focus.

    Without a finder it takes text and offers nothing; ``use_finder`` makes up for it.
    """

    action_chosen = Signal(str)
    key_chosen = Signal(str)

    def __init__(self, host: QWidget) -> None:
        super().__init__()
        self._finder: Finder | None = None
        self._host = host
        self._popup: CommandOffers | None = None
        self.setObjectName("command")
        self.setPlaceholderText(tr("Search or run a command"))
        self.setAccessibleName(tr("Search or run a command"))
        words = QFontMetrics(text_font()).horizontalAdvance(self.placeholderText())
        self.setMinimumWidth(words + 56 + 3 * Space.S)
        self.setMaximumWidth(max(312, self.minimumWidth()))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setTextMargins(0, 0, 56, 0)
        self.textChanged.connect(self._search)
        host.installEventFilter(self)

    def use_finder(self, finder: Finder) -> None:
        """Offer what this function finds for a text; at once, if the field has the focus."""
        self._finder = finder
        self._search()

    @property
    def popup(self) -> CommandOffers:
        """The list under the field."""
        if self._popup is None:
            from ruda_workbench.panels.command_offers import CommandOffers

            self._popup = CommandOffers(self._host)
            self._popup.chosen.connect(self._run)
        return self._popup

    @property
    def offers(self) -> CommandList:
        """The model of the list."""
        return self.popup.model

    def open(self) -> None:
        """Take the focus and offer everything."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()
        self._search()

    def dismiss(self) -> None:
        """Close the list and empty the field."""
        if self._popup is not None:
            self._popup.hide()
        self.blockSignals(True)
        self.clear()
        self.blockSignals(False)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the field and the keys that lead to it."""
        super().paintEvent(event)
        if self.text():
            return
        painter = QPainter(self)
        font = text_font(Type.CAPTION)
        keys = keys_text("Ctrl+K")
        width = QFontMetrics(font).horizontalAdvance(keys) + 12
        tag = QRectF(self.width() - width - 8, self.height() / 2 - 9, width, 18)
        draw_round(painter, tag, Radius.TAG, fill=colour("panel"), line=colour("control_line"))
        align = Qt.AlignmentFlag.AlignHCenter
        draw_text(painter, tag, keys, font=font, ink="dim", align=align)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Offer everything."""
        super().focusInEvent(event)
        self._search()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Close the list, unless only the window lost the focus."""
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.ActiveWindowFocusReason:
            self.dismiss()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk the offers with the arrows, run with Enter, leave with Escape."""
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.dismiss()
            self.clearFocus()
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._finder is None:
                event.ignore()  # the window keeps it until there are offers
            elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                self.popup.step(1 if key == Qt.Key.Key_Down else -1)
            else:
                self._run(self.popup.current)
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the list under the field when the window changes its size."""
        shown = self._popup is not None and self._popup.isVisible()
        if shown and event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _search(self) -> None:
        if not self.hasFocus() or self._finder is None:
            return
        self.popup.show_entries(*self._finder(self.text()))
        self._place()
        self.popup.show()
        self.popup.raise_()

    def _place(self) -> None:
        self.popup.place(self.mapTo(self._host, QPoint(self.width(), self.height() + 4)))

    def _run(self, entry: Entry | None) -> None:
        if entry is None:
            return
        self.dismiss()
        self.clearFocus()
        signal = self.action_chosen if entry.kind == "action" else self.key_chosen
        signal.emit(entry.value)
