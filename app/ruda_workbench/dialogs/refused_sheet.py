"""What a file asked for and did not get. There is no way to run it from here."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from ruda.session import RefusedPage, tr
from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import ElidedLabel, Facts, label
from ruda_workbench.widgets.placing import room_for
from ruda_workbench.widgets.roomy import Roomy
from ruda_workbench.widgets.status_word import StatusWord

ROW = 28
MOST_ROWS = 10


class RefusedSheet(QDialog):
    """Draws a ``RefusedPage``; its one button closes it."""

    def __init__(self, page: RefusedPage, parent: QWidget) -> None:
        super().__init__(parent)
        self.page = page
        self.setObjectName("refused")
        self.setWindowTitle(tr("What was refused"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        column.setSpacing(Space.M)
        column.addWidget(label(page.title, font=text_font(Type.TITLE, bold=True), wrap=True))
        self.banner = Banner("refused.banner")
        self.banner.show_text("error" if page.is_grave else "warning", page.sentence)
        column.addWidget(self.banner)
        facts = Facts(key_width=130)
        facts.show_facts(page.facts)
        column.addWidget(facts)
        column.addWidget(self._names(page), 1)
        row = QHBoxLayout()
        row.addStretch(1)
        close = push_button(tr("Close"), "refused.close", primary=True)
        close.clicked.connect(self.accept)
        row.addWidget(close)
        column.addLayout(row)
        self.resize(room_for(parent, 640, 250 + ROW * min(len(page.names), MOST_ROWS)))

    @staticmethod
    def _names(page: RefusedPage) -> QFrame:
        inner = QWidget()
        grid = QGridLayout(inner)
        grid.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        grid.setHorizontalSpacing(Space.L)
        grid.setVerticalSpacing(Space.S)
        for row, name in enumerate(page.names):
            mark = "error" if name.is_grave else "skipped"
            grid.addWidget(StatusWord(mark, name.word), row, 0)
            grid.addWidget(ElidedLabel(name.name, font=mono_font()), row, 1)
            grid.addWidget(ElidedLabel(name.effect, ink="dim"), row, 2)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(2, 2)
        grid.setRowStretch(len(page.names), 1)
        card = QFrame()
        card.setProperty("surface", "card")
        around = QVBoxLayout(card)
        around.setContentsMargins(1, 1, 1, 1)
        around.addWidget(Roomy(inner, "refused.names"))
        return card
