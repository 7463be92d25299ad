"""The figure of a run: how much of it is right, its facts, and the bar of right and wrong."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from ruda.session import RunFigure, tr
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.bars import StackedBar
from ruda_workbench.widgets.labels import ElidedLabel


class FigureCard(QFrame):
    """Draws a ``RunFigure``, or what stands there before there is one."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setProperty("surface", "card")
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M - 2)
        row = QHBoxLayout()
        self._headline = ElidedLabel(font=text_font(bold=True))
        self._headline.setObjectName(f"{name}.headline")
        self._summary = ElidedLabel(ink="dim")
        self._summary.setObjectName(f"{name}.summary")
        row.addWidget(self._headline)
        row.addStretch(1)
        row.addWidget(self._summary)
        column.addLayout(row)
        self._bar = StackedBar()
        column.addWidget(self._bar)

    @property
    def headline(self) -> str:
        """The sentence that is shown."""
        return self._headline.text()

    @property
    def summary(self) -> str:
        """What stands beside the sentence."""
        return self._summary.text()

    def show_figure(self, figure: RunFigure) -> None:
        """Draw a figure."""
        self._headline.set_text(figure.headline)
        self._summary.set_text(figure.summary)
        weights = {"applied": figure.right, "error": figure.wrong, "skipped": figure.unknown}
        words = tr("{right} right, {wrong} wrong", right=figure.right, wrong=figure.wrong)
        self._bar.show_weights({name: float(n) for name, n in weights.items()}, words)

    def show_words(self, headline: str, summary: str) -> None:
        """Say what is there before the first figure."""
        self._headline.set_text(headline)
        self._summary.set_text(summary)
        self._bar.show_weights({}, headline)
