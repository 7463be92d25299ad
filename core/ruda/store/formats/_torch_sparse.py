"""Reading sparse PyTorch tensors in their dense form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.errors import OffsetError
from ruda.store.format import located
from ruda.store.formats._torch_refs import SparseRef
from ruda.store.formats._torch_source import ViewSource
from ruda.store.uri import Place

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class SparseSource:
    """Reads the places and the values, and puts them into zeros; values of one place are added."""

    ref: SparseRef
    rows: ViewSource
    columns: ViewSource | None
    values: ViewSource
    path: Place

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs."""
        parts = (self.rows, self.values) + (() if self.columns is None else (self.columns,))
        return self.ref.nbytes + 2 * sum(part.peak_bytes for part in parts)

    def read(self) -> Array:
        """All values, dense. Raises OffsetError for a place outside the shape."""
        with located(self.path):
            rows, values = self.rows.read(), self.values.read()
            if self.columns is None:
                return self._coordinates(rows, values)
            return self._compressed(rows, self.columns.read(), values)

    def _coordinates(self, places: Array, values: Array) -> Array:
        shape = self.ref.shape
        if places.ndim != 2 or places.shape[0] > len(shape) or not values.ndim:
            raise OffsetError("the places of a sparse tensor do not fit its values")
        if values.shape != (places.shape[1], *shape[places.shape[0] :]):
            raise OffsetError("the values of a sparse tensor do not fit its shape")
        dense = np.zeros(shape, values.dtype)
        _add(dense, tuple(places), values, shape)
        return dense

    def _compressed(self, lines: Array, places: Array, values: Array) -> Array:
        """CSR, CSC, BSR and BSC, of one matrix or of many with axes in front.

        The values are (*batch, stored) of numbers, or of blocks, or of more dense axes.
        """
        by_column = self.ref.layout.endswith("c")
        shape, batch = self.ref.shape, lines.ndim - 1
        block = values.shape[batch + 1 : batch + 3] if ".sparse_b" in self.ref.layout else (1, 1)
        if lines.ndim < 1 or len(shape) < batch + 2 or len(block) != 2 or 0 in block:
            raise OffsetError("the lines of a sparse tensor do not fit its shape")
        grid = tuple(shape[batch + axis] // block[axis] for axis in (0, 1))
        blocks = (*block, *shape[batch + 2 :])
        shown = blocks if ".sparse_b" in self.ref.layout else blocks[2:]
        stored = places.shape[batch:]
        if (
            lines.shape != (*shape[:batch], grid[by_column] + 1)
            or places.shape[:batch] != shape[:batch]
            or len(stored) != 1
            or values.shape != (*shape[:batch], *stored, *shown)
            or any(shape[batch + axis] % block[axis] for axis in (0, 1))
        ):
            raise OffsetError("the lines of a sparse tensor do not fit its shape")
        count, many = stored[0], math.prod(shape[:batch])
        dense = np.zeros((many, *grid, *blocks), values.dtype)
        flat = lines.reshape(many, -1), places.reshape(many, -1), values.reshape(many, -1, *blocks)
        for each, starts, others, parts in zip(dense, *flat, strict=True):
            spread = _spread(starts, count)
            pair = (others, spread) if by_column else (spread, others)
            _add(each, pair, parts, grid)
        return np.ascontiguousarray(np.swapaxes(dense, 2, 3)).reshape(shape)


def _spread(starts: Array, count: int) -> Array:
    """The line of every stored value."""
    lengths = np.diff(starts)
    if starts[0] != 0 or (lengths < 0).any() or int(starts[-1]) != count:
        raise OffsetError("the places of a sparse tensor do not fit its values")
    return np.repeat(np.arange(lengths.size), lengths)


def _add(dense: Array, places: tuple[Array, ...], values: Array, shape: tuple[int, ...]) -> None:
    """Add values at places, after proving that these lie inside."""
    for axis, place in enumerate(places):
        if place.size and not (place.min() >= 0 and place.max() < shape[axis]):
            raise OffsetError(f"a sparse tensor has a value outside its shape {list(shape)}")
    if places:
        np.add.at(dense, places, values)
    else:  # no sparse axes: every stored value is one of the whole tensor
        for value in values:
            np.add(dense, value, out=dense)
