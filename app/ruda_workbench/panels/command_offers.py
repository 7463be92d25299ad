"""The offers of the command field: actions and tensor keys, in a list under it."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QListView,
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
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.painting import draw_round, draw_text

ROW = 32
HEADING = 26
LIST_WIDTH = 480
LIST_HEIGHT = 420


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


class CommandOffers(QFrame):
    """A list that floats over ``host``."""

    chosen = Signal(object)
    """The ``Entry`` that was clicked."""

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self._host = host
        self.setObjectName("command.popup")
        self.setProperty("surface", "popup")
        self.model = CommandList()
        self.model.setParent(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XS, Space.XS, Space.XS, Space.XS)
        self._list = QListView()
        self._list.setObjectName("command.list")
        self._list.setAccessibleName(tr("Commands and tensors"))
        self._list.setModel(self.model)
        self._list.setItemDelegate(_EntryDelegate(self._list))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setMouseTracking(True)
        self._list.entered.connect(self._list.setCurrentIndex)
        self._list.clicked.connect(self._clicked)
        column.addWidget(self._list)
        self._nothing = label(tr("No command and no tensor has this name."), role="dim")
        self._nothing.setObjectName("command.nothing")
        self._nothing.setContentsMargins(Space.S, 0, Space.S, 0)
        column.addWidget(self._nothing)
        self.hide()

    @property
    def current(self) -> Entry | None:
        """The entry that Enter runs."""
        return self._entry(self._list.currentIndex())

    def show_entries(self, actions: list[Entry], keys: list[Entry]) -> None:
        """Offer these and choose the first."""
        self.model.show_entries(actions, keys)
        self._choose(self.model.first())
        found = self.model.rowCount() > 0
        self._list.setVisible(found)
        self._nothing.setHidden(found)

    def step(self, by: int) -> None:
        """Choose the next or the previous."""
        self._choose(self.model.step(self._list.currentIndex().row(), by))

    def place(self, corner: QPoint) -> None:
        """Stand with the upper right corner here, in the host's own coordinates."""
        headings = sum(1 for e in self.model.entries if e.kind == "heading")
        rows = len(self.model.entries) - headings
        rows += not self._nothing.isHidden()
        height = min(LIST_HEIGHT, rows * ROW + headings * HEADING + 2 * Space.XS + 4)
        height = min(height, self._host.height() - corner.y() - Space.S)
        width = min(LIST_WIDTH, self._host.width() - 2 * Space.L)
        self.setGeometry(max(Space.L, corner.x() - width), corner.y(), width, height)

    def _choose(self, row: int) -> None:
        if row >= 0:
            self._list.setCurrentIndex(self.model.index(row, 0))

    def _entry(self, index: QModelIndex) -> Entry | None:
        found: Entry | None = index.data(ENTRY_ROLE) if index.isValid() else None
        return None if found is None or found.kind == "heading" else found

    def _clicked(self, index: QModelIndex) -> None:
        entry = self._entry(index)
        if entry is not None:
            self.chosen.emit(entry)
