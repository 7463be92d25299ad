"""Values of ONNX tensors that are not one after the other: numbers of 2 and 4 bits, sparse ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.errors import HeaderError
from ruda.store.snapshot import TensorSnapshot, TensorSource
from ruda.store.uri import Place
from ruda.tensor import DType

Array = np.ndarray[Any, Any]

PACKED_INTS: dict[int, tuple[DType, int]] = {
    21: (DType.U8, 4),
    22: (DType.I8, 4),
    25: (DType.U8, 2),
    26: (DType.I8, 2),
}
"""Types of whole numbers below 8 bits: the dtype that holds them all, and their bits."""
DENSE_LIMIT = 1 << 30
"""Most bytes that a sparse tensor is filled to; it can claim any size in a few bytes."""


@dataclass(frozen=True, slots=True)
class SmallInts:
    """Whole numbers of 2 or 4 bits, one per value of 8 bits; the first lies in the low bits."""

    packed: TensorSource
    bits: int
    dtype: DType
    shape: tuple[int, ...]

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs."""
        return 3 * math.prod(self.shape) + 16

    def read(self) -> Array:
        """All values in u8 or i8; copies."""
        raw = self.packed.read().reshape(-1, 1)
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        parts = (raw >> shifts & np.uint8((1 << self.bits) - 1)).reshape(-1)
        if self.dtype is DType.I8:
            sign = np.uint8(1 << self.bits - 1)
            parts = (parts ^ sign) - sign  # two's complement of few bits, to a whole byte
        count = math.prod(self.shape)
        return parts[:count].view(self.dtype.carrier).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class FilledSource:
    """A sparse tensor with zeros where it says nothing."""

    values: TensorSnapshot
    places: TensorSnapshot
    """Of every value: one number, or one for each axis."""
    shape: tuple[int, ...]
    path: Place

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs: all values, those that are stored and their places."""
        dense = math.prod(self.shape) * self.values.dtype.itemsize
        return dense + self.values.nbytes + 3 * self.places.nbytes

    def read(self) -> Array:
        """All values in the carrier dtype.

        Raises HeaderError if a place is outside of the shape, or there twice.
        """
        places = self.places.read()
        by_axes = places.ndim == 2
        sizes = np.array(self.shape if by_axes else (math.prod(self.shape),), np.int64)
        table = places if by_axes else places[:, None]
        if ((table < 0) | (table >= sizes)).any():
            raise self._wrong(f"has values outside of its shape {list(self.shape)}")
        flat = np.ravel_multi_index(tuple(table.T), self.shape) if by_axes else places
        if np.unique(flat).size != flat.size:
            raise self._wrong("has two values at one place")
        out = np.zeros(math.prod(self.shape), self.values.dtype.carrier)
        out[flat] = self.values.read()
        return out.reshape(self.shape)

    def _wrong(self, why: str) -> HeaderError:
        return HeaderError(f"the sparse tensor {self.values.key!r} {why}", path=self.path)
