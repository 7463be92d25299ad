"""One reading of a tensor for the inspector: statistics, the heat map and the plane of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.progress import Monitor
from ruda.session import ValuesPage, count_text, number_text, tr, values_page
from ruda.store import TensorSnapshot
from ruda.tensor import CastCounts, DType, TensorStats, cast, stats

PLANE_BYTES = 16_000_000
"""Values of larger tensors are not kept for the grid."""
BLOCK = 1 << 20

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What one scan found. ``plane`` is None for a tensor that is too large to be kept."""

    key: str
    stats: TensorStats
    values: ValuesPage
    plane: Array | None
    halves: tuple[tuple[str, str], ...]
    """What f16 and bf16 would do: (``as f16``, ``±2.4e-04, overflow 0``)."""


def inspect(snapshot: TensorSnapshot, monitor: Monitor) -> Inspection:
    """Read a tensor once and take everything that the inspector shows of it.

    Raises the StoreError of the file, DTypeError for a dtype without an order, Cancelled.
    """
    monitor.check()
    array = snapshot.read()
    found = stats(array, snapshot.dtype, monitor=monitor)
    monitor.check()
    page = values_page(array, snapshot.dtype, monitor=monitor)
    keep = snapshot.nbytes <= PLANE_BYTES
    return Inspection(
        key=snapshot.key,
        stats=found,
        values=page,
        plane=_plane(array) if keep else None,
        halves=_halves(array, snapshot.dtype, monitor),
    )


def _plane(array: Array) -> Array:
    if array.ndim == 0:
        return array.reshape(1, 1)
    if array.ndim == 1:
        return array.reshape(-1, 1)
    return array.reshape(array.shape[0], -1) if array.size else array.reshape(0, 0)


def _halves(array: Array, dtype: DType, monitor: Monitor) -> tuple[tuple[str, str], ...]:
    if dtype is not DType.F32 or not array.size:
        return ()
    return tuple(
        (tr("as {label}", label=target.label), _half(array.reshape(-1), target, monitor))
        for target in (DType.F16, DType.BF16)
    )


def _half(flat: Array, target: DType, monitor: Monitor) -> str:
    counts = CastCounts()
    worst = 0.0
    for start in range(0, flat.size, BLOCK):
        monitor.check()
        block = flat[start : start + BLOCK]
        half, lost = cast(block, DType.F32, target)
        counts += lost
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(half.astype(np.float32) - block)
        finite = error[np.isfinite(error)]
        if finite.size:
            worst = max(worst, float(finite.max()))
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
