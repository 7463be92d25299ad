"""The promotion table: which dtype comes out when two go in.

Within a kind the wider type wins and mixed signs go to the next wider signed type (the Array API
rules). Across kinds the float wins whatever the integer's width, so that f32 with i64 stays f32.
bf16 with f16 is f32, the narrowest type that holds both. Python scalars are weak: they take the
tensor's dtype. Comparisons have no dtype of their own to round to: an integer tensor beside floats
is compared exactly, whatever the table says. Complex numbers pass through: they promote with floats
of their precision, and NumPy computes with them. What the table does not list is refused, never
guessed.
"""

from __future__ import annotations

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import DTypeError
from ruda.tensor.dtype import DType, Kind

Scalar = bool | int | float | complex

DEFAULT_FLOAT = DType.F32
DEFAULT_INT = DType.I32

_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)
_SIGNED = (DType.I8, DType.I16, DType.I32, DType.I64)
_UNSIGNED = (DType.U8, DType.U16, DType.U32, DType.U64)
_COMPLEX = (DType.C64, DType.C128)
_COMPUTABLE = frozenset((*_FLOATS, *_SIGNED, *_UNSIGNED, *_COMPLEX, DType.BOOL))
_HALVES = frozenset((DType.F16, DType.BF16))


def _half_a_step_above(digits: int, exponent: int) -> int:
    """The smallest magnitude that rounds to Inf: ½ ulp above the largest number of a float."""
    return ((1 << (digits + 1)) - 1) << (exponent - digits)


_OVERFLOWS = {
    DType.F16: _half_a_step_above(11, 15),
    DType.BF16: _half_a_step_above(8, 127),
    DType.F32: _half_a_step_above(24, 127),
    DType.F64: _half_a_step_above(53, 1023),
    DType.C64: _half_a_step_above(24, 127),
    DType.C128: _half_a_step_above(53, 1023),
}
"""Integers, which Python compares with floats exactly and with integers of any size."""


def _join_integers(a: DType, b: DType) -> DType | None:
    if a.kind is b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.kind is Kind.INT else (b, a)
    for candidate in _SIGNED:
        if candidate.bits >= signed.bits and candidate.bits > unsigned.bits:
            return candidate
    return None  # u64 with a signed type: no integer holds both


def _join(a: DType, b: DType) -> DType | None:
    if a is b:
        return a
    if a is DType.BOOL or b is DType.BOOL:
        return b if a is DType.BOOL else a
    if a in _COMPLEX or b in _COMPLEX:
        return DType.C128 if {a, b} & {DType.C128, DType.F64} else DType.C64
    if a.is_float and b.is_float:
        if a in _HALVES and b in _HALVES:
            return DType.F32
        return a if a.bits > b.bits else b
    if a.is_float or b.is_float:
        return a if a.is_float else b
    return _join_integers(a, b)


_TABLE = {(a, b): _join(a, b) for a in _COMPUTABLE for b in _COMPUTABLE}


def is_computable(dtype: DType) -> bool:
    """True for the dtypes that are computed with.

    The values of the others are stored, shown, cast, moved about and told from 0 (``any``, ``all``,
    ``count_nonzero``, ``argwhere``), for which no number has to be made of them.
    """
    return dtype in _COMPUTABLE


def require_dtype(operation: str, dtype: object) -> None:
    """Raise DTypeError for what is no DType, such as a name or a NumPy dtype."""
    if not isinstance(dtype, DType):
        raise DTypeError(
            f"{operation}: {dtype!r} is no dtype; expected a DType, which DType.parse makes of a "
            f"name and DType.from_numpy of a NumPy dtype"
        )


def require_computable(operation: str, dtype: DType) -> None:
    """Raise DTypeError if this dtype is not computed with."""
    if type(dtype) is not DType or dtype not in _COMPUTABLE:
        require_dtype(operation, dtype)
        raise DTypeError(f"{operation}: {dtype} is for storage only; cast it to f32 first")


def promote(operation: str, a: DType, b: DType) -> DType:
    """Dtype of the result of an operation on two tensors; symmetric.

    Raises DTypeError for storage-only dtypes and for u64 with a signed integer.
    """
    found = _TABLE.get((a, b))
    if found is None:
        require_computable(operation, a)
        require_computable(operation, b)
        raise DTypeError(f"{operation}: no integer holds both {a} and {b}; cast one of them first")
    return found


def promote_scalar(operation: str, dtype: DType, value: Scalar) -> DType:
    """Dtype of the result of an operation on a tensor and a Python number.

    The tensor decides, except where its kind cannot hold the number: an integer or bool tensor
    with a float gives f32, a bool tensor with an int gives i32, a real tensor with a complex
    number the complex dtype of its precision. Raises DTypeError for a number
    outside the range of that dtype and for values that are no plain numbers.
    """
    require_computable(operation, dtype)
    if not isinstance(value, bool | int | float | complex):
        raise DTypeError(f"{operation}: {type(value).__name__} is not a number or a tensor")
    result = dtype
    if isinstance(value, complex):
        result = _join(dtype, DType.C64) or dtype
    elif isinstance(value, float) and not dtype.is_float and dtype not in _COMPLEX:
        result = DEFAULT_FLOAT
    elif not isinstance(value, bool) and dtype is DType.BOOL:
        result = DEFAULT_INT
    _require_in_range(operation, result, value)
    return result


def require_float(operation: str, dtype: DType) -> None:
    """Raise DTypeError unless the dtype is a float that can be computed with."""
    require_computable(operation, dtype)
    if not dtype.is_float:
        raise DTypeError(f"{operation}: needs a float dtype, got {dtype}; cast it to f32 first")


def require_real(operation: str, dtype: DType) -> None:
    """Raise DTypeError for complex dtypes, which have no order, and for storage-only ones."""
    require_computable(operation, dtype)
    if dtype in _COMPLEX:
        raise DTypeError(f"{operation}: {dtype} numbers have no order; use their real part")


def require_integer(operation: str, dtype: DType, *, or_bool: bool = False) -> None:
    """Raise DTypeError unless the dtype is an integer, or bool where that is allowed."""
    require_computable(operation, dtype)
    if not dtype.is_integer and not (or_bool and dtype is DType.BOOL):
        kinds = "an integer or bool dtype" if or_bool else "an integer dtype"
        raise DTypeError(f"{operation}: needs {kinds}, got {dtype}")


def require_inexact(operation: str, dtype: DType) -> None:
    """Raise DTypeError unless the dtype is a float or complex that can be computed with."""
    if dtype not in _COMPLEX:
        require_float(operation, dtype)


def accumulator(dtype: DType) -> DType:
    """Dtype that sums of this one are added up in: f32 for halves, i64 or u64 for integers."""
    if dtype in _HALVES:
        return DType.F32
    if dtype.is_float or dtype in _COMPLEX:
        return dtype
    return DType.U64 if dtype.kind is Kind.UINT else DType.I64


def _require_in_range(operation: str, dtype: DType, value: Scalar) -> None:
    """Raise DTypeError for a number beyond the dtype; NaN and Inf are within floats."""
    if isinstance(value, complex):
        for part in (value.real, value.imag):
            _require_in_range(operation, dtype, part)
    elif dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        if not info.min <= value <= info.max:
            raise DTypeError(
                f"{operation}: {shown_number(value)} does not fit {dtype} ({info.min} to "
                f"{info.max}); cast the tensor first"
            )
    elif dtype is not DType.BOOL and abs(value) >= _OVERFLOWS[dtype] and value - value == 0:
        raise DTypeError(
            f"{operation}: {shown_number(value)} does not fit {dtype}; cast the tensor first"
        )
