"""The values of one plane as a grid; of a large one, the windows that are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)

from ruda.session import PlaneWindow, number_text

KEPT = 24
"""Windows of a large plane that are remembered."""
Index = QModelIndex | QPersistentModelIndex

MOST = 100_000
"""Rows and columns that the grid shows of each axis at most."""

_ROOT = QModelIndex()
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
_NO_FLAGS = Qt.ItemFlag.NoItemFlags


class ValuesGridModel(QAbstractTableModel):
    """Draws a plane of values; a number becomes text when it is painted."""

    wanted = Signal(int, int)
    """Row and column of a value that is looked at and not there yet."""

    def __init__(self) -> None:
        super().__init__()
        self._plane: np.ndarray[Any, Any] | None = None
        self._size = (0, 0)
        self._windows: dict[tuple[int, int], PlaneWindow] = {}
        self._missed: tuple[int, int] | None = None
        self._ask = QTimer(self)
        self._ask.setSingleShot(True)
        self._ask.setInterval(0)  # not from within a painting
        self._ask.timeout.connect(self._tell)

    def show_plane(self, plane: np.ndarray[Any, Any] | None) -> None:
        """Draw another plane of shape (rows, columns); None empties the grid."""
        self._show(plane, (0, 0) if plane is None else (plane.shape[0], plane.shape[1]))

    def show_large(self, size: tuple[int, int]) -> None:
        """Draw a plane of these rows and columns, whose windows come when they are looked at."""
        self._show(None, size)

    def _show(self, plane: np.ndarray[Any, Any] | None, size: tuple[int, int]) -> None:
        self.beginResetModel()
        self._plane, self._size = plane, size
        self._windows, self._missed = {}, None
        self.endResetModel()

    def add_window(self, window: PlaneWindow) -> None:
        """Take values that were asked for."""
        self._windows[window.place(window.row, window.column)] = window
        while len(self._windows) > KEPT:
            self._windows.pop(next(iter(self._windows)))
        rows, columns = window.values.shape
        last = self.index(window.row + rows - 1, window.column + columns - 1)
        self.dataChanged.emit(self.index(window.row, window.column), last)

    def _tell(self) -> None:
        if self._missed is not None:
            self.wanted.emit(*self._missed)

    def _value(self, row: int, column: int) -> Any | None:
        if self._plane is not None:
            return self._plane[row, column]
        window = self._windows.get(PlaneWindow.place(row, column))
        if window is None:
            self._missed = (row, column)
            self._ask.start()
            return None
        return window.values[row - window.row, column - window.column]

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Rows of the plane."""
        return 0 if parent.isValid() else min(MOST, self._size[0])

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Columns of the plane."""
        return 0 if parent.isValid() else min(MOST, self._size[1])

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """A value as text, at the right."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            value = self._value(index.row(), index.column())
            if value is None:
                return "…"
            return str(value) if value.dtype.kind in "iub" else number_text(float(value))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        """Positions along the axes, from 0."""
        if role == Qt.ItemDataRole.DisplayRole:
            return str(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Values can be selected."""
        return _FLAGS if index.isValid() else _NO_FLAGS
