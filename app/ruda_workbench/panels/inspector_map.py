"""The heat map of the inspector: axes down and across, sliders for others, what is not finite."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSlider, QVBoxLayout, QWidget

from ruda.session import OTHERS, PlaneChoice, PlanePage, count_text, tr
from ruda_workbench.theme import mono_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import Picker, push_button
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.plots import HeatMap, diverging_image

ASK_AFTER = 120
"""Milliseconds that a slider rests before its plane is read."""


class MapTab(QWidget):
    """Draws a ``PlanePage``; ``wanted`` carries the ``PlaneChoice`` that a person made."""

    wanted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._shape: tuple[int, ...] = ()
        self._choice = PlaneChoice(0, OTHERS)
        self._page: PlanePage | None = None
        self._next = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(ASK_AFTER)
        self._timer.timeout.connect(self._ask)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        column.addWidget(self._axes())
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

    def _axes(self) -> QWidget:
        self._axes_box = QWidget()
        column = QVBoxLayout(self._axes_box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.XS)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.rows = Picker("inspector.rows", tr("Axis down"))
        self.columns = Picker("inspector.columns", tr("Axis across"))
        self.rows.picked.connect(self._rows_picked)
        self.columns.picked.connect(self._columns_picked)
        for text, picker in ((tr("down"), self.rows), (tr("across"), self.columns)):
            row.addWidget(label(text, role="dim"))
            row.addWidget(picker)
        row.addStretch(1)
        column.addLayout(row)
        self._slider_grid = QGridLayout()
        self._slider_grid.setSpacing(Space.XS)
        column.addLayout(self._slider_grid)
        self.sliders: dict[int, QSlider] = {}
        self._slider_texts: dict[int, QLabel] = {}
        return self._axes_box

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
    def choice(self) -> PlaneChoice:
        """The plane that is chosen."""
        return self._choice

    def show_page(self, page: PlanePage | None, shape: tuple[int, ...]) -> None:
        """Draw a plane of a tensor of this shape, or nothing."""
        if page is None or self._page is None or page.places != self._page.places:
            self._next = 0
        self._page = page
        self._shape = shape
        self.map.show_page(None if page is None else page.values)
        self.caption.setText("" if page is None else page.values.caption)
        self._axes_box.setVisible(page is not None and len(shape) > 1)
        self._bad_box.setVisible(page is not None and page.nonfinite > 0)
        if page is None:
            return
        self._timer.stop()
        self._choice = page.choice
        self.bad.setText(
            tr("Not finite: {count}, hatched", count=count_text(page.nonfinite)),
        )
        self._show_axes()

    def image(self) -> QImage | None:
        """The map as a picture, a pixel for each cell; None without values."""
        if self._page is None or not self._page.values.grid.size:
            return None
        return diverging_image(self._page.values.grid, self._page.values.absmax)

    def _show_axes(self) -> None:
        if len(self._shape) < 2:
            return
        choice = self._choice
        axes = [(str(axis), f"{axis}  ({size})") for axis, size in enumerate(self._shape)]
        self.rows.offer(axes, str(choice.rows))
        self.rows.show_value(str(choice.rows), str(choice.rows))
        others = [(str(OTHERS), tr("all others"))] if choice.rows == 0 else []
        free = [each for each in axes if each[0] != str(choice.rows)]
        self.columns.offer([*others, *free], str(choice.columns))
        if choice.columns != OTHERS:
            self.columns.show_value(str(choice.columns), str(choice.columns))
        whole = choice.columns == OTHERS
        shown = () if whole else set(range(len(self._shape))) - {choice.rows, choice.columns}
        self._make_sliders(sorted(shown))

    def _make_sliders(self, axes: list[int]) -> None:
        if axes != [*self.sliders]:
            while self._slider_grid.count():
                item = self._slider_grid.takeAt(0)
                widget = None if item is None else item.widget()
                if widget is not None:
                    widget.hide()
                    widget.deleteLater()
            self.sliders, self._slider_texts = {}, {}
            for row, axis in enumerate(axes):
                slider = QSlider(Qt.Orientation.Horizontal)
                slider.setObjectName(f"inspector.axis.{axis}")
                slider.setAccessibleName(tr("Index of axis {axis}", axis=axis))
                slider.valueChanged.connect(self._slid)
                self.sliders[axis] = slider
                self._slider_texts[axis] = label(role="dim", font=mono_font(11))
                self._slider_grid.addWidget(label(str(axis), role="dim"), row, 0)
                self._slider_grid.addWidget(slider, row, 1)
                self._slider_grid.addWidget(self._slider_texts[axis], row, 2)
        for axis, slider in self.sliders.items():
            slider.blockSignals(True)
            slider.setRange(0, max(0, self._shape[axis] - 1))
            slider.setValue(self._choice.fixed[axis])
            slider.blockSignals(False)
            self._slider_texts[axis].setText(f"{self._choice.fixed[axis]} / {self._shape[axis]}")

    def _choose(self, rows: int, columns: int, fixed: tuple[int, ...]) -> None:
        self._choice = PlaneChoice(rows, columns, fixed)
        self._show_axes()
        self._ask()

    def _rows_picked(self, value: str) -> None:
        rows, columns = int(value), self._choice.columns
        if rows == columns:
            columns = self._choice.rows
        elif columns == OTHERS and rows != 0:
            columns = 0
        self._choose(rows, columns, self._choice.fixed)

    def _columns_picked(self, value: str) -> None:
        self._choose(self._choice.rows, int(value), self._choice.fixed)

    def _slid(self, _value: int) -> None:
        fixed = list(self._choice.fixed)
        for axis, slider in self.sliders.items():
            fixed[axis] = slider.value()
            self._slider_texts[axis].setText(f"{slider.value()} / {self._shape[axis]}")
        self._choice = PlaneChoice(self._choice.rows, self._choice.columns, tuple(fixed))
        self._timer.start()

    def _ask(self) -> None:
        self._timer.stop()
        if self._page is not None and self._choice != self._page.choice:
            self.wanted.emit(self._choice)

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
        if self._choice.columns != OTHERS and len(place) > 2 and place != self._choice.fixed:
            self._choose(self._choice.rows, self._choice.columns, place)
        self.hover.setText(words)
