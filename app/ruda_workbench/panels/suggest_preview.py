"""What a suggestion would do, before it is taken: coverage, evidence, and every changed key."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ruda.session import SuggestLine, SuggestPreview, counted, tr
from ruda_workbench.item_models.change_table import ChangeTableModel
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Size, Space, Type
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.labels import Facts, label
from ruda_workbench.widgets.placing import room_for


class SuggestPreviewWindow(QDialog):
    """Shows a preview; ``taken`` carries the line when the step is to be added."""

    taken = Signal(object)

    def __init__(self, line: SuggestLine, parent: QWidget) -> None:
        super().__init__(parent)
        self._line = line
        self.setObjectName("suggestion")
        self.setWindowTitle(tr("Preview of a suggestion"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(room_for(parent, 880, 560))
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        column.setSpacing(Space.M)
        column.addWidget(label(line.title, font=text_font(Type.TITLE, bold=True), wrap=True))
        column.addWidget(label(f"{line.verdict}: {line.evidence}", role="dim", wrap=True))
        self._facts = Facts(key_width=90)
        column.addWidget(self._facts)
        self.banner = Banner("suggestion.banner")
        column.addWidget(self.banner)
        column.addWidget(self._table(), 1)
        column.addLayout(self._foot())
        self._facts.show_facts(((tr("now"), tr("Working it out…")),))
        self.add.setEnabled(False)

    def _table(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(1, 1, 1, 1)
        self.table = DataTable("suggestion.changes", tr("Keys before and after"))
        self.table.set_row_height(Size.ROW_COMPACT)
        self.table.empty_text = tr("No key changes.")
        self.model = ChangeTableModel()
        self.model.setParent(self)
        self.table.setModel(self.model)
        inner.addWidget(self.table)
        return card

    def _foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.add = push_button(tr("Add to the recipe"), "suggestion.add", primary=True)
        close = push_button(tr("Close"), "suggestion.close")
        row.addStretch(1)
        row.addWidget(close)
        row.addWidget(self.add)
        close.clicked.connect(self.close)
        self.add.clicked.connect(self._add)
        return row

    def show_preview(self, preview: SuggestPreview) -> None:
        """Show what the step would do."""
        facts = [
            (tr("now"), f"{preview.before} · {preview.before_summary}"),
            (tr("with it"), f"{preview.after} · {preview.after_summary}"),
        ]
        facts += [(tr("or"), other) for other in preview.alternatives[:4]]
        self._facts.show_facts(tuple(facts))
        if preview.loses:
            lost = counted(preview.loses, "tensor")
            text = tr("{lost} that load now would not load any more.", lost=lost)
            self.banner.show_text("warning", text)
        self.model.show_lines(preview.changes)
        self.add.setEnabled(self._line.can_take)

    def show_problem(self, sentence: str) -> None:
        """Say why there is no preview."""
        self._facts.show_facts(())
        self.banner.show_text("error", sentence)

    def _add(self) -> None:
        self.taken.emit(self._line)
        self.close()
