"""CRC-32 as zip archives have it, summed beside other work and joined from pieces."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache

from ruda._kernels import aside

ASIDE_LEAST = 128 << 10
"""Bytes from which handing a piece to another thread costs less than it saves."""
_POLYNOMIAL = 0xEDB88320  # of CRC-32, the bit of the highest power first
_ONE = 1 << 31  # the polynomial 1 in that order of bits


def begin_crc(piece: bytes | memoryview, before: int = 0) -> Callable[[], int]:
    """Begin to sum a piece in another thread; what is returned waits for the sum.

    The piece must stay as it is until then. ``before`` is the sum of what precedes it.
    """
    if len(piece) < ASIDE_LEAST:
        crc = zlib.crc32(piece, before)
        return lambda: crc
    return aside(lambda: zlib.crc32(piece, before))


def joined(first: int, second: int, length: int) -> int:
    """Sum of two runs of bytes behind each other, of their sums; ``length`` is the second's.

    To append n bytes multiplies the sum of what precedes by x to the power 8n, modulo the
    polynomial of CRC-32.
    """
    return _product(first, _shift(length)) ^ second


@lru_cache(maxsize=256)
def _shift(length: int) -> int:
    """The polynomial x ** (8 * length), by squaring."""
    result, square = _ONE, _ONE >> 8
    while length:
        if length & 1:
            result = _product(result, square)
        square = _product(square, square)
        length >>= 1
    return result


def _product(one: int, other: int) -> int:
    result = 0
    bit = _ONE
    while bit:
        if one & bit:
            result ^= other
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
        bit >>= 1
    return result
