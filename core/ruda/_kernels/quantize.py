"""Whole numbers of 8 and 4 bits with scales: per channel, per block, and the blocks of GGML."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ruda._kernels.checks import Array, take_array, take_out, take_plain
from ruda._kernels.narrowing import F32, widen_f16
from ruda._kernels.threads import in_pieces, is_one_piece
from ruda._kernels.variants import kernel
from ruda.errors import ShapeError

_quantize = kernel("quantize")

I8 = np.dtype(np.int8)
U8 = np.dtype(np.uint8)
_I32 = np.dtype(np.int32)
_JUST_F32 = (F32,)

_BLOCK_BYTES = 1 << 18
"""Packed bytes between which scales of blocks are widened: they stay in the cache."""


def largest_in_rows(values: Array) -> Array:
    """Greatest magnitude in each row of float32 (rows, width): float32 (rows), 0 without columns.

    NaN if a row has one, else infinite if it has an infinity. Raises DTypeError, ShapeError.
    """
    given = _take_matrix(values, "values", F32)
    result = np.zeros(given.shape[0], F32)

    def piece(cut: slice) -> None:
        _quantize.largest_in_rows(take_plain(given[cut]).view(_I32), result[cut].view(_I32))

    if given.size:
        in_pieces(piece, given.shape[0], item_bytes=4 * given.shape[1])
    return result


def quantize_int8(values: Array, scales: Array, out: Array | None = None) -> tuple[Array, int]:
    """Nearest whole numbers to value / scale, within ±127, and how many values were not finite.

    float32 (rows, width), scales (rows) → int8 (rows, width). The quotient is rounded to float32
    and then to even, exactly as ``numpy.rint`` does; NaN becomes 0. A row may be a channel or, of
    reshaped values, a block. What lies beyond ±127 is clamped and not counted. Scales are taken as
    they are: who makes them sees to it that they are finite and above 0, else quotients are 0 or
    ±127. Raises DTypeError, ShapeError, LayoutError.
    """
    given = _take_matrix(values, "values", F32)
    factors = _take_scales(scales, given)
    result = take_out(out, given.shape, (I8,), given, factors)
    if is_one_piece(given.shape[0], 5 * given.shape[1]):
        return result, _quantize.quantize_rows(take_plain(given), factors, result)

    def piece(cut: slice) -> int:
        lost: int = _quantize.quantize_rows(take_plain(given[cut]), factors[cut], result[cut])
        return lost

    if not given.size:
        return result, 0
    return result, sum(in_pieces(piece, given.shape[0], item_bytes=5 * given.shape[1]))


def dequantize_int8(codes: Array, scales: Array, out: Array | None = None) -> Array:
    """Code · scale: int8 (rows, width), scales (rows) → float32 (rows, width), as NumPy has it.

    Raises DTypeError, ShapeError, LayoutError.
    """
    given = _take_matrix(codes, "codes", I8)
    factors = _take_scales(scales, given)
    result = take_out(out, given.shape, _JUST_F32, given, factors)
    if is_one_piece(given.shape[0], 5 * given.shape[1]):
        _quantize.dequantize_rows(take_plain(given), factors, result)
        return result

    def piece(cut: slice) -> None:
        _quantize.dequantize_rows(take_plain(given[cut]), factors[cut], result[cut])

    if given.size:
        in_pieces(piece, given.shape[0], item_bytes=5 * given.shape[1])
    return result


def unpack_q4_0(blocks: Array, out: Array | None = None) -> Array:
    """GGML's q4_0: uint8 (blocks, 18) → float32 (blocks, 32).

    A block is a float16 scale and 32 halves of bytes; a value is (half - 8) · scale.
    Raises DTypeError, ShapeError, LayoutError.
    """
    return _unpacked(_quantize.unpack_q4_0, blocks, 18, out)


def unpack_q8_0(blocks: Array, out: Array | None = None) -> Array:
    """GGML's q8_0: uint8 (blocks, 34) → float32 (blocks, 32).

    A block is a float16 scale and 32 int8; a value is int8 · scale.
    Raises DTypeError, ShapeError, LayoutError.
    """

    def call(packed: Array, scales: Array, target: Array) -> None:
        _quantize.unpack_q8_0(packed.view(I8), scales, target)

    return _unpacked(call, blocks, 34, out)


def _unpacked(
    call: Callable[[Array, Array, Array], None], blocks: Array, size: int, out: Array | None
) -> Array:
    given = _take_matrix(blocks, "blocks", U8)
    if given.shape[1] != size:
        raise ShapeError(f"blocks has shape {given.shape}; expected {size} bytes in each block")
    result = take_out(out, (given.shape[0], 32), _JUST_F32, given)
    step = _BLOCK_BYTES // size

    def piece(cut: slice) -> None:
        for at in range(cut.start, cut.stop, step):
            end = min(at + step, cut.stop)
            packed = take_plain(given[at:end])
            scales = widen_f16(np.ascontiguousarray(packed[:, :2]).view("<u2").reshape(-1))
            call(packed, scales, result[at:end])

    in_pieces(piece, given.shape[0], item_bytes=size + 128)
    return result


def _take_matrix(values: object, name: str, dtype: np.dtype[np.generic]) -> Array:
    given = take_array(values, name, (dtype,))
    if given.ndim != 2:
        raise ShapeError(f"{name} has shape {given.shape}; expected two axes")
    return given


def _take_scales(scales: Array, given: Array) -> Array:
    factors = take_array(scales, "scales", _JUST_F32)
    if factors.shape != given.shape[:1]:
        raise ShapeError(
            f"scales has shape {factors.shape}; expected ({given.shape[0]},), one for each row"
        )
    return take_plain(factors)
