"""stats: what the values of one tensor look like, in blocks, with stop points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import DTypeError, SettingError
from ruda.progress import SILENT, Monitor, Progress
from ruda.tensor.dtype import DType
from ruda.tensor.layout import plain
from ruda.tensor.promotion import require_dtype
from ruda.tensor.sizes import whole

Array = np.ndarray[Any, Any]
Blocks = Callable[[], Iterator[Array]]

BLOCK_ELEMENTS = 1 << 22
"""Elements between two stop points: enough for several threads, some milliseconds of work."""
_CENTRED = 1 << 18
"""Elements that are copied to f64 at a time."""

_TRUSTED_SHARE = 1e-6
"""Least share of variance in the mean square for which its ten remaining digits are enough."""
_SQUARED_WHOLE = 1e-140
"""Values around this and above have squares with all of their digits in f64."""


@dataclass(frozen=True, slots=True)
class TensorStats:
    """Statistics of one tensor. Those of values leave NaN and infinities out.

    ``count`` is the number of all elements. ``minimum`` to ``std`` are NaN when no element is
    finite; ``minimum`` and ``maximum`` of integers are exact ints. ``std`` divides by the count.
    ``histogram`` has equal bins from ``low`` to ``high``, the last one including ``high``.
    """

    count: int
    minimum: float
    maximum: float
    mean: float
    std: float
    zeros: int
    nans: int
    pos_infs: int
    neg_infs: int
    low: float
    high: float
    histogram: tuple[int, ...]

    @property
    def finite(self) -> int:
        """Number of finite elements, those that the histogram counts."""
        return self.count - self.nans - self.pos_infs - self.neg_infs

    @property
    def constant(self) -> bool:
        """True when all elements are finite and equal."""
        return 0 < self.count == self.finite and self.minimum == self.maximum


def stats(array: Array, dtype: DType, *, bins: int = 64, monitor: Monitor = SILENT) -> TensorStats:
    """Statistics and histogram of values in the carrier of ``dtype``.

    Two passes in blocks, and two more where one pass would lose the spread of the values to
    rounding. Raises DTypeError for dtypes without an order (complex, packed, quantized),
    SettingError if ``bins`` is not positive, Cancelled from the monitor.
    """
    flat = plain(array).reshape(-1)
    return stream_stats(lambda: (flat,), flat.size, dtype, bins=bins, monitor=monitor)


def stream_stats(
    pieces: Callable[[], Iterable[Array]],
    count: int,
    dtype: DType,
    *,
    bins: int = 64,
    monitor: Monitor = SILENT,
) -> TensorStats:
    """The same of values that come in pieces: ``pieces()`` gives all of them, from the start.

    It is called two to four times; ``count`` is the number of values. A piece is used before the
    next is asked for. Raises like ``stats``.
    """
    bins = whole("stats", "a number of bins", bins)
    if bins < 1:
        raise SettingError(f"a histogram needs at least one bin, got {bins}")
    require_dtype("stats", dtype)
    if not dtype.is_ordered:
        raise DTypeError(f"{dtype} has no ordered values to take statistics of")

    def blocks() -> Iterator[Array]:
        return _blocks(pieces(), count, dtype, monitor)

    moments = _kernels.Moments()
    for block in blocks():
        with np.errstate(invalid="ignore"):  # a signalling NaN says so when it is converted
            moments += _kernels.moments(block)
    if not moments.finite:
        return _without_values(moments, bins)
    low, high = float(moments.minimum), float(moments.maximum)
    counts = np.zeros(bins, np.int64)
    for block in blocks():
        with np.errstate(invalid="ignore"):
            counts += _kernels.histogram(block, low, high, bins)
    mean, std = _mean_and_std(blocks, moments)
    return TensorStats(
        count=moments.count,
        minimum=moments.minimum,
        maximum=moments.maximum,
        mean=mean,
        std=std,
        zeros=moments.zeros,
        nans=moments.nans,
        pos_infs=moments.pos_infs,
        neg_infs=moments.neg_infs,
        low=low,
        high=high,
        histogram=tuple(counts.tolist()),
    )


def _blocks(pieces: Iterable[Array], count: int, dtype: DType, monitor: Monitor) -> Iterator[Array]:
    done = 0
    for piece in pieces:
        if piece.dtype.newbyteorder("<") != dtype.carrier:
            raise DTypeError(f"stats: expected {dtype} as {dtype.carrier}, got {piece.dtype}")
        for start in range(0, piece.size, BLOCK_ELEMENTS):
            monitor.check()
            block = piece[start : start + BLOCK_ELEMENTS]
            yield block != 0 if dtype is DType.BOOL_U32 else block
            done += block.size
            monitor.report(Progress(done, count, "values"))


def _without_values(moments: _kernels.Moments, bins: int) -> TensorStats:
    nan = math.nan
    return TensorStats(
        count=moments.count,
        minimum=nan,
        maximum=nan,
        mean=nan,
        std=nan,
        zeros=0,
        nans=moments.nans,
        pos_infs=moments.pos_infs,
        neg_infs=moments.neg_infs,
        low=0.0,
        high=0.0,
        histogram=(0,) * bins,
    )


def _mean_and_std(blocks: Blocks, moments: _kernels.Moments) -> tuple[float, float]:
    """Mean and population deviation of the finite values.

    The sums of one pass serve unless they overflowed, the squares vanished, or the spread is so
    small beside the mean that their difference is mostly rounding; then the values are centred and
    scaled first.
    """
    if moments.minimum == moments.maximum:
        return float(moments.minimum), 0.0
    mean = moments.total / moments.finite
    square = moments.total_squares / moments.finite
    variance = square - mean * mean
    plain = math.isfinite(square) and moments.absmax > _SQUARED_WHOLE
    if plain and variance > _TRUSTED_SHARE * square:
        return mean, math.sqrt(variance)
    if isinstance(moments.minimum, int):
        return _whole_mean_and_std(blocks, moments.minimum, moments.finite)
    scale = float(moments.absmax)
    mean = scale * (sum(_total(b / scale) for b in _values(blocks())) / moments.finite)
    spread = max(float(moments.maximum) - mean, mean - float(moments.minimum))
    # The distance of two extremes may overflow; halves of them cannot.
    part, unit = (1.0, spread) if math.isfinite(spread) else (2.0, scale)
    squares = (_total(np.square((b / part - mean / part) / unit)) for b in _values(blocks()))
    return mean, unit * math.sqrt(sum(squares) / moments.finite) * part


def _whole_mean_and_std(blocks: Blocks, minimum: int, count: int) -> tuple[float, float]:
    """The same of integers, counted from the least: f64 would take large ones for one another."""

    def above() -> Iterator[Array]:
        for block in blocks():
            for start in range(0, block.size, _CENTRED):
                words = block[start : start + _CENTRED].astype(np.uint64)
                with np.errstate(over="ignore"):  # modulo 2⁶⁴, in which the distance fits
                    yield (words - np.uint64(minimum % (1 << 64))).astype(np.float64)

    mean = sum(_total(part) for part in above()) / count
    squares = sum(_total(np.square(part - mean)) for part in above())
    return minimum + mean, math.sqrt(squares / count)


def _values(blocks: Iterable[Array]) -> Iterator[Array]:
    """Finite values as f64, block by block."""
    for block in blocks:
        for start in range(0, block.size, _CENTRED):
            with np.errstate(invalid="ignore"):
                wide = block[start : start + _CENTRED].astype(np.float64)
            yield wide[np.isfinite(wide)]


def _total(values: Array) -> float:
    return float(values.sum())
