"""float32 to and from the two 8-bit floats, with the losses counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ruda._kernels.checks import Array, take_pair, take_plain, take_run
from ruda._kernels.narrowing import F32, NarrowCounts, first_block, narrowed
from ruda._kernels.threads import in_pieces, is_one_piece
from ruda._kernels.variants import kernel
from ruda.progress import SILENT, Monitor

_float8 = kernel("float8")

E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
E5M2 = np.dtype(ml_dtypes.float8_e5m2)
U8 = np.dtype(np.uint8)
_I32 = np.dtype(np.int32)
_U32 = np.dtype(np.uint32)
_JUST_F32 = (F32,)


def _table(kind: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):  # signalling NaN among the codes
        values: Array = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
    return values


_TABLES = {E4M3: _table(E4M3), E5M2: _table(E5M2)}


def narrow_e4m3(
    values: Array, out: Array | None = None, *, monitor: Monitor = SILENT
) -> tuple[Array, NarrowCounts]:
    """float32 of any shape → float8_e4m3fn of that shape, rounded to nearest even.

    There is no infinity: what is above 464, and infinities, become NaN and count as overflow.
    ``out`` is float8_e4m3fn or uint8 of the same shape; the result is its memory seen as that
    float. Raises DTypeError, ShapeError, LayoutError.
    """
    return narrowed(_piece_to_e4m3, values, out, E4M3, U8, monitor)


def narrow_e5m2(
    values: Array, out: Array | None = None, *, monitor: Monitor = SILENT
) -> tuple[Array, NarrowCounts]:
    """float32 of any shape → float8_e5m2 of that shape, rounded to nearest even; NaN stays NaN.

    ``out`` is float8_e5m2 or uint8 of the same shape; the result is its memory seen as that
    float. Raises DTypeError, ShapeError, LayoutError.
    """
    return narrowed(_piece_to_e5m2, values, out, E5M2, U8, monitor)


def widen_e4m3(codes: Array, out: Array | None = None, *, monitor: Monitor = SILENT) -> Array:
    """float8_e4m3fn (or its uint8 codes) of any shape → float32 of that shape, exactly.

    Raises DTypeError, ShapeError, LayoutError.
    """
    return _widen(_float8.widen_e4m3, codes, out, E4M3, monitor)


def widen_e5m2(codes: Array, out: Array | None = None, *, monitor: Monitor = SILENT) -> Array:
    """float8_e5m2 (or its uint8 codes) of any shape → float32 of that shape, exactly.

    Raises DTypeError, ShapeError, LayoutError.
    """
    return _widen(_float8.widen_e5m2, codes, out, E5M2, monitor)


def _widen(
    call: Callable[[Array, Array, Array, Array, int], None],
    codes: Array,
    out: Array | None,
    kind: np.dtype[Any],
    monitor: Monitor,
) -> Array:
    source, target, result, fit = take_pair(codes, "codes", (kind, U8), out, _JUST_F32)
    table = _TABLES[kind]
    if fit and is_one_piece(source.size, 5):
        monitor.check()
        call(source.view(U8), table, target.view(_U32), target, first_block(target))
        return result

    def piece(cut: slice) -> None:
        part = target[cut]
        codes = take_plain(take_run(source, cut)).view(U8)
        call(codes, table, part.view(_U32), part, first_block(part))

    in_pieces(piece, source.size, 5, monitor)
    return result


def _piece_to_e4m3(values: Array, out: Array) -> tuple[int, int, int]:
    counts: tuple[int, int, int] = _float8.narrow_e4m3(
        values.view(_I32), values, out, first_block(out)
    )
    return counts


def _piece_to_e5m2(values: Array, out: Array) -> tuple[int, int, int]:
    counts: tuple[int, int, int] = _float8.narrow_e5m2(
        values.view(_I32), values, out, first_block(out)
    )
    return counts
