"""What stands beside the choice of types: the way back to a save, and why BatchNorm is kept."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QWidget

from ruda.session import later, tr
from ruda.store import CastPolicy, CastScope
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import label

NORM = "BatchNorm"
KEPT = {
    "f16": later("BatchNorm keeps its type: small running variances would become 0 in f16."),
    "bf16": later("BatchNorm keeps its type: running statistics need more digits than bf16 has."),
}
"""Why it is kept, by the type that the others are cast to."""
CAST = {
    "f16": later("BatchNorm is cast as well: small running variances may become 0 in f16."),
    "bf16": later("BatchNorm is cast as well: its running statistics lose digits in bf16."),
}


def keeps_norm(cast: CastPolicy) -> bool:
    """True if a cast leaves BatchNorm as it is."""
    if cast.scope is CastScope.ALL:
        return NORM in cast.keep
    return NORM not in cast.add or NORM in cast.keep


class NormNote(QWidget):
    """Says what becomes of BatchNorm and why, with a button that does it the other way."""

    toggled = Signal(bool)
    """BatchNorm is to keep its type, or to be cast."""

    def __init__(self) -> None:
        super().__init__()
        self._keeps = True
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.S)
        self._text = label(role="dim", wrap=True)
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.button = push_button("", "convert.norm", link=True)
        self.button.clicked.connect(self._clicked)
        row.addWidget(self._text, 1)
        row.addWidget(self.button)
        self.hide()

    @property
    def text(self) -> str:
        """The sentence that is shown; empty while hidden."""
        return "" if self.isHidden() else self._text.text()

    def show_cast(self, cast: CastPolicy | None, *, has_norm: bool) -> None:
        """Say it for a cast to half precision of a model that has such modules."""
        to = "" if cast is None else cast.to.label
        if cast is None or not has_norm or to not in KEPT:
            self.hide()
            return
        self._keeps = keeps_norm(cast)
        self._text.setText(tr((KEPT if self._keeps else CAST)[to]))
        text = tr("Cast BatchNorm as well") if self._keeps else tr("Keep BatchNorm as it is")
        self.button.setText(text)
        self.button.setAccessibleName(text)
        self.show()

    def _clicked(self) -> None:
        self.toggled.emit(not self._keeps)


class WayBack(QFrame):
    """Leads back to the save sheet that waits for types."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("surface", "card")
        row = QHBoxLayout(self)
        row.setContentsMargins(Space.L, Space.S, Space.L, Space.S)
        row.setSpacing(Space.M)
        text = label(tr("You are choosing types for the file that you are about to save."))
        text.setWordWrap(True)
        row.addWidget(text, 1)
        self.button = push_button(tr("Back to saving"), "convert.back", primary=True)
        row.addWidget(self.button)
        self.hide()
