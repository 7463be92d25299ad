"""Chips at the left, a switch and a filter at the right; these in a line of their own if narrow."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ruda_workbench.tokens import Space


class ChipBar(QWidget):
    """Arranges widgets that belong to a table in one line or in two."""

    def __init__(self, chips: Sequence[QWidget], switch: QWidget, field: QWidget) -> None:
        super().__init__()
        self._narrow = False
        self._switch, self._field = switch, field
        self._column = column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        self._upper, self._lower = QHBoxLayout(), QHBoxLayout()
        for row in (self._upper, self._lower):
            row.setSpacing(Space.S - 2)
            column.addLayout(row)
        for chip in chips:
            self._upper.addWidget(chip)
        self._upper.addStretch(1)
        self._upper.addWidget(switch)
        self._upper.addSpacing(Space.M)
        self._upper.addWidget(field, 2)

    @property
    def wide(self) -> int:
        """Width that everything needs in one line."""
        rows = (self._upper.minimumSize(), self._lower.minimumSize())
        return rows[0].width() + rows[1].width()

    def set_narrow(self, *, on: bool) -> None:
        """Stand in two lines, or in one."""
        if on == self._narrow:
            return
        self._narrow = on
        source, target = (self._upper, self._lower) if on else (self._lower, self._upper)
        for widget in (self._field, self._switch):
            source.removeWidget(widget)
        if on:
            self._lower.addWidget(self._field, 2)
            self._lower.addStretch(1)
            self._lower.addWidget(self._switch)
        else:
            self._lower.takeAt(0)
            at = self._upper.count() - 1
            target.insertWidget(at, self._switch)
            target.addWidget(self._field, 2)

    def minimumSizeHint(self) -> QSize:
        """The chips in one line; the rest may go under them."""
        least = self._upper.minimumSize()
        if not self._narrow:
            rest = self._switch.minimumSizeHint().width() + self._field.minimumSizeHint().width()
            least.setWidth(max(0, least.width() - rest - Space.M))
        return QSize(least.width(), self._column.minimumSize().height())
