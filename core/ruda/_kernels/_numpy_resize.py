"""NumPy twins of resizing: the same names, the same arguments, the same results."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def nearest(planes: Array, rows: Array, columns: Array, out: Array) -> None:
    """Items of the rows and columns named."""
    out[...] = planes[:, rows[:, None], columns]


def linear(
    planes: Array,
    rows: Array,
    row_shares: Array,
    columns: Array,
    column_shares: Array,
    lines: Array,
    out: Array,
) -> None:
    """Two columns mixed by their shares, then two rows of these; no share, not seen."""
    with np.errstate(all="ignore"):
        left, right = planes[:, :, columns[0]], planes[:, :, columns[1]]
        across = left * column_shares[0] + right * column_shares[1]
        np.copyto(across, left, where=column_shares[1] == 0)
        upper = across[:, rows[0]]
        np.multiply(upper, row_shares[0][:, None], out=out)
        out += across[:, rows[1]] * row_shares[1][:, None]
        np.copyto(out, upper, where=(row_shares[1] == 0)[:, None])
