"""TensorData: values in memory with their dtype, ready to be written, read, cast and compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from ruda._kernels import shown_number
from ruda.errors import DTypeError, ShapeError
from ruda.tensor.casting import cast, nearest_odd
from ruda.tensor.comparison import (
    Difference,
    Tolerance,
    compare_approximately,
    compare_exactly,
)
from ruda.tensor.distribution import Distribution
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.layout import plain, shown_values
from ruda.tensor.promotion import DEFAULT_FLOAT, DEFAULT_INT, Scalar, require_dtype
from ruda.tensor.sizes import number, shape_of

Array = np.ndarray[Any, Any]

Nested: TypeAlias = "Scalar | Sequence[Nested]"
"""A number, or lists of equal length of such."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorData:
    """Values with dtype and shape; ``array`` holds them in ``dtype.carrier``.

    Treat the array as read-only: a tensor or a file may share it.
    """

    array: Array
    dtype: DType

    def __post_init__(self) -> None:
        require_dtype("TensorData", self.dtype)
        if type(self.array) is not np.ndarray:  # a map of a file is one that adds something
            object.__setattr__(self, "array", plain(self.array))
        if self.array.dtype != self.dtype.carrier:
            raise DTypeError(
                f"{self.dtype} is held as {self.dtype.carrier}, but the array is {self.array.dtype}"
            )

    def __repr__(self) -> str:
        text = shown_values(self.array, 16)
        return f"TensorData({self.dtype}, {list(self.shape)}, {text})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each axis; () for a scalar."""
        return tuple(self.array.shape)

    @property
    def numel(self) -> int:
        """Number of elements; 1 for a scalar."""
        return self.array.size

    @classmethod
    def of(cls, values: Nested | Array, dtype: DType | None = None) -> TensorData:
        """Values from nested sequences or an ndarray, or what gives one by ``__array__``; copied.

        Without ``dtype`` an array keeps its own, floats become f32, integers i32, booleans bool
        and complex numbers c64. With it, values are cast; raises DTypeError if one does not fit,
        ShapeError if the sequences are ragged.
        """
        if dtype is not None:
            require_dtype("TensorData", dtype)
        values = _foreign(values)
        if isinstance(values, np.ndarray | np.generic):
            source = DType.from_numpy(values.dtype)
            array = np.array(plain(values), dtype=values.dtype.newbyteorder("="), order="C")
        else:
            array, source = nested_array(values, dtype)
        if dtype is None and not isinstance(values, np.ndarray | np.generic):
            dtype = _default_dtype(source)
        data = cls(array, source)
        return data if dtype is None else data.try_cast(dtype)

    @classmethod
    def from_bytes(cls, raw: bytes, shape: Sequence[int], dtype: DType) -> TensorData:
        """Values from row-major little-endian bytes, without a copy.

        Raises ShapeError if the byte count is not that of shape and dtype, DTypeError for what has
        no bytes in a row.
        """
        require_dtype("from_bytes", dtype)
        sizes = shape_of("from_bytes", shape, np.dtype(np.uint8))
        expected = dtype.nbytes(math.prod(sizes))
        try:
            given = memoryview(raw)
        except TypeError:
            raise DTypeError(f"from_bytes: {type(raw).__name__} has no bytes to read") from None
        if not given.c_contiguous:
            raise DTypeError("from_bytes: the bytes do not lie in a row; copy them first")
        if given.nbytes != expected:
            raise ShapeError(
                f"shape {list(sizes)} of {dtype} takes {expected} bytes, got {given.nbytes}"
            )
        flat = np.frombuffer(given, dtype.carrier)
        return cls(flat if dtype.is_raw else flat.reshape(sizes), dtype)

    @classmethod
    def zeros(cls, shape: Sequence[int], dtype: DType = DEFAULT_FLOAT) -> TensorData:
        """All elements 0."""
        return cls.full(shape, 0, dtype)

    @classmethod
    def ones(cls, shape: Sequence[int], dtype: DType = DEFAULT_FLOAT) -> TensorData:
        """All elements 1."""
        return cls.full(shape, 1, dtype)

    @classmethod
    def full(cls, shape: Sequence[int], value: Scalar, dtype: DType = DEFAULT_FLOAT) -> TensorData:
        """All elements ``value``. Raises DTypeError if it does not fit the dtype."""
        require_dtype("full", dtype)
        one = cls.of(value, dtype)
        if one.shape:
            raise ShapeError(f"full: the value is one number, got shape {list(one.shape)}")
        return cls(np.full(shape_of("full", shape, dtype), one.array, dtype.numpy), dtype)

    @classmethod
    def random(
        cls,
        shape: Sequence[int],
        distribution: Distribution,
        *,
        seed: int,
        dtype: DType = DEFAULT_FLOAT,
    ) -> TensorData:
        """Values drawn from the distribution; the same for the same seed and shape.

        Integers are cut towards 0. Uniform values stay from ``low`` on and below ``high`` in every
        float dtype. Raises DTypeError where a value is outside the dtype's range, or no float of
        the dtype lies between the ends.
        """
        require_dtype("random", dtype)
        if not isinstance(distribution, Distribution):
            raise DTypeError(
                f"random: expected a Distribution, got {type(distribution).__name__}; "
                f"Distribution.default() is uniform from 0 to below 1"
            )
        drawn = distribution.sample(shape_of("random", shape, DType.F64), seed=seed)
        made, lost = cast(drawn, DType.F64, dtype)
        if lost.overflow:
            raise DTypeError(
                f"random: {lost.overflow} of {lost.numel} values drawn do not fit {dtype}; choose "
                f"a wider dtype"
            )
        if distribution.kind == "uniform" and dtype.is_float:
            made = _inside(made, distribution, dtype)
        return cls(made, dtype)

    def view(self, dtype: DType) -> Array:
        """The array without a copy. Raises DTypeError if the values are of another dtype.

        A bool may be viewed as u8.
        """
        if dtype is self.dtype:
            return self.array
        if self.dtype is DType.BOOL and dtype is DType.U8:
            return self.array.view(np.uint8)
        raise DTypeError(f"values of {self.dtype} cannot be viewed as {dtype}; cast them")

    def to_bytes(self) -> bytes:
        """The row-major little-endian bytes; copies."""
        return self.array.astype(self.array.dtype.newbyteorder("<"), copy=False).tobytes()

    def to_list(self) -> Any:
        """Nested lists of Python numbers; a number for a scalar."""
        if self.dtype.is_raw:
            raise DTypeError(f"{self.dtype} is stored as raw bits and has no list of numbers")
        return self.array.tolist()

    def cast(self, dtype: DType) -> TensorData:
        """The same values in another dtype, rounded; see ``ruda.tensor.cast`` for the losses."""
        return TensorData(cast(self.array, self.dtype, dtype)[0], dtype)

    def try_cast(self, dtype: DType) -> TensorData:
        """As ``cast``, but raises DTypeError if a value does not fit.

        A value fits if it is in the dtype's range and, for an integer, whole.
        """
        array, lost = cast(self.array, self.dtype, dtype)
        if self.dtype.is_float and dtype.is_integer and not lost.overflow:
            parts = np.count_nonzero(array != cast(self.array, self.dtype, DType.F64)[0])
            if parts:
                raise DTypeError(
                    f"{parts} of {lost.numel} values of {self.dtype} are not whole numbers; "
                    f"cast() truncates them to {dtype}"
                )
        if lost.overflow:
            raise DTypeError(
                f"{lost.overflow} of {lost.numel} values of {self.dtype} do not fit {dtype}; "
                f"choose a wider dtype, or cast() to round and to clip what overflows"
            )
        return TensorData(array, dtype)

    def compare(self, other: TensorData, tolerance: Tolerance | None = None) -> Difference:
        """What differs: exactly, or beyond the tolerance. Never raises for differences.

        Packed and quantized values have no numbers to compare: those of one dtype are compared as
        bits. Raises DTypeError where only one side is such, or both are of two dtypes.
        """
        _require_data("compare", other)
        if tolerance is not None and not isinstance(tolerance, Tolerance):
            raise DTypeError(
                f"compare: expected a Tolerance, got {tolerance!r}; Tolerance.rel_abs(…, …) makes "
                f"one of two numbers"
            )
        dtypes = (self.dtype, other.dtype)
        for dtype in dtypes:
            if dtype.is_raw and dtypes[0] is not dtypes[1]:
                raise DTypeError(f"cannot compare {dtypes[0]} with {dtypes[1]}: raw bits")
        if tolerance is None or self.dtype.is_raw:
            return compare_exactly(self.array, other.array, dtypes)
        return compare_approximately(self.array, other.array, dtypes, tolerance)

    def assert_eq(self, other: TensorData, *, strict: bool = True) -> None:
        """Raise AssertionError unless the values are equal; ``strict`` compares dtypes as well.

        Otherwise floats are compared in the dtype of this one, to which the others are rounded.
        """
        _require_data("assert_eq", other)
        if strict and self.dtype is not other.dtype:
            raise AssertionError(f"dtypes differ: {self.dtype} and {other.dtype}")
        both = self.dtype.is_float and other.dtype.is_float
        _assert_none(self.compare(other.cast(self.dtype) if both else other))

    def assert_approx_eq(self, other: TensorData, tolerance: Tolerance | None = None) -> None:
        """Raise AssertionError where values lie further apart than the tolerance (balanced)."""
        given = Tolerance.balanced() if tolerance is None else tolerance
        _assert_none(self.compare(other, given))

    def assert_within_range(self, low: float, high: float, *, inclusive: bool = False) -> None:
        """Raise AssertionError unless every value is in [low, high), or [low, high] if inclusive.

        NaN is in no range.
        """
        first, last = number("a range", "low", low), number("a range", "high", high)
        if math.isnan(first) or math.isnan(last):
            values, inside = self.array, np.zeros(self.shape, np.bool_)
        elif self.dtype.is_integer:  # f64 would round the large ones
            values, stop = self.array, _down(high) + 1 if inclusive else _up(high)
            inside = (values >= _up(low)) & (values < stop)
        else:
            values = cast(self.array, self.dtype, DType.F64)[0]
            inside = (values >= first) & ((values <= last) if inclusive else (values < last))
        if not inside.all():
            place = tuple(int(i) for i in np.argwhere(~inside)[0])
            end = "]" if inclusive else ")"
            raise AssertionError(
                f"{np.count_nonzero(~inside)} of {self.numel} values are outside "
                f"[{low}, {high}{end}; first {values[place]} at {list(place)}"
            )


_BEYOND = 1 << 70
"""More than any integer dtype holds: what an infinite end of a range is to them."""


def _up(end: float) -> int:
    """The least integer from ``end`` on."""
    return math.ceil(end) if math.isfinite(end) else -_BEYOND if end < 0 else _BEYOND


def _down(end: float) -> int:
    return math.floor(end) if math.isfinite(end) else _BEYOND if end > 0 else -_BEYOND


def _inside(values: Array, law: Distribution, dtype: DType) -> Array:
    """Uniform values, of which rounding to their dtype may have taken some over an end, within."""
    low, high = (cast(np.array(end), DType.F64, dtype)[0] for end in (law.first, law.second))
    info = ml_dtypes.finfo(low.dtype)  # type: ignore[no-untyped-call]
    least = np.nextafter(low, info.max) if float(low) < law.first else low
    most = np.nextafter(high, info.min) if float(high) >= law.second else high
    if float(least) > float(most):
        raise DTypeError(
            f"random: no number of {dtype} lies from {law.first:g} to below {law.second:g}; choose "
            f"a wider dtype"
        )
    return np.where(values < least, least, np.where(values > most, most, values))


def _foreign(values: Any) -> Any:
    """What another library calls an array as NumPy's, so that it keeps its dtype; else itself."""
    if isinstance(values, np.ndarray | np.generic) or not hasattr(values, "__array__"):
        return values
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        name = type(values).__name__
        raise DTypeError(f"nested values: {name} gives no array: {error}") from None


def nested_array(values: Nested, wanted: DType | None = None) -> tuple[Array, DType]:
    """Nested sequences of numbers as an array that holds them exactly, and its dtype.

    f64, i64, u64 (integers beyond i64), bool or c128; f64 for nothing. Integers on their way to a
    float dtype may be rounded to f64. Raises ShapeError for ragged sequences, DTypeError for what
    is no number and for integers that no dtype holds together.
    """
    try:
        array = np.array(values)
    except (ValueError, OverflowError) as error:
        raise ShapeError(f"nested values do not form a tensor: {error}") from None
    if array.size == 0 and array.dtype.kind not in "biufc":
        array = array.astype(np.float64)
    if array.dtype.kind == "O":
        array = _beyond_words(array, wanted)
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"nested values are numbers or booleans, got NumPy dtype {array.dtype}")
    to_float = wanted is not None and not wanted.is_integer
    if array.dtype == np.float64 and not to_float and np.any(np.abs(array) >= 2.0**53):
        array = _unrounded(array, values, wanted)
    return array, DType.from_numpy(array.dtype)


def _beyond_words(array: Array, wanted: DType | None) -> Array:
    """Python integers of more than 64 bits, which are objects to NumPy, on their way to floats."""
    numbers = array.reshape(-1).tolist()
    if not all(isinstance(one, bool | int | float) for one in numbers):
        return array
    largest = max((one for one in numbers if isinstance(one, int)), key=abs)
    if wanted is None or wanted.is_integer or wanted.kind is Kind.BOOL:
        raise DTypeError(
            f"no integer dtype holds {shown_number(largest)} of the nested values; choose a float"
        )
    try:
        onward = float if wanted in (DType.F64, DType.C128) else nearest_odd
        return np.array([onward(one) for one in numbers]).reshape(array.shape)
    except OverflowError:
        raise DTypeError(f"{shown_number(largest)} of the nested values fits no float") from None


def _unrounded(array: Array, values: Nested, wanted: DType | None) -> Array:
    """NumPy makes f64 of integers on both sides of i64 and beside floats; here they stay exact."""
    exact = list(np.array(values, dtype=object).reshape(-1))
    if wanted is not None:
        exact = [int(one) if float(one).is_integer() else one for one in exact]
    if not all(isinstance(one, int | np.integer) for one in exact):
        return array
    low, high = int(min(exact)), int(max(exact))
    if low < -(1 << 63) or high >= 1 << 64:
        return array  # floats beyond every integer dtype
    if low < 0 and high >= 1 << 63:
        raise DTypeError(
            f"no integer dtype holds both {low} and {high} of the nested values; choose a float"
        )
    dtype = np.uint64 if high >= 1 << 63 else np.int64
    return np.array(exact, dtype=dtype).reshape(array.shape)


def _default_dtype(source: DType) -> DType:
    if source is DType.BOOL:
        return source
    if source is DType.C128:
        return DType.C64
    return DEFAULT_FLOAT if source.is_float else DEFAULT_INT


def _require_data(name: str, other: object) -> None:
    if not isinstance(other, TensorData):
        raise DTypeError(f"{name}: {type(other).__name__} is no TensorData; see to_data()")


def _assert_none(difference: Difference) -> None:
    if difference.count or not difference.same_shape:
        raise AssertionError(difference.describe())
