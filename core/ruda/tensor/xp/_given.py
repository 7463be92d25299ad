"""What the functions of the namespace take: tensors, Python numbers, shapes and devices."""

from __future__ import annotations

import math
from operator import index
from typing import TypeAlias

from ruda.errors import DTypeError, SettingError
from ruda.tensor.device import HostDevice
from ruda.tensor.dtype import DType
from ruda.tensor.methods.held import operand
from ruda.tensor.operations.operands import Array
from ruda.tensor.promotion import Scalar
from ruda.tensor.tensor import Tensor

Shape: TypeAlias = int | tuple[int, ...]

DEFAULT_FLOAT = DType.F32
DEFAULT_COMPLEX = DType.C64
DEFAULT_INT = DType.I64
"""Sums of the standard widen to the default integer, and 32 bits would wrap around there."""


def array(name: str, x: Tensor) -> Array:
    """The array of a tensor. Raises DTypeError for anything else."""
    if not isinstance(x, Tensor):
        raise DTypeError(f"{name}: {type(x).__name__} is not a tensor; make one with xp.asarray")
    return x._array


def arrays(name: str, tensors: list[Tensor] | tuple[Tensor, ...]) -> list[Array]:
    """The arrays of several tensors."""
    return [array(name, x) for x in tensors]


def either(name: str, x: Tensor | Scalar) -> Array | Scalar:
    """The array of a tensor, or a Python number."""
    return operand(name, x)


def wrap(values: Array) -> Tensor:
    """A tensor of a result."""
    return Tensor(values)


def sizes(name: str, shape: Shape) -> tuple[int, ...]:
    """A shape, also given as one size. Raises SettingError unless all sizes are 0 or more."""
    given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    try:
        found = tuple(index(size) for size in given)
    except TypeError:
        raise SettingError(f"{name}: a shape is made of integers, got {shape!r}") from None
    if any(size < 0 for size in found):
        raise SettingError(f"{name}: shape {list(found)} has a negative size")
    return found


def require_finite(name: str, *numbers: object) -> None:
    """Raise DTypeError for what is no real number, SettingError for NaN and infinities."""
    for number in numbers:
        if not isinstance(number, int | float):
            raise DTypeError(f"{name}: {number!r} is no real number")
        if not (isinstance(number, int) or math.isfinite(number)):
            raise SettingError(f"{name}: {number} is not finite")


def require_host(name: str, device: HostDevice | None) -> None:
    """Raise SettingError for a device that is not the host."""
    if device is not None and not isinstance(device, HostDevice):
        raise SettingError(f"{name}: the only device is {HostDevice()}, got {device!r}")
