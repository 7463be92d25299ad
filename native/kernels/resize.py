# pythran export nearest(uint32[:,:,:] order(C), uint32[], uint32[], uint32[:,:,:] order(C))
# pythran export linear(float32[:,:,:] order(C), uint32[:,:] order(C), float32[:,:] order(C), uint32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:,:] order(C))
"""Planes in another size. Where a row or column comes from is worked out before."""

import numpy as np


def _pick(line, places, out):
    for i in range(out.shape[0]):
        out[i] = line[places[i]]


def _copy(line, out):
    for i in range(out.shape[0]):
        out[i] = line[i]


def nearest(planes, rows, columns, out):
    for plane in range(out.shape[0]):
        for row in range(out.shape[1]):
            if row > 0 and rows[row] == rows[row - 1]:
                _copy(out[plane, row - 1], out[plane, row])
            else:
                _pick(planes[plane, rows[row]], columns, out[plane, row])


def _mix_columns(line, left, right, left_share, right_share, out):
    for i in range(out.shape[0]):
        a = line[left[i]]
        mixed = a * left_share[i] + line[right[i]] * right_share[i]
        # A neighbour without a share is not seen: Inf · 0 would be NaN.
        out[i] = a if right_share[i] == np.float32(0) else mixed


def _mix_rows(upper, lower, upper_share, lower_share, out):
    for i in range(out.shape[0]):
        out[i] = upper[i] * upper_share + lower[i] * lower_share


def linear(planes, rows, row_shares, columns, column_shares, lines, out):
    """``rows[0]`` and ``rows[1]`` are what a row is mixed of, or the same; shares alike.

    A line of the source that was brought to the new width stays in ``lines`` until another one of
    the same parity is needed: the two of a row differ by one.
    """
    for plane in range(out.shape[0]):
        even = -1
        odd = -1
        for row in range(out.shape[1]):
            for k in range(2):
                source = int(rows[k, row])
                fresh = False
                if source & 1:
                    fresh = odd == source
                    odd = source
                else:
                    fresh = even == source
                    even = source
                if not fresh:
                    _mix_columns(
                        planes[plane, source],
                        columns[0],
                        columns[1],
                        column_shares[0],
                        column_shares[1],
                        lines[source & 1],
                    )
            upper = lines[int(rows[0, row]) & 1]
            if row_shares[1, row] == np.float32(0):
                _copy(upper, out[plane, row])
            else:
                _mix_rows(
                    upper,
                    lines[int(rows[1, row]) & 1],
                    row_shares[0, row],
                    row_shares[1, row],
                    out[plane, row],
                )
