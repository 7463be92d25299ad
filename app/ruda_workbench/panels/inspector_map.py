"""The heat map of the inspector: axes down and across, sliders for others, what is not finite."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from ruda.session import OTHERS, PlaneChoice, PlanePage, count_text, tr
from ruda_workbench.theme import mono_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.axis_picker import AxisPicker
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.plots import HeatMap, diverging_image


class MapTab(QWidget):
    """Draws a ``PlanePage``; ``wanted`` carries the ``PlaneChoice`` that a person made."""

    wanted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._page: PlanePage | None = None
        self._next = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        self.axes = AxisPicker("inspector")
        self.axes.chosen.connect(self._ask)
        self.rows, self.columns = self.axes.rows, self.axes.columns
        column.addWidget(self.axes)
        self.caption = label(role="caption", wrap=True)
        self.map = HeatMap(most_height=640)
        self.map.setObjectName("inspector.heat")
        self.hover = label(role="dim", font=mono_font(11))
        self.map.hovered.connect(self.hover.setText)
        column.addWidget(self.caption)
        column.addWidget(self.map)
        column.addWidget(self.hover)
        column.addWidget(self._nonfinite())
        column.addStretch(1)
        self.show_page(None, ())

    def _nonfinite(self) -> QWidget:
        self._bad_box = QWidget()
        row = QHBoxLayout(self._bad_box)
        row.setContentsMargins(0, 0, 0, 0)
        self.bad = label(role="missing", wrap=True)
        self.next_bad = push_button(tr("Next"), "inspector.next-bad", link=True)
        self.next_bad.setAccessibleName(tr("Next value that is not finite"))
        self.next_bad.clicked.connect(self._go_to_next)
        row.addWidget(self.bad, 1)
        row.addWidget(self.next_bad)
        return self._bad_box

    @property
    def sliders(self) -> dict[int, QSlider]:
        """The sliders of the axes that are neither down nor across."""
        return self.axes.sliders

    @property
    def choice(self) -> PlaneChoice:
        """The plane that is chosen."""
        return self.axes.choice

    def show_page(self, page: PlanePage | None, shape: tuple[int, ...]) -> None:
        """Draw a plane of a tensor of this shape, or nothing."""
        if page is None or self._page is None or page.places != self._page.places:
            self._next = 0
        self._page = page
        self.map.show_page(None if page is None else page.values)
        self.caption.setText("" if page is None else page.values.caption)
        self.axes.setVisible(page is not None and len(shape) > 1)
        self._bad_box.setVisible(page is not None and page.nonfinite > 0)
        if page is None:
            return
        self.axes.show_choice(page.choice, shape)
        self.bad.setText(
            tr("Not finite: {count}, hatched", count=count_text(page.nonfinite)),
        )

    def image(self) -> QImage | None:
        """The map as a picture, a pixel for each cell; None without values."""
        if self._page is None or not self._page.values.grid.size:
            return None
        return diverging_image(self._page.values.grid, self._page.values.absmax)

    def _ask(self, choice: PlaneChoice) -> None:
        if self._page is not None and choice != self._page.choice:
            self.wanted.emit(choice)

    def _go_to_next(self) -> None:
        """Say where the next value stands that is not finite, and show its plane."""
        page = self._page
        if page is None or not page.places:
            return
        place = page.places[self._next % len(page.places)]
        turn = self._next % len(page.places) + 1
        known = tr("{turn} of {count}", turn=turn, count=count_text(page.nonfinite))
        words = f"{list(place)} · {known}"
        self._next += 1
        choice = self.choice
        if choice.columns != OTHERS and len(place) > 2 and place != choice.fixed:
            self.axes.choose(choice.rows, choice.columns, place)
        self.hover.setText(words)
