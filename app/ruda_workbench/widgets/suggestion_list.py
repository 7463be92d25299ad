"""The suggestions under a load diff: the first ones, and all of them on demand, in place."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from ruda.session import SuggestLine, tr
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.scrolled import scrolled
from ruda_workbench.widgets.suggestion_row import MARGIN, SuggestionRow

FEW = 3
"""Suggestions that are shown before all are asked for."""
AT_ONCE = 8
"""Suggestions that are in view at once; the others are scrolled to."""


class SuggestionList(QWidget):
    """Draws ``SuggestLine`` rows; more than a few open in place."""

    preview_asked = Signal(object)
    taken = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[SuggestLine, ...] = ()
        self._is_open = False
        self._body = QWidget()
        self._rows = QVBoxLayout(self._body)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(0)
        self._area = scrolled(self._body, focus=False)
        self.more = push_button("", "rules.suggestions.more", link=True)
        self.more.clicked.connect(self._toggle)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._area)
        foot = QHBoxLayout()
        foot.setContentsMargins(MARGIN - Space.XS, 0, 0, 0)  # the words stand under the marks
        foot.addWidget(self.more)
        foot.addStretch(1)
        column.addLayout(foot)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def rows(self) -> tuple[SuggestionRow, ...]:
        """The rows that can be seen or scrolled to."""
        items = (self._rows.itemAt(place) for place in range(self._rows.count()))
        widgets = (None if item is None else item.widget() for item in items)
        return tuple(widget for widget in widgets if isinstance(widget, SuggestionRow))

    def show_lines(self, lines: tuple[SuggestLine, ...]) -> None:
        """Offer other suggestions, the first few of them."""
        self._lines = lines
        self._is_open = False
        self._draw()

    def _toggle(self) -> None:
        self._is_open = not self._is_open
        self._draw()

    def _draw(self) -> None:
        while self._rows.count():
            item = self._rows.takeAt(0)
            widget = None if item is None else item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        shown = self._lines if self._is_open else self._lines[:FEW]
        for place, line in enumerate(shown):
            row = SuggestionRow(place, line)
            row.preview_asked.connect(self.preview_asked)
            row.taken.connect(self.taken)
            self._rows.addWidget(row)
        rest = len(self._lines) - FEW
        text = tr("Show fewer") if self._is_open else tr("Show {count} more", count=rest)
        self.more.setText(text)
        self.more.setAccessibleName(text)
        self.more.setVisible(rest > 0)
        heights = [row.sizeHint().height() for row in self.rows[:AT_ONCE]]
        self._area.setFixedHeight(sum(heights))
        self.setVisible(bool(self._lines))
        self.updateGeometry()
