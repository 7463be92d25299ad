"""Deviation: how far two runs of values lie apart, in a form that adds up over blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import DTypeError, ShapeError
from ruda.tensor.casting import cast
from ruda.tensor.comparison import SHOWN, Tolerance, apart, coarser
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.layout import plain, widened

Array = np.ndarray[Any, Any]
Number = float | int | bool | complex

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Spot:
    """One differing value: its position in row-major order, and both values."""

    offset: int
    left: Number
    right: Number


@dataclass(frozen=True, slots=True)
class Deviation:
    """How ``numel`` pairs of values differ; add those of the blocks of a tensor with ``+``.

    ``changed`` counts unequal pairs, ``beyond`` those that no tolerance excuses either. Two NaNs
    are equal, and so are 0.0 and -0.0. Sums and extremes are over pairs of finite values:
    ``finite`` of them. ``max_ulp`` counts steps between neighbouring floats; None where it means
    nothing (integers, complex numbers). The values of a NaN or an infinity have no distance:
    ``unpaired`` counts pairs of which one is such and the other is something else.
    """

    numel: int = 0
    changed: int = 0
    beyond: int = 0
    finite: int = 0
    unpaired: int = 0
    max_absolute: float = 0.0
    total_absolute: float = 0.0
    total_squares: float = 0.0
    dot: float = 0.0
    left_squares: float = 0.0
    right_squares: float = 0.0
    max_ulp: int | None = None
    nans: tuple[int, int] = (0, 0)
    infs: tuple[int, int] = (0, 0)
    first: tuple[Spot, ...] = ()

    def __add__(self, other: Deviation) -> Deviation:
        moved = (replace(spot, offset=spot.offset + self.numel) for spot in other.first)
        ulps = [steps for steps in (self.max_ulp, other.max_ulp) if steps is not None]
        return Deviation(
            numel=self.numel + other.numel,
            changed=self.changed + other.changed,
            beyond=self.beyond + other.beyond,
            finite=self.finite + other.finite,
            unpaired=self.unpaired + other.unpaired,
            max_absolute=max(self.max_absolute, other.max_absolute),
            total_absolute=self.total_absolute + other.total_absolute,
            total_squares=self.total_squares + other.total_squares,
            dot=self.dot + other.dot,
            left_squares=self.left_squares + other.left_squares,
            right_squares=self.right_squares + other.right_squares,
            max_ulp=max(ulps) if ulps else None,
            nans=(self.nans[0] + other.nans[0], self.nans[1] + other.nans[1]),
            infs=(self.infs[0] + other.infs[0], self.infs[1] + other.infs[1]),
            first=(*self.first, *moved)[:SHOWN],
        )

    @property
    def mean_absolute(self) -> float:
        """Mean distance of the finite pairs; 0.0 where there are none."""
        return self.total_absolute / self.finite if self.finite else 0.0

    @property
    def rms(self) -> float:
        """Root of the mean squared distance of the finite pairs; 0.0 where there are none."""
        return math.sqrt(self.total_squares / self.finite) if self.finite else 0.0

    @property
    def cosine(self) -> float | None:
        """Cosine of the angle between both, -1 to 1; None where one side is all zero or too large.

        Two sides that are all zero have no angle either.
        """
        sizes = math.sqrt(self.left_squares) * math.sqrt(self.right_squares)
        if not sizes or not math.isfinite(sizes) or not math.isfinite(self.dot):
            return None
        return max(-1.0, min(1.0, self.dot / sizes))

    @property
    def changed_share(self) -> float:
        """Share of the values that are not equal, 0.0 to 1.0."""
        return self.changed / self.numel if self.numel else 0.0


def deviation(
    left: Array,
    right: Array,
    dtypes: tuple[DType, DType],
    *,
    tolerance: Tolerance | None = None,
    ulp: int = 0,
) -> Deviation:
    """Deviation of two arrays of one shape, each in the carrier of its dtype.

    A pair passes if it is equal, closer than the tolerance, or at most ``ulp`` steps apart; with
    neither, only equal pairs do. Steps are counted in the dtype of both, or in the coarser one,
    to which the finer is rounded first. Integers of 64 bits are compared exactly.
    Raises ShapeError for two shapes, DTypeError where values are raw bits.
    """
    left, right = plain(left), plain(right)
    if left.shape != right.shape:
        raise ShapeError(f"shapes differ: {list(left.shape)} and {list(right.shape)}")
    for dtype in dtypes:
        if dtype.is_raw:
            raise DTypeError(f"{dtype} is stored as raw bits only and has no distances")
    same = dtypes[0] if dtypes[0] is dtypes[1] else None
    if same in (DType.F32, DType.BF16) or (same is DType.F16 and not ulp):
        return _by_kernel((left.reshape(-1), right.reshape(-1)), same, tolerance, ulp)
    a, b = (_plain(values, dtype) for values, dtype in zip((left, right), dtypes, strict=True))
    with np.errstate(all="ignore"):
        return _deviation(a, b, (left.reshape(-1), right.reshape(-1)), dtypes, tolerance, ulp)


def _by_kernel(
    pair: tuple[Array, Array], dtype: DType, tolerance: Tolerance | None, ulp: int
) -> Deviation:
    """As ``_deviation``, in one pass of a kernel over both in float32, which holds them exactly."""
    relative, absolute = (0.0, 0.0) if tolerance is None else tolerance.pair(dtype)
    # A bfloat16 is the upper half of a float32, so there are 2¹⁶ steps of those between two.
    per_step = 1 << 16 if dtype is DType.BF16 else 1
    left, right = (cast(values, dtype, DType.F32)[0] for values in pair)
    found = _kernels.difference(
        left, right, relative=relative, absolute=absolute, steps=ulp * per_step
    )
    longest = found.max_steps // per_step
    return Deviation(
        numel=left.size,
        changed=found.changed,
        beyond=found.beyond,
        finite=found.finite,
        unpaired=found.unpaired,
        max_absolute=found.max_absolute,
        total_absolute=found.total_absolute,
        total_squares=found.total_squares,
        dot=found.dot,
        left_squares=found.left_squares,
        right_squares=found.right_squares,
        max_ulp=_longest_of_f16(*pair) if dtype is DType.F16 else longest,
        nans=(found.left_nans, found.right_nans),
        infs=(found.left_infs, found.right_infs),
        first=_first_beyond(pair, (left, right), dtype, tolerance, ulp) if found.beyond else (),
    )


def _longest_of_f16(left: Array, right: Array) -> int:
    """The greatest number of steps between two finite float16."""
    longest = 0
    for at in range(0, left.size, _BLOCK):
        keys, held = [], []
        for values in (left, right):
            words = np.ascontiguousarray(values[at : at + _BLOCK], "<f2").view("<i2")
            size = words & np.int16(0x7FFF)
            held.append(size < np.int16(0x7C00))
            keys.append(np.where(words < 0, -size, size).astype(np.int32))
        steps = np.abs(keys[0] - keys[1])
        longest = max(longest, int(steps.max(initial=0, where=held[0] & held[1])))
    return longest


def _first_beyond(
    pair: tuple[Array, Array],
    wide: tuple[Array, Array],
    dtype: DType,
    tolerance: Tolerance | None,
    ulp: int,
) -> tuple[Spot, ...]:
    """The first pairs beyond, found a block at a time: mostly they are near the front."""
    found = Deviation()
    for at in range(0, pair[0].size, _BLOCK):
        block = slice(at, at + _BLOCK)
        raw = (pair[0][block], pair[1][block])
        with np.errstate(all="ignore"):
            a, b = wide[0][block], wide[1][block]
            found += _deviation(a, b, raw, (dtype, dtype), tolerance, ulp)
        if len(found.first) == SHOWN:
            break
    return found.first


def _deviation(
    a: Array,
    b: Array,
    raw: tuple[Array, Array],
    dtypes: tuple[DType, DType],
    tolerance: Tolerance | None,
    ulp: int,
) -> Deviation:
    x, y = _wide(a), _wide(b)
    lone = ~np.isfinite(x) | ~np.isfinite(y)
    equal = _equal(a, b, x, y)
    distance = apart(a, b)
    steps = _steps(raw, dtypes)
    passed = equal.copy()
    if tolerance is not None:
        relative, absolute = tolerance.pair(coarser(dtypes))
        allowed = np.maximum(absolute, relative * np.maximum(np.abs(x), np.abs(y)))
        passed |= (distance < allowed) & ~lone
    if steps is not None and ulp:
        passed |= (steps <= ulp) & ~lone
    sane = np.where(lone, 0.0, distance)
    p, q = np.where(lone, 0.0, x), np.where(lone, 0.0, y)
    return Deviation(
        numel=a.size,
        changed=int(np.count_nonzero(~equal)),
        beyond=int(np.count_nonzero(~passed)),
        finite=int(np.count_nonzero(~lone)),
        unpaired=int(np.count_nonzero(lone & ~equal)),
        max_absolute=float(sane.max(initial=0.0)),
        total_absolute=float(sane.sum()),
        total_squares=float(np.square(sane).sum()),
        dot=float((p * np.conj(q)).real.sum()),
        left_squares=float(np.square(np.abs(p)).sum()),
        right_squares=float(np.square(np.abs(q)).sum()),
        max_ulp=None if steps is None else int(np.where(lone, 0, steps).max(initial=0)),
        nans=(int(np.count_nonzero(np.isnan(x))), int(np.count_nonzero(np.isnan(y)))),
        infs=(int(np.count_nonzero(np.isinf(x))), int(np.count_nonzero(np.isinf(y)))),
        first=_first(a, b, ~passed),
    )


def _plain(values: Array, dtype: DType) -> Array:
    """One axis of values that NumPy computes with."""
    flat = values.reshape(-1)
    return flat != 0 if dtype is DType.BOOL_U32 else widened(flat)


def _wide(values: Array) -> Array:
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _equal(a: Array, b: Array, x: Array, y: Array) -> Array:
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        return np.asarray(a == b)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    for whole, wide in ((a, x), (b, y)):
        if whole.dtype.kind in "iu" and whole.dtype.itemsize == 8:
            same &= wide.astype(whole.dtype) == whole  # f64 holds only 53 bits of them
    return np.asarray(same)


def _first(a: Array, b: Array, differs: Array) -> tuple[Spot, ...]:
    found = np.flatnonzero(differs)[:SHOWN]
    return tuple(Spot(int(at), a[at].item(), b[at].item()) for at in found)


def _steps(raw: tuple[Array, Array], dtypes: tuple[DType, DType]) -> Array | None:
    """Number of floats between both values, as u64; None where steps mean nothing."""
    if not all(dtype.kind is Kind.FLOAT and dtype is not DType.F8_E8M0 for dtype in dtypes):
        return None
    coarse = coarser(dtypes)
    both = [
        _ordered(cast(values, dtype, coarse)[0], coarse)
        for values, dtype in zip(raw, dtypes, strict=True)
    ]
    low, high = np.minimum(*both), np.maximum(*both)
    return np.asarray(high.view(np.uint64) - low.view(np.uint64))


def _ordered(values: Array, dtype: DType) -> Array:
    """Integers in the order of the floats, neighbours one apart, both zeros at 0."""
    bits = values.view(f"<i{dtype.itemsize}").astype(np.int64)
    lowest = -(1 << (dtype.bits - 1))
    # A negative float has its sign as the top bit: its magnitude counts downwards from 0.
    return np.where(bits < 0, np.int64(lowest) - bits, bits)
