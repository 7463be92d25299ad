"""Asked once before the window closes, where closing would stop a save or lose a recipe."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from ruda.session import listed, tr
from ruda_workbench.context import Context
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import label


def reasons_to_stay(context: Context) -> tuple[str, ...]:
    """What closing would stop or lose; a session that is restored keeps its recipes."""
    saves = [job.title for job in context.jobs.running if job.lane == "write"]
    reasons = [tr("{title}: it would be stopped, the old file stays.", title=t) for t in saves]
    if not context.storage.settings.restore_session:
        names = [document.name for document in context.session.dirty]
        if names:
            reasons.append(tr("Not saved: the recipe of {names}.", names=listed(names)))
    return tuple(reasons)


class QuitSheet(QDialog):
    """Names what would be stopped or lost; accepted when the person quits all the same."""

    def __init__(self, reasons: tuple[str, ...], parent: QWidget) -> None:
        super().__init__(parent)
        self.reasons = reasons
        self.setObjectName("quit")
        self.setWindowTitle(tr("Quit now?"))
        self.setModal(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(480)
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        column.setSpacing(Space.M)
        column.addWidget(label(tr("Quit now?"), font=text_font(Type.TITLE, bold=True)))
        for reason in reasons:
            column.addWidget(label(reason, wrap=True))
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.stay = push_button(tr("Stay"), "quit.stay", primary=True)
        self.quit = push_button(tr("Quit all the same"), "quit.quit")
        self.stay.setDefault(True)
        self.stay.clicked.connect(self.reject)
        self.quit.clicked.connect(self.accept)
        row.addStretch(1)
        row.addWidget(self.quit)
        row.addWidget(self.stay)
        column.addLayout(row)
