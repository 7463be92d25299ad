"""Tolerance and Difference: comparing two sets of values, exactly or approximately."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from ruda.errors import SettingError
from ruda.tensor.dtype import DType
from ruda.tensor.layout import widened

Array = np.ndarray[Any, Any]

SHOWN = 5
"""How many differing positions a report lists."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two numbers may be apart: ``|a - b| < max(absolute, relative × max(|a|, |b|))``.

    The comparison is strict. Equal values, two NaNs and two infinities of one sign always pass.
    ``half``, ``single`` and ``double`` replace the pair for one precision.
    """

    relative: float = 0.005
    absolute: float = 1e-5
    minimal: bool = False
    """Use 64 × the smallest normal number as absolute tolerance of floats above 8 bits."""
    half: tuple[float, float] | None = None
    single: tuple[float, float] | None = None
    double: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        pairs = [(self.relative, self.absolute), self.half, self.single, self.double]
        for relative, absolute in (pair for pair in pairs if pair is not None):
            if not 0.0 <= relative <= 1.0:
                raise SettingError(f"a relative tolerance is 0 to 1, got {relative}")
            if not 0.0 <= absolute < np.inf:
                raise SettingError(f"an absolute tolerance is finite and from 0, got {absolute}")

    @classmethod
    def strict(cls) -> Tolerance:
        """No relative tolerance; absolute 64 × the smallest normal number of the dtype.

        Floats of 8 bits and integers have to be equal: of those 64 × is 1, or more.
        """
        return cls(0.0, 0.0, minimal=True)

    @classmethod
    def balanced(cls) -> Tolerance:
        """Relative 0.005, absolute 1e-5: the default."""
        return cls()

    @classmethod
    def permissive(cls) -> Tolerance:
        """Relative 0.01, absolute 0.01."""
        return cls(0.01, 0.01)

    @classmethod
    def rel_abs(cls, relative: float, absolute: float) -> Tolerance:
        """Both given. Raises SettingError unless 0 ≤ relative ≤ 1 and absolute ≥ 0."""
        return cls(relative, absolute)

    def set_half(self, relative: float, absolute: float) -> Tolerance:
        """The same with another pair for f16 and bf16."""
        return replace(self, half=(relative, absolute))

    def set_single(self, relative: float, absolute: float) -> Tolerance:
        """The same with another pair for f32."""
        return replace(self, single=(relative, absolute))

    def set_double(self, relative: float, absolute: float) -> Tolerance:
        """The same with another pair for f64."""
        return replace(self, double=(relative, absolute))

    def pair(self, dtype: DType) -> tuple[float, float]:
        """Relative and absolute tolerance that hold for values of this dtype."""
        special = {16: self.half, 32: self.single, 64: self.double}.get(dtype.bits)
        if dtype.is_float and special is not None:
            return special
        if self.minimal and dtype.is_float and dtype.bits > 8:
            return 0.0, 64 * dtype.smallest_normal
        return self.relative, self.absolute


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One position at which two tensors differ."""

    position: tuple[int, ...]
    left: float | int | bool | complex
    right: float | int | bool | complex
    absolute: float
    relative: float

    def __str__(self) -> str:
        place = ", ".join(map(str, self.position))
        return (
            f"[{place}]: {self.left} and {self.right} "
            f"(absolute {self.absolute:.3g}, relative {self.relative:.3g})"
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """What a comparison of two tensors found; ``count`` is 0 where they agree, and only there.

    Of two shapes no values are compared: ``count`` is that of the larger one, and at least 1.
    ``max_absolute`` and ``max_relative`` are over positions where both are finite.
    """

    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    dtypes: tuple[DType, DType]
    numel: int
    count: int
    max_absolute: float = 0.0
    max_relative: float = 0.0
    nans: tuple[int, int] = (0, 0)
    first: tuple[Mismatch, ...] = ()

    @property
    def same_shape(self) -> bool:
        """True when the shapes agree; values are compared only then."""
        return self.shapes[0] == self.shapes[1]

    @property
    def same_dtype(self) -> bool:
        """True when the dtypes agree."""
        return self.dtypes[0] is self.dtypes[1]

    def describe(self) -> str:
        """The first differing positions, one a line, and how many more there are."""
        if not self.same_shape:
            return f"shapes differ: {list(self.shapes[0])} and {list(self.shapes[1])}"
        lines = [f"{self.count} of {self.numel} values differ"]
        lines += [f"  {mismatch}" for mismatch in self.first]
        if self.count > len(self.first):
            lines.append(f"  and {self.count - len(self.first)} more")
        return "\n".join(lines)


def coarser(dtypes: tuple[DType, DType]) -> DType:
    """Of two floats the one with less precision, a float before an integer, else the left one.

    Symmetric as to tolerances, of which all dtypes that are no floats have the same.
    """
    floats = [dtype for dtype in dtypes if dtype.is_float]
    return min(floats, key=_precision) if floats else dtypes[0]


def _precision(dtype: DType) -> tuple[int, str]:
    found = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    return int(found.nmant), dtype.label


def _other_shape(left: Array, right: Array, dtypes: tuple[DType, DType]) -> Difference:
    numel = max(left.size, right.size)
    return Difference((left.shape, right.shape), dtypes, numel, max(numel, 1))


def compare_exactly(left: Array, right: Array, dtypes: tuple[DType, DType]) -> Difference:
    """Positions with different values; two NaNs agree, and so do 0.0 and -0.0.

    ``right`` may be of another dtype; an integer and a float agree where both are one number.
    """
    if left.shape != right.shape:
        return _other_shape(left, right, dtypes)
    a, b = widened(left), widened(right)
    return _report(a, b, ~_agree(a, b), dtypes)


def compare_approximately(
    left: Array, right: Array, dtypes: tuple[DType, DType], tolerance: Tolerance
) -> Difference:
    """Positions that lie further apart than the tolerance for the coarser dtype."""
    if left.shape != right.shape:
        return _other_shape(left, right, dtypes)
    a, b = widened(left), widened(right)
    relative, absolute = tolerance.pair(coarser(dtypes))
    with np.errstate(all="ignore"):
        distance = apart(a, b)
        allowed = np.maximum(absolute, relative * np.maximum(np.abs(_float(a)), np.abs(_float(b))))
        close = (distance < allowed) & np.isfinite(allowed)
    return _report(a, b, ~(close | _agree(a, b)), dtypes)


def _float(values: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return values if values.dtype.kind == "c" else values.astype(np.float64)


def _agree(a: Array, b: Array) -> Array:
    for one, other in ((a, b), (b, a)):
        if one.dtype.kind in "iu" and other.dtype.kind == "f":
            return _whole_alike(one, other)
    if a.dtype.kind in "fc" or b.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            both_nan = np.isnan(a.astype(_wide(a))) & np.isnan(b.astype(_wide(b)))
            return np.asarray((a == b) | both_nan)
    return np.asarray(a == b)


def _whole_alike(whole: Array, floats: Array) -> Array:
    """Where floats are these integers, also beyond 2⁵³, where several integers have one float."""
    limit = 2.0 ** (whole.dtype.itemsize * 8 - (whole.dtype.kind == "i"))
    with np.errstate(all="ignore"):
        inside = (floats >= np.iinfo(whole.dtype).min) & (floats < limit)
        back = np.where(inside, floats, 0).astype(whole.dtype)
        return np.asarray(inside & (back == whole) & (back.astype(np.float64) == floats))


def apart(a: Array, b: Array) -> Array:
    """Distances as f64; of 64-bit integers as exact as f64 can say them, never 0 for 1."""
    if not any(one.dtype.kind in "iu" and one.dtype.itemsize == 8 for one in (a, b)):
        return np.asarray(np.abs(_float(a) - _float(b)))
    kinds = a.dtype.kind + b.dtype.kind
    if kinds in ("ii", "iu", "ui", "uu"):
        return _integers_apart(a, b)
    if kinds in ("if", "uf"):
        return _whole_apart(a, b)
    if kinds in ("fi", "fu"):
        return _whole_apart(b, a)
    return np.asarray(np.abs(_float(a) - _float(b)))


def _integers_apart(a: Array, b: Array) -> Array:
    sizes = [np.where(x < 0, ~x, x).astype(np.uint64) + (x < 0).astype(np.uint64) for x in (a, b)]
    alike = (np.maximum(*sizes) - np.minimum(*sizes)).astype(np.float64)
    across = sizes[0].astype(np.float64) + sizes[1]
    return np.asarray(np.where((a < 0) == (b < 0), alike, across))


def _whole_apart(whole: Array, floats: Array) -> Array:
    """The part of a float below its point is counted by itself, the rest as an integer."""
    with np.errstate(all="ignore"):
        wide = floats.astype(np.float64)
        below = np.floor(wide)
        info = np.iinfo(whole.dtype)
        inside = (wide >= info.min) & (wide < float(info.max + 1))
        near = np.where(inside, below, 0).astype(whole.dtype)
        ahead = np.where(whole >= near, 1.0, -1.0) * _integers_apart(whole, near)
        return np.abs(np.where(inside, ahead - (wide - below), whole.astype(np.float64) - wide))


def _wide(values: Array) -> np.dtype[Any]:
    return values.dtype if values.dtype.kind in "fc" else np.dtype(np.float64)


def _report(a: Array, b: Array, differs: Array, dtypes: tuple[DType, DType]) -> Difference:
    x, y = _float(a), _float(b)
    with np.errstate(all="ignore"):
        absolute = apart(a, b)
        relative = absolute / np.maximum(np.abs(x), np.abs(y))
    seen = np.isfinite(absolute)
    found = np.argwhere(differs)[:SHOWN]
    first = tuple(
        Mismatch(
            tuple(int(i) for i in place),
            a[tuple(place)].item(),
            b[tuple(place)].item(),
            float(absolute[tuple(place)]),
            float(relative[tuple(place)]),
        )
        for place in found
    )
    return Difference(
        shapes=(a.shape, b.shape),
        dtypes=dtypes,
        numel=a.size,
        count=int(np.count_nonzero(differs)),
        max_absolute=float(absolute[seen].max(initial=0.0)),
        max_relative=float(relative[np.isfinite(relative)].max(initial=0.0)),
        nans=(int(np.count_nonzero(np.isnan(x))), int(np.count_nonzero(np.isnan(y)))),
        first=first,
    )
