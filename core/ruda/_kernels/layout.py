"""Copies that change the order of items in memory."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array, is_plain, native, take_array, take_out
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda.errors import ShapeError

_transpose = kernel("transpose")

_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_TILE = 64
"""The TILE of the kernel."""
_WORTH_BYTES = 64 << 10
_ALIASING = 512
_MANY_ROWS = 4096


def _pays(given: Array) -> bool:
    """Whether tiles beat NumPy's plain copy of at least ``_WORTH_BYTES``, by measurements.

    They do (2 to 10 times) where a column's items fall on few lines of the cache, because rows
    are a multiple of a large power of two apart, or on more lines than it has, because there are
    many rows. Elsewhere NumPy's loop is as fast or faster.
    """
    rows, columns = given.shape
    stride = columns * given.dtype.itemsize
    hard = stride % _ALIASING == 0 or rows >= _MANY_ROWS
    return hard and min(rows, columns) >= _TILE and not given.dtype.hasobject


def transpose(values: Array, out: Array | None = None) -> Array:
    """C-contiguous copy of ``values.T``: (rows, columns) → (columns, rows), any dtype.

    Items of 1, 2, 4 and 8 bytes go through the blocked kernel as words; NumPy copies other items,
    arrays that are not C-contiguous, aligned and native to begin with, and shapes that do not gain.
    Raises DTypeError, ShapeError, LayoutError.
    """
    given = take_array(values, "values")
    if given.ndim != 2:
        raise ShapeError(f"values has shape {given.shape}; expected two axes")
    rows, columns = given.shape
    kind = native(given.dtype)
    result = take_out(out, (columns, rows), (kind,), given)
    word = _WORDS.get(kind.itemsize)
    if given.nbytes < _WORTH_BYTES or word is None or not (_pays(given) and is_plain(given)):
        result[...] = given.T
        return result
    source, target = given.view(word), result.view(word)
    bands = -(-columns // _TILE)

    def piece(cut: slice) -> None:
        last = min(cut.stop * _TILE, columns)
        _transpose.transpose(source, target, cut.start * _TILE, last)

    in_pieces(piece, bands if rows else 0, item_bytes=2 * _TILE * rows * word.itemsize)
    return result
