"""Notices: what happened, said in the corner of the window and never in the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from ruda.session import tr
from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colours, text_font
from ruda_workbench.tokens import Size, Space
from ruda_workbench.widgets.buttons import icon_button, push_button
from ruda_workbench.widgets.labels import label, set_role
from ruda_workbench.widgets.levels import level_word

WIDTH = 420
_BUTTONS_WIDTH = WIDTH - 2 * Space.M - 3 * Space.S - 2 * Size.HIT
"""Beside the sign and the button that closes."""
STAY = 8000
"""Milliseconds that a notice stays which is no error."""
STAY_WITH_BUTTONS = 30000
"""The same for one that offers something, which wants reading first and is offered once."""
MOST = 3


@dataclass(frozen=True, slots=True)
class Notice:
    """One piece of news: ``kind`` is info, done, warning or error; errors stay until closed."""

    kind: str
    title: str
    text: str = ""
    buttons: tuple[tuple[str, Callable[[], None]], ...] = field(default=(), compare=False)
    report: str = ""
    """Full text behind "Copy report", for a fault of the program itself."""


_LOOK = {
    "info": ("info", "accent"),
    "done": ("check", "applied"),
    "warning": ("warning", "missing"),
    "error": ("error", "error"),
}


class _Sign(QWidget):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self._icon, self._ink = _LOOK[kind]
        self.setFixedSize(20, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        ink = str(getattr(colours(), self._ink))
        paint_icon(painter, self._icon, QRectF(self.rect()).adjusted(1, 1, -1, -1), ink)


class NoticeCard(QFrame):
    """One notice on a raised surface."""

    closed = Signal(object)

    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self.notice = notice
        self.setProperty("surface", "popup")
        self.setObjectName(f"notice.{notice.kind}")
        self.setAccessibleName(f"{level_word(notice.kind)}: {notice.title}. {notice.text}")
        self.setFixedWidth(WIDTH)
        row = QHBoxLayout(self)
        row.setContentsMargins(Space.M, Space.M, Space.S, Space.M)
        row.setSpacing(Space.S + 2)
        row.addWidget(_Sign(notice.kind), 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(Space.XS)
        title = label(notice.title, font=text_font(bold=True), wrap=True)
        column.addWidget(title)
        if notice.text:
            text = label(notice.text, role="dim", wrap=True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
            column.addWidget(text)
        if notice.buttons:
            column.addLayout(self._buttons(notice))
        row.addLayout(column, 1)
        close = icon_button("close", tr("Close this notice"), "notice.close")
        close.setIconSize(QSize(14, 14))
        close.clicked.connect(self.close_notice)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.setInterval(STAY_WITH_BUTTONS if notice.buttons else STAY)
        self._clock.timeout.connect(self.close_notice)
        self._wind()

    @property
    def clock(self) -> QTimer:
        """What takes the notice away when its time is over."""
        return self._clock

    def enterEvent(self, event: QEnterEvent) -> None:
        """Whoever is at it is not done with it."""
        self._clock.stop()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Its time begins anew."""
        self._wind()
        super().leaveEvent(event)

    def _wind(self) -> None:
        if self.notice.kind in ("info", "done"):
            self._clock.start()

    def _buttons(self, notice: Notice) -> QVBoxLayout:
        """The buttons in as many rows as their words need."""
        lines = QVBoxLayout()
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        row, room = QHBoxLayout(), 0
        for text, run in notice.buttons:
            button = push_button(text, f"notice.{text.lower()}", link=True)
            button.setParent(self)
            button.ensurePolished()  # the style sheet makes it as wide as it will be
            button.clicked.connect(run)
            button.clicked.connect(self.close_notice)
            wide = button.sizeHint().width() + Space.XS
            if wide > room:
                row, room = QHBoxLayout(), _BUTTONS_WIDTH
                row.setSpacing(Space.XS)
                row.addStretch(1)
                lines.addLayout(row)
                set_role(button, "flush", value=True)  # its words stand under the others
            row.insertWidget(row.count() - 1, button)
            room -= wide
        return lines

    def close_notice(self) -> None:
        """Take the notice away."""
        self.closed.emit(self)


class NoticeStack(QObject):
    """Places notices over the lower right corner of ``host``, the newest at the bottom."""

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self._host = host
        self._cards: list[NoticeCard] = []
        host.installEventFilter(self)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What is shown, oldest first."""
        return tuple(card.notice for card in self._cards)

    @property
    def cards(self) -> tuple[NoticeCard, ...]:
        """The cards that are shown, oldest first."""
        return tuple(self._cards)

    def add(self, notice: Notice) -> None:
        """Show a notice; the same one twice is shown once, and the oldest makes room."""
        for card in [c for c in self._cards if c.notice == notice]:
            self._remove(card)
        while len(self._cards) >= MOST:
            self._remove(self._cards[0])
        card = NoticeCard(notice)
        card.setParent(self._host)
        card.closed.connect(self._remove)
        self._cards.append(card)
        self._place()  # before it is seen, or it would be under a mouse that is elsewhere
        card.show()
        self._place()  # and again with the sizes of its style

    def clear(self) -> None:
        """Take every notice away."""
        for card in list(self._cards):
            self._remove(card)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the host's size."""
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _remove(self, card: NoticeCard) -> None:
        if card in self._cards:
            self._cards.remove(card)
            card.hide()
            card.deleteLater()
            self._place()

    def _place(self) -> None:
        y = self._host.height() - Size.STATUS_LINE - Space.M
        x = self._host.width() - WIDTH - Space.L
        for card in reversed(self._cards):
            card.resize(WIDTH, card.heightForWidth(WIDTH))
            y -= card.height()
            card.move(x, y)
            card.raise_()
            y -= Space.S
