"""What stands in place of a run that cannot start: one sentence, and the button that mends it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ruda.session import Remedy, RunSetup, tr
from ruda_workbench.icons import paint_icon
from ruda_workbench.theme import colours, text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import label

WIDTH = 560
_PICTURES = {
    Remedy.WEIGHTS: "weights",
    Remedy.MODEL: "tune",
    Remedy.DATASET: "data",
    Remedy.DIFF: "warning",
    Remedy.SUGGESTION: "warning",
    Remedy.AGAIN: "run",
    Remedy.NOTHING: "run",
}


class _Picture(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.name = "run"
        self.setFixedSize(32, 32)

    def paintEvent(self, event: QPaintEvent) -> None:
        ink = colours().missing if self.name == "warning" else colours().accent
        paint_icon(QPainter(self), self.name, QRectF(self.rect()), ink)


class MissingCard(QFrame):
    """Draws the problem of a ``RunSetup``."""

    mend_asked = Signal(object)
    """The ``Remedy`` of the button."""
    sample_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("run.missing")
        self.setProperty("surface", "card")
        self._remedy = Remedy.NOTHING
        centre = Qt.AlignmentFlag.AlignHCenter
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.XL)
        column.setSpacing(Space.M)
        column.addStretch(2)
        self._picture = _Picture()
        column.addWidget(self._picture, 0, centre)
        self._sentence = label(font=text_font(bold=True), wrap=True)
        self._sentence.setObjectName("run.problem")
        self._sentence.setAlignment(centre)
        self._sentence.setMinimumWidth(WIDTH)
        self._sentence.setMaximumWidth(WIDTH)
        # Without an alignment of its own, so that it gets the height of all its lines.
        middle = QHBoxLayout()
        middle.addStretch(1)
        middle.addWidget(self._sentence)
        middle.addStretch(1)
        column.addLayout(middle)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.button = push_button("", "run.mend", primary=True)
        self.sample = push_button(tr("Open the sample"), "run.sample")
        row.addStretch(1)
        row.addWidget(self.button)
        row.addWidget(self.sample)
        row.addStretch(1)
        column.addLayout(row)
        column.addStretch(3)
        self.button.clicked.connect(self._mend)
        self.sample.clicked.connect(self.sample_asked)

    @property
    def sentence(self) -> str:
        """What is said."""
        return self._sentence.text()

    def show_setup(self, setup: RunSetup, *, has_sample: bool) -> None:
        """Draw another problem; the sample is offered where nothing is open at all."""
        self._remedy = setup.remedy
        self._picture.name = _PICTURES[setup.remedy]
        self._picture.update()
        self._sentence.setText(setup.problem)
        self.button.setText(tr(setup.remedy.value))
        self.button.setAccessibleName(self.button.text())
        self.button.setVisible(setup.remedy is not Remedy.NOTHING)
        self.sample.setVisible(has_sample and setup.remedy is Remedy.WEIGHTS)

    def _mend(self) -> None:
        self.mend_asked.emit(self._remedy)
