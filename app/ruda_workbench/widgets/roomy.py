"""Pages that keep their least size in a window that is smaller: they scroll instead."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QWidget


class Pages(QStackedWidget):
    """A stack that needs the room of the page in front, not that of the largest.

    Qt's own layout of a stack answers how high it has to be for a width with the highest of all
    pages; so nobody is told that it depends on the width, and the least size is for the width that
    it has.
    """

    def __init__(self) -> None:
        super().__init__()
        self.currentChanged.connect(self._turned)

    def sizeHint(self) -> QSize:
        """That of the page in front."""
        page = self.currentWidget()
        return super().sizeHint() if page is None else page.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """That of the page in front, at this width."""
        return self.least(self.width())

    def least(self, width: int) -> QSize:
        """The least size of the page in front where there is this width."""
        page = self.currentWidget()
        if page is None:
            return super().minimumSizeHint()
        if isinstance(page, Pages):
            return page.least(width)
        least, layout = page.minimumSizeHint(), page.layout()
        if layout is not None and layout.hasHeightForWidth():
            least.setHeight(layout.totalMinimumHeightForWidth(max(width, least.width())))
        return least.expandedTo(page.minimumSize())

    def hasHeightForWidth(self) -> bool:
        """False, so that the layout around it asks for the least size instead."""
        return False

    def heightForWidth(self, width: int) -> int:
        """For an area that scrolls, which asks all the same."""
        return self.least(width).height()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width may ask for another height."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _turned(self, _: int) -> None:
        self.updateGeometry()


class Roomy(QScrollArea):
    """Holds a widget that fills it, and scrolls where the widget needs more room than there is."""

    def __init__(self, inner: QWidget, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what lies in it has it
        self.setMinimumSize(160, 60)
        self.viewport().setAutoFillBackground(False)
        self.setWidget(inner)
        inner.setAutoFillBackground(False)  # setWidget switches it on

    def sizeHint(self) -> QSize:
        """All the room that the inner widget would like."""
        inner = self.widget()
        return super().sizeHint() if inner is None else inner.sizeHint()
