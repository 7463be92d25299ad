"""What the functions of the namespace take: tensors, Python numbers, shapes and devices."""

from __future__ import annotations

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


def sizes(shape: Shape) -> tuple[int, ...]:
    """A shape, also given as one size."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


def require_host(name: str, device: HostDevice | None) -> None:
    """Raise SettingError for a device that is not the host."""
    if device is not None and not isinstance(device, HostDevice):
        raise SettingError(f"{name}: the only device is {HostDevice()}, got {device!r}")
