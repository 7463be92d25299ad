"""About: what the program is, its version, and the licences of all it is made of."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ruda import __version__
from ruda.session import tr
from ruda_workbench.about import components, versions_text
from ruda_workbench.item_models.component_table import ComponentTableModel
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Size, Space, Type
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.logo import Logo
from ruda_workbench.widgets.placing import room_for


class AboutWindow(QDialog):
    """Names versions and licences."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("about")
        self.setWindowTitle(tr("About Ruda"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(room_for(parent, 620, 640))
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        column.setSpacing(Space.M)
        column.addLayout(self._head())
        for text in (
            tr(
                "Looks into files of weights, shows what they would do to a model, fixes, converts "
                "and saves them, and runs models on datasets. Nothing in a file is ever executed."
            ),
            tr(
                "Ruda is free software under the Apache License 2.0. The window uses Qt and "
                "PySide6 under the GNU Lesser General Public License 3: their libraries are "
                "separate files that you may replace, and nothing here forbids to study or "
                "change that."
            ),
        ):
            column.addWidget(label(text, role="dim", wrap=True))
        column.addWidget(self._table(), 1)
        column.addLayout(self._foot())

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.M)
        logo = Logo()
        logo.setEnabled(False)
        logo.setFixedSize(40, 40)
        row.addWidget(logo)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(label("Ruda", font=text_font(Type.DISPLAY, bold=True)))
        words.addWidget(label(tr("Version {version}", version=__version__), role="dim"))
        row.addLayout(words, 1)
        return row

    def _table(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(1, 1, 1, 1)
        self.table = DataTable("about.components", tr("Packages and licences"))
        self.table.set_row_height(Size.ROW_COMPACT)
        model = ComponentTableModel(components())
        model.setParent(self)
        self.table.setModel(model)
        inner.addWidget(self.table)
        return card

    def _foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        copy = push_button(tr("Copy versions"), "about.copy")
        close = push_button(tr("Close"), "about.close", primary=True)
        copy.clicked.connect(self._copy)
        close.clicked.connect(self.close)
        close.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        row.addWidget(copy)
        row.addStretch(1)
        row.addWidget(close)
        return row

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(versions_text())
