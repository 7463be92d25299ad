"""Sums of floats, of which the error hardly grows with the number of values."""

from __future__ import annotations

import math

import numpy as np

from ruda.tensor.operations.operands import Array

_BLOCK = 128
"""Values that are added one after the other; the sums of blocks are added likewise."""
_FEW = 1024
"""So many are added in any order: their error is that of a few roundings."""


def added(values: Array, axes: tuple[int, ...] | None, *, keepdims: bool = False) -> Array:
    """Sums in the dtype of the values, with an error that hardly grows with their number.

    NumPy sees to that only along the axis that is closest together in memory; elsewhere it adds
    row to row, and ten million tenths of f32 become 1,087,937. Here they are added in blocks
    (Higham, "The accuracy of floating point summation", 1993, pairwise summation).
    """
    asked = tuple(range(values.ndim)) if axes is None else axes
    count = math.prod(values.shape[axis] for axis in asked)
    if values.dtype.kind not in "fc" or count <= _FEW:
        return np.asarray(np.sum(values, axis=asked, keepdims=keepdims, dtype=values.dtype))
    merged, runs = _merged(values, set(asked))
    for axis in reversed(runs):
        merged = _added_along(merged, axis)
    kept = [1 if axis in asked else size for axis, size in enumerate(values.shape)]
    left = [size for axis, size in enumerate(values.shape) if axis not in asked]
    return merged.reshape(kept if keepdims else left)


def _merged(values: Array, asked: set[int]) -> tuple[Array, list[int]]:
    """A view in which asked axes that lie on end in memory are one, and which those are."""
    shape: list[int] = []
    runs: list[int] = []
    for axis, size in enumerate(values.shape):
        step = values.strides[axis] * size
        if axis in asked and axis - 1 in asked and values.strides[axis - 1] == step:
            shape[-1] *= size
            continue
        if axis in asked:
            runs.append(len(shape))
        shape.append(size)
    return values.reshape(shape), runs


def _added_along(values: Array, axis: int) -> Array:
    """The sums along one axis, which keeps a size of 1."""
    while values.shape[axis] > _BLOCK and not _closest(values, axis):
        count = values.shape[axis] // _BLOCK
        front = (slice(None),) * axis
        before, behind = values.shape[:axis], values.shape[axis + 1 :]
        blocks = values[(*front, slice(0, count * _BLOCK))]
        sums = np.sum(blocks.reshape(*before, count, _BLOCK, *behind), axis=axis + 1)
        rest = values[(*front, slice(count * _BLOCK, None))]
        if rest.shape[axis]:
            sums = np.concatenate([sums, np.sum(rest, axis=axis, keepdims=True)], axis=axis)
        values = sums
    return np.asarray(np.sum(values, axis=axis, keepdims=True))


def _closest(values: Array, axis: int) -> bool:
    """Whether no other axis has its items closer together: along that one NumPy adds in blocks."""
    own = abs(values.strides[axis])
    others = [place for place, size in enumerate(values.shape) if size > 1 and place != axis]
    return all(abs(values.strides[place]) > own for place in others)
