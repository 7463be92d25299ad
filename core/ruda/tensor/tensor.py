"""Tensor: values in main memory with Ruda's own dtypes, promotion and errors."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from ruda.errors import DTypeError, ShapeError
from ruda.tensor import operations
from ruda.tensor.data import Nested, TensorData
from ruda.tensor.device import HostDevice
from ruda.tensor.distribution import Distribution
from ruda.tensor.dtype import DType
from ruda.tensor.promotion import DEFAULT_FLOAT, Scalar

Array = np.ndarray[Any, Any]

Index: TypeAlias = int | slice | EllipsisType | None
"""One part of a basic index."""

HOST = HostDevice()

# Tags that are no dtype to compute in: their values live in a tensor as these.
_COMPUTED_AS = {DType.FLEX32: DType.F32, DType.BOOL_U32: DType.BOOL}


class Tensor:
    """An immutable array with a dtype. Operations return new tensors, which may share memory.

    ``flex32`` values are held as f32 and a 32-bit bool as bool; packed and quantized dtypes have
    no tensor, only ``TensorData``. Safe to use from several threads.
    """

    __slots__ = ("_array",)
    __array_ufunc__ = None  # NumPy must not take over ``ndarray + tensor``

    _array: Array

    def __init__(self, array: Array) -> None:
        """Wrap an array without a copy; the caller must not write to it afterwards.

        Foreign byte order is copied into native. Raises DTypeError if the NumPy dtype has no
        Ruda dtype.
        """
        DType.from_numpy(array.dtype)
        native = array.dtype.isnative
        self._array = array if native else array.astype(array.dtype.newbyteorder("="))

    @classmethod
    def from_data(
        cls,
        data: Nested | Array | TensorData,
        device: HostDevice = HOST,
        dtype: DType | None = None,
    ) -> Tensor:
        """A tensor of these values, copied unless they are a TensorData.

        Without ``dtype`` arrays keep theirs; nested floats become f32, integers i32, booleans
        bool. Raises DTypeError if a value does not fit, ShapeError if sequences are ragged.
        """
        wanted = None if dtype is None else _COMPUTED_AS.get(dtype, dtype)
        made = data if isinstance(data, TensorData) else TensorData.of(data, wanted)
        wanted = wanted or _COMPUTED_AS.get(made.dtype, made.dtype)
        if wanted.is_raw:
            raise DTypeError(f"{wanted} has no tensor to compute with; keep it as TensorData")
        return cls(made.try_cast(wanted).array)

    @classmethod
    def zeros(
        cls, shape: Sequence[int], device: HostDevice = HOST, dtype: DType = DEFAULT_FLOAT
    ) -> Tensor:
        """All elements 0."""
        return cls.from_data(TensorData.zeros(shape, dtype), device)

    @classmethod
    def ones(
        cls, shape: Sequence[int], device: HostDevice = HOST, dtype: DType = DEFAULT_FLOAT
    ) -> Tensor:
        """All elements 1."""
        return cls.from_data(TensorData.ones(shape, dtype), device)

    @classmethod
    def full(
        cls,
        shape: Sequence[int],
        value: Scalar,
        device: HostDevice = HOST,
        dtype: DType = DEFAULT_FLOAT,
    ) -> Tensor:
        """All elements ``value``. Raises DTypeError if it does not fit the dtype."""
        return cls.from_data(TensorData.full(shape, value, dtype), device)

    @classmethod
    def random(
        cls,
        shape: Sequence[int],
        distribution: Distribution,
        device: HostDevice = HOST,
        dtype: DType = DEFAULT_FLOAT,
        *,
        seed: int,
    ) -> Tensor:
        """Values drawn from the distribution; the same for the same seed and shape."""
        return cls.from_data(TensorData.random(shape, distribution, seed=seed, dtype=dtype), device)

    @staticmethod
    def cat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
        """Join along an existing axis; dtypes promote."""
        return _wrap(operations.concatenate([t._array for t in tensors], axis))

    @staticmethod
    def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
        """Join tensors of one shape along a new axis; dtypes promote."""
        return _wrap(operations.stack([t._array for t in tensors], axis))

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each axis; () for a scalar."""
        return tuple(self._array.shape)

    def dims(self) -> tuple[int, ...]:
        """The shape, under RUDA's name."""
        return self.shape

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self._array.ndim

    @property
    def numel(self) -> int:
        """Number of elements; 1 for a scalar."""
        return self._array.size

    @property
    def dtype(self) -> DType:
        """Element type."""
        return DType.from_numpy(self._array.dtype)

    @property
    def device(self) -> HostDevice:
        """Where it lives: always the host."""
        return HOST

    def numpy(self) -> Array:
        """A read-only view; bf16 and fp8 come as ml_dtypes arrays."""
        view = self._array.view()
        view.flags.writeable = False
        return view

    def to_data(self) -> TensorData:
        """The values and dtype, sharing memory."""
        return TensorData(self.numpy(), self.dtype)

    def item(self) -> bool | int | float | complex:
        """The single value. Raises ShapeError if there are more or none."""
        if self._array.size != 1:
            raise ShapeError(f"item: shape {list(self.shape)} has {self._array.size} elements")
        value: bool | int | float | complex = self._array.reshape(()).item()
        return value

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for a scalar."""
        return self._array.tolist()

    def cast(self, dtype: DType) -> Tensor:
        """The same values in another dtype, rounded; out of range becomes Inf or the range's end.

        ``ruda.tensor.cast`` counts what is lost. Raises DTypeError where there is no conversion.
        """
        return _wrap(operations.recast(self._array, _COMPUTED_AS.get(dtype, dtype)))

    def __repr__(self) -> str:
        text = np.array2string(self._array, threshold=64, edgeitems=3, separator=", ")
        return f"Tensor({text}, shape={list(self.shape)}, dtype={self.dtype})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy or (dtype is not None and np.dtype(dtype) != self._array.dtype):
            if copy is False:
                raise DTypeError(f"{self.dtype} cannot become {dtype} without a copy")
            return np.array(self._array, dtype=dtype, copy=True)
        return self.numpy()

    def __len__(self) -> int:
        if not self._array.ndim:
            raise ShapeError("len: a scalar has no first axis")
        return len(self._array)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Tensor:
        """Integers, slices, ``...`` and None. A view. Raises ShapeError outside the shape."""
        parts = index if isinstance(index, tuple) else (index,)
        for part in parts:
            if isinstance(part, bool) or not isinstance(part, int | slice | EllipsisType | None):
                raise DTypeError(
                    f"index: {type(part).__name__} is not an integer, slice, ... or None"
                )
        try:
            return _wrap(np.asarray(self._array[parts]))
        except IndexError as error:
            raise ShapeError(f"index: shape {list(self.shape)}: {error}") from None

    def __add__(self, other: Tensor | Scalar) -> Tensor:
        return _wrap(operations.add(self._array, _operand("add", other)))

    def __radd__(self, other: Scalar) -> Tensor:
        return _wrap(operations.add(_operand("add", other), self._array))

    def __sub__(self, other: Tensor | Scalar) -> Tensor:
        return _wrap(operations.subtract(self._array, _operand("subtract", other)))

    def __rsub__(self, other: Scalar) -> Tensor:
        return _wrap(operations.subtract(_operand("subtract", other), self._array))

    def __mul__(self, other: Tensor | Scalar) -> Tensor:
        return _wrap(operations.multiply(self._array, _operand("multiply", other)))

    def __rmul__(self, other: Scalar) -> Tensor:
        return _wrap(operations.multiply(_operand("multiply", other), self._array))

    def __truediv__(self, other: Tensor | Scalar) -> Tensor:
        return _wrap(operations.divide(self._array, _operand("divide", other)))

    def __rtruediv__(self, other: Scalar) -> Tensor:
        return _wrap(operations.divide(_operand("divide", other), self._array))

    def __neg__(self) -> Tensor:
        return _wrap(operations.negative(self._array))

    def __matmul__(self, other: Tensor) -> Tensor:
        return self.matmul(other)

    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product on the last two axes: (…, n, k) @ (…, k, m) → (…, n, m)."""
        if not isinstance(other, Tensor):
            raise DTypeError(f"matmul: {type(other).__name__} is not a tensor")
        return _wrap(operations.matmul(self._array, other._array))

    def equal(self, other: Tensor | Scalar) -> Tensor:
        """Bool tensor: where values are equal. NaN equals nothing."""
        return _wrap(operations.equal(self._array, _operand("equal", other)))

    def relu(self) -> Tensor:
        """Negative values become 0; NaN stays NaN."""
        return _wrap(operations.relu(self._array))

    def softmax(self, axis: int = -1) -> Tensor:
        """exp(x) / Σ exp(x) along an axis."""
        return _wrap(operations.softmax(self._array, axis))

    def log_softmax(self, axis: int = -1) -> Tensor:
        """Logarithm of the softmax, without underflow."""
        return _wrap(operations.log_softmax(self._array, axis))

    def sum(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        """Sum over one axis or all; halves add up in f32, integers in i64."""
        return _wrap(operations.total(self._array, axis, keepdims=keepdims))

    def mean(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        """Mean over one axis or all; of integers as f32."""
        return _wrap(operations.mean(self._array, axis, keepdims=keepdims))

    def max(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        """Largest value over one axis or all; NaN wins."""
        return _wrap(operations.maximum(self._array, axis, keepdims=keepdims))

    def min(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        """Smallest value over one axis or all; NaN wins."""
        return _wrap(operations.minimum(self._array, axis, keepdims=keepdims))

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        """Position of the first largest value, as i64."""
        return _wrap(operations.argmax(self._array, axis, keepdims=keepdims))

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """The same values under another shape, as ``reshape(2, -1)`` or ``reshape((2, -1))``."""
        sizes: list[int] = []
        for part in shape:
            sizes.extend([part] if isinstance(part, int) else part)
        return _wrap(operations.reshape(self._array, sizes))

    def flatten(self, start: int = 0, end: int = -1) -> Tensor:
        """Join the axes from ``start`` to ``end``, both included, into one."""
        return _wrap(operations.flatten(self._array, start, end))

    def transpose(self) -> Tensor:
        """The last two axes exchanged; a view."""
        return self.swap_dims(-1, -2)

    def swap_dims(self, first: int, second: int) -> Tensor:
        """Two axes exchanged; a view."""
        return _wrap(operations.swap_axes(self._array, first, second))

    def unsqueeze(self, axis: int = 0) -> Tensor:
        """A new axis of size 1 at this position; a view."""
        return _wrap(operations.unsqueeze(self._array, axis))


def _wrap(array: Array) -> Tensor:
    """A tensor of an operation's result, which needs no checks."""
    tensor = Tensor.__new__(Tensor)
    tensor._array = array
    return tensor


def _operand(name: str, value: Tensor | Scalar) -> Array | Scalar:
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
        return value
    raise DTypeError(
        f"{name}: {type(value).__name__} is not a tensor or a Python number; "
        f"wrap arrays with Tensor.from_data"
    )
