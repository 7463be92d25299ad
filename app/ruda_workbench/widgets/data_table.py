"""The table of every screen: rows of one height, hairlines, and cells that know how they look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from ruda.session import tr
from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colour, colours, mono_font, text_font
from ruda_workbench.tokens import Radius, Size, Space, Type
from ruda_workbench.widgets.painting import draw_mark, draw_round, draw_text, mark_rect

CELL_ROLE = Qt.ItemDataRole.UserRole + 1
SAMPLE_ROWS = 200
"""Rows that are measured to find the width of a column."""
PAD = Space.S


@dataclass(frozen=True, slots=True)
class Cell:
    """How one cell looks: its text, the font and ink, and what stands before or after it."""

    text: str = ""
    mono: bool = False
    ink: str = "text"
    suffix: str = ""
    """Small and faint after the text: ``×18``."""
    status: str = ""
    """Name of a status: its mark stands before the word, and an error is an inverse badge."""
    fold: str = ""
    """``closed`` or ``open`` for a family, ``inner`` under an open one, ``plain`` beside them."""
    right: bool = False
    centre: bool = False
    middle: bool = False
    """Where it is shortened, its end stays, too, as that of every key does."""
    help: str = ""
    """What the pointer is told instead of the text."""

    @property
    def font(self) -> QFont:
        """Font of the text."""
        return mono_font() if self.mono else text_font()

    def width(self) -> int:
        """Room that the whole cell needs, without padding."""
        width = QFontMetrics(self.font).horizontalAdvance(self.text)
        if self.suffix:
            suffix = QFontMetrics(text_font(Type.CAPTION)).horizontalAdvance(self.suffix)
            width += 6 + suffix
        if self.status:
            width += 22
        if self.fold:
            width += 32 if self.fold == "inner" else 18
        return width


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, how narrow it may become, and whether it takes the room that is left."""

    title: str
    narrowest: int = 40
    shrinks: int = 0
    """0 keeps its width; where room is short, 3 gives way before 2, and 2 before 1."""
    grows: int = 0
    """Width up to which the column takes room that is left over."""
    right: bool = False
    help: str = ""
    keeps: int = 0
    """Width that it gives up only after those that shrink after it, except the last ones."""


def shared_widths(columns: Sequence[Column], wanted: Sequence[int], room: int) -> list[int]:
    """Widths that fit into ``room``: of the columns that give way together, the widest does first.

    None becomes narrower than its ``narrowest`` or wider than it wants, so the sum may be above
    or below ``room``.
    """
    widths = list(wanted)
    for turn, hard in ((3, False), (2, False), (3, True), (2, True), (1, True)):
        over = sum(widths) - room
        places = [i for i, c in enumerate(columns) if c.shrinks == turn]
        floors = {i: max(columns[i].narrowest, 0 if hard else columns[i].keeps) for i in places}
        least = {i: min(widths[i], floor + 2 * PAD) for i, floor in floors.items()}
        if over <= 0 or not places:
            continue
        low, high = 0, max(widths[i] for i in places)
        target = sum(widths[i] for i in places) - over
        while low < high:  # the widest limit under which they take no more than their room
            limit = (low + high + 1) // 2
            taken = sum(max(least[i], min(widths[i], limit)) for i in places)
            low, high = (limit, high) if taken <= target else (low, limit - 1)
        for i in places:
            widths[i] = max(least[i], min(widths[i], low))
    return widths


class CellDelegate(QStyledItemDelegate):
    """Paints ``Cell`` values."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        """Room of the cell."""
        cell: Cell | None = index.data(CELL_ROLE)
        return QSize((0 if cell is None else cell.width()) + 2 * PAD, Size.ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        """Draw ground, hairline and cell."""
        area = QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, colour("selection"))
        line = QRectF(area.left(), area.bottom() - 1, area.width(), 1)
        painter.fillRect(line, colour("hairline"))
        cell: Cell | None = index.data(CELL_ROLE)
        if cell is not None:
            self._paint_cell(painter, area.adjusted(PAD, 0, -PAD, -1), cell)

    def _paint_cell(self, painter: QPainter, area: QRectF, cell: Cell) -> None:
        if cell.status:
            _paint_status(painter, area, cell)
            return
        if cell.fold:
            area = _paint_fold(painter, area, cell.fold)
        align = Qt.AlignmentFlag.AlignLeft
        if cell.right:
            align = Qt.AlignmentFlag.AlignRight
        elif cell.centre:
            align = Qt.AlignmentFlag.AlignHCenter
        small = text_font(Type.CAPTION)
        reserve = QFontMetrics(small).horizontalAdvance(cell.suffix) + 6 if cell.suffix else 0
        elide = Qt.TextElideMode.ElideRight
        if cell.mono or cell.middle:
            elide = Qt.TextElideMode.ElideMiddle
        width = draw_text(
            painter,
            area.adjusted(0, 0, -reserve, 0),
            cell.text,
            font=cell.font,
            ink=cell.ink,
            align=align,
            elide=elide,
        )
        if cell.suffix:
            rest = area.adjusted(width + 6, 1, 0, 1)
            draw_text(painter, rest, cell.suffix, font=small, ink="faint")


def _paint_status(painter: QPainter, area: QRectF, cell: Cell) -> None:
    middle = area.center().y()
    font = text_font(bold=cell.status == "error")
    width = QFontMetrics(font).horizontalAdvance(cell.text)
    if cell.status == "error":
        badge = QRectF(area.left(), middle - 11, min(area.width() + PAD, width + 30), 22)
        draw_round(painter, badge, Radius.TAG, fill=colour("error"))
        draw_mark(painter, mark_rect(area.left() + 6, middle, 8), "error", colour("on_error"))
        text = badge.adjusted(22, 0, -4, 0)
        draw_text(painter, text, cell.text, font=text_font(), ink="on_error")
        return
    draw_mark(painter, mark_rect(area.left() + 2, middle), cell.status, colour(cell.status))
    text = area.adjusted(22, 0, 0, 0)
    draw_text(painter, text, cell.text, font=text_font(), ink=cell.status)


def _paint_fold(painter: QPainter, area: QRectF, fold: str) -> QRectF:
    if fold in ("open", "closed"):
        name = "chevron-down" if fold == "open" else "chevron-right"
        mark = QRectF(area.left() - 2, area.center().y() - 7, 14, 14)
        paint_icon(painter, name, mark, colours().dim)
    return area.adjusted(32 if fold == "inner" else 18, 0, 0, 0)


class CaptionHeader(QHeaderView):
    """Column heads as captions over a hairline, with a chevron where the table is sorted."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setFixedHeight(Size.HEADER)
        self.setHighlightSections(False)
        self.setMinimumSectionSize(28)
        self.setStretchLastSection(True)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the hairline under all sections."""
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        painter.fillRect(0, self.height() - 1, self.width(), 1, colour("hairline"))

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        """Draw one caption."""
        model = self.model()
        area = QRectF(rect).adjusted(PAD, 0, -PAD, -1)
        horizontal = Qt.Orientation.Horizontal
        text = str(model.headerData(logicalIndex, horizontal) or "")
        align_role = Qt.ItemDataRole.TextAlignmentRole
        flags = model.headerData(logicalIndex, horizontal, align_role)
        right = isinstance(flags, int) and bool(flags & 2)
        sorted_here = self.isSortIndicatorShown() and self.sortIndicatorSection() == logicalIndex
        align = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        font = text_font(Type.CAPTION, bold=sorted_here)
        room = area.adjusted(0, 0, -16 if sorted_here and right else 0, 0)
        ink = "text" if sorted_here else "dim"
        width = draw_text(painter, room, text, font=font, ink=ink, align=align)
        if sorted_here:
            up = self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
            x = area.right() - 12 if right else area.left() + width + 4
            painter.save()
            mark = QRectF(x, area.center().y() - 6, 12, 12)
            if up:
                painter.translate(mark.center())
                painter.rotate(180)
                painter.translate(-mark.center())
            paint_icon(painter, "chevron-down", mark, colours().dim)
            painter.restore()


class DataTable(QTableView):
    """A table over a model of ``Cell`` values; the model also names its ``columns``."""

    fold_asked = Signal(int)
    """Row whose family is to be opened or closed."""
    row_shown = Signal(int)
    """Row that has become the current one; -1 for none."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.empty_text = ""
        self._fitted: tuple[object, list[int]] = (None, [])
        self.setItemDelegate(CellDelegate(self))
        self.setHorizontalHeader(CaptionHeader(self))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setCornerButtonEnabled(False)
        vertical = self.verticalHeader()
        vertical.setVisible(False)
        vertical.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.set_row_height(Size.ROW)

    def set_row_height(self, height: int) -> None:
        """34 pixels, or 28 for a compact table."""
        self.verticalHeader().setMinimumSectionSize(height)
        self.verticalHeader().setDefaultSectionSize(height)

    def setModel(self, model: QAbstractItemModel | None) -> None:
        """Show a model; its columns are fitted whenever it is reset."""
        super().setModel(model)
        if model is not None:
            model.modelReset.connect(self.fit_columns)
            self.selectionModel().currentRowChanged.connect(self._current)

    def fit_columns(self) -> None:
        """Give each column the width of its cells; those that may shrink share what is short."""
        model = self.model()
        columns: tuple[Column, ...] = getattr(model, "columns", ())
        if model is None or not columns:
            return
        rows = min(model.rowCount(), SAMPLE_ROWS)
        caption = QFontMetrics(text_font(Type.CAPTION, bold=True))
        wanted: list[int] = []
        for place, column in enumerate(columns):
            width = max(column.narrowest, caption.horizontalAdvance(tr(column.title)) + 14)
            for row in range(rows):
                cell: Cell | None = model.index(row, place).data(CELL_ROLE)
                if cell is not None:
                    width = max(width, cell.width())
            wanted.append(width + 2 * PAD + 4)
        subject: object = getattr(model, "subject", None)
        if subject is not None and subject == self._fitted[0]:
            # The same thing searched or sorted: columns grow, but nothing jumps to and fro.
            wanted = [max(pair) for pair in zip(wanted, self._fitted[1], strict=True)]
        self._fitted = (subject, wanted)
        self._share(columns, wanted)

    def _share(self, columns: tuple[Column, ...], wanted: list[int]) -> None:
        room = self.viewport().width()
        widths = shared_widths(columns, wanted, room)
        left = room - sum(widths)
        for place, column in enumerate(columns):
            if column.grows > widths[place] and left > 0:
                more = min(left, column.grows - widths[place])
                widths[place] += more
                left -= more
        for place, width in enumerate(widths[:-1]):
            self.setColumnWidth(place, max(28, width))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.fit_columns()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Right and left open and close a family; Enter too."""
        row = self.currentIndex().row()
        if row >= 0:
            folds = {self._fold(row)}
            opens = event.key() in (Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Enter)
            closes = event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if (opens and "closed" in folds) or (closes and "open" in folds):
                self.fold_asked.emit(row)
                return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click on the chevron opens or closes a family."""
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        cell: Cell | None = index.data(CELL_ROLE) if index.isValid() else None
        if cell is not None and cell.fold in ("closed", "open"):
            left = self.visualRect(index).left()
            if event.position().x() < left + PAD + 18:
                self.fold_asked.emit(index.row())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A double click anywhere in the row does the same."""
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and self._fold(index.row()) in ("closed", "open"):
            self.fold_asked.emit(index.row())
            return
        super().mouseDoubleClickEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the rows, or say why there are none."""
        super().paintEvent(event)
        model = self.model()
        if self.empty_text and (model is None or model.rowCount() == 0):
            painter = QPainter(self.viewport())
            area = QRectF(self.viewport().rect())
            painter.setFont(text_font())
            painter.setPen(colour("dim"))
            flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
            painter.drawText(area.adjusted(40, 0, -40, -Size.ROW), flags, self.empty_text)

    def select_row(self, row: int) -> None:
        """Make a row the current one and bring it into view."""
        model = self.model()
        if model is None or not 0 <= row < model.rowCount():
            return
        self.setCurrentIndex(model.index(row, 0))
        self.scrollTo(model.index(row, 0))

    def _fold(self, row: int) -> str:
        model = self.model()
        for column in range(model.columnCount()):
            cell: Cell | None = model.index(row, column).data(CELL_ROLE)
            if cell is not None and cell.fold:
                return cell.fold
        return ""

    def _current(self, current: QModelIndex, _previous: QModelIndex) -> None:
        self.row_shown.emit(current.row() if current.isValid() else -1)
