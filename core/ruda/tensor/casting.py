"""cast: from any numeric dtype to any other, and how much is lost on the way.

Floats round to nearest even, once. Floats become integers by truncation towards zero; what lies
outside the range of an integer becomes the nearest end of it, NaN becomes 0. Values that overflow
or become zero, and results that are subnormal, are always counted; values that are merely rounded
or truncated only when they are asked for, since that takes a second look at every value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import DTypeError
from ruda.progress import SILENT, Monitor, Progress
from ruda.tensor.cast_steps import (
    NARROW,
    WIDEN,
    Losses,
    block_bytes,
    round_to_odd,
    step_between,
    unequal,
)
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.layout import plain
from ruda.tensor.promotion import Scalar, require_dtype

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class CastCounts:
    """What a cast did to ``numel`` values; add the counts of several tensors with ``+``.

    ``overflow``: values the target cannot hold (finite became Inf or NaN, Inf became NaN, or what
    has no place in an integer was pulled to the end of its range, NaN to 0). ``underflow``: nonzero
    became zero. ``subnormal``: results below the smallest normal number, where precision fades.
    ``inexact``: values that are another number after the cast and in neither of the first two:
    rounded, truncated, or made True; NaN that stays NaN, and -0.0 that becomes 0, are exact. None
    if they were not counted; a sum knows them only if each of its parts with values does.
    """

    numel: int = 0
    overflow: int = 0
    underflow: int = 0
    subnormal: int = 0
    inexact: int | None = None

    def __add__(self, other: CastCounts) -> CastCounts:
        return CastCounts(
            self.numel + other.numel,
            self.overflow + other.overflow,
            self.underflow + other.underflow,
            self.subnormal + other.subnormal,
            _both(self, other),
        )

    @property
    def clean(self) -> bool:
        """True when no value overflowed or underflowed; values may be rounded all the same."""
        return not (self.overflow or self.underflow)


def _both(left: CastCounts, right: CastCounts) -> int | None:
    parts = [part.inexact for part in (left, right) if part.numel or part.inexact is not None]
    known = [count for count in parts if count is not None]
    return sum(known) if known and len(known) == len(parts) else None


def cast(
    array: Array,
    source: DType,
    target: DType,
    *,
    exactness: bool = False,
    monitor: Monitor = SILENT,
) -> tuple[Array, CastCounts]:
    """Values of dtype ``source`` as ``target.carrier``, same shape, with what was lost.

    ``array`` is in the carrier of ``source``, of any layout; no more than pieces of it are copied
    on the way. Returns it unchanged (no copy) when both dtypes store the same values alike and it
    is in native byte order. ``exactness`` counts the values that are rounded or truncated, too,
    which can take several times as long. The monitor stops between pieces of a few MB.
    Raises DTypeError for packed and quantized dtypes, for complex to real, and when the array is
    not of the source dtype.
    """
    array = plain(array)
    _check(array, source, target)
    if target is source or {source, target} == {DType.F32, DType.FLEX32}:
        same = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        return same, CastCounts(array.size, inexact=0 if exactness else None)
    out: Array = np.empty(array.shape, target.carrier)
    counts = None if exactness else _by_kernel(array, source, target, out, monitor)
    if counts is None:
        counts = _by_steps(array, source, target, out, exactness, monitor)
    monitor.report(Progress(array.size, array.size, "values"))
    return out, counts


def scalar(value: Scalar, dtype: DType) -> Array:
    """A Python number as a 0-d array, rounded once; that it fits, ``promote_scalar`` has seen."""
    if dtype.kind is Kind.BOOL or dtype.is_integer:
        return np.array(value, dtype.numpy)
    if isinstance(value, int) and dtype is not DType.F64:
        value = nearest_odd(value)
    if dtype is DType.BF16:  # ml_dtypes rounds to float32 on the way
        with np.errstate(all="ignore"):
            return round_to_odd(np.array(value, np.float64)).astype(dtype.numpy)
    return np.array(value, dtype.numpy)


_EXACT = 1 << 53
"""From here on float64 does not hold every integer."""


def nearest_odd(value: float) -> float:
    """A number as float64, from which rounding onward to a narrower float gives what it should.

    Of integers the first 53 bits, with the last one set if any behind them are (``round_to_odd``).
    Raises OverflowError beyond float64.
    """
    size = abs(value)
    if not isinstance(size, int) or size < _EXACT:
        return float(value)
    behind = size.bit_length() - 53
    kept = size >> behind | (size & ((1 << behind) - 1) != 0)
    return math.ldexp(kept if value > 0 else -kept, behind)


def _by_kernel(
    values: Array, source: DType, target: DType, out: Array, monitor: Monitor
) -> CastCounts | None:
    """The cast in pieces that threads share, if one kernel does it; else None."""
    if target in NARROW and source in (DType.F32, DType.FLEX32):
        _, lost = NARROW[target](values, out, monitor=monitor)
        return CastCounts(values.size, lost.overflow, lost.underflow, lost.subnormal)
    # float32 has all values of these as normal numbers; not so those of bfloat16.
    if source in WIDEN and source is not DType.BF16 and target in (DType.F32, DType.FLEX32):
        WIDEN[source](values, out, monitor=monitor)
        return CastCounts(values.size)
    return None


def _by_steps(
    values: Array, source: DType, target: DType, out: Array, exactness: bool, monitor: Monitor
) -> CastCounts:
    """The cast in blocks that stay in the cache, of pieces that threads share."""
    step = step_between(source, target)

    def block(part: Array, room: Array) -> tuple[Losses, int]:
        with np.errstate(all="ignore"):  # what is lost is counted, not warned about
            lost = step(part, room)
            if not exactness:
                return lost, 0
            before = part != 0 if source is DType.BOOL_U32 else part
            return lost, unequal(before, room) - lost[0] - lost[1]

    found = _kernels.in_blocks(
        block, values, out.reshape(-1), block_bytes=block_bytes(source, target), monitor=monitor
    )
    overflow, underflow, subnormal = (sum(lost[kind] for lost, _ in found) for kind in range(3))
    inexact = sum(rest for _, rest in found) if exactness else None
    return CastCounts(values.size, overflow, underflow, subnormal, inexact)


def _check(array: Array, source: DType, target: DType) -> None:
    for dtype in (source, target):
        require_dtype("cast", dtype)
        if dtype.is_raw and source is not target:
            raise DTypeError(
                f"cannot cast {source} to {target}: {dtype} is stored as raw bits only"
            )
    if array.dtype.newbyteorder("<") != source.carrier:
        raise DTypeError(f"cannot cast: expected {source} as {source.carrier}, got {array.dtype}")
    if source.kind is Kind.COMPLEX and target.kind not in (Kind.COMPLEX, Kind.BOOL):
        raise DTypeError(f"cannot cast {source} to {target}: the imaginary part would be lost")
