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
        self._column = QVBoxLayout(self)
        self._row = QHBoxLayout()
        self._row.setSpacing(Space.M)
        self._headline = ElidedLabel(font=text_font(bold=True))
        self._headline.setObjectName("coverage.headline")
        self._summary = ElidedLabel(ink="dim")
        self._summary.setObjectName("coverage.summary")
        self._row.addWidget(self._headline)
        self._row.addStretch(1)
        self._row.addWidget(self._summary)
        self._column.addLayout(self._row)
        self._bar = StackedBar()
        self._bar.setMinimumWidth(80)
        self._low: bool | None = None
        self.set_low(on=False)

    def set_low(self, *, on: bool) -> None:
        """Stand in one line where there is little height, the bar between figure and facts."""
        if on == self._low:
            return
        self._low = on
        above = Space.S if on else Space.M
        self._column.setContentsMargins(Space.L, above, Space.L, above)
        self._column.setSpacing(0 if on else Space.M - 2)
        if on:
            self._column.removeWidget(self._bar)
            self._row.insertWidget(1, self._bar, 1)
        else:
            self._row.removeWidget(self._bar)
            self._column.addWidget(self._bar)
        self._row.setStretch(self._row.count() - 2, 0 if on else 1)

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
