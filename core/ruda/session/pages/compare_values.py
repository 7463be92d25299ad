"""One tensor of both sides as heat maps: left, right, and the difference between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import DTypeError, ShapeError
from ruda.progress import SILENT, Monitor, Progress
from ruda.session.language import tr
from ruda.session.pages.inspector import ValuesPage
from ruda.session.pages.planes import PlaneChoice, PlaneWork, seen_as
from ruda.session.wording import number_text
from ruda.store import blocks, dequantize
from ruda.tensor import Kind

if TYPE_CHECKING:
    from ruda.store import TensorSnapshot

Array = np.ndarray[Any, Any]
_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class CompareValues:
    """Three heat maps of one shape: both sides on one scale, the difference on its own.

    A cell of the difference is hatched where one side is not finite and the other is something
    else; two NaNs, or two equal infinities, differ by nothing.
    """

    key: str
    left: ValuesPage
    right: ValuesPage
    difference: ValuesPage
    caption: str
    """``largest difference 0.0123``, of what is drawn."""
    choice: PlaneChoice
    """The plane that is drawn, the same of both sides."""


def compare_values(
    left: TensorSnapshot,
    right: TensorSnapshot,
    choice: PlaneChoice | None = None,
    *,
    monitor: Monitor = SILENT,
) -> CompareValues:
    """Read both tensors and make the heat maps of a plane of them, and of ``right - left``.

    Both are read in runs side by side; neither is in memory whole.

    Without a choice axis 0 lies down and all others across. Raises ValueError for axes that the
    tensors do not have, ShapeError for two shapes, DTypeError for values without an order or a
    number, the StoreError of the files, Cancelled.
    """
    shape = tuple(left.shape)
    if shape != tuple(right.shape):
        raise ShapeError(f"{left.key}: shapes {list(shape)} and {list(right.shape)} differ")
    chosen = PlaneChoice.of(shape) if choice is None else choice
    sides = [_numbers(side) for side in (left, right)]
    seen = seen_as(shape, chosen)
    kinds = (*(side.dtype.carrier for side in sides), np.dtype(np.float64))
    works = [PlaneWork(seen, chosen, kind) for kind in kinds]
    done = 0
    for one, two in zip(blocks(sides[0], _BLOCK), blocks(sides[1], _BLOCK), strict=True):
        monitor.check()
        for work, run in zip(works, (one, two, _difference(one, two)), strict=True):
            work.take(run, done)
        done += one.size
        monitor.report(Progress(done, left.numel, "values"))
    first, second, third = (work.page(shape).values for work in works)
    if third.nonfinite.any():
        worst = tr("differ where one side is not finite")
    else:
        worst = tr("largest difference {value}", value=number_text(third.absmax))
    top = max(first.absmax, second.absmax)
    return CompareValues(
        key=left.key,
        left=replace(first, absmax=top),
        right=replace(second, absmax=top),
        difference=third,
        caption=worst,
        choice=chosen,
    )


def _numbers(snapshot: TensorSnapshot) -> TensorSnapshot:
    """The tensor with plain numbers, which may be those that its bits stand for."""
    if snapshot.dtype.kind is Kind.QUANTIZED:
        snapshot = dequantize(snapshot)
    if snapshot.dtype.is_raw or not snapshot.dtype.is_ordered:
        raise DTypeError(f"{snapshot.key}: {snapshot.dtype_label} has no values that can be drawn")
    return snapshot


def _difference(one: Array, two: Array) -> Array:
    """``two - one`` of two runs in f64; NaN where it has no number."""
    # 64-bit integers have more digits than f64: two that differ must not look equal.
    wide = any(x.dtype.kind in "iu" and x.dtype.itemsize == 8 for x in (one, two))
    work: Any = np.longdouble if wide else np.float64
    a, b = one.astype(work), two.astype(work)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        delta = np.where(same, 0.0, b - a).astype(np.float64)
    found: Array = np.where(np.isfinite(delta), delta, np.nan)
    return found
