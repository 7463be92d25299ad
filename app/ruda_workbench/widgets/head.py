"""The head of a screen: a sentence, one line of facts under it, and buttons at the right."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtWidgets import QHBoxLayout, QLayout, QSizePolicy, QVBoxLayout, QWidget

from ruda_workbench.tokens import Space
from ruda_workbench.widgets.labels import ElidedLabel


class Head(QWidget):
    """What the heads of all screens have alike; ``lay_out`` says what stands in them."""

    def lay_out(
        self, sentence: Iterable[QWidget], facts: QWidget | QLayout, buttons: Iterable[QWidget]
    ) -> None:
        """Put the words of the sentence, the facts and the buttons in their places; once."""
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(Space.S)
        words = QHBoxLayout()
        words.setSpacing(6)
        for word in sentence:
            words.addWidget(word)
        words.addStretch(1)
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addLayout(words)
        if isinstance(facts, QLayout):
            column.addLayout(facts)
        else:
            column.addWidget(facts)
        outer.addLayout(column, 1)
        for button in buttons:
            outer.addWidget(button)


def fact_line(name: str) -> ElidedLabel:
    """A dim line that takes what width there is, and asks for none."""
    made = ElidedLabel(ink="dim")
    made.setObjectName(name)
    made.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    return made
