"""float32 to and from the two half precisions, with the losses counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ruda._kernels.checks import Array, take_array, take_flat, take_out, take_plain
from ruda._kernels.threads import in_pieces, is_one_piece
from ruda._kernels.variants import kernel

_half = kernel("half")

F32 = np.dtype(np.float32)
F16 = np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
U16 = np.dtype(np.uint16)
_U32 = np.dtype(np.uint32)
_I32 = np.dtype(np.int32)

_SCRATCH = 1024
"""Items of scratch for ``narrow_f16``: its BLOCK."""


@dataclass(frozen=True, slots=True)
class NarrowCounts:
    """What a narrowing did to finite values: how many became infinite, zero or subnormal.

    ``overflow``: finite before, infinite after. ``underflow``: not zero before, zero after.
    ``subnormal``: not zero after, but below the smallest normal number, so with fewer digits.
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


def narrow_f16(values: Array, out: Array | None = None) -> tuple[Array, NarrowCounts]:
    """float32 of any shape → float16 of that shape, rounded to nearest even; NaN stays NaN.

    ``out`` is float16 or uint16 of the same shape; the result is its memory seen as float16.
    Raises DTypeError, ShapeError, LayoutError.
    """
    return narrowed(_piece_to_f16, values, out, F16, U16)


def narrow_bf16(values: Array, out: Array | None = None) -> tuple[Array, NarrowCounts]:
    """float32 of any shape → bfloat16 of that shape, rounded to nearest even; NaN stays NaN.

    ``out`` is bfloat16 or uint16 of the same shape; the result is its memory seen as bfloat16.
    Raises DTypeError, ShapeError, LayoutError.
    """
    return narrowed(_piece_to_bf16, values, out, BF16, U16)


def widen_f16(words: Array, out: Array | None = None) -> Array:
    """float16 (or its uint16 words) of any shape → float32 of that shape, exactly.

    Raises DTypeError, ShapeError, LayoutError.
    """
    given = take_array(words, "words", (F16, U16))
    result = take_out(out, given.shape, (F32,), given)
    source, target = take_flat(given), take_flat(result)
    if is_one_piece(source.size, 6):
        _half.widen_f16(take_plain(source).view(U16), target.view(_U32), target)
        return result

    def piece(cut: slice) -> None:
        part = target[cut]
        _half.widen_f16(take_plain(source[cut]).view(U16), part.view(_U32), part)

    in_pieces(piece, source.size, item_bytes=6)
    return result


def widen_bf16(words: Array, out: Array | None = None) -> Array:
    """bfloat16 (or its uint16 words) of any shape → float32 of that shape, exactly.

    Raises DTypeError, ShapeError, LayoutError.
    """
    given = take_array(words, "words", (BF16, U16))
    result = take_out(out, given.shape, (F32,), given)
    source, target = take_flat(given), take_flat(result).view(_U32)
    if is_one_piece(source.size, 6):
        _half.widen_bf16(take_plain(source).view(U16), target)
        return result

    def piece(cut: slice) -> None:
        _half.widen_bf16(take_plain(source[cut]).view(U16), target[cut])

    in_pieces(piece, source.size, item_bytes=6)
    return result


class _Scratch(threading.local):
    """A float32 array and its uint32 words; making them takes longer than a small array does."""

    def __init__(self) -> None:
        self.values = np.empty(_SCRATCH, np.float32)
        self.words = self.values.view(_U32)


_scratch = _Scratch()


def scratch_of_thread() -> tuple[Array, Array]:
    """Scratch of this thread for a kernel that narrows: float32[1024], and its uint32 words."""
    return _scratch.values, _scratch.words


def _piece_to_f16(values: Array, out: Array) -> tuple[int, int, int]:
    scratch, words = scratch_of_thread()
    counts: tuple[int, int, int] = _half.narrow_f16(values.view(_I32), values, out, words, scratch)
    return counts


def _piece_to_bf16(values: Array, out: Array) -> tuple[int, int, int]:
    counts: tuple[int, int, int] = _half.narrow_bf16(values.view(_I32), out)
    return counts


def _counts(losses: tuple[int, int, int]) -> NarrowCounts:
    return NarrowCounts(*losses) if any(losses) else _NO_LOSSES


def narrowed(
    narrow: Callable[[Array, Array], tuple[int, int, int]],
    values: Array,
    out: Array | None,
    kind: np.dtype[Any],
    words: np.dtype[Any],
) -> tuple[Array, NarrowCounts]:
    """``narrow`` over the pieces of float32 values, into words seen as ``kind``, and its counts."""
    given = take_array(values, "values", (F32,))
    result = take_out(out, given.shape, (kind, words), given)
    source, target = take_flat(given), take_flat(result).view(words)
    if is_one_piece(source.size, 4 + words.itemsize):
        counts = _counts(narrow(take_plain(source), target))
        return (result if result.dtype == kind else result.view(kind)), counts

    def piece(cut: slice) -> tuple[int, int, int]:
        return narrow(take_plain(source[cut]), target[cut])

    losses = in_pieces(piece, source.size, item_bytes=4 + words.itemsize)
    counts = NarrowCounts(*(sum(each) for each in zip(*losses, strict=True)))
    return (result if result.dtype == kind else result.view(kind)), counts
