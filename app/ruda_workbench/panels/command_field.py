"""The command field: finds actions and tensor keys, always in reach with Ctrl+K."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetrics, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from ruda.session import tr
from ruda_workbench.icons import paint_icon
from ruda_workbench.item_models.command_list import ENTRY_ROLE, CommandList, Entry
from ruda_workbench.theme import colour, colours, mono_font, text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.painting import draw_round, draw_text

ROW = 32
HEADING = 26
LIST_WIDTH = 480
LIST_HEIGHT = 420

Finder = Callable[[str], tuple[list[Entry], list[Entry]]]


class _EntryDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        entry = index.data(ENTRY_ROLE)
        return QSize(100, HEADING if entry.kind == "heading" else ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        entry: Entry = index.data(ENTRY_ROLE)
        area = QRectF(option.rect)
        if entry.kind == "heading":
            font = text_font(Type.CAPTION)
            text = area.adjusted(Space.S, 4, 0, 0)
            draw_text(painter, text, entry.title, font=font, ink="dim")
            return
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            draw_round(painter, area, Radius.TAG, fill=colour("tint"))
        c = colours()
        if entry.icon:
            mark = QRectF(area.left() + Space.S, area.center().y() - 8, 16, 16)
            paint_icon(painter, entry.icon, mark, c.accent if chosen else c.dim)
        hint_width = 0.0
        if entry.hint:
            font = text_font(Type.CAPTION)
            hint_width = QFontMetrics(font).horizontalAdvance(entry.hint) + Space.M
            hint = area.adjusted(0, 0, -Space.S, 0)
            align = Qt.AlignmentFlag.AlignRight
            draw_text(painter, hint, entry.hint, font=font, ink="dim", align=align)
        font = mono_font() if entry.kind == "key" else text_font()
        text = area.adjusted(34, 0, -Space.S - hint_width, 0)
        elide = Qt.TextElideMode.ElideMiddle
        draw_text(painter, text, entry.title, font=font, ink="text", elide=elide)


class CommandField(QLineEdit):
    """A field whose offers open under it while it has the focus."""

    action_chosen = Signal(str)
    key_chosen = Signal(str)

    def __init__(self, finder: Finder, host: QWidget) -> None:
        super().__init__()
        self._finder = finder
        self._host = host
        self.setObjectName("command")
        self.setPlaceholderText(tr("Search or run a command"))
        self.setAccessibleName(tr("Search or run a command"))
        self.setMinimumWidth(160)
        self.setMaximumWidth(312)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setTextMargins(0, 0, 56, 0)
        self._model = CommandList()
        self._model.setParent(self)
        self._popup = QFrame(host)
        self._popup.setObjectName("command.popup")
        self._popup.setProperty("surface", "popup")
        column = QVBoxLayout(self._popup)
        column.setContentsMargins(Space.XS, Space.XS, Space.XS, Space.XS)
        self._list = QListView()
        self._list.setObjectName("command.list")
        self._list.setAccessibleName(tr("Commands and tensors"))
        self._list.setModel(self._model)
        self._list.setItemDelegate(_EntryDelegate(self._list))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setMouseTracking(True)
        self._list.entered.connect(self._list.setCurrentIndex)
        self._list.clicked.connect(self._run)
        column.addWidget(self._list)
        self._popup.hide()
        self.textChanged.connect(self._search)
        host.installEventFilter(self)

    @property
    def popup(self) -> QFrame:
        """The list under the field."""
        return self._popup

    @property
    def offers(self) -> CommandList:
        """The model of the list."""
        return self._model

    def open(self) -> None:
        """Take the focus and offer everything."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()
        self._search()

    def dismiss(self) -> None:
        """Close the list and empty the field."""
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
        width = QFontMetrics(font).horizontalAdvance("Ctrl K") + 12
        tag = QRectF(self.width() - width - 8, self.height() / 2 - 9, width, 18)
        draw_round(painter, tag, Radius.TAG, fill=colour("panel"), line=colour("control_line"))
        align = Qt.AlignmentFlag.AlignHCenter
        draw_text(painter, tag, "Ctrl K", font=font, ink="dim", align=align)

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
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            by = 1 if key == Qt.Key.Key_Down else -1
            self._choose(self._model.step(self._list.currentIndex().row(), by))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._run(self._list.currentIndex())
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the list under the field when the window changes its size."""
        if event.type() == QEvent.Type.Resize and self._popup.isVisible():
            self._place()
        return False

    def _search(self) -> None:
        if not self.hasFocus():
            return
        actions, keys = self._finder(self.text())
        self._model.show_entries(actions, keys)
        self._choose(self._model.first())
        self._place()
        self._popup.setVisible(self._model.rowCount() > 0)
        self._popup.raise_()

    def _choose(self, row: int) -> None:
        if row >= 0:
            self._list.setCurrentIndex(self._model.index(row, 0))

    def _place(self) -> None:
        corner = self.mapTo(self._host, QPoint(self.width(), self.height() + 4))
        headings = sum(1 for e in self._model.entries if e.kind == "heading")
        rows = len(self._model.entries) - headings
        height = min(LIST_HEIGHT, rows * ROW + headings * HEADING + 2 * Space.XS + 4)
        width = min(LIST_WIDTH, self._host.width() - 2 * Space.L)
        self._popup.setGeometry(max(Space.L, corner.x() - width), corner.y(), width, height)

    def _run(self, index: QModelIndex) -> None:
        entry: Entry | None = index.data(ENTRY_ROLE) if index.isValid() else None
        if entry is None or entry.kind == "heading":
            return
        self.dismiss()
        self.clearFocus()
        signal = self.action_chosen if entry.kind == "action" else self.key_chosen
        signal.emit(entry.value)
