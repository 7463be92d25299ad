"""float32 to and from the two half precisions, with the losses counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ruda._kernels.checks import Array, take_pair, take_plain, take_run
from ruda._kernels.threads import in_pieces, is_one_piece
from ruda._kernels.variants import kernel
from ruda.progress import SILENT, Monitor

_half = kernel("half")

F32 = np.dtype(np.float32)
F16 = np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
U16 = np.dtype(np.uint16)
_U32 = np.dtype(np.uint32)
_I32 = np.dtype(np.int32)

_BLOCK = 1024
"""The BLOCK of the kernels."""
_LINE = 64
_WORTH_ALIGNING = 1 << 15

_JUST_F32 = (F32,)
_F16_WORDS = (F16, U16)
_BF16_WORDS = (BF16, U16)


@dataclass(frozen=True, slots=True)
class NarrowCounts:
    """What a narrowing did: how many values became something else, zero or subnormal.

    ``overflow``: finite before, and infinite or NaN after; also infinite before and NaN after, in
    a type without infinities. ``underflow``: not zero before, zero after. ``subnormal``: not zero
    after, but below the smallest normal number, so with fewer digits.
    """

    overflow: int = 0
    underflow: int = 0
    subnormal: int = 0

    def __add__(self, other: NarrowCounts) -> NarrowCounts:
        """Counts of both parts together."""
        return NarrowCounts(
            self.overflow + other.overflow,
            self.underflow + other.underflow,
            self.subnormal + other.subnormal,
        )


_NO_LOSSES = NarrowCounts()


def narrow_f16(
    values: Array, out: Array | None = None, *, monitor: Monitor = SILENT
) -> tuple[Array, NarrowCounts]:
    """float32 of any shape → float16 of that shape, rounded to nearest even.

    NaN keeps its sign and the upper ten bits of the rest, as in NumPy, or 1 if they are 0.
    ``out`` is float16 or uint16 of the same shape; the result is its memory seen as float16.
    Raises DTypeError, ShapeError, LayoutError.
    """
    return narrowed(_piece_to_f16, values, out, F16, U16, monitor)


def narrow_bf16(
    values: Array, out: Array | None = None, *, monitor: Monitor = SILENT
) -> tuple[Array, NarrowCounts]:
    """float32 of any shape → bfloat16 of that shape, rounded to nearest even.

    NaN keeps its upper half and becomes a quiet one.
    ``out`` is bfloat16 or uint16 of the same shape; the result is its memory seen as bfloat16.
    Raises DTypeError, ShapeError, LayoutError.
    """
    return narrowed(_piece_to_bf16, values, out, BF16, U16, monitor)


def widen_f16(words: Array, out: Array | None = None, *, monitor: Monitor = SILENT) -> Array:
    """float16 (or its uint16 words) of any shape → float32 of that shape, exactly; so are NaNs.

    Raises DTypeError, ShapeError, LayoutError.
    """
    source, target, result, fit = take_pair(words, "words", _F16_WORDS, out, _JUST_F32)
    if fit and is_one_piece(source.size, 6):
        monitor.check()
        _half.widen_f16(source.view(U16), target.view(_U32), target, first_block(target))
        return result

    def piece(cut: slice) -> None:
        part = target[cut]
        words = take_plain(take_run(source, cut)).view(U16)
        _half.widen_f16(words, part.view(_U32), part, first_block(part))

    in_pieces(piece, source.size, 6, monitor)
    return result


def widen_bf16(words: Array, out: Array | None = None, *, monitor: Monitor = SILENT) -> Array:
    """bfloat16 (or its uint16 words) of any shape → float32 of that shape, exactly.

    Raises DTypeError, ShapeError, LayoutError.
    """
    source, flat, result, fit = take_pair(words, "words", _BF16_WORDS, out, _JUST_F32)
    target = flat.view(_U32)
    if fit and is_one_piece(source.size, 6):
        monitor.check()
        _half.widen_bf16(source.view(U16), target, first_block(target))
        return result

    def piece(cut: slice) -> None:
        part = target[cut]
        _half.widen_bf16(take_plain(take_run(source, cut)).view(U16), part, first_block(part))

    in_pieces(piece, source.size, 6, monitor)
    return result


def first_block(target: Array) -> int:
    """Items that a kernel writes before it begins blocks: the next begins a line of the cache.

    Wide stores that lie on two lines each cost half as much again. Asking for the address costs
    more than that in small arrays.
    """
    if target.size < _WORTH_ALIGNING:
        return _BLOCK
    return int(-target.ctypes.data % _LINE) // target.itemsize or _BLOCK


def _piece_to_f16(values: Array, out: Array) -> tuple[int, int, int]:
    counts: tuple[int, int, int] = _half.narrow_f16(
        values.view(_I32), values, out, first_block(out)
    )
    return counts


def _piece_to_bf16(values: Array, out: Array) -> tuple[int, int, int]:
    counts: tuple[int, int, int] = _half.narrow_bf16(values.view(_I32), out, first_block(out))
    return counts


def _counts(losses: tuple[int, int, int]) -> NarrowCounts:
    return NarrowCounts(*losses) if any(losses) else _NO_LOSSES


def narrowed(
    narrow: Callable[[Array, Array], tuple[int, int, int]],
    values: Array,
    out: Array | None,
    kind: np.dtype[Any],
    words: np.dtype[Any],
    monitor: Monitor,
) -> tuple[Array, NarrowCounts]:
    """``narrow`` over the pieces of float32 values, into words seen as ``kind``, and its counts."""
    source, flat, result, fit = take_pair(values, "values", _JUST_F32, out, (kind, words))
    target = flat.view(words)
    result = result if result.dtype == kind else result.view(kind)
    if fit and is_one_piece(source.size, 4 + words.itemsize):
        monitor.check()
        return result, _counts(narrow(source, target))

    def piece(cut: slice) -> tuple[int, int, int]:
        return narrow(take_plain(take_run(source, cut)), target[cut])

    losses = in_pieces(piece, source.size, 4 + words.itemsize, monitor)
    return result, NarrowCounts(*(sum(each) for each in zip(*losses, strict=True)))
