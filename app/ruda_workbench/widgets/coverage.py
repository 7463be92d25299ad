"""The coverage card: the one figure that matters, its facts, and the stacked bar."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from ruda.session import DiffPage
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.bars import StackedBar
from ruda_workbench.widgets.labels import ElidedLabel


class CoverageCard(QFrame):
    """Draws headline, summary and segments of a ``DiffPage``."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("coverage")
        self.setProperty("surface", "card")
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M - 2)
        row = QHBoxLayout()
        self._headline = ElidedLabel(font=text_font(bold=True))
        self._headline.setObjectName("coverage.headline")
        self._summary = ElidedLabel(ink="dim")
        self._summary.setObjectName("coverage.summary")
        row.addWidget(self._headline)
        row.addStretch(1)
        row.addWidget(self._summary)
        column.addLayout(row)
        self._bar = StackedBar()
        column.addWidget(self._bar)

    @property
    def headline(self) -> str:
        """The figure that is shown."""
        return self._headline.text()

    def show_page(self, page: DiffPage) -> None:
        """Draw another page."""
        self._headline.set_text(page.headline)
        self._summary.set_text(page.summary)
        weights = {segment.status.value: float(segment.params) for segment in page.segments}
        self._bar.show_weights(weights, page.headline)
