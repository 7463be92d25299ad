"""What decisions do to the shape of a tensor: axes in another order, cut, padded, reshaped.

All is lazy: the new shape is known at once, the work is done when the values are read. Cuts and
pads along axis 0, and new shapes, hand the bytes on in pieces; the others need the whole tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ruda.errors import DecisionError
from ruda.store.adapted import transposed
from ruda.store.adapter import Chaining, ModuleAdapter
from ruda.store.decisions import Change, Pad, Reshape, Slice, Take, Transpose
from ruda.store.moving import (
    CutSource,
    OrderedSource,
    PaddedSource,
    ReshapedSource,
    RunSource,
    peak_of,
    run_of,
)
from ruda.store.snapshot import TOGETHER, Origin, TensorSnapshot, TensorSource
from ruda.tensor import DType, Kind, cast

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ShapedAdapter(Chaining):
    """The adapters of a recipe, then what is decided for the shapes of single tensors.

    ``scaled`` maps tensors that mean nothing without a scale, and scales, to the scale's key:
    moving the values of one of the two would leave the other behind, so it is refused.
    """

    changes: Mapping[str, tuple[Change, ...]]
    scaled: Mapping[str, str]
    name: str = "decisions"

    def depth(self) -> int:
        """0: only tensors that decisions of the recipe name are changed."""
        return 0

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """The tensor after its changes, in their order. Raises DecisionError."""
        changes = self.changes.get(snapshot.key)
        if changes is None:
            return snapshot
        if snapshot.key in self.scaled:
            raise DecisionError(
                f"{changes[0].text!r} would part it from the scale {self.scaled[snapshot.key]!r}; "
                "multiply the scale in first (merge scales)",
                key=snapshot.key,
            )
        for change in changes:
            snapshot = changed(snapshot, change)
        return snapshot

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """None: decisions rename nothing."""
        return None

    def reverse(self) -> ModuleAdapter:
        """The inverse transposes. Raises DecisionError for changes that have no reverse."""
        turned: dict[str, tuple[Change, ...]] = {}
        for key, changes in self.changes.items():
            for change in changes:
                if not isinstance(change, Transpose):
                    raise DecisionError(f"{change.text!r} has no reverse", key=key)
            turned[key] = tuple(c.reverse() for c in changes[::-1] if isinstance(c, Transpose))
        return ShapedAdapter(turned, self.scaled, self.name)


def changed(snapshot: TensorSnapshot, change: Change) -> TensorSnapshot:
    """The tensor after one change of its shape, which its trail names; lazy.

    Raises DecisionError with what was found and expected where it cannot be done.
    """
    if isinstance(change, Take):
        raise DecisionError("another file's tensor is no change of this one", key=snapshot.key)
    if snapshot.dtype.kind in TOGETHER:
        raise _impossible(snapshot, change, f"{snapshot.dtype_label} values share bytes or a scale")
    if isinstance(change, Transpose):
        return _transposed(snapshot, change)
    if isinstance(change, Slice):
        return _sliced(snapshot, change)
    if isinstance(change, Pad):
        return _padded(snapshot, change)
    return _reshaped(snapshot, change)


def _transposed(snapshot: TensorSnapshot, change: Transpose) -> TensorSnapshot:
    axes, rank = change.axes, len(snapshot.shape)
    if len(axes) != rank:
        raise _impossible(
            snapshot, change, f"it has {rank} axes, {list(snapshot.shape)}, not {len(axes)}"
        )
    if axes == tuple(range(rank)):
        return snapshot
    if rank == 2:
        return transposed(snapshot)
    shape = tuple(snapshot.shape[axis] for axis in axes)
    peak = snapshot.nbytes + peak_of(snapshot.source, snapshot.nbytes)
    return _with(
        snapshot, change.text, shape, OrderedSource(snapshot.source, snapshot.shape, axes, peak)
    )


def _sliced(snapshot: TensorSnapshot, change: Slice) -> TensorSnapshot:
    length = _length(snapshot, change, change.axis)
    if change.stop > length:
        raise _impossible(snapshot, change, f"axis {change.axis} ends at {length}")
    axis, count = change.axis, change.stop - change.start
    shape = (*snapshot.shape[:axis], count, *snapshot.shape[axis + 1 :])
    nbytes = snapshot.dtype.nbytes(math.prod(shape))
    source: TensorSource
    if axis == 0:
        skip = change.start * math.prod(shape[1:])
        source = run_of(snapshot.source, snapshot.dtype, snapshot.shape, shape, skip)
    else:
        peak = nbytes + peak_of(snapshot.source, snapshot.nbytes)
        source = CutSource(snapshot.source, snapshot.shape, axis, change.start, change.stop, peak)
    return _with(snapshot, change.text, shape, source)


def _padded(snapshot: TensorSnapshot, change: Pad) -> TensorSnapshot:
    length = _length(snapshot, change, change.axis)
    filler = _element(snapshot, change)
    axis = change.axis
    size = length + change.before + change.after
    shape = (*snapshot.shape[:axis], size, *snapshot.shape[axis + 1 :])
    nbytes = snapshot.dtype.nbytes(math.prod(shape))
    source: TensorSource
    if axis == 0:
        row = math.prod(shape[1:])
        held = 0 if hasattr(snapshot.source, "stream") else snapshot.nbytes
        source = RunSource(
            snapshot.source, snapshot.dtype, shape, 0, snapshot.numel,
            nbytes + peak_of(snapshot.source, held),
            change.before * row, change.after * row, filler,
        )  # fmt: skip
    else:
        peak = nbytes + peak_of(snapshot.source, snapshot.nbytes)
        source = PaddedSource(
            snapshot.source, snapshot.dtype, snapshot.shape, axis, change.before, change.after,
            filler, peak,
        )  # fmt: skip
    return _with(snapshot, change.text, shape, source)


def _reshaped(snapshot: TensorSnapshot, change: Reshape) -> TensorSnapshot:
    count = math.prod(change.shape)
    if count != snapshot.numel:
        raise _impossible(
            snapshot, change, f"{list(snapshot.shape)} has {snapshot.numel} elements, not {count}"
        )
    if change.shape == snapshot.shape:
        return snapshot
    source = ReshapedSource(
        snapshot.source, change.shape, peak_of(snapshot.source, snapshot.nbytes)
    )
    return _with(snapshot, change.text, change.shape, source)


def _element(snapshot: TensorSnapshot, change: Pad) -> bytes:
    """The bytes of one padded element. Raises DecisionError for a value the dtype cannot hold."""
    dtype, value = snapshot.dtype, change.value
    fact = f"{dtype} cannot hold {value!r}"
    if dtype.is_float:
        found, counts = cast(np.array([value], "<f8"), DType.F64, dtype)
        if counts.overflow or counts.underflow:
            raise _impossible(snapshot, change, fact)
        return found.tobytes()
    if dtype.is_integer or dtype.kind is Kind.BOOL:
        top = 1 if dtype.kind is Kind.BOOL else int(np.iinfo(dtype.carrier).max)
        low = 0 if dtype.kind is Kind.BOOL else int(np.iinfo(dtype.carrier).min)
        if value != int(value) or not low <= value <= top:
            raise _impossible(snapshot, change, fact)
        return np.array([int(value)], dtype.carrier).tobytes()
    if dtype.is_raw:
        raise _impossible(snapshot, change, f"{dtype} values cannot be made")
    with np.errstate(over="ignore"):
        made = np.array([value], dtype.carrier)  # complex: a value too large becomes an infinity
    if not np.isfinite(made).all() or (value and not made.any()):
        raise _impossible(snapshot, change, fact)
    return made.tobytes()


def _length(snapshot: TensorSnapshot, change: Slice | Pad, axis: int) -> int:
    if axis >= len(snapshot.shape):
        raise _impossible(
            snapshot, change, f"it has {len(snapshot.shape)} axes, {list(snapshot.shape)}"
        )
    return snapshot.shape[axis]


def _impossible(snapshot: TensorSnapshot, change: Change, fact: str) -> DecisionError:
    return DecisionError(f"the decision {change.text!r} cannot be done: {fact}", key=snapshot.key)


def _with(
    snapshot: TensorSnapshot, step: str, shape: tuple[int, ...], source: TensorSource
) -> TensorSnapshot:
    origin = snapshot.origin
    return replace(
        snapshot,
        shape=shape,
        nbytes=snapshot.dtype.nbytes(math.prod(shape)),
        source=source,
        origin=None if origin is None else Origin(origin.path),
        trail=(*snapshot.trail, step),
    )
