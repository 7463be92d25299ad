"""Padding: new elements around a tensor, constant or taken from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor.casting import scalar
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import Array, dtype_of
from ruda.tensor.promotion import Scalar, promote_scalar
from ruda.tensor.sizes import require_room, sizes_of

PadMode: TypeAlias = Literal["constant", "reflect", "edge"]


def pad(
    values: Array, pairs: Sequence[tuple[int, int]], mode: PadMode = "constant", fill: Scalar = 0
) -> Array:
    """New elements before and after each axis, of the tensor's dtype; a copy.

    ``pairs`` are (before, after), for the last axis first, as Burn orders them; axes without a pair
    stay. ``constant`` is ``fill``, ``reflect`` mirrors without repeating the edge, ``edge`` repeats
    it. Raises ShapeError for pairs that do not fit the shape, SettingError for an unknown mode,
    DTypeError for a fill that the dtype does not take.
    """
    shape = list(values.shape)
    if not isinstance(pairs, Iterable):
        raise DTypeError(f"pad: expected pairs of whole numbers, got {pairs!r}")
    asked = [sizes_of("pad", one, "a width") for one in pairs]
    if len(asked) > values.ndim or any(len(one) != 2 or min(one) < 0 for one in asked):
        raise ShapeError(
            f"pad: shape {shape} takes at most {values.ndim} pairs (before, after) of sizes from "
            f"0, the last axis first, got {asked}; narrow makes an axis "
            f"shorter"
        )
    widths = [(0, 0)] * (values.ndim - len(asked)) + [(one[0], one[1]) for one in reversed(asked)]
    sizes = tuple(size + sum(width) for size, width in zip(shape, widths, strict=True))
    require_room("pad", sizes, values.dtype)
    if not widths:
        return values.copy()
    if mode == "constant":
        dtype = dtype_of(values)
        if dtype is DType.BOOL and type(fill) is int and fill in (0, 1):
            fill = bool(fill)  # so that what others are filled with suits bool as well
        if promote_scalar("pad", dtype, fill) is not dtype:
            raise DTypeError(f"pad: {dtype} does not take the fill {fill!r}; cast the tensor first")
        return np.pad(values, widths, constant_values=scalar(fill, dtype))
    if mode not in ("reflect", "edge"):
        raise SettingError(f"pad: mode is constant, reflect or edge, got {mode!r}")
    for axis, width in enumerate(widths):
        most = shape[axis] - 1
        if max(width) > 0 and (most < 0 or (mode == "reflect" and max(width) > most)):
            raise ShapeError(
                f"pad: {mode} takes {width} elements from axis {axis} of shape {shape}, which "
                f"does not have them; pad less, or with a constant"
            )
    return np.pad(values, widths, mode=mode)
