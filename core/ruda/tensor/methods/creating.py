"""Tensors made from sizes, or like others: counts, masks, grids of places, and windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ruda.errors import SettingError, ShapeError
from ruda.tensor.data import TensorData
from ruda.tensor.distribution import Distribution
from ruda.tensor.dtype import DType
from ruda.tensor.methods.held import Array, Held
from ruda.tensor.operations import signal
from ruda.tensor.operations.operands import dtype_of, recast
from ruda.tensor.promotion import (
    DEFAULT_FLOAT,
    DEFAULT_INT,
    Scalar,
    promote_scalar,
    require_computable,
    require_dtype,
    require_float,
)
from ruda.tensor.sizes import reach, require_room, shape_of, whole


class Creating(Held):
    """Every result is fresh memory."""

    __slots__ = ()

    @classmethod
    def _made(cls, array: Array) -> Self:
        made = object.__new__(cls)
        made._array = array
        return made

    @classmethod
    def arange(cls, start: int, stop: int, step: int = 1, *, dtype: DType = DEFAULT_INT) -> Self:
        """start, start + step, … below stop, or above it for a negative step: (count,).

        Raises SettingError for a step of 0, DTypeError where an end does not fit the dtype.
        """
        ends = [whole("arange", "an end or step", one) for one in (start, stop, step)]
        if not ends[2]:
            raise SettingError("arange: a step of 0 never arrives")
        counted = range(*ends)
        require_dtype("arange", dtype)
        require_room("arange", (max(0, -((ends[0] - ends[1]) // ends[2])),), DType.I64)
        for end in (counted[0], counted[-1]) if counted else ():
            promote_scalar("arange", DType.I64, end)
            promote_scalar("arange", dtype, end)
        made = np.arange(len(counted), dtype=np.int64) * (ends[2] if len(counted) > 1 else 1)
        return cls._made(recast(made + (counted[0] if counted else 0), dtype))

    @classmethod
    def eye(cls, size: int, *, dtype: DType = DEFAULT_FLOAT) -> Self:
        """Ones on the diagonal, zeros beside: (size, size). Raises ShapeError, DTypeError."""
        require_computable("eye", dtype)
        rows, columns = shape_of("eye", (size, size), dtype)
        return cls._made(np.eye(rows, columns, dtype=dtype.numpy))

    def zeros_like(self) -> Self:
        """Zeros of this shape and dtype."""
        return self.full_like(0)

    def ones_like(self) -> Self:
        """Ones of this shape and dtype."""
        return self.full_like(1)

    def full_like(self, value: Scalar) -> Self:
        """One number in this shape and dtype. Raises DTypeError if it does not fit."""
        dtype = dtype_of(self._array)
        return self._made(TensorData.full(self._array.shape, value, dtype).array)

    def random_like(self, distribution: Distribution, *, seed: int) -> Self:
        """Values drawn in this shape and dtype; the same for the same seed and shape."""
        shape, dtype = self._array.shape, dtype_of(self._array)
        return self._made(TensorData.random(shape, distribution, seed=seed, dtype=dtype).array)

    @classmethod
    def triu_mask(cls, shape: Sequence[int], offset: int = 0) -> Self:
        """(…, rows, columns), bool: False on and above the diagonal, which ``offset`` moves up.

        True is what ``mask_fill`` overwrites, as in Burn. Raises ShapeError below rank 2.
        """
        every = _all("triu_mask", shape)
        return cls._made(~np.triu(every, reach("triu_mask", "an offset", offset, every.shape)))

    @classmethod
    def tril_mask(cls, shape: Sequence[int], offset: int = 0) -> Self:
        """(…, rows, columns), bool: False on and below the diagonal, which ``offset`` moves up.

        True is what ``mask_fill`` overwrites, as in Burn: the causal mask of attention. Raises
        ShapeError below rank 2.
        """
        every = _all("tril_mask", shape)
        return cls._made(~np.tril(every, reach("tril_mask", "an offset", offset, every.shape)))

    @classmethod
    def diag_mask(cls, shape: Sequence[int], offset: int = 0) -> Self:
        """(…, rows, columns), bool: False on the diagonal, which ``offset`` moves up, True beside.

        Raises ShapeError below rank 2.
        """
        every = _all("diag_mask", shape)
        far = reach("diag_mask", "an offset", offset, every.shape)
        return cls._made(~(np.triu(every, far) & np.tril(every, far)))

    @classmethod
    def cartesian_grid(cls, shape: Sequence[int]) -> Self:
        """The place of every element of a shape: (*shape, axes), i32.

        Raises ShapeError for a negative size.
        """
        sizes = shape_of("cartesian_grid", shape, DType.I32)
        require_room("cartesian_grid", (*sizes, len(sizes)), DType.I32)
        return cls._made(np.moveaxis(np.indices(sizes, np.int32), 0, -1).copy())

    @classmethod
    def hann_window(cls, size: int, *, periodic: bool = True, dtype: DType = DEFAULT_FLOAT) -> Self:
        """0.5 - 0.5·cos(2πn / N): (size,); N is ``size``, or ``size - 1`` if not periodic.

        Raises SettingError for a negative size, DTypeError unless the dtype is a float.
        """
        return cls._window("hann_window", size, signal.HANN, periodic, dtype)

    @classmethod
    def hamming_window(
        cls, size: int, *, periodic: bool = True, dtype: DType = DEFAULT_FLOAT
    ) -> Self:
        """0.54 - 0.46·cos(2πn / N): (size,); N and errors as for ``hann_window``."""
        return cls._window("hamming_window", size, signal.HAMMING, periodic, dtype)

    @classmethod
    def blackman_window(
        cls, size: int, *, periodic: bool = True, dtype: DType = DEFAULT_FLOAT
    ) -> Self:
        """0.42 - 0.5·cos(2πn / N) + 0.08·cos(4πn / N): (size,); as for ``hann_window``."""
        return cls._window("blackman_window", size, signal.BLACKMAN, periodic, dtype)

    @classmethod
    def _window(
        cls, name: str, size: int, terms: tuple[float, ...], periodic: bool, dtype: DType
    ) -> Self:
        require_float(name, dtype)
        return cls._made(recast(signal.cosine_window(name, size, terms, periodic=periodic), dtype))


def _all(name: str, shape: Sequence[int]) -> Array:
    sizes = shape_of(name, shape, DType.BOOL)
    if len(sizes) < 2:
        raise ShapeError(
            f"{name}: shape {list(sizes)} has no matrices; give rows and columns at the end"
        )
    return np.ones(sizes, np.bool_)
