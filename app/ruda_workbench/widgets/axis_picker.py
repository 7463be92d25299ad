"""Which plane of a tensor is shown: an axis down, one across, and a slider for every other."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSlider, QVBoxLayout, QWidget

from ruda.session import OTHERS, PlaneChoice, tr
from ruda_workbench.theme import mono_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import Picker
from ruda_workbench.widgets.labels import label

ASK_AFTER = 120
"""Milliseconds that a slider rests before its plane is asked for."""


class AxisPicker(QWidget):
    """Edits a ``PlaneChoice``; ``chosen`` carries the one that a person made.

    ``beside`` puts the sliders into the row of the pickers, where height is scarce.
    """

    chosen = Signal(object)

    def __init__(self, name: str, *, beside: bool = False) -> None:
        super().__init__()
        self._name = name
        self._beside = beside
        self._shape: tuple[int, ...] = ()
        self._choice = PlaneChoice(0, OTHERS)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(ASK_AFTER)
        self._timer.timeout.connect(self._tell)
        self.rows = Picker(f"{name}.rows", tr("Axis down"))
        self.columns = Picker(f"{name}.columns", tr("Axis across"))
        self.rows.picked.connect(self._rows_picked)
        self.columns.picked.connect(self._columns_picked)
        self.sliders: dict[int, QSlider] = {}
        self._slider_texts: dict[int, QLabel] = {}
        self._build()

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(Space.XS)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        for text, picker in ((tr("down"), self.rows), (tr("across"), self.columns)):
            row.addWidget(label(text, role="dim"))
            row.addWidget(picker)
        self._slider_grid = QGridLayout()
        self._slider_grid.setSpacing(Space.XS)
        outer.addLayout(row)
        if self._beside:
            row.addSpacing(Space.S)
            row.addLayout(self._slider_grid, 1)
            self._slider_grid.setHorizontalSpacing(Space.S)
        else:
            row.addStretch(1)
            outer.addLayout(self._slider_grid)

    @property
    def choice(self) -> PlaneChoice:
        """The plane that is chosen."""
        return self._choice

    def show_choice(self, choice: PlaneChoice, shape: tuple[int, ...]) -> None:
        """Show a plane of a tensor of this shape, without telling anyone; nothing for a vector."""
        self._timer.stop()
        self._choice, self._shape = choice, shape
        self.setVisible(len(shape) > 1)
        self._show()

    def choose(self, rows: int, columns: int, fixed: tuple[int, ...]) -> None:
        """Choose a plane, and tell of it."""
        self._choice = PlaneChoice(rows, columns, fixed)
        self._show()
        self._tell()

    def _show(self) -> None:
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
            for place, axis in enumerate(axes):
                self._add_slider(place, axis)
        for axis, slider in self.sliders.items():
            slider.blockSignals(True)
            slider.setRange(0, max(0, self._shape[axis] - 1))
            slider.setValue(self._choice.fixed[axis])
            slider.blockSignals(False)
            self._slider_texts[axis].setText(f"{self._choice.fixed[axis]} / {self._shape[axis]}")

    def _add_slider(self, place: int, axis: int) -> None:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setObjectName(f"{self._name}.axis.{axis}")
        slider.setAccessibleName(tr("Index of axis {axis}", axis=axis))
        slider.valueChanged.connect(self._slid)
        self.sliders[axis] = slider
        self._slider_texts[axis] = label(role="dim", font=mono_font(11))
        row, column = (0, 4 * place) if self._beside else (place, 0)
        if column:
            self._slider_grid.setColumnMinimumWidth(column - 1, Space.S)
        self._slider_grid.addWidget(label(str(axis), role="dim"), row, column)
        self._slider_grid.addWidget(slider, row, column + 1)
        self._slider_grid.addWidget(self._slider_texts[axis], row, column + 2)

    def _rows_picked(self, value: str) -> None:
        rows, columns = int(value), self._choice.columns
        if rows == columns:
            columns = self._choice.rows
        elif columns == OTHERS and rows != 0:
            columns = 0
        self.choose(rows, columns, self._choice.fixed)

    def _columns_picked(self, value: str) -> None:
        self.choose(self._choice.rows, int(value), self._choice.fixed)

    def _slid(self, _value: int) -> None:
        fixed = list(self._choice.fixed)
        for axis, slider in self.sliders.items():
            fixed[axis] = slider.value()
            self._slider_texts[axis].setText(f"{slider.value()} / {self._shape[axis]}")
        self._choice = PlaneChoice(self._choice.rows, self._choice.columns, tuple(fixed))
        self._timer.start()

    def _tell(self) -> None:
        self._timer.stop()
        self.chosen.emit(self._choice)
