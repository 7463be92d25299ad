"""Quantized PyTorch tensors: whole numbers, with one scale and zero point or one per channel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ruda.errors import HeaderError, UnsupportedContentError
from ruda.store.formats._torch_refs import Quantizer
from ruda.tensor import DType

if TYPE_CHECKING:
    from ruda.store.snapshot import TensorSource

Array = np.ndarray[Any, Any]

PER_TENSOR = "per_tensor_affine"
PER_CHANNEL = ("per_channel_affine", "per_channel_affine_float_qparams")
_I64_END = 1 << 63
_NUMBERS = {DType.QINT8: "<i1", DType.QUINT8: "<u1", DType.QINT32: "<i4"}


@dataclass(frozen=True, slots=True, eq=False)
class TorchQuantized:
    """Scheme of a quantized tensor: value = (number - zero point) x scale.

    Scale and zero point are numbers, or sources of one per channel along ``axis``.
    """

    dtype: DType
    name: str
    """As PyTorch spells it: ``per_tensor_affine``."""
    scale: float | TensorSource
    zero_point: float | TensorSource
    axis: int | None = None

    @property
    def label(self) -> str:
        """Name of the element type: ``qint8``."""
        return self.dtype.label

    def dequantized(self, packed: TensorSource, shape: tuple[int, ...]) -> TensorSource:
        """Source of the f32 values of a tensor whose numbers ``packed`` gives."""
        return TorchValues(packed, self, shape)

    def dequantize(self, raw: Array, shape: tuple[int, ...]) -> Array:
        """f32 values out of the raw bytes of the numbers; the scale is rounded to f32 first."""
        numbers = raw.view(_NUMBERS[self.dtype]).reshape(shape)
        scale, zero = _values(self.scale), _values(self.zero_point)
        if self.axis is not None:
            along = [1] * len(shape)
            along[self.axis] = -1
            scale, zero = scale.reshape(along), zero.reshape(along)
        with np.errstate(over="ignore"):  # as PyTorch: what is too large becomes infinite
            return (numbers.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)


@dataclass(frozen=True, slots=True)
class TorchValues:
    """The f32 values of a quantized tensor; nothing is cached."""

    packed: TensorSource
    scheme: TorchQuantized
    shape: tuple[int, ...]

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs: the numbers, and the values twice on their way."""
        return math.prod(self.shape) * (self.scheme.dtype.bits // 8 + 8)

    def read(self) -> Array:
        """All values in f32."""
        return self.scheme.dequantize(self.packed.read(), self.shape)


def _values(found: float | TensorSource) -> Array:
    return np.asarray(found) if isinstance(found, (int, float)) else found.read()


def quantizer(params: Any, shape: tuple[int, ...], tensor: type[Any]) -> Quantizer:
    """The quantizer of a tensor of this shape, checked. ``tensor`` is the class of its parts.

    Raises HeaderError for fields that make no sense, UnsupportedContentError for other schemes.
    """
    if not isinstance(params, tuple) or not params:
        raise HeaderError("a quantized tensor has no quantizer")
    name = str(getattr(params[0], "name", params[0]))
    if name == PER_TENSOR:
        scale, zero = params[1:] if len(params) == 3 else (None, None)
        if not _is_number(scale) or type(zero) is not int or not _is_number(zero):
            raise HeaderError("the scale or the zero point of a tensor is no number")
        return Quantizer(name, float(scale), zero)
    if name not in PER_CHANNEL or len(params) != 4:
        raise UnsupportedContentError(
            f"a tensor is quantized by the scheme {name[:80]!r}, which Ruda does not read"
        )
    _, scales, zeros, axis = params
    if type(axis) is not int or not 0 <= axis < len(shape):
        raise HeaderError(f"a tensor of shape {list(shape)} is quantized along axis {axis!r}")
    for what, part in (("scales", scales), ("zero points", zeros)):
        count: Any = part.shape if isinstance(part, tensor) else _count(part)
        if count != (shape[axis],):
            raise HeaderError(
                f"a tensor of shape {list(shape)} has no {what} for each place along axis {axis}"
            )
    return Quantizer(name, _plain(scales), _plain(zeros), axis)


def _count(part: Any) -> tuple[int, ...] | None:
    if isinstance(part, list) and all(_is_number(n) for n in part):
        return (len(part),)
    return None


def _is_number(value: Any) -> TypeGuard[float]:
    """True for a float, and for a whole number that fits into 64 bits."""
    return type(value) is float or (type(value) is int and -_I64_END <= value < _I64_END)


def _plain(part: Any) -> Any:
    return tuple(part) if isinstance(part, list) else part
