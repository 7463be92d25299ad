"""The values of one tensor as a grid: axis 0 down, all other axes across."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from ruda.session import number_text

Index = QModelIndex | QPersistentModelIndex

MOST = 100_000
"""Rows and columns that the grid shows of each axis at most."""

_ROOT = QModelIndex()
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
_NO_FLAGS = Qt.ItemFlag.NoItemFlags


class ValuesGridModel(QAbstractTableModel):
    """Draws a plane of values; a number becomes text when it is painted."""

    def __init__(self) -> None:
        super().__init__()
        self._plane: np.ndarray[Any, Any] = np.zeros((0, 0))

    def show_plane(self, plane: np.ndarray[Any, Any] | None) -> None:
        """Draw another plane of shape (rows, columns); None empties the grid."""
        self.beginResetModel()
        self._plane = np.zeros((0, 0)) if plane is None else plane
        self.endResetModel()

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Rows of the plane."""
        return 0 if parent.isValid() else min(MOST, self._plane.shape[0])

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Columns of the plane."""
        return 0 if parent.isValid() else min(MOST, self._plane.shape[1])

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """A value as text, at the right."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            value = self._plane[index.row(), index.column()]
            if self._plane.dtype.kind in "iub":
                return str(value)
            return number_text(float(value))
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
