"""The chosen tensor beside one that was pinned: both as heat maps, and their difference."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ruda.session import CompareValues, tr
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.plots import HeatMap


class PinnedTab(QWidget):
    """Draws ``CompareValues``; ``unpin_asked`` when nothing is to be pinned any more."""

    unpin_asked = Signal()
    scan_asked = Signal()
    """Large tensors are to be read all the same."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        self.note = label(role="dim", wrap=True)
        self.note.setObjectName("inspector.pinned.note")
        column.addWidget(self.note)
        self.scan = push_button("", "inspector.pinned.scan")
        self.scan.clicked.connect(self.scan_asked)
        column.addWidget(self.scan, 0, Qt.AlignmentFlag.AlignLeft)
        self.captions = [label(role="caption", wrap=True) for _ in range(3)]
        self.maps = [HeatMap(most_height=150) for _ in range(3)]
        for caption, heat in zip(self.captions, self.maps, strict=True):
            column.addWidget(caption)
            column.addWidget(heat)
        self.unpin = push_button(tr("Unpin"), "inspector.unpin", link=True)
        self.unpin.clicked.connect(self.unpin_asked)
        column.addWidget(self.unpin)
        column.addStretch(1)
        self.show_note(tr("Pin a tensor to lay others beside it."))

    def show_note(self, text: str, *, pinned: bool = False, offer: str = "") -> None:
        """Say why there is nothing to see; ``offer`` is the text of a button that reads it."""
        self.scan.setText(offer)
        self.scan.setAccessibleName(offer)
        self.scan.setVisible(bool(offer))
        self.note.setText(text)
        self.note.setVisible(bool(text))
        self.unpin.setVisible(pinned)
        for widget in (*self.captions, *self.maps):
            widget.hide()

    def show_values(self, found: CompareValues, pinned: str) -> None:
        """Draw the tensors side by side."""
        self.show_note(found.caption[:1].upper() + found.caption[1:], pinned=True)
        titles = (tr("Pinned: {key}", key=pinned), tr("This one"), tr("This one less the pinned"))
        pages = (found.left, found.right, found.difference)
        for caption, heat, title, page in zip(self.captions, self.maps, titles, pages, strict=True):
            caption.setText(title)
            heat.show_page(page)
            caption.show()
            heat.show()
