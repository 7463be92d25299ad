"""float32 to and from the two 8-bit floats, with the losses counted."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ruda._kernels.checks import Array, take_array, take_flat, take_out, take_plain
from ruda._kernels.narrowing import F32, NarrowCounts, narrowed, scratch_of_thread
from ruda._kernels.threads import in_pieces, is_one_piece
from ruda._kernels.variants import kernel

_float8 = kernel("float8")

E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
E5M2 = np.dtype(ml_dtypes.float8_e5m2)
U8 = np.dtype(np.uint8)
_I32 = np.dtype(np.int32)


def _table(kind: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):  # signalling NaN among the codes
        values: Array = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
    return values


_TABLES = {E4M3: _table(E4M3), E5M2: _table(E5M2)}


def narrow_e4m3(values: Array, out: Array | None = None) -> tuple[Array, NarrowCounts]:
    """float32 of any shape → float8_e4m3fn of that shape, rounded to nearest even.

    There is no infinity: what is above 464, and infinities, become NaN and count as overflow.
    ``out`` is float8_e4m3fn or uint8 of the same shape; the result is its memory seen as that
    float. Raises DTypeError, ShapeError, LayoutError.
    """
    return narrowed(_piece_to_e4m3, values, out, E4M3, U8)


def narrow_e5m2(values: Array, out: Array | None = None) -> tuple[Array, NarrowCounts]:
    """float32 of any shape → float8_e5m2 of that shape, rounded to nearest even; NaN stays NaN.

    ``out`` is float8_e5m2 or uint8 of the same shape; the result is its memory seen as that
    float. Raises DTypeError, ShapeError, LayoutError.
    """
    return narrowed(_piece_to_e5m2, values, out, E5M2, U8)


def widen_e4m3(codes: Array, out: Array | None = None) -> Array:
    """float8_e4m3fn (or its uint8 codes) of any shape → float32 of that shape, exactly.

    Raises DTypeError, ShapeError, LayoutError.
    """
    return _widen(codes, out, E4M3)


def widen_e5m2(codes: Array, out: Array | None = None) -> Array:
    """float8_e5m2 (or its uint8 codes) of any shape → float32 of that shape, exactly.

    Raises DTypeError, ShapeError, LayoutError.
    """
    return _widen(codes, out, E5M2)


def _widen(codes: Array, out: Array | None, kind: np.dtype[Any]) -> Array:
    given = take_array(codes, "codes", (kind, U8))
    result = take_out(out, given.shape, (F32,), given)
    source, target, table = take_flat(given), take_flat(result), _TABLES[kind]
    if is_one_piece(source.size, 5):
        _float8.widen_float8(take_plain(source).view(U8), table, target)
        return result

    def piece(cut: slice) -> None:
        _float8.widen_float8(take_plain(source[cut]).view(U8), table, target[cut])

    in_pieces(piece, source.size, item_bytes=5)
    return result


def _piece_to_e4m3(values: Array, out: Array) -> tuple[int, int, int]:
    scratch, words = scratch_of_thread()
    counts: tuple[int, int, int] = _float8.narrow_e4m3(
        values.view(_I32), values, out, words, scratch
    )
    return counts


def _piece_to_e5m2(values: Array, out: Array) -> tuple[int, int, int]:
    scratch, words = scratch_of_thread()
    counts: tuple[int, int, int] = _float8.narrow_e5m2(
        values.view(_I32), values, out, words, scratch
    )
    return counts
