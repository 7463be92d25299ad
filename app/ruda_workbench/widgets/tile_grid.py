"""The picture grid: tiles in columns of one width, with a caption of one or two lines."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QImage, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from ruda.session import Tile, tr
from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colour, colours, text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.painting import draw_mark, draw_round, draw_text, mark_rect
from ruda_workbench.widgets.pictures import draw_picture

TILE_ROLE = Qt.ItemDataRole.UserRole + 1
"""The ``Tile`` of a row."""
PICTURE_ROLE = Qt.ItemDataRole.UserRole + 2
"""Its picture as a QImage; None where it has none."""
ROOM = 84
"""Side of the square that a picture has; three device pixels for each of a 28 × 28 picture."""
SIDE = Space.S + 1
NARROWEST = ROOM + 2 * SIDE + Space.XS
LINE = 17
SCROLL_BAR = 18
"""Room that Qt keeps free for the scroll bar, whether it is shown or not."""


class TileDelegate(QStyledItemDelegate):
    """Paints tiles; with ``lines`` 2 what a model said stands under the label."""

    def __init__(self, parent: QListView, lines: int) -> None:
        super().__init__(parent)
        self.lines = lines

    def height(self) -> int:
        """Height of a tile."""
        return Space.S + ROOM + Space.XS + LINE * self.lines + Space.S

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:  # type: ignore[override]
        """One size for all."""
        return QSize(NARROWEST, self.height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:  # type: ignore[override]
        """Draw ground, picture and caption."""
        tile: Tile | None = index.data(TILE_ROLE)
        if tile is None:
            return
        cell = QRectF(option.rect).adjusted(2, 2, 0, -2)
        cell.setWidth(ROOM + 2 * SIDE)
        focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
        if option.state & QStyle.StateFlag.State_Selected:
            line = colour("accent")
            draw_round(painter, cell, Radius.CONTROL, fill=colour("selection"), line=line)
            if focused:
                draw_round(painter, cell.adjusted(1, 1, -1, -1), Radius.CONTROL - 1, line=line)
        elif option.state & QStyle.StateFlag.State_MouseOver:
            draw_round(painter, cell, Radius.CONTROL, fill=colour("hover"))
        left = cell.left() + SIDE
        area = QRectF(left, cell.top() + Space.S - 2, ROOM, ROOM)
        self._paint_picture(painter, area, tile, index.data(PICTURE_ROLE))
        text = QRectF(left, area.bottom() + Space.XS, ROOM, LINE)
        if self.lines == 1:
            _paint_label(painter, text, tile)
        else:
            _paint_said(painter, text, tile)

    def _paint_picture(
        self, painter: QPainter, area: QRectF, tile: Tile, picture: QImage | None
    ) -> None:
        if picture is not None:
            painter.save()
            draw_picture(painter, area, picture)
            painter.restore()
            return
        line = colour("error") if tile.problem else colour("hairline")
        draw_round(painter, area, Radius.TAG, fill=colour("sunken"), line=line)
        name, ink = ("error", colours().error) if tile.problem else ("image", colours().faint)
        mark = QRectF(area.center().x() - 9, area.top() + 8, 18, 18)
        paint_icon(painter, name, mark, ink)
        painter.setFont(text_font(10))
        painter.setPen(colour("error" if tile.problem else "dim"))
        flags = int(Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap)
        words = tile.problem or tr("no picture")
        room = area.adjusted(4, 30, -4, -3)
        painter.drawText(room, flags, _shortened(words, room.width(), 4))


def _shortened(text: str, width: float, lines: int) -> str:
    """As much of a sentence as some lines of the small font hold."""
    metrics = QFontMetrics(text_font(10))
    end = Qt.TextElideMode.ElideRight
    return metrics.elidedText(text, end, int(width * (lines - 0.8)))


def _paint_label(painter: QPainter, area: QRectF, tile: Tile) -> None:
    """The label at the left, the index at the right where there is room."""
    font, small = text_font(bold=True), text_font(Type.CAPTION)
    index = str(tile.index)
    room = QFontMetrics(small).horizontalAdvance(index) + Space.XS
    wanted = QFontMetrics(font).horizontalAdvance(tile.label)
    if wanted + room <= area.width():
        right = Qt.AlignmentFlag.AlignRight
        draw_text(painter, area, index, font=small, ink="dim", align=right)
        area = area.adjusted(0, 0, -room, 0)
    draw_text(painter, area, tile.label, font=font, ink="text")


def _paint_prediction(painter: QPainter, area: QRectF, text: str) -> None:
    """The name, shortened where it is long, and its score, which never is."""
    font = text_font(bold=True)
    name, between, score = text.rpartition(" · ")
    tail = f"{between}{score}"
    room = area.adjusted(0, 0, -QFontMetrics(font).horizontalAdvance(tail), 0)
    width = draw_text(painter, room, name, font=font, ink="text")
    draw_text(painter, area.adjusted(width, 0, 2, 0), tail, font=font, ink="text")


def _paint_said(painter: QPainter, area: QRectF, tile: Tile) -> None:
    """What was predicted, and under it the verdict by mark, word and colour."""
    below = area.translated(0, LINE)
    if not tile.prediction:
        _paint_label(painter, area, tile)
        return
    _paint_prediction(painter, area, tile.prediction)
    if not tile.verdict:
        draw_text(painter, below, tr("no label"), font=text_font(Type.CAPTION), ink="dim")
        return
    status = "applied" if tile.correct else "error"
    draw_mark(painter, mark_rect(below.left(), below.center().y(), 8), status, colour(status))
    rest, font = below.adjusted(13, 0, 0, 0), text_font(Type.CAPTION)
    words = (
        tile.verdict
        if tile.correct
        else tr("{verdict}, is {label}", verdict=tile.verdict, label=tile.label)
    )
    if QFontMetrics(font).horizontalAdvance(words) > rest.width():
        words = tile.verdict  # the tooltip and the inspector say the rest
    draw_text(painter, rest, words, font=font, ink=status)


class TileGrid(QListView):
    """Shows a list of tiles; Page Up and Page Down ask for the batch before and after."""

    batch_asked = Signal(int)
    """-1 or 1: the batch before or after."""
    end_asked = Signal(bool)
    """False for the first batch, True for the last."""
    tile_shown = Signal(int)
    """Row that has become the current one; -1 for none."""

    def __init__(self, name: str, title: str, *, lines: int = 1) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.empty_text = ""
        self._delegate = TileDelegate(self, lines)
        self.setItemDelegate(self._delegate)
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setMovement(QListView.Movement.Static)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setUniformItemSizes(True)
        self.setSelectionMode(QListView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self._share()

    def setModel(self, model: QAbstractItemModel | None) -> None:
        """Show a model."""
        super().setModel(model)
        if model is not None:
            self.selectionModel().currentChanged.connect(self._current)
            model.modelReset.connect(self._reset)

    @property
    def columns(self) -> int:
        """Tiles side by side."""
        return max(1, (self.width() - SCROLL_BAR) // NARROWEST)

    def select_row(self, row: int) -> None:
        """Make a tile the current one and bring it into view."""
        model = self.model()
        if model is not None and 0 <= row < model.rowCount():
            self.setCurrentIndex(model.index(row, 0))
            self.scrollTo(model.index(row, 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the new width among the columns."""
        self._share()
        super().resizeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page keys change the batch; with Ctrl, Home and End go to the first and last one."""
        key = event.key()
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            self.batch_asked.emit(1 if key == Qt.Key.Key_PageDown else -1)
        elif control and key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.end_asked.emit(key == Qt.Key.Key_End)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the tiles, or say why there are none."""
        super().paintEvent(event)
        model = self.model()
        if self.empty_text and (model is None or not model.rowCount()):
            painter = QPainter(self.viewport())
            painter.setFont(text_font())
            painter.setPen(colour("dim"))
            flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
            painter.drawText(QRectF(self.viewport().rect()), flags, self.empty_text)

    def _share(self) -> None:
        width = max(NARROWEST, self.width() - SCROLL_BAR)
        # Icon mode breaks a row that is exactly full, so one pixel is left over.
        self.setGridSize(QSize((width - 1) // self.columns, self._delegate.height()))

    def _reset(self) -> None:
        self.scrollToTop()
        model = self.model()
        if model is None or not model.rowCount():
            self.tile_shown.emit(-1)

    def _current(self, current: QModelIndex, _previous: QModelIndex) -> None:
        self.tile_shown.emit(current.row() if current.isValid() else -1)
