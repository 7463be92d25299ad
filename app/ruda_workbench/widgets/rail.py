"""The rail at the left: one button per workspace, an icon over its word."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QFrame, QSizePolicy, QVBoxLayout

from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colour, colours, text_font
from ruda_workbench.tokens import Radius, Size, Space, Type
from ruda_workbench.widgets.painting import draw_round


class RailButton(QAbstractButton):
    """A workspace's button."""

    def __init__(self, name: str, title: str, icon: str, keys: str) -> None:
        super().__init__()
        self.name = name
        self._icon = icon
        self.setText(title)
        self.setObjectName(f"rail.{name}")
        self.setAccessibleName(title)
        self.setToolTip(f"{title}  {keys}")
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """A square with room for the word."""
        return QSize(Size.RAIL - 2 * 5, 44)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw ground, icon and word."""
        painter = QPainter(self)
        c = colours()
        area = QRectF(self.rect())
        on = self.isChecked()
        if on or self.underMouse():
            draw_round(painter, area, Radius.CARD, fill=colour("tint" if on else "hover"))
        if self.hasFocus():
            draw_round(painter, area, Radius.CARD, line=colour("accent"))
        ink = c.accent if on else c.dim
        icon = QRectF(area.center().x() - 9, area.top() + 6, 18, 18)
        paint_icon(painter, self._icon, icon, ink)
        painter.setFont(text_font(Type.CAPTION - 1, bold=on))
        painter.setPen(ink)
        word = QRectF(area.left(), area.top() + 25, area.width(), 15)
        painter.drawText(word, int(Qt.AlignmentFlag.AlignCenter), self.text())


class Rail(QFrame):
    """The column of workspace buttons; further widgets may stand at its foot."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("Rail")
        self.setFixedWidth(Size.RAIL)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(5, Space.S, 5, Space.S)
        self._column.setSpacing(Space.XS)
        self._group = QButtonGroup(self)
        self._group.buttonClicked.connect(self._clicked)
        self._buttons: dict[str, RailButton] = {}
        self._column.addStretch(1)

    def add_workspace(self, name: str, title: str, icon: str, keys: str) -> None:
        """Add a button above the foot."""
        button = RailButton(name, title, icon, keys)
        self._group.addButton(button)
        self._column.insertWidget(len(self._buttons), button)
        self._buttons[name] = button

    def add_foot(self, widget: QAbstractButton) -> None:
        """Add a button at the foot."""
        self._column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)

    def choose(self, name: str) -> None:
        """Check a button without telling anyone."""
        self._buttons[name].setChecked(True)

    def _clicked(self, button: RailButton) -> None:
        self.chosen.emit(button.name)
