"""Reading sparse PyTorch tensors in their dense form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.errors import OffsetError
from ruda.store.formats._torch_rebuild import SparseRef
from ruda.store.formats._torch_source import ViewSource

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class SparseSource:
    """Reads the places and the values, and puts them into zeros; values of one place are added."""

    ref: SparseRef
    rows: ViewSource
    columns: ViewSource | None
    values: ViewSource

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs."""
        parts = (self.rows, self.values) + (() if self.columns is None else (self.columns,))
        return self.ref.nbytes + 2 * sum(part.peak_bytes for part in parts)

    def read(self) -> Array:
        """All values, dense. Raises OffsetError for a place outside the shape."""
        values = self.values.read()
        places = self._places(len(values) if values.ndim else 0)
        shape = self.ref.shape
        for axis, place in enumerate(places):
            if place.size and not (place.min() >= 0 and place.max() < shape[axis]):
                raise OffsetError(f"a sparse tensor has a value outside its shape {list(shape)}")
        dense = np.zeros(shape, values.dtype)
        if values.shape[1:] != shape[len(places) :]:
            raise OffsetError("the values of a sparse tensor do not fit its shape")
        np.add.at(dense, tuple(places), values)
        return dense

    def _places(self, count: int) -> tuple[Array, ...]:
        rows = self.rows.read()
        if self.columns is None:
            if rows.ndim != 2 or rows.shape[1] != count or rows.shape[0] > len(self.ref.shape):
                raise OffsetError("the places of a sparse tensor do not fit its values")
            return tuple(rows)
        columns = self.columns.read()
        lengths = np.diff(rows)
        lines = self.ref.shape[0 if self.ref.layout.endswith("csr") else 1 :][:1]
        fits = len(self.ref.shape) == 2 and rows.ndim == 1 and columns.shape == (count,)
        if not fits or lengths.size != lines[0] or rows[0] != 0 or (lengths < 0).any():
            raise OffsetError("the lines of a sparse tensor do not fit its shape")
        if int(rows[-1]) != count:
            raise OffsetError("the places of a sparse tensor do not fit its values")
        spread = np.repeat(np.arange(lengths.size), lengths)
        return (spread, columns) if self.ref.layout.endswith("csr") else (columns, spread)
