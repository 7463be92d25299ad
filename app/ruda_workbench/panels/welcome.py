"""The welcome page: where to drop a file, what was open before, and the sample."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QHBoxLayout,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ruda.session import later, tr
from ruda_workbench.aside import Aside
from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colour, colours, text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.painting import draw_round, draw_text

WIDTH = 640
MOST_RECENTS = 6


class RecentFile(Protocol):
    """One file that was open before, as far as its row needs it."""

    @property
    def path(self) -> str:
        """Where it is."""

    @property
    def kind(self) -> str:
        """``weights``, ``dataset`` or ``recipe``."""

    @property
    def name(self) -> str:
        """Name of the file."""

    @property
    def exists(self) -> bool:
        """True if it is there now; asks the disk."""


class _Picture(QWidget):
    def __init__(self, name: str, side: int, ink: str) -> None:
        super().__init__()
        self._name, self._ink = name, ink
        self.setFixedSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        ink = str(getattr(colours(), self._ink))
        paint_icon(QPainter(self), self._name, QRectF(self.rect()), ink)


class _RecentRow(QAbstractButton):
    def __init__(self, recent: RecentFile, *, is_gone: bool) -> None:
        super().__init__()
        self.recent = recent
        self.setObjectName("welcome.recent")
        self.setText(recent.name)
        self.setToolTip(recent.path)
        self.set_gone(is_gone=is_gone)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_gone(self, *, is_gone: bool) -> None:
        """Say that the file is not there, and offer it no more; or offer it."""
        self._gone = is_gone
        gone = tr(", not found") if is_gone else ""
        self.setAccessibleName(f"{self.recent.name}, {self.recent.path}{gone}")
        self.setEnabled(not is_gone)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, 34)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = QRectF(self.rect())
        if self.underMouse() and self.isEnabled():
            draw_round(painter, area, Radius.CONTROL, fill=colour("hover"))
        if self.hasFocus():
            draw_round(painter, area, Radius.CONTROL, line=colour("accent"))
        c = colours()
        mark = QRectF(area.left() + Space.S, area.center().y() - 8, 16, 16)
        name = "data" if self.recent.kind == "dataset" else "file"
        paint_icon(painter, name, mark, c.faint if self._gone else c.dim)
        ink = "faint" if self._gone else "text"
        text = area.adjusted(34, 0, -Space.S, 0)
        font = text_font()
        width = min(QFontMetrics(font).horizontalAdvance(self.recent.name), text.width() * 0.6)
        first = QRectF(text.left(), text.top(), width + 2, text.height())
        middle = Qt.TextElideMode.ElideMiddle
        draw_text(painter, first, self.recent.name, font=font, ink=ink, elide=middle)
        rest = text.adjusted(width + Space.L, 0, 0, 0)
        folder = tr("not found") if self._gone else str(Path(self.recent.path).parent)
        draw_text(
            painter,
            rest,
            folder,
            font=text_font(Type.CAPTION + 1),
            ink="faint" if self._gone else "dim",
            align=Qt.AlignmentFlag.AlignRight,
            elide=middle,
        )


class WelcomeText(NamedTuple):
    """What a welcome page says; ``name`` is the prefix of its object names."""

    name: str = "welcome"
    title: str = later("Open a file of weights")
    note: str = later(
        "See what is in it, what it would do to a model, fix it, convert it and save it. "
        "Nothing in a file is ever executed."
    )
    drop: str = later("Drop a file here")
    kinds: str = (
        ".safetensors   .pt   .pth   .th   .bin   .bpk   .gguf   .onnx   .h5   .keras   .npz"
    )
    open: str = later("Open…")
    open_other: str = ""
    """A second way to open; no button where it is empty."""


_WEIGHTS = WelcomeText()


class WelcomePanel(QWidget):
    """Shown while nothing is open."""

    open_asked = Signal()
    other_asked = Signal()
    sample_asked = Signal()
    guide_asked = Signal()
    recent_asked = Signal(str)

    def __init__(self, text: WelcomeText = _WEIGHTS) -> None:
        super().__init__()
        self._text = text
        self._looks: dict[str, Aside] = {}
        self._gone: set[str] = set()
        self.setObjectName(text.name)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.XL)
        outer.addStretch(2)
        middle = QHBoxLayout()
        middle.addStretch(1)
        body = QWidget()
        body.setMaximumWidth(WIDTH)
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(Space.L)
        middle.addWidget(body, 100)
        middle.addStretch(1)
        outer.addLayout(middle)
        outer.addStretch(3)
        self._build()

    def _build(self) -> None:
        title = label(tr(self._text.title), font=text_font(Type.DISPLAY, bold=True))
        self._column.addWidget(title)
        self._column.addWidget(label(tr(self._text.note), role="dim", wrap=True))
        self._column.addWidget(self._drop_zone())
        self._recent_card = QFrame()
        self._recent_card.setProperty("surface", "card")
        card = QVBoxLayout(self._recent_card)
        card.setContentsMargins(Space.S, Space.M, Space.S, Space.S)
        card.setSpacing(2)
        heading = label(tr("Recent"), role="caption")
        heading.setContentsMargins(Space.S, 0, 0, Space.XS)
        card.addWidget(heading)
        self._recents = QVBoxLayout()
        self._recents.setSpacing(0)
        card.addLayout(self._recents)
        self._column.addWidget(self._recent_card)
        guide = push_button(tr("What can I do here?"), f"{self._text.name}.guide", link=True)
        guide.clicked.connect(self.guide_asked)
        self._column.addWidget(guide, 0, Qt.AlignmentFlag.AlignHCenter)

    def _drop_zone(self) -> QFrame:
        zone = QFrame()
        self._zone = zone
        text = self._text
        zone.setObjectName(f"{text.name}.drop")
        zone.setProperty("surface", "drop")
        zone.setMinimumSize(420, 196)
        column = QVBoxLayout(zone)
        column.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.XL)
        column.setSpacing(Space.S)
        centre = Qt.AlignmentFlag.AlignHCenter
        column.addStretch(1)
        column.addWidget(_Picture("drop", 32, "accent"), 0, centre)
        column.addWidget(label(tr(text.drop), font=text_font(bold=True)), 0, centre)
        kinds = label(tr(text.kinds), role="dim")
        column.addWidget(kinds, 0, centre)
        column.addSpacing(Space.XS)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.S)
        open_button = push_button(tr(text.open), f"{text.name}.open", primary=True)
        other = push_button(tr(text.open_other), f"{text.name}.other")
        if not text.open_other:
            other.hide()
        self._sample = push_button(tr("Open the sample"), f"{text.name}.sample")
        buttons.addStretch(1)
        buttons.addWidget(open_button)
        buttons.addWidget(other)
        buttons.addWidget(self._sample)
        buttons.addStretch(1)
        column.addLayout(buttons)
        column.addStretch(1)
        open_button.clicked.connect(self.open_asked)
        other.clicked.connect(self.other_asked)
        self._sample.clicked.connect(self.sample_asked)
        return zone

    def show_page(self, recents: Sequence[RecentFile], *, has_sample: bool) -> None:
        """Show these recent files; whether they are there is seen a moment later.

        Until then a file is as it was the last time, so a disk that is away holds nobody up.
        """
        self._sample.setVisible(has_sample)
        while self._recents.count():
            item = self._recents.takeAt(0)
            widget = None if item is None else item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        for recent in recents[:MOST_RECENTS]:
            row = _RecentRow(recent, is_gone=recent.path in self._gone)
            row.clicked.connect(self._recent_clicked)
            self._recents.addWidget(row)
            self._look(recent)
        self._recent_card.setVisible(bool(recents))

    def _look(self, recent: RecentFile) -> None:
        path = recent.path
        if path not in self._looks:
            self._looks[path] = Aside(self)
        self._looks[path].ask(partial(_is_there, recent), partial(self._seen, path))

    def _seen(self, path: str, is_there: bool) -> None:
        if is_there:
            self._gone.discard(path)
        else:
            self._gone.add(path)
        for row in self.findChildren(_RecentRow):
            if row.recent.path == path:
                row.set_gone(is_gone=not is_there)

    def set_dropping(self, *, active: bool) -> None:
        """Light up the zone while something hangs over the window."""
        self._zone.setProperty("active", active)
        self._zone.style().unpolish(self._zone)
        self._zone.style().polish(self._zone)

    def _recent_clicked(self) -> None:
        row = self.sender()
        if isinstance(row, _RecentRow):
            self.recent_asked.emit(row.recent.path)


def _is_there(recent: RecentFile) -> bool:
    """False for a file that is gone; one that cannot be looked at is offered, opening says why."""
    try:
        return recent.exists
    except (OSError, ValueError):
        return True
