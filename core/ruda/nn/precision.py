"""The precision that layers compute in: f32, or f64 where any operand is f64.

Halves are widened for the computation and stay halves in memory; results are f32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda.nn.module import Module
from ruda.nn.param import Param
from ruda.tensor import DType, Tensor

Array = np.ndarray[Any, Any]

_WIDENED = (DType.F16, DType.BF16, DType.F32)


def working_input(layer: Module, x: Tensor) -> Array:
    """The input in the precision to compute in. Raises DTypeError for anything but floats."""
    if x.dtype is DType.F64:
        return x.numpy()
    if x.dtype not in _WIDENED:
        raise layer.dtype_error("a float tensor", x.dtype, "cast it to f32 first")
    return x.cast(DType.F32).numpy()


def working_values(layer: Module, x: Array, *params: Param | None) -> tuple[Array, ...]:
    """The input and then each parameter, all in one precision; absent parameters are left out."""
    values = [param.value() for param in params if param is not None]
    wide = x.dtype == np.float64 or any(value.dtype is DType.F64 for value in values)
    target = DType.F64 if wide else DType.F32
    for value in values:
        if not value.dtype.is_float:
            raise layer.dtype_error("float parameters", value.dtype, "load float weights")
    return (
        x.astype(target.numpy, copy=False),
        *(value.cast(target).numpy() for value in values),
    )
