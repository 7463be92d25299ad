"""Buttons: primary, link, flat icon, picker with a menu, switch, segments and status chips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from ruda.session import tr
from ruda_workbench.icons import icon, paint_icon
from ruda_workbench.theme import colour, colours, text_font
from ruda_workbench.tokens import Radius, Size, Space
from ruda_workbench.widgets.column_menu import ColumnMenu
from ruda_workbench.widgets.painting import draw_mark, draw_round, mark_rect


def push_button(text: str, name: str, *, primary: bool = False, link: bool = False) -> QPushButton:
    """A push button with object and accessible name."""
    made = QPushButton(text)
    made.setObjectName(name)
    made.setAccessibleName(text.rstrip("…"))
    if primary:
        made.setProperty("primary", True)
        made.setFont(text_font(bold=True))
    if link:
        made.setProperty("link", True)
        made.setCursor(Qt.CursorShape.PointingHandCursor)
    return made


def icon_button(icon_name: str, title: str, name: str, *, checkable: bool = False) -> QToolButton:
    """A flat button with an icon; the title is its tooltip and accessible name."""
    made = QToolButton()
    made.setObjectName(name)
    made.setIcon(icon(icon_name))
    made.setIconSize(QSize(Size.ICON, Size.ICON))
    made.setToolTip(title)
    made.setAccessibleName(title)
    made.setCheckable(checkable)
    made.setMinimumSize(Size.HIT, Size.HIT)
    return made


class Picker(QPushButton):
    """A button that shows its choice and offers the others in a menu."""

    picked = Signal(str)

    def __init__(self, name: str, title: str, *, quiet: bool = False, flush: bool = False) -> None:
        """``quiet``: words with a chevron; ``flush``: they begin at its very left edge."""
        super().__init__()
        self.setObjectName(name)
        self._title = title
        self._lead = 0 if flush else Space.XS if quiet else Space.M
        self._choices: tuple[tuple[str, str], ...] = ()
        self._value = ""
        self._menu = ColumnMenu(self)
        self._menu.triggered.connect(self._chosen)
        self.setMenu(self._menu)
        self.setAccessibleName(title)
        if quiet:
            self.setProperty("link", True)

    @property
    def value(self) -> str:
        """The value that is picked."""
        return self._value

    def offer(self, choices: Sequence[tuple[str, str]], value: str) -> None:
        """Offer (value, text) pairs and show ``value``; an empty text makes a separator.

        Words between tabs stand below one another. While the menu is open, its entries keep their
        places.
        """
        self._choices = tuple(choices)
        if self._menu.isVisible():
            texts = dict(self._choices)
            for entry in self._menu.actions():
                if str(entry.data()) in texts:
                    self._menu.set_words(entry, texts[str(entry.data())])
            self._menu.fit_columns()
            self.show_value(value)
            return
        self._menu.clear()
        for key, text in self._choices:
            if not text:
                self._menu.addSeparator()
                continue
            entry = self._menu.add_entry(text)
            entry.setData(key)
            entry.setCheckable(True)
            entry.setChecked(key == value)
        self._menu.fit_columns()
        self.show_value(value)

    def explain(self, notes: Mapping[str, str]) -> None:
        """Say what values mean, beside their entries in the menu."""
        self._menu.setToolTipsVisible(True)
        for entry in self._menu.actions():
            entry.setToolTip(notes.get(str(entry.data()), entry.text()))

    def show_value(self, value: str, text: str | None = None) -> None:
        """Show a value without telling anyone."""
        self._value = value
        shown = text if text is not None else dict(self._choices).get(value, value)
        self.setText(shown)
        self.setAccessibleName(f"{self._title}: {shown}")
        for entry in self._menu.actions():
            entry.setChecked(entry.data() == value)
        self.updateGeometry()

    def _chosen(self, entry: QAction) -> None:
        value = str(entry.data())
        self.show_value(value)
        self.picked.emit(value)

    def sizeHint(self) -> QSize:
        """Text and chevron."""
        width = QFontMetrics(self.font()).horizontalAdvance(self.text())
        pad = Space.XS if self.property("link") else Space.M
        return QSize(width + self._lead + pad + 22, Size.CONTROL)

    def minimumSizeHint(self) -> QSize:
        """Room for a shortened text."""
        return QSize(min(96, self.sizeHint().width()), Size.CONTROL)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the button, its text at the left and a chevron at the right."""
        painter = QPainter(self)
        c = colours()
        quiet = bool(self.property("link"))
        hovered = self.underMouse() and self.isEnabled()
        line = "accent" if self.hasFocus() else "control_line"
        fill = colour("hover") if hovered else colour("raised")
        area = QRectF(self.rect())
        if not quiet or hovered or self.hasFocus():
            draw_round(
                painter,
                area,
                Radius.CONTROL,
                fill=colour("tint") if quiet and hovered else fill,
                line=None if quiet and not self.hasFocus() else colour(line),
            )
        ink = c.faint if not self.isEnabled() else c.text
        if quiet and not self._value:
            ink = c.accent
        pad = Space.XS if quiet else Space.M
        text = area.adjusted(self._lead, 0, -pad - 18, 0)
        painter.setPen(ink)
        painter.setFont(self.font())
        shown = QFontMetrics(self.font()).elidedText(
            self.text(), Qt.TextElideMode.ElideMiddle, int(text.width()) + 1
        )
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), shown)
        chevron = QRectF(area.right() - pad - 14, area.center().y() - 7, 14, 14)
        paint_icon(painter, "chevron-down", chevron, c.dim if self._value or not quiet else ink)


class Switch(QAbstractButton):
    """An on-off switch with its word beside it."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__()
        self.setText(text)
        self.setObjectName(name)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Track and word."""
        width = QFontMetrics(self.font()).horizontalAdvance(self.text())
        return QSize(30 + (Space.S + width + 4 if self.text() else 0), Size.HIT)

    def minimumSizeHint(self) -> QSize:
        """The word is never cut off."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw track, knob and word."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        on = self.isChecked()
        track = QRectF(1, self.height() / 2 - 8, 28, 16)
        if not self.isEnabled():
            fill, knob = colour("hairline"), colour("panel")
        else:
            fill = colour("accent") if on else colour("faint")
            knob = colour("on_accent") if on else colour("panel")
        draw_round(painter, track, 8, fill=fill)
        if self.hasFocus():
            ring = track.adjusted(-1, -1, 1, 1)
            draw_round(painter, ring, 9, line=colour("accent"))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(knob)
        x = track.right() - 8 if on else track.left() + 8
        painter.drawEllipse(QPointF(x, track.center().y()), 5.5, 5.5)
        painter.setPen(colour("text" if self.isEnabled() else "faint"))
        text = QRectF(track.right() + Space.S, 0, self.width(), self.height())
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), self.text())


class Segments(QWidget):
    """A row of exclusive choices; the chosen one stands on the accent's tint."""

    chosen = Signal(str)

    def __init__(
        self, choices: Sequence[tuple[str, str]], name: str, *, fill: bool = False
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self._fill = fill
        row = QHBoxLayout(self)
        row.setContentsMargins(1, 1, 1, 1)
        row.setSpacing(0)
        self._group = QButtonGroup(self)
        self._row = row
        self._buttons: dict[str, _Segment] = {}
        for value, text in choices:
            self.offer(value, text)
        self._group.buttonClicked.connect(self._clicked)
        policy = QSizePolicy.Policy.Expanding if fill else QSizePolicy.Policy.Fixed
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)
        self.choose(choices[0][0])

    @property
    def value(self) -> str:
        """The chosen value."""
        return next((v for v, b in self._buttons.items() if b.isChecked()), "")

    def offer(self, value: str, text: str) -> None:
        """Have one more choice at the end, unless it is there."""
        if value in self._buttons:
            return
        button = _Segment(text, f"{self.objectName()}.{value}")
        button.value = value
        self._group.addButton(button)
        self._buttons[value] = button
        self._row.addWidget(button, 1 if self._fill else 0)

    def choose(self, value: str) -> None:
        """Choose without telling anyone."""
        self._buttons[value].setChecked(True)

    def set_text(self, value: str, text: str) -> None:
        """Give a segment another text."""
        self._buttons[value].setText(text)
        self._buttons[value].updateGeometry()

    def button(self, value: str) -> QAbstractButton:
        """The button of a value."""
        return self._buttons[value]

    def _clicked(self, button: _Segment) -> None:
        self.chosen.emit(button.value)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the frame around the segments."""
        painter = QPainter(self)
        draw_round(
            painter,
            QRectF(self.rect()),
            Radius.CONTROL,
            fill=colour("panel"),
            line=colour("hairline"),
        )


class _Segment(QAbstractButton):
    def __init__(self, text: str, name: str) -> None:
        super().__init__()
        self.value = ""
        self.setText(text)
        self.setObjectName(name)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        width = QFontMetrics(text_font(bold=True)).horizontalAdvance(self.text())
        return QSize(width + 2 * Space.M - 2, 26)

    def minimumSizeHint(self) -> QSize:
        width = QFontMetrics(text_font(bold=True)).horizontalAdvance(self.text())
        return QSize(width + Space.XS, 26)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        on = self.isChecked()
        area = QRectF(self.rect())
        if on or self.underMouse():
            fill = colour("tint") if on else colour("hover")
            draw_round(painter, area, Radius.CONTROL - 1, fill=fill)
        if self.hasFocus():
            draw_round(painter, area, Radius.CONTROL - 1, line=colour("accent"))
        painter.setFont(text_font(bold=on))
        ink = "accent" if on else "text"
        painter.setPen(colour(ink if self.isEnabled() else "faint"))
        painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter), self.text())


class StatusChip(QAbstractButton):
    """A toggle with the mark, word and count of one status; Shift+click asks for it alone."""

    only = Signal(str)

    def __init__(self, status: str, title: str, *, mark: str = "", room: str = "chip") -> None:
        super().__init__()
        self.status = status
        self._mark = mark or status
        self._count = 0
        self._title = title
        self.setText(title)
        self.setObjectName(f"{room}.{status}")
        self.setCheckable(True)
        self.setChecked(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setToolTip(
            tr("Show or hide {lower} rows; Shift+click shows only these", lower=title.lower())
        )
        self.set_count(0)

    @property
    def count(self) -> int:
        """The number that is shown."""
        return self._count

    def set_count(self, count: int) -> None:
        """Show another number."""
        self._count = count
        self.setAccessibleName(tr("{title}, {count} rows", title=self._title, count=count))
        self.updateGeometry()
        self.update()

    def show_checked(self, *, on: bool) -> None:
        """Be checked or not, and tell nobody: whoever says so for several tells it once."""
        self.blockSignals(True)
        self.setChecked(on)
        self.blockSignals(False)
        self.update()

    def _number(self) -> str:
        # As ``count_text``, which the first paint would have to wait for.
        return f"{self._count:,}".replace(",", " ")

    def sizeHint(self) -> QSize:
        """Mark, word and number."""
        word = QFontMetrics(text_font()).horizontalAdvance(self.text())
        number = QFontMetrics(text_font(bold=True)).horizontalAdvance(self._number())
        return QSize(Space.M + 10 + Space.S + word + 6 + number + Space.M, 28)

    def minimumSizeHint(self) -> QSize:
        """Nothing is ever cut off."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the pill."""
        painter = QPainter(self)
        on = self.isChecked() and bool(self._count)
        area = QRectF(self.rect())
        fill = colour("tint") if on else colour("hover" if self.underMouse() else "panel")
        line = colour("accent") if on or self.hasFocus() else colour("hairline")
        draw_round(painter, area, 14, fill=fill, line=line)
        if self.hasFocus():
            draw_round(painter, area.adjusted(2, 2, -2, -2), 12, line=colour("accent"))
        middle = area.center().y()
        ink = self._mark if on else "faint"
        draw_mark(painter, mark_rect(Space.M, middle), self._mark, colour(ink))
        x = Space.M + 10 + Space.S
        painter.setFont(text_font())
        painter.setPen(colour("text" if on else "dim"))
        word = QFontMetrics(text_font()).horizontalAdvance(self.text())
        align = int(Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(QRectF(x, 0, word + 2, area.height()), align, self.text())
        painter.setFont(text_font(bold=True))
        painter.setPen(colour("text" if on else "dim"))
        rest = QRectF(x + word + 6, 0, area.width(), area.height())
        painter.drawText(rest, align, self._number())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Toggle, or ask for this status alone with Shift."""
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.setDown(False)
            self.only.emit(self.status)
            return
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Shift+Space does what Shift+click does."""
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if shift and event.key() == Qt.Key.Key_Space:
            self.only.emit(self.status)
            return
        super().keyPressEvent(event)
