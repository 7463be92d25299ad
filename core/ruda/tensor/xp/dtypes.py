"""Dtypes: casting, promotion, and what a dtype can hold."""

from __future__ import annotations

import builtins
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ruda.errors import DTypeError, SettingError
from ruda.tensor.device import HostDevice
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.operations import shaping
from ruda.tensor.promotion import Scalar, promote, promote_scalar, require_computable
from ruda.tensor.tensor import Tensor
from ruda.tensor.xp._given import (
    DEFAULT_COMPLEX,
    DEFAULT_FLOAT,
    DEFAULT_INT,
    array,
    require_host,
    sizes,
    wrap,
)
from ruda.tensor.xp._given import (
    arrays as held,
)

Flag = builtins.bool

_KINDS = {
    "bool": (Kind.BOOL,),
    "signed integer": (Kind.INT,),
    "unsigned integer": (Kind.UINT,),
    "integral": (Kind.INT, Kind.UINT),
    "real floating": (Kind.FLOAT,),
    "complex floating": (Kind.COMPLEX,),
    "numeric": (Kind.INT, Kind.UINT, Kind.FLOAT, Kind.COMPLEX),
}
_PARTS = {DType.C64: DType.F32, DType.C128: DType.F64}


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """What a float dtype can hold."""

    bits: int
    eps: float
    """Distance from 1 to the next larger number."""
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerLimits:
    """What an integer dtype can hold."""

    bits: int
    max: int
    min: int
    dtype: DType


def astype(
    x: Tensor, dtype: DType, /, *, copy: Flag = True, device: HostDevice | None = None
) -> Tensor:
    """The values in another dtype, rounded; out of range becomes Inf or the end of the range.

    Raises DTypeError from complex to real.
    """
    require_host("astype", device)
    _require_dtype("astype", dtype)
    values = array("astype", x)
    if x.dtype is dtype:
        return wrap(values.copy()) if copy else x
    return x.cast(dtype)


def _require_dtype(name: str, dtype: object) -> None:
    if not isinstance(dtype, DType):
        raise DTypeError(f"{name}: {dtype!r} is no dtype; the namespace has them by name")


def can_cast(from_: DType | Tensor, to: DType, /) -> Flag:
    """True where every value of the first dtype is one of the second."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    require_computable("can_cast", source)
    require_computable("can_cast", to)
    if source is to or source is DType.BOOL:
        return True
    if to is DType.BOOL:
        return False
    if source.kind is Kind.COMPLEX:
        return to.bits >= source.bits if to.kind is Kind.COMPLEX else False
    part = _PARTS.get(to, to)
    if source.is_integer:
        return _integer_fits(source, part)
    if not part.is_float:
        return False
    low, high = ml_dtypes.finfo(source.numpy), ml_dtypes.finfo(part.numpy)  # type: ignore[no-untyped-call]
    return bool(low.nmant <= high.nmant and low.maxexp <= high.maxexp)


def _integer_fits(source: DType, to: DType) -> Flag:
    held = np.iinfo(source.numpy)
    if to.is_integer:
        room = np.iinfo(to.numpy)
        return bool(room.min <= held.min and held.max <= room.max)
    exact = 2 ** (ml_dtypes.finfo(to.numpy).nmant + 1)  # type: ignore[no-untyped-call]
    return bool(held.max <= exact and -held.min <= exact)


def finfo(type: DType | Tensor, /) -> FloatLimits:
    """Limits of a float dtype; of complex numbers those of their parts."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    _require_dtype("finfo", dtype)
    dtype = _PARTS.get(dtype, dtype)
    if not dtype.is_float:
        raise DTypeError(f"finfo: {dtype} is not a float dtype; see iinfo")
    info = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    return FloatLimits(
        dtype.bits,
        float(info.eps),
        float(info.max),
        float(info.min),
        float(info.smallest_normal),
        dtype,
    )


def iinfo(type: DType | Tensor, /) -> IntegerLimits:
    """Limits of an integer dtype."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    _require_dtype("iinfo", dtype)
    if not dtype.is_integer:
        raise DTypeError(f"iinfo: {dtype} is not an integer dtype; see finfo")
    info = np.iinfo(dtype.numpy)
    return IntegerLimits(dtype.bits, int(info.max), int(info.min), dtype)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> Flag:
    """True where the dtype is that one, of that kind, or one of several.

    Raises SettingError for a kind that the standard does not have, DTypeError for what is no dtype.
    """
    _require_dtype("isdtype", dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, DType):
            if dtype is one:
                return True
        elif one not in _KINDS:
            raise SettingError(f"isdtype: no kind is called {one!r}; known: {', '.join(_KINDS)}")
        elif dtype.kind in _KINDS[one]:
            return True
    return False


def result_type(*arrays_and_dtypes: Tensor | DType | Scalar) -> DType:
    """Dtype that these promote to; Python numbers are weak. Raises DTypeError if there is none."""
    if not arrays_and_dtypes:
        raise SettingError("result_type: needs at least one tensor, dtype or number")
    strong = [one for one in arrays_and_dtypes if isinstance(one, Tensor | DType)]
    weak = [one for one in arrays_and_dtypes if not isinstance(one, Tensor | DType)]
    if not strong:
        return _of_numbers(weak)
    result = _dtype(strong[0])
    require_computable("result_type", result)
    for other in strong[1:]:
        result = promote("result_type", result, _dtype(other))
    for number in weak:
        result = promote_scalar("result_type", result, number)
    return result


def _of_numbers(numbers: list[Scalar]) -> DType:
    for one in numbers:
        if not isinstance(one, bool | int | float | complex):
            raise DTypeError(f"result_type: {type(one).__name__} is not a number or a tensor")
    order = (complex, DEFAULT_COMPLEX), (float, DEFAULT_FLOAT), (bool, DType.BOOL)
    kinds = [next((d for k, d in order if isinstance(one, k)), DEFAULT_INT) for one in numbers]
    result = kinds[0]
    for kind in kinds[1:]:
        result = promote("result_type", result, kind)
    return result


def _dtype(value: Tensor | DType) -> DType:
    return value.dtype if isinstance(value, Tensor) else value


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """All tensors with their common shape; views."""
    return tuple(wrap(one) for one in shaping.broadcast(held("broadcast_arrays", arrays)))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Repeated along axes of size 1 and new ones in front; a view."""
    return wrap(shaping.expand(array("broadcast_to", x), sizes("broadcast_to", shape)))
