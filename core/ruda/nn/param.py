"""Param: one tensor of a model, with its identity; its values are made when first needed."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from ruda.errors import DTypeError, ShapeError
from ruda.nn.init import Fans, Initializer
from ruda.nn.param_id import ParamId
from ruda.tensor import DType, Tensor, TensorData, cast

Array = np.ndarray[Any, Any]

_ids = threading.Lock()


class Param:
    """A tensor that belongs to a module and is stored in files.

    Shape and dtype are known at once; values come from the initialiser on first use, or from
    ``assign``. The shape never changes; the dtype is that of the values last assigned.
    """

    __slots__ = ("_data", "_dtype", "_fans", "_id", "_initializer", "_seed", "shape", "trainable")

    def __init__(
        self,
        shape: tuple[int, ...],
        initializer: Initializer,
        *,
        seed: int,
        fans: Fans | None = None,
        dtype: DType = DType.F32,
        trainable: bool = True,
        param_id: ParamId | None = None,
    ) -> None:
        self.shape = shape
        self.trainable = trainable
        self._initializer = initializer
        self._seed = seed
        self._fans = Fans(1, 1) if fans is None else fans
        self._dtype = dtype
        self._data: TensorData | None = None
        self._id = param_id

    def __repr__(self) -> str:
        state = "" if self.is_initialized else ", lazy"
        return f"Param({self.dtype}, {list(self.shape)}{state})"

    @property
    def id(self) -> ParamId:
        """The stable identity; a fresh one is drawn when first asked for."""
        with _ids:
            if self._id is None:
                self._id = ParamId.random()
            return self._id

    @property
    def known_id(self) -> ParamId | None:
        """The identity if there is one already."""
        return self._id

    @property
    def dtype(self) -> DType:
        """Dtype of the stored values."""
        return self._dtype

    @property
    def numel(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def is_initialized(self) -> bool:
        """True once there are values in memory."""
        return self._data is not None

    def data(self) -> TensorData:
        """The values as stored, without a copy; made by the initialiser if there are none yet."""
        if self._data is None:
            drawn = self._initializer.sample(self.shape, self._fans, seed=self._seed)
            # Two threads that come here at once draw the same values: either may win.
            self._data = TensorData(cast(drawn, DType.F64, self._dtype)[0], self._dtype)
        return self._data

    def value(self) -> Tensor:
        """The values as a tensor, without a copy where the dtype can be computed with."""
        return Tensor.from_data(self.data())

    def assign(self, array: Array, dtype: DType, *, param_id: ParamId | None = None) -> None:
        """Replace the values, keeping their dtype; with ``param_id`` the identity as well.

        Takes the array over: the caller must not write to it afterwards. An array that views
        other memory (a map, a larger buffer) is copied. Raises ShapeError if the shape is not
        this parameter's, DTypeError if the array is not in the carrier of ``dtype``; nothing has
        changed then.
        """
        if dtype.is_raw:
            raise DTypeError(f"a parameter cannot hold {dtype}; cast it to a float first")
        if tuple(array.shape) != self.shape:
            raise ShapeError(f"expected shape {list(self.shape)}, got {list(array.shape)}")
        owned = array.base is None and array.flags.c_contiguous and array.dtype.isnative
        native = array.dtype.newbyteorder("=")
        data = TensorData(array if owned else np.array(array, native, order="C"), dtype)
        self._data, self._dtype = data, dtype
        if param_id is not None:
            self._id = param_id
