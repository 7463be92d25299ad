"""Held: the one array that a tensor wraps, and how results and operands are wrapped."""

from __future__ import annotations

from typing import Any, Self, TypeAlias

import numpy as np

from ruda.errors import DTypeError
from ruda.tensor.promotion import Scalar

Array = np.ndarray[Any, Any]

Number: TypeAlias = Scalar


class Held:
    """Base of the method rooms: one slot with an array that is never written to."""

    __slots__ = ("_array",)

    _array: Array

    def _new(self, array: Array) -> Self:
        """A tensor of an operation's result, which needs no checks."""
        made = object.__new__(type(self))
        # NumPy makes scalars of some results without axes; a tensor holds an array.
        made._array = array if type(array) is np.ndarray else np.asarray(array)
        return made


def operand(name: str, value: Held | Scalar) -> Array | Scalar:
    """The array of a tensor, or a Python number as it is. Raises DTypeError for anything else."""
    if isinstance(value, Held):
        return value._array
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        return value
    if isinstance(value, np.generic):
        raise DTypeError(
            f"{name}: numpy.{type(value).__name__} is no Python number; take its item(), or wrap "
            f"it with Tensor.from_data, which keeps its dtype"
        )
    raise DTypeError(
        f"{name}: {type(value).__name__} is not a tensor or a Python number; "
        f"wrap arrays with Tensor.from_data"
    )


def tensor_array(name: str, value: Held) -> Array:
    """The array of a tensor. Raises DTypeError for anything else."""
    if isinstance(value, Held):
        return value._array
    raise DTypeError(f"{name}: {type(value).__name__} is not a tensor; Tensor.from_data makes one")
