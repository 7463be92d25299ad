"""NumPy twins of the kernels for whole numbers with scales: the same names and arguments."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def largest_in_rows(words: Array, out: Array) -> None:
    """The greatest magnitude of each row, as a word; a NaN is greater than infinity."""
    (words & np.int32(0x7FFFFFFF)).max(axis=1, initial=0, out=out)


def quantize_rows(values: Array, scales: Array, out: Array) -> int:
    """Nearest whole numbers of value / scale within ±127; NaN is 0. How many were not finite."""
    with np.errstate(all="ignore"):
        whole = np.rint(values / scales[:, None]).clip(-127, 127)
        out[...] = np.where(np.isnan(whole), np.float32(0), whole)
    return int(np.count_nonzero(~np.isfinite(values)))


def dequantize_rows(codes: Array, scales: Array, out: Array) -> None:
    """Code times the scale of its row."""
    with np.errstate(all="ignore"):
        np.multiply(codes, scales[:, None], out=out)


def unpack_q4_0(blocks: Array, scales: Array, out: Array) -> None:
    """16 bytes from the third on: values 0 to 15 in the low halves, 16 to 31 in the high ones."""
    halves = blocks[:, 2:]
    with np.errstate(all="ignore"):
        for start, codes in ((0, halves & 15), (16, halves >> 4)):
            np.multiply(
                codes.view(np.int8) - np.int8(8), scales[:, None], out=out[:, start:][:, :16]
            )


def unpack_q8_0(blocks: Array, scales: Array, out: Array) -> None:
    """32 whole numbers from the third byte on."""
    with np.errstate(all="ignore"):
        np.multiply(blocks[:, 2:], scales[:, None], out=out)
