"""The largest few of each row."""

from __future__ import annotations

import numpy as np

from ruda._kernels._numpy_largest import falling
from ruda._kernels.checks import Array, take_array, take_out, take_plain
from ruda._kernels.narrowing import F32
from ruda._kernels.numbers import take_whole
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda.errors import ShapeError

_largest = kernel("largest")

_I32 = np.dtype(np.int32)
_BLOCK = 512
_MOST = 256
"""More than so many are sorted: keys that make room for another would take longer."""


def largest_places(values: Array, count: int, out: Array | None = None) -> Array:
    """Places of the ``count`` largest of each row in falling order: int64 (row, count).

    ``values`` is (row, column), float32 or int32. NaN is larger than Inf; both zeros are equal,
    and all NaN; of equal values the first comes first. Rows that rise, in which every value is
    larger than those before, are sorted instead.
    Raises DTypeError, ShapeError, LayoutError, and SettingError for a count that a row has not.
    """
    given = take_array(values, "values", (F32, _I32))
    if given.ndim != 2:
        raise ShapeError(f"values has shape {given.shape}; expected (row, column)")
    count = take_whole(count, "count", 0, given.shape[1])
    result = take_out(out, (given.shape[0], count), (np.dtype(np.int64),), given)
    if not result.size:
        return result

    def piece(cut: slice) -> None:
        _largest_of(take_plain(given[cut]), count, result[cut])

    in_pieces(piece, len(given), item_bytes=4 * given.shape[1] + 8 * count)
    return result


def _largest_of(rows: Array, count: int, result: Array) -> None:
    # Every key moves half of those kept, about count · log(columns / count) times.
    patience = rows.shape[1] + 8 * count * count
    best, done = np.empty(count, _I32), 0
    if count <= _MOST and rows.dtype == F32:
        room = np.empty(_BLOCK, _I32)
        done = _largest.largest_f32(rows.view(_I32), rows, room, best, patience, result)
    elif count <= _MOST:
        done = _largest.largest_i32(rows, best, patience, result)
    if done < len(rows):
        result[done:] = falling(rows[done:], count)
