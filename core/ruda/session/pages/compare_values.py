"""One tensor of both sides as heat maps: left, right, and the difference between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import DTypeError, ShapeError
from ruda.progress import SILENT, Monitor
from ruda.session.language import tr
from ruda.session.pages.inspector import ValuesPage, values_page
from ruda.session.pages.planes import OTHERS, PlaneChoice
from ruda.session.wording import number_text
from ruda.store import dequantize
from ruda.tensor import DType, Kind

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

    Without a choice axis 0 lies down and all others across. Raises ValueError for axes that the
    tensors do not have, ShapeError for two shapes, DTypeError for values without an order or a
    number, the StoreError of the files, Cancelled.
    """
    if left.shape != right.shape:
        raise ShapeError(f"{left.key}: shapes {list(left.shape)} and {list(right.shape)} differ")
    chosen = PlaneChoice.of(tuple(left.shape)) if choice is None else choice
    read = (_numbers(side, monitor) for side in (left, right))
    (a, kind_a), (b, kind_b) = ((_plane(values, chosen), kind) for values, kind in read)
    first = values_page(a, kind_a, monitor=monitor)
    second = values_page(b, kind_b, monitor=monitor)
    delta, unpaired = _difference(a, b, monitor)
    third = values_page(delta, DType.F64, monitor=monitor)
    if unpaired:
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


def _plane(values: Array, choice: PlaneChoice) -> Array:
    """The plane of a tensor, of shape (down, across): a view; the tensor where all is shown."""
    if choice.columns == OTHERS or values.ndim < 2:
        return values
    down, across = choice.rows, choice.columns
    if len({down, across} & set(range(values.ndim))) != 2:
        raise ValueError(f"a plane needs two axes of {list(values.shape)}, got {choice}")
    place = tuple(
        slice(None) if axis in (down, across) else choice.fixed[axis] for axis in range(values.ndim)
    )
    found: Array = values[place]
    return found if down < across else found.T


def _numbers(snapshot: TensorSnapshot, monitor: Monitor) -> tuple[Array, DType]:
    monitor.check()
    if snapshot.dtype.kind is Kind.QUANTIZED and snapshot.dtype is not DType.QFLOAT:
        snapshot = dequantize(snapshot)
    if snapshot.dtype.is_raw or not snapshot.dtype.is_ordered:
        raise DTypeError(f"{snapshot.key}: {snapshot.dtype_label} has no values that can be drawn")
    return snapshot.read(), snapshot.dtype


def _difference(a: Array, b: Array, monitor: Monitor) -> tuple[Array, int]:
    """``b - a`` in f64, NaN where it has no number, and how many such places there are."""
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    out = np.empty(flat_a.size, dtype=np.float64)
    unpaired = 0
    # 64-bit integers have more digits than f64: two that differ must not look equal.
    wide = any(x.dtype.kind in "iu" and x.dtype.itemsize == 8 for x in (a, b))
    work: Any = np.longdouble if wide else np.float64
    for start in range(0, flat_a.size, _BLOCK):
        monitor.check()
        one: Array = flat_a[start : start + _BLOCK].astype(work)
        two: Array = flat_b[start : start + _BLOCK].astype(work)
        same = (one == two) | (np.isnan(one) & np.isnan(two))
        with np.errstate(invalid="ignore", over="ignore"):
            delta = np.where(same, 0.0, two - one)
        bad = ~np.isfinite(delta)
        delta[bad] = np.nan
        unpaired += int(bad.sum())
        out[start : start + _BLOCK] = delta
    return out.reshape(a.shape), unpaired
