"""What is read of a tensor for the inspector: statistics, a plane, and what half precision does.

Everything is read in runs; no large tensor lies in memory whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.progress import Monitor
from ruda.session import (
    PlaneChoice,
    PlanePage,
    ValuesPage,
    ValueSpread,
    count_text,
    number_text,
    plane_page,
    scan_spread,
    scan_tensor,
    tr,
)
from ruda.store import TensorSnapshot, blocks
from ruda.tensor import CastCounts, DType, TensorStats, cast

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What one scan found."""

    key: str
    stats: TensorStats
    spread: ValueSpread
    page: PlanePage
    halves: tuple[tuple[str, str], ...]
    """What f16 and bf16 would do: (``as f16``, ``±2.4e-04, overflow 0``)."""

    @property
    def values(self) -> ValuesPage:
        """The heat map of the whole tensor, axis 0 down and all others across."""
        return self.page.values

    @property
    def plane(self) -> Array | None:
        """The values of that plane; None for a tensor that is too large to be kept."""
        return self.page.plane


def inspect(snapshot: TensorSnapshot, monitor: Monitor) -> Inspection:
    """Read a tensor and take everything that the inspector shows of it at first.

    Raises the StoreError of the file, DTypeError for a dtype without an order, Cancelled.
    """
    found = scan_tensor(snapshot, monitor=monitor)
    page = plane_page(snapshot, PlaneChoice.of(tuple(snapshot.shape)), monitor=monitor)
    spread = scan_spread(snapshot, monitor=monitor)
    return Inspection(snapshot.key, found, spread, page, _halves(snapshot, monitor))


def _halves(snapshot: TensorSnapshot, monitor: Monitor) -> tuple[tuple[str, str], ...]:
    if snapshot.dtype is not DType.F32 or not snapshot.numel:
        return ()
    targets = (DType.F16, DType.BF16)
    counts = {target: CastCounts() for target in targets}
    worst = dict.fromkeys(targets, 0.0)
    for block in blocks(snapshot):
        for target in targets:
            monitor.check()
            half, lost = cast(block, DType.F32, target)
            counts[target] += lost
            with np.errstate(invalid="ignore", over="ignore"):
                error = np.abs(half.astype(np.float32) - block)
            finite = error[np.isfinite(error)]
            if finite.size:
                worst[target] = max(worst[target], float(finite.max()))
    return tuple(
        (tr("as {label}", label=target.label), _half_text(worst[target], counts[target]))
        for target in targets
    )


def _half_text(worst: float, counts: CastCounts) -> str:
    error_text = tr("exact") if worst == 0 else f"±{number_text(float(f'{worst:.2g}'))}"
    if counts.underflow and not counts.overflow:
        return tr(
            "{error_text}, underflow {underflow}",
            error_text=error_text,
            underflow=count_text(counts.underflow),
        )
    return tr(
        "{error_text}, overflow {overflow}",
        error_text=error_text,
        overflow=count_text(counts.overflow),
    )
