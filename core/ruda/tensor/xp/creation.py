"""Making tensors."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor.data import Nested, TensorData, nested_array
from ruda.tensor.device import HostDevice
from ruda.tensor.dtype import DType
from ruda.tensor.exchange import array_of
from ruda.tensor.operations import shaping
from ruda.tensor.operations.operands import Array
from ruda.tensor.promotion import Scalar, require_dtype
from ruda.tensor.sizes import reach, require_room
from ruda.tensor.tensor import Tensor
from ruda.tensor.xp._given import (
    DEFAULT_COMPLEX,
    DEFAULT_FLOAT,
    DEFAULT_INT,
    Shape,
    array,
    require_finite,
    require_host,
    sizes,
    wrap,
)
from ruda.tensor.xp._given import (
    arrays as held,
)

Flag = builtins.bool


def asarray(
    obj: Tensor | Nested | TensorData | np.ndarray[Any, Any],
    /,
    *,
    dtype: DType | None = None,
    device: HostDevice | None = None,
    copy: Flag | None = None,
) -> Tensor:
    """A tensor of these values; one of that dtype is returned as it is, unless ``copy`` is True.

    Without ``dtype`` Python floats become float32, integers int64, complex numbers complex64.
    Raises DTypeError where a value does not fit, SettingError where ``copy=False`` cannot be kept.
    """
    require_host("asarray", device)
    if isinstance(obj, Tensor):
        same = dtype in (None, obj.dtype)
        if same and not copy:
            return obj
        if not same and copy is False:
            raise SettingError(f"asarray: {obj.dtype} cannot become {dtype} without a copy")
        return wrap(obj._array.copy()) if same or dtype is None else obj.cast(dtype)
    if copy is False:
        raise SettingError("asarray: only tensors can be taken without a copy; see from_dlpack")
    if isinstance(obj, np.ndarray | np.generic | TensorData):
        return Tensor.from_data(obj, dtype=dtype)
    plain = _plain(obj)
    if dtype is not None:
        return Tensor.from_data(plain, dtype=dtype)
    made, source = nested_array(plain)
    return Tensor.from_data(made, dtype=_DEFAULTS.get(source))


_DEFAULTS = {DType.F64: DEFAULT_FLOAT, DType.C128: DEFAULT_COMPLEX}
"""What Python numbers become; integers are i64 already, or u64 where i64 does not hold them."""


def _plain(obj: Any) -> Any:
    """Nested sequences in which tensors have become lists and numbers."""
    if isinstance(obj, Tensor):
        return obj.tolist()
    if isinstance(obj, Sequence) and not isinstance(obj, str | bytes):
        return [_plain(one) for one in obj]
    if isinstance(obj, bytes | bytearray | memoryview):
        return np.asarray(memoryview(obj)).tolist()
    return obj


def from_dlpack(x: Any, /, *, device: HostDevice | None = None, copy: Flag | None = None) -> Tensor:
    """A tensor over the memory of another library's array, copied only where ``copy`` is True.

    The other side must not write to that memory afterwards. Raises DTypeError for dtypes that
    cannot cross (bf16, fp8), BufferError for memory on other devices.
    """
    require_host("from_dlpack", device)
    if not hasattr(x, "__dlpack__"):
        raise DTypeError(f"from_dlpack: {type(x).__name__} does not speak DLPack; see asarray")
    return wrap(array_of(x, copy=copy))


def empty(shape: Shape, *, dtype: DType | None = None, device: HostDevice | None = None) -> Tensor:
    """All elements 0: memory with leftovers of other work is never handed out."""
    return zeros(shape, dtype=dtype, device=device)


def zeros(shape: Shape, *, dtype: DType | None = None, device: HostDevice | None = None) -> Tensor:
    """All elements 0."""
    require_host("zeros", device)
    return Tensor.zeros(sizes("zeros", shape), dtype=dtype or DEFAULT_FLOAT)


def ones(shape: Shape, *, dtype: DType | None = None, device: HostDevice | None = None) -> Tensor:
    """All elements 1."""
    require_host("ones", device)
    return Tensor.ones(sizes("ones", shape), dtype=dtype or DEFAULT_FLOAT)


def full(
    shape: Shape,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: HostDevice | None = None,
) -> Tensor:
    """All elements ``fill_value``, whose kind decides where no dtype is given."""
    require_host("full", device)
    one = asarray(fill_value, dtype=dtype)
    if one.ndim:
        raise ShapeError(f"full: shape {list(one.shape)} is no single value; see broadcast_to")
    wanted = sizes("full", shape)
    require_room("full", wanted, one.dtype)
    return wrap(np.full(wanted, one._array))


def empty_like(
    x: Tensor, /, *, dtype: DType | None = None, device: HostDevice | None = None
) -> Tensor:
    """Zeros of the shape of another tensor, and of its dtype where none is given."""
    return zeros_like(x, dtype=dtype, device=device)


def zeros_like(
    x: Tensor, /, *, dtype: DType | None = None, device: HostDevice | None = None
) -> Tensor:
    """Zeros of the shape of another tensor, and of its dtype where none is given."""
    return zeros(array("zeros_like", x).shape, dtype=dtype or x.dtype, device=device)


def ones_like(
    x: Tensor, /, *, dtype: DType | None = None, device: HostDevice | None = None
) -> Tensor:
    """Ones of the shape of another tensor, and of its dtype where none is given."""
    return ones(array("ones_like", x).shape, dtype=dtype or x.dtype, device=device)


def full_like(
    x: Tensor,
    /,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: HostDevice | None = None,
) -> Tensor:
    """One value in the shape of another tensor, and of its dtype where none is given."""
    return full(array("full_like", x).shape, fill_value, dtype=dtype or x.dtype, device=device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: HostDevice | None = None,
) -> Tensor:
    """start, start + step, … below stop; int64 where all are integers, else float32.

    Raises SettingError where the step is 0 or an end not finite, DTypeError where a value does not
    fit the dtype.
    """
    require_host("arange", device)
    if stop is None:
        start, stop = 0, start
    require_finite("arange", start, stop, step)
    if step == 0:
        raise SettingError("arange: a step of 0 never arrives")
    whole = all(isinstance(one, int) for one in (start, stop, step))
    wanted = dtype or (DEFAULT_INT if whole else DEFAULT_FLOAT)
    require_dtype("arange", wanted)
    if not whole:
        return Tensor.from_data(_spaced(start, stop, step), dtype=wanted)
    counted = range(int(start), int(stop), int(step))
    length = _length("arange", counted)
    if wanted.is_integer:
        _require_held("arange", counted, wanted)
        return wrap(_counted(counted, length).astype(wanted.numpy))
    if not counted or all(-(1 << 63) <= end < 1 << 63 for end in (counted[0], counted[-1])):
        return Tensor.from_data(_counted(counted, length).astype(np.int64), dtype=wanted)
    _require_float64(counted)
    spread = float(counted.start) + np.arange(length, dtype=np.int64) * float(counted.step)
    return Tensor.from_data(spread.astype(np.float64), dtype=wanted)


def _counted(counted: range, length: int) -> Array:
    """The integers of a range modulo 2⁶⁴, which is exact for every range that its ends fit."""
    first = np.uint64(counted.start % (1 << 64))
    stride = np.uint64(counted.step % (1 << 64))
    with np.errstate(over="ignore"):
        return np.asarray(first + np.arange(length, dtype=np.uint64) * stride)


def _spaced(start: float, stop: float, step: float) -> Array:
    """The values start + i · step in float64, ceil((stop - start) / step) of them.

    NumPy's takes the difference of its first two values for the step, which is another number
    where the start is much larger: it makes 1e16 + 1 the same as 1e16, and all values alike.
    """
    try:
        length = math.ceil((float(stop) - float(start)) / float(step))
        places = np.arange(length, dtype=np.float64)
    except (ValueError, OverflowError):
        raise SettingError(
            f"arange: {shown_number(start)} to {shown_number(stop)} by {shown_number(step)} are "
            f"too many values, or beyond float64"
        ) from None
    with np.errstate(over="ignore"):
        return float(start) + places * float(step)


def _require_float64(counted: range) -> None:
    try:
        float(counted.start), float(counted.step)
    except OverflowError:
        raise SettingError("arange: an end or the step is an integer beyond float64") from None


def _length(name: str, counted: range) -> int:
    try:
        return len(counted)
    except OverflowError:
        ends = f"{shown_number(counted.start)} to {shown_number(counted.stop)}"
        raise SettingError(f"{name}: {ends} has too many values") from None


def _require_held(name: str, counted: range, dtype: DType) -> None:
    info = np.iinfo(dtype.numpy)
    for end in (counted[0], counted[-1]) if counted else ():
        if not info.min <= end <= info.max:
            raise DTypeError(
                f"{name}: {shown_number(end)} does not fit {dtype} ({info.min} to {info.max})"
            )


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: HostDevice | None = None,
    endpoint: Flag = True,
) -> Tensor:
    """``num`` values at equal distances, with ``stop`` as the last one or left out.

    Computed in f64 and rounded once; float32 by default, complex64 for complex ends. Raises
    DTypeError where a value does not fit the dtype.
    """
    require_host("linspace", device)
    if not isinstance(num, int):
        raise SettingError(f"linspace: a number of values is an integer, got {num!r}")
    for end in (start, stop):
        if not isinstance(end, int | float | complex):
            raise DTypeError(f"linspace: {end!r} is no number")
    if num < 0:
        raise SettingError(f"linspace: {shown_number(num)} values are fewer than none")
    require_room("linspace", (num,), DType.C128)
    try:
        first, last = (end if isinstance(end, complex) else float(end) for end in (start, stop))
    except OverflowError:
        raise SettingError("linspace: an end is an integer beyond float64") from None
    both = complex in (type(start), type(stop))
    wanted = dtype or (DEFAULT_COMPLEX if both else DEFAULT_FLOAT)
    require_dtype("linspace", wanted)
    with np.errstate(all="ignore"):
        made = _between(first.real, last.real, num, endpoint)
        if both:
            made = made.astype(np.complex128)
            made.imag = _between(first.imag, last.imag, num, endpoint)
    if wanted.is_integer and not both:
        made = np.floor(made)
    return Tensor.from_data(made, dtype=wanted)


def _between(first: float, last: float, num: int, endpoint: Flag) -> Array:
    """np.linspace, whose step may not overflow where both ends are finite."""
    if math.isfinite(first) and math.isfinite(last) and math.isinf(last - first):
        # Of numbers as large as these the half is exact.
        return np.asarray(2 * np.linspace(first / 2, last / 2, num, endpoint=endpoint))
    return np.asarray(np.linspace(first, last, num, endpoint=endpoint))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: HostDevice | None = None,
) -> Tensor:
    """[n_rows, n_cols] with ones on the diagonal that lies ``k`` above the main one."""
    require_host("eye", device)
    n_rows, n_cols = sizes("eye", (n_rows, n_rows if n_cols is None else n_cols))
    wanted = dtype or DEFAULT_FLOAT
    require_dtype("eye", wanted)
    require_room("eye", (n_rows, n_cols), wanted)
    return wrap(np.eye(n_rows, n_cols, reach("eye", "k", k, (n_rows, n_cols)), dtype=wanted.numpy))


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid from vectors of one dtype: all of rank len(arrays).

    ``indexing`` ``xy`` exchanges the first two axes, ``ij`` does not.
    """
    if indexing not in ("xy", "ij"):
        raise SettingError(f"meshgrid: indexing is xy or ij, got {indexing!r}")
    vectors = held("meshgrid", arrays)
    if len({vector.dtype for vector in vectors}) > 1:
        raise DTypeError("meshgrid: the vectors have different dtypes; cast them to one")
    return tuple(wrap(grid) for grid in np.meshgrid(*vectors, indexing=indexing))  # type: ignore[call-overload]


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros above the diagonal that lies ``k`` above the main one."""
    return wrap(shaping.triangle(array("tril", x), k, upper=False))


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros below the diagonal that lies ``k`` above the main one."""
    return wrap(shaping.triangle(array("triu", x), k, upper=True))
