"""The functions of the Array API standard that exist so far, over Ruda's tensors.

    import ruda.tensor.xp as xp
    xp.matmul(xp.asarray([[1.0, 2.0]]), xp.ones((2, 1)))

Names and argument order are the standard's. Promotion is Ruda's (an integer with a float gives
the float's dtype), so the namespace is a subset in spirit, not a claim of conformance.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ruda.tensor.data import Nested, TensorData
from ruda.tensor.dtype import DType
from ruda.tensor.promotion import DEFAULT_FLOAT, Scalar, promote
from ruda.tensor.tensor import Tensor

__all__ = [
    "add",
    "argmax",
    "asarray",
    "astype",
    "bfloat16",
    "bool",
    "concat",
    "divide",
    "equal",
    "expand_dims",
    "float16",
    "float32",
    "float64",
    "full",
    "int16",
    "int32",
    "int64",
    "int8",
    "matmul",
    "matrix_transpose",
    "max",
    "mean",
    "min",
    "multiply",
    "negative",
    "ones",
    "reshape",
    "result_type",
    "stack",
    "subtract",
    "sum",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "zeros",
]

bool = DType.BOOL
int8, int16, int32, int64 = DType.I8, DType.I16, DType.I32, DType.I64
uint8, uint16, uint32, uint64 = DType.U8, DType.U16, DType.U32, DType.U64
float16, bfloat16, float32, float64 = DType.F16, DType.BF16, DType.F32, DType.F64

Shape: TypeAlias = int | tuple[int, ...]
_Flag: TypeAlias = builtins.bool  # this module's ``bool`` is the dtype


def asarray(
    obj: Tensor | Nested | TensorData | np.ndarray[Any, Any], /, *, dtype: DType | None = None
) -> Tensor:
    """A tensor of these values; a tensor of that dtype is returned as it is."""
    if isinstance(obj, Tensor):
        return obj if dtype in (None, obj.dtype) else obj.cast(dtype)
    return Tensor.from_data(obj, dtype=dtype)


def astype(x: Tensor, dtype: DType, /) -> Tensor:
    """The values in another dtype, rounded."""
    return x.cast(dtype)


def zeros(shape: Shape, *, dtype: DType = DEFAULT_FLOAT) -> Tensor:
    """All elements 0."""
    return Tensor.zeros(_sizes(shape), dtype=dtype)


def ones(shape: Shape, *, dtype: DType = DEFAULT_FLOAT) -> Tensor:
    """All elements 1."""
    return Tensor.ones(_sizes(shape), dtype=dtype)


def full(shape: Shape, fill_value: Scalar, *, dtype: DType = DEFAULT_FLOAT) -> Tensor:
    """All elements ``fill_value``."""
    return Tensor.full(_sizes(shape), fill_value, dtype=dtype)


def result_type(first: Tensor | DType, /, *others: Tensor | DType) -> DType:
    """Dtype that these promote to. Raises DTypeError where there is none."""
    result = _dtype(first)
    for other in others:
        result = promote("result_type", result, _dtype(other))
    return result


def add(x1: Tensor, x2: Tensor | Scalar, /) -> Tensor:
    """Sum, element by element."""
    return x1 + x2


def subtract(x1: Tensor, x2: Tensor | Scalar, /) -> Tensor:
    """Difference, element by element."""
    return x1 - x2


def multiply(x1: Tensor, x2: Tensor | Scalar, /) -> Tensor:
    """Product, element by element."""
    return x1 * x2


def divide(x1: Tensor, x2: Tensor | Scalar, /) -> Tensor:
    """Quotient of floats, element by element."""
    return x1 / x2


def negative(x: Tensor, /) -> Tensor:
    """Opposite sign."""
    return -x


def equal(x1: Tensor, x2: Tensor | Scalar, /) -> Tensor:
    """Where values are equal, as bool."""
    return x1.equal(x2)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Matrix product on the last two axes."""
    return x1.matmul(x2)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    return x.transpose()


def sum(x: Tensor, /, *, axis: int | None = None, keepdims: _Flag = False) -> Tensor:
    """Sum over one axis or all."""
    return x.sum(axis, keepdims=keepdims)


def mean(x: Tensor, /, *, axis: int | None = None, keepdims: _Flag = False) -> Tensor:
    """Mean over one axis or all."""
    return x.mean(axis, keepdims=keepdims)


def max(x: Tensor, /, *, axis: int | None = None, keepdims: _Flag = False) -> Tensor:
    """Largest value over one axis or all."""
    return x.max(axis, keepdims=keepdims)


def min(x: Tensor, /, *, axis: int | None = None, keepdims: _Flag = False) -> Tensor:
    """Smallest value over one axis or all."""
    return x.min(axis, keepdims=keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: _Flag = False) -> Tensor:
    """Position of the first largest value, as i64."""
    return x.argmax(axis, keepdims=keepdims)


def reshape(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The same values in row-major order under another shape."""
    return x.reshape(shape)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """A new axis of size 1."""
    return x.unsqueeze(axis)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Join along an existing axis; None flattens each first."""
    if axis is None:
        return Tensor.cat([x.flatten() for x in arrays])
    return Tensor.cat(arrays, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis."""
    return Tensor.stack(arrays, axis)


def _sizes(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _dtype(value: Tensor | DType) -> DType:
    return value.dtype if isinstance(value, Tensor) else value
