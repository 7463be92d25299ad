"""Tensors that hold the tensors of all layers: one of them taken out, or all laid together.

The layers lie along an axis of their own, the first. All of it is lazy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ruda.errors import AdapterError
from ruda.store.filerange import FileRange
from ruda.store.moving import ReshapedSource, peak_of
from ruda.store.row_blocks import rows_of, stacked
from ruda.store.snapshot import TensorSnapshot, TensorSource


def layer_of(snapshot: TensorSnapshot, at: int) -> TensorSnapshot:
    """The tensor of layer ``at``, without the axis of the layers; the trail says ``split 5``.

    Raises AdapterError where there is no such layer or values cannot be told apart.
    """
    count = snapshot.shape[0] if snapshot.shape else 0
    if at >= count:
        raise AdapterError(
            f"{list(snapshot.shape)} holds {count} layers, numbered from 0: there is no layer {at}",
            key=snapshot.key,
        )
    return _reshaped(rows_of(snapshot, at, count), snapshot.shape[1:])


def layered(
    parts: Sequence[TensorSnapshot], key: str, containers: tuple[str, ...], before: tuple[str, ...]
) -> TensorSnapshot:
    """The tensors of all layers as one; its trail is ``before``, the parts' steps, ``join 5``.

    Raises AdapterError for parts that differ in type or shape.
    """
    rows = [_reshaped(part, (1, *part.shape)) for part in parts]
    return stacked(rows, key, containers, before)


def _reshaped(snapshot: TensorSnapshot, shape: tuple[int, ...]) -> TensorSnapshot:
    source = snapshot.source
    made: TensorSource = ReshapedSource(source, shape, peak_of(source, 0))
    if isinstance(source, FileRange):
        made = replace(source, shape=shape)
    return replace(snapshot, shape=shape, source=made)
