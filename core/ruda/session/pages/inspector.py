"""The inspector: facts of one tensor, its statistics, and its values as a small grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import DTypeError
from ruda.progress import SILENT, Monitor, Progress
from ruda.session.language import tr
from ruda.session.sentences import say_steps
from ruda.session.wording import count_text, counted, number_text, shape_text, share_text, size_text
from ruda.tensor import DType

if TYPE_CHECKING:
    from ruda.session.pages.spread import ValueSpread
    from ruda.store import TensorSnapshot
    from ruda.tensor import TensorStats

Array = np.ndarray[Any, Any]

GRID_ROWS = 48
GRID_COLUMNS = 48
"""Largest size of the value grid; larger tensors show the largest magnitude of each cell."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A label and what stands beside it."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class HistogramView:
    """Counts in equal bins from ``low`` to ``high``, and the caption above them."""

    counts: tuple[int, ...]
    low: float
    high: float
    caption: str


@dataclass(frozen=True, slots=True)
class InspectorPage:
    """What the inspector shows of one tensor."""

    key: str
    facts: tuple[Fact, ...]
    statistics: tuple[Fact, ...]
    """Empty until the values were scanned."""
    histogram: HistogramView | None
    findings: tuple[str, ...]
    """What a person should know of the values: NaN, Inf, constant."""
    can_scan: bool
    """False where the dtype has no order to take statistics of."""
    asks_first: bool
    """True if the tensor is so large that the scan waits for a click."""
    scan_label: str


KEPT_BYTES = 8 << 20
"""Tensors up to here are read once for their statistics; larger ones never lie in memory whole."""


@dataclass(frozen=True, slots=True)
class ValuesPage:
    """A plane of values, drawn as a heat map that diverges about zero.

    ``grid`` is f32 (rows, columns), the value of largest magnitude in each cell; cells that hold
    a NaN or Inf are True in ``nonfinite``. The plane has axis 0 down and all others across.
    """

    grid: Array
    nonfinite: Array
    absmax: float
    caption: str
    exact: bool
    """True if every cell is one value."""


def inspector_page(
    snapshot: TensorSnapshot,
    stats: TensorStats | None = None,
    spread: ValueSpread | None = None,
    *,
    source: TensorSnapshot | None = None,
    limit: int = 64_000_000,
) -> InspectorPage:
    """Facts of a tensor, and its statistics once there are some.

    ``source`` is the tensor in the file when ``snapshot`` is what a recipe made of it; ``limit``
    is the size in bytes up to which a scan starts by itself.
    """
    return InspectorPage(
        key=snapshot.key,
        facts=tuple(_facts(snapshot, source)),
        statistics=() if stats is None else tuple(_statistics(stats, spread)),
        histogram=None if stats is None or not stats.finite else _histogram(stats),
        findings=() if stats is None else tuple(_findings(stats)),
        can_scan=snapshot.dtype.is_ordered,
        asks_first=snapshot.nbytes > limit,
        scan_label=tr("Compute ({nbytes})", nbytes=size_text(snapshot.nbytes)),
    )


def scan_tensor(
    snapshot: TensorSnapshot, *, bins: int = 64, monitor: Monitor = SILENT
) -> TensorStats:
    """Read a tensor and take its statistics; a large one piece by piece, as often as it takes.

    Raises DTypeError where the dtype has no order, the StoreError of the file, Cancelled.
    """
    from ruda.store import blocks
    from ruda.tensor import stats, stream_stats

    if not snapshot.dtype.is_ordered:
        raise DTypeError(f"{snapshot.key}: {snapshot.dtype} has no order to take statistics of")
    monitor.check()
    if snapshot.nbytes <= KEPT_BYTES:
        return stats(snapshot.read(), snapshot.dtype, bins=bins, monitor=monitor)
    return stream_stats(
        lambda: blocks(snapshot), snapshot.numel, snapshot.dtype, bins=bins, monitor=monitor
    )


def values_page(
    array: Array,
    dtype: DType,
    *,
    rows: int = GRID_ROWS,
    columns: int = GRID_COLUMNS,
    monitor: Monitor = SILENT,
) -> ValuesPage:
    """A grid of at most ``rows`` × ``columns`` cells of a tensor in its carrier dtype.

    Raises DTypeError for dtypes without an order.
    """
    if not dtype.is_ordered:
        raise DTypeError(f"{dtype} has no values that a heat map could show")
    plane = _plane(array)
    down = _cuts(plane.shape[0], rows)
    across = _cuts(plane.shape[1], columns)
    grid = np.zeros((len(down), len(across)), dtype=np.float32)
    nonfinite = np.zeros(grid.shape, dtype=bool)
    ends = [*down[1:].tolist(), plane.shape[0]][: len(down)]
    for row, (start, end) in enumerate(zip(down.tolist(), ends, strict=True)):
        monitor.check()
        band = plane[start:end].astype(np.float64)
        good = np.isfinite(band)
        nonfinite[row] = np.logical_or.reduceat(~good, across, axis=1).any(axis=0)
        clean = np.where(good, band, 0.0)
        high = np.maximum.reduceat(clean, across, axis=1).max(axis=0)
        low = np.minimum.reduceat(clean, across, axis=1).min(axis=0)
        with np.errstate(over="ignore"):
            grid[row] = np.where(high >= -low, high, low)
        monitor.report(Progress(row + 1, len(ends), "rows"))
    exact = grid.shape == plane.shape
    return ValuesPage(
        grid=grid,
        nonfinite=nonfinite,
        absmax=float(np.abs(grid).max()) if grid.size else 0.0,
        caption=_caption(plane.shape, exact),
        exact=exact,
    )


def _plane(array: Array) -> Array:
    if array.ndim == 0:
        return array.reshape(1, 1)
    if array.ndim == 1:
        return array.reshape(1, -1)
    return array.reshape(array.shape[0], -1) if array.size else array.reshape(0, 0)


def _cuts(size: int, cells: int) -> Array:
    """Where each of at most ``cells`` cells begins; the cells differ by one at most."""
    count = min(size, max(1, cells))
    return np.arange(count, dtype=np.int64) * size // max(1, count)


def _caption(shape: tuple[int, ...], exact: bool) -> str:
    size = f"{count_text(shape[0])} × {count_text(shape[1])}"
    return (
        tr("Values, {size}", size=size)
        if exact
        else tr("Values, {size}, largest magnitude per cell", size=size)
    )


def _facts(snapshot: TensorSnapshot, source: TensorSnapshot | None) -> list[Fact]:
    before = snapshot if source is None else source
    facts: list[Fact] = []
    if before.key != snapshot.key:
        facts.append(Fact(tr("from"), before.key))
    facts.append(Fact(tr("shape"), _change(shape_text(before.shape), shape_text(snapshot.shape))))
    dtype = _change(before.dtype_label, snapshot.dtype_label)
    values = counted(snapshot.numel, "value")
    facts.append(Fact(tr("type"), f"{dtype}, {values}, {size_text(snapshot.nbytes)}"))
    if snapshot.trail:
        facts.append(Fact(tr("step"), say_steps(snapshot.trail)))
    if snapshot.container is not None:
        facts.append(Fact(tr("module"), snapshot.container))
    if snapshot.shared_with is not None:
        facts.append(Fact(tr("shares memory with"), snapshot.shared_with))
    facts.extend(_place(snapshot))
    if snapshot.param_id is not None:
        facts.append(Fact(tr("id"), str(snapshot.param_id)))
    return facts


def _place(snapshot: TensorSnapshot) -> list[Fact]:
    origin = snapshot.origin
    if origin is None:
        return []
    if origin.offset is None:
        return [Fact(tr("file"), origin.path.name)]
    aligned = 4096
    while origin.offset % aligned:
        aligned //= 2
    return [
        Fact(tr("file"), origin.path.name),
        Fact(
            tr("offset"),
            tr("{offset}, aligned to {aligned}", offset=count_text(origin.offset), aligned=aligned),
        ),
    ]


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _statistics(stats: TensorStats, spread: ValueSpread | None) -> list[Fact]:
    if not stats.finite:
        found = [Fact(tr("values"), tr("none are finite") if stats.count else tr("empty tensor"))]
    else:
        found = [
            Fact(tr("min, max"), f"{number_text(stats.minimum)}, {number_text(stats.maximum)}"),
            Fact(tr("mean, std"), f"{number_text(stats.mean)}, {number_text(stats.std)}"),
        ]
    if spread is not None and spread.percentiles:
        low, lower, middle, upper, high = (_near(each, spread) for each in spread.percentiles)
        found += [
            Fact(tr("median"), middle),
            Fact(tr("p1, p99"), f"{lower}, {upper}"),
            Fact(tr("p0.1, p99.9"), f"{low}, {high}"),
        ]
    share = f" ({share_text(stats.zeros, stats.count)})" if stats.zeros else ""
    found.append(Fact(tr("zeros"), f"{count_text(stats.zeros)}{share}"))
    if spread is not None and spread.subnormals is not None:
        found.append(Fact(tr("subnormal"), count_text(spread.subnormals)))
    apart = (stats.nans, stats.pos_infs, stats.neg_infs)
    return [*found, Fact(tr("NaN, +∞, −∞"), ", ".join(map(count_text, apart)))]


def _near(value: float, spread: ValueSpread) -> str:
    """A percentile: two figures where no more are known."""
    return number_text(value) if spread.exact else f"≈ {value:.2g}"


def _histogram(stats: TensorStats) -> HistogramView:
    caption = tr("Distribution, {histogram} bins", histogram=len(stats.histogram))
    return HistogramView(stats.histogram, stats.low, stats.high, caption)


def _findings(stats: TensorStats) -> list[str]:
    found: list[str] = []
    if stats.nans:
        found.append(tr("{nans} NaN", nans=counted(stats.nans, "value")))
    if stats.pos_infs or stats.neg_infs:
        found.append(
            tr("{values} infinite", values=counted(stats.pos_infs + stats.neg_infs, "value"))
        )
    if stats.count > 1 and stats.constant:
        found.append(tr("constant: every value is {minimum}", minimum=number_text(stats.minimum)))
    return found
