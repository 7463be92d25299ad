"""A window of a plane that is too large to be kept: a table asks for the part that is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.progress import SILENT, Monitor, Progress
from ruda.session.pages.planes import OTHERS, PlaneChoice
from ruda.store import blocks

if TYPE_CHECKING:
    from ruda.store import TensorSnapshot

Array = np.ndarray[Any, Any]

ROWS = 256
COLUMNS = 64
"""Size of a window."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaneWindow:
    """Values of a plane from ``row`` and ``column`` on, in the carrier, (rows, columns)."""

    row: int
    column: int
    values: Array

    @staticmethod
    def place(row: int, column: int) -> tuple[int, int]:
        """Which window holds a cell, counted from the top left: (down, across)."""
        return row // ROWS, column // COLUMNS


def plane_size(shape: tuple[int, ...], choice: PlaneChoice) -> tuple[int, int]:
    """Rows and columns of a plane as a table shows it; a vector is read downwards."""
    if len(shape) < 2:
        return math.prod(shape), 1
    if choice.columns == OTHERS:
        return shape[0], math.prod(shape[1:])
    return shape[choice.rows], shape[choice.columns]


def plane_window(
    snapshot: TensorSnapshot,
    choice: PlaneChoice,
    row: int,
    column: int,
    *,
    monitor: Monitor = SILENT,
) -> PlaneWindow:
    """The values of a plane in the window that holds a cell.

    The tensor is read in runs up to the last value of the window, and nothing of it is kept.
    Raises the StoreError of the file, Cancelled; ValueError for a cell outside of the plane.
    """
    shape = tuple(snapshot.shape)
    size = plane_size(shape, choice)
    if not (0 <= row < size[0] and 0 <= column < size[1]):
        raise ValueError(f"a plane of {size[0]} x {size[1]} has no cell ({row}, {column})")
    top, left = row // ROWS * ROWS, column // COLUMNS * COLUMNS
    flat = _places(shape, choice, size, top, left)
    order = np.argsort(flat, axis=None)
    wanted = flat.reshape(-1)[order]
    found = np.zeros(wanted.size, dtype=snapshot.dtype.carrier)
    done = 0
    for piece in blocks(snapshot):
        monitor.check()
        first, last = np.searchsorted(wanted, (done, done + piece.size))
        found[order[first:last]] = piece[wanted[first:last] - done]
        done += piece.size
        monitor.report(Progress(done, int(wanted[-1]) + 1, "values"))
        if done > wanted[-1]:
            break
    return PlaneWindow(top, left, found.reshape(flat.shape))


def _places(
    shape: tuple[int, ...], choice: PlaneChoice, size: tuple[int, int], top: int, left: int
) -> Array:
    """Where each value of the window stands in the tensor, counted in its order."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    down = np.arange(top, min(size[0], top + ROWS), dtype=np.int64)
    across = np.arange(left, min(size[1], left + COLUMNS), dtype=np.int64)
    if len(shape) < 2 or choice.columns == OTHERS:
        return down[:, None] * size[1] + across[None, :]
    base = sum(
        index * stride
        for axis, (index, stride) in enumerate(zip(choice.fixed, strides, strict=True))
        if axis not in (choice.rows, choice.columns)
    )
    rows, columns = strides[choice.rows], strides[choice.columns]
    return base + down[:, None] * rows + across[None, :] * columns
