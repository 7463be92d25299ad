"""A plane of a tensor, chosen by two axes, in one pass through its values: map, norms, findings.

The values come in runs and are never in memory at once; only a plane up to ``KEPT_VALUES`` is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import DTypeError
from ruda.progress import SILENT, Monitor, Progress
from ruda.session.language import tr
from ruda.session.pages.inspector import GRID_COLUMNS, GRID_ROWS, ValuesPage
from ruda.session.wording import count_text
from ruda.store import blocks

if TYPE_CHECKING:
    from ruda.store import TensorSnapshot

Array = np.ndarray[Any, Any]

KEPT_VALUES = 2_000_000
"""Values of a plane up to which it is kept for the table."""
PLACES = 100
"""Positions of values that are not finite which are remembered."""
OTHERS = -1
"""As columns: all axes but the rows', one after the other."""


@dataclass(frozen=True, slots=True)
class PlaneChoice:
    """The axes down and across, and the index of every other axis (those of the two are unused)."""

    rows: int
    columns: int
    fixed: tuple[int, ...] = ()

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> PlaneChoice:
        """What is shown first: axis 0 down, all others across."""
        return cls(0, OTHERS if len(shape) != 2 else 1, (0,) * len(shape))


@dataclass(frozen=True, slots=True, eq=False)
class PlanePage:
    """A plane as a heat map, and what is known of the whole tensor along its axes.

    ``row_norms`` and ``column_norms`` are f64, the root of the sum of squares of all finite values
    of the tensor at each index of that axis. ``plane`` is the plane's values in the carrier, of
    shape (rows, columns); None where it is too large to be kept. ``places`` are the first
    positions in the tensor that hold a NaN or an infinity.
    """

    choice: PlaneChoice
    values: ValuesPage
    plane: Array | None
    row_norms: Array
    column_norms: Array
    nonfinite: int
    places: tuple[tuple[int, ...], ...]


def plane_page(
    snapshot: TensorSnapshot, choice: PlaneChoice | None = None, *, monitor: Monitor = SILENT
) -> PlanePage:
    """Read a tensor once, in runs, and make the page of a plane.

    Raises DTypeError for dtypes without an order, ValueError for axes that it does not have, the
    StoreError of the file, Cancelled.
    """
    if not snapshot.dtype.is_ordered:
        raise DTypeError(f"{snapshot.dtype} has no values that a heat map could show")
    shape = tuple(snapshot.shape)
    chosen = PlaneChoice.of(shape) if choice is None else choice
    work = PlaneWork(seen_as(shape, chosen), chosen, snapshot.dtype.carrier)
    done = 0
    for piece in blocks(snapshot):
        monitor.check()
        work.take(piece, done)
        done += piece.size
        monitor.report(Progress(done, snapshot.numel, "values"))
    return work.page(shape)


def seen_as(shape: tuple[int, ...], choice: PlaneChoice) -> tuple[int, ...]:
    """The shape with axes that lie across together as one; a vector lies across, in one row."""
    if choice.columns == OTHERS:
        if choice.rows != 0:
            raise ValueError("all other axes lie across only where axis 0 lies down")
        if len(shape) < 2:
            return (1, math.prod(shape))
        return (shape[0], math.prod(shape[1:]))
    if len({choice.rows, choice.columns} & set(range(len(shape)))) != 2:
        raise ValueError(f"a plane needs two axes of {list(shape)}, got {choice}")
    return shape


class PlaneWork:
    """Takes the runs of a tensor in order and makes its page.

    ``shape`` is that of ``seen_as``, ``carrier`` the dtype that a plane is kept in. ``last`` is
    its innermost axis.
    """

    def __init__(self, shape: tuple[int, ...], choice: PlaneChoice, carrier: np.dtype[Any]) -> None:
        self._shape = shape
        self._last = shape[-1]
        self._choice = choice
        whole = choice.columns == OTHERS
        self._axes = (0, 1) if whole else (choice.rows, choice.columns)
        self._fixed = (0,) * len(shape) if whole else choice.fixed
        size = tuple(shape[axis] for axis in self._axes)
        self._size = (size[0], size[1])
        cells = (min(size[0], GRID_ROWS), min(size[1], GRID_COLUMNS))
        self._high = np.zeros(cells)
        self._low = np.zeros(cells)
        self._bad = np.zeros(cells, dtype=bool)
        self._squares = [np.zeros(n) for n in shape]
        self._plane = np.zeros(size, dtype=carrier) if math.prod(size) <= KEPT_VALUES else None
        self._nonfinite = 0
        self._places: list[tuple[int, ...]] = []

    def take(self, piece: Array, start: int) -> None:
        """The next run of values, which begins at this flat position."""
        at = 0
        for count, width in _parts(start, piece.size, self._last):
            block = piece[at : at + count * width].reshape(count, width)
            self._take_rows(block, (start + at) // self._last, (start + at) % self._last)
            at += count * width

    def _take_rows(self, block: Array, first: int, column: int) -> None:
        """Whole rows of the innermost axis, or a part of one that begins at ``column``."""
        count, width = block.shape
        lines = np.arange(first, first + count)
        outer = np.unravel_index(lines, self._shape[:-1]) if len(self._shape) > 1 else ()
        values = block.astype(np.float64)
        good = np.isfinite(values)
        if not good.all():
            self._note(~good, outer, column)
            values = np.where(good, values, 0.0)
        with np.errstate(over="ignore"):
            squares = values * values
        self._squares[-1][column : column + width] += squares.sum(axis=0)
        along = squares.sum(axis=1)
        for axis, indices in enumerate(outer):
            self._squares[axis] += np.bincount(indices, along, self._shape[axis])
        self._take_plane(block, values, ~good, outer, column)

    def _note(self, bad: Array, outer: tuple[Array, ...], column: int) -> None:
        self._nonfinite += int(bad.sum())
        for line, at in np.argwhere(bad)[: PLACES - len(self._places)].tolist():
            self._places.append((*(int(axis[line]) for axis in outer), column + at))

    def _take_plane(
        self, block: Array, values: Array, bad: Array, outer: tuple[Array, ...], column: int
    ) -> None:
        """Those of the rows that lie in the plane, reduced to its cells."""
        last = len(self._shape) - 1
        within = np.ones(len(block), dtype=bool)
        for axis, along in enumerate(outer):
            if axis not in self._axes:
                within &= along == self._fixed[axis]
        if last in self._axes:
            down = outer[self._axes[1 - self._axes.index(last)]][within]
            self._put_lines(down, column, block[within], values[within], bad[within])
            return
        at = self._fixed[last] - column
        if 0 <= at < block.shape[1]:
            rows, columns = (outer[axis][within] for axis in self._axes)
            if self._plane is not None:
                self._plane[rows, columns] = block[within, at]
            cells = (self._cells(rows, 0), self._cells(columns, 1))
            self._reduce(cells, values[within, at], values[within, at], bad[within, at])

    def _put_lines(self, down: Array, column: int, block: Array, values: Array, bad: Array) -> None:
        """Lines along the innermost axis: each is reduced to its cells before it is put."""
        if not block.size:
            return
        way = self._axes.index(len(self._shape) - 1)
        if self._plane is not None:
            plane = self._plane if way == 1 else self._plane.T
            plane[down, column : column + block.shape[1]] = block
        across = self._cells(np.arange(column, column + block.shape[1]), way)
        cuts = np.flatnonzero(np.diff(across, prepend=-1))
        high, low = (f.reduceat(values, cuts, axis=1) for f in (np.maximum, np.minimum))
        found = np.logical_or.reduceat(bad, cuts, axis=1)
        pair = np.broadcast_arrays(self._cells(down, 1 - way)[:, None], across[cuts][None, :])
        self._reduce((pair[0], pair[1]) if way == 1 else (pair[1], pair[0]), high, low, found)

    def _cells(self, indices: Array, way: int) -> Array:
        """Cell of each index: cell ``c`` begins at ``c * size // count``."""
        size, count = self._size[way], self._high.shape[way]
        starts = np.arange(count, dtype=np.int64) * size // max(1, count)
        return np.searchsorted(starts, indices, side="right") - 1

    def _reduce(self, cells: tuple[Array, Array], high: Array, low: Array, bad: Array) -> None:
        np.maximum.at(self._high, cells, high)
        np.minimum.at(self._low, cells, low)
        np.logical_or.at(self._bad, cells, bad)

    def page(self, shape: tuple[int, ...]) -> PlanePage:
        """What was found."""
        with np.errstate(over="ignore"):
            grid = np.where(self._high >= -self._low, self._high, self._low).astype(np.float32)
            norms = [np.sqrt(self._squares[axis]) for axis in self._axes]
        exact = grid.shape == self._size
        size = f"{count_text(self._size[0])} × {count_text(self._size[1])}"
        caption = (
            tr("Values, {size}", size=size)
            if exact
            else tr("Values, {size}, largest magnitude per cell", size=size)
        )
        absmax = float(np.abs(grid).max()) if grid.size else 0.0
        return PlanePage(
            choice=self._choice,
            values=ValuesPage(grid, self._bad, absmax, caption, exact),
            plane=self._plane,
            row_norms=norms[0],
            column_norms=norms[1],
            nonfinite=self._nonfinite,
            places=tuple(_place(each, self._shape, shape) for each in self._places),
        )


def _parts(start: int, size: int, width: int) -> Iterator[tuple[int, int]]:
    """A run of ``size`` values as (rows, values a row): a part of a row, whole ones, a part."""
    if not size or not width:
        return
    head = min(size, -start % width)
    if head:
        yield 1, head
    whole = (size - head) // width
    if whole:
        yield whole, width
    rest = size - head - whole * width
    if rest:
        yield 1, rest


def _place(at: tuple[int, ...], seen: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """A position in the shape as it was seen, in the tensor's own."""
    flat = int(np.ravel_multi_index(at, seen))
    return tuple(int(index) for index in np.unravel_index(flat, shape)) if shape else ()
