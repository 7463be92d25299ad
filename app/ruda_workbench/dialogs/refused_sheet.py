"""What a file asked for and did not get. There is no way to run it from here."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ruda.session import RefusedPage, tr
from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import ElidedLabel, Facts, label
from ruda_workbench.widgets.status_word import StatusWord


class RefusedSheet(QDialog):
    """Draws a ``RefusedPage``; its one button closes it."""

    def __init__(self, name: str, page: RefusedPage, parent: QWidget) -> None:
        super().__init__(parent)
        self.page = page
        self.setObjectName("refused")
        self.setWindowTitle(tr("What was refused"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(600, 420)
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        column.setSpacing(Space.M)
        column.addWidget(label(name, font=text_font(Type.TITLE, bold=True), wrap=True))
        self.banner = Banner("refused.banner")
        self.banner.show_text("warning", page.sentence)
        column.addWidget(self.banner)
        facts = Facts(key_width=90)
        facts.show_facts(page.facts)
        column.addWidget(facts)
        column.addWidget(self._names(page), 1)
        row = QHBoxLayout()
        row.addStretch(1)
        close = push_button(tr("Close"), "refused.close", primary=True)
        close.clicked.connect(self.accept)
        row.addWidget(close)
        column.addLayout(row)

    @staticmethod
    def _names(page: RefusedPage) -> QScrollArea:
        inner = QWidget()
        grid = QGridLayout(inner)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.M)
        for row, name in enumerate(page.names):
            grid.addWidget(StatusWord("skipped", tr("Refused")), row, 0)
            grid.addWidget(ElidedLabel(name, font=mono_font()), row, 1)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(len(page.names), 1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.viewport().setAutoFillBackground(False)
        area.setWidget(inner)
        inner.setAutoFillBackground(False)
        return area
