# pythran export narrow_e4m3(int32[], float32[], uint8[], uint32[], float32[])
# pythran export narrow_e5m2(int32[], float32[], uint8[], uint32[], float32[])
# pythran export widen_float8(uint8[], float32[], float32[])
"""float32 to the two 8-bit floats of machine learning, rounded to nearest even, and back.

e4m3fn has no infinity: what is too large becomes NaN. e5m2 is the upper byte of a float16. The
magnitude of a float is its word without the sign; one comparison of integers tells what overflows.
"""

import numpy as np

BLOCK = 1024  # a block, its scratch and its result fit the first-level cache with room to spare


def _range(words):
    """Least magnitude that is not 0 (less 1), and the greatest."""
    least = np.int32(0x7FFFFFFF)
    greatest = np.int32(0)
    for i in range(words.shape[0]):
        size = words[i] & np.int32(0x7FFFFFFF)
        greatest = max(greatest, size)
        least = min(least, (size - np.int32(1)) & np.int32(0x7FFFFFFF))  # 0 turns into the largest
    return least, greatest


def _above(words, limit):
    count = np.int32(0)
    for i in range(words.shape[0]):
        count += np.int32((words[i] & np.int32(0x7FFFFFFF)) > limit)
    return count


def _add(values, step, out):
    """|value| + step: the sum of a small value ends where a subnormal result ends: it is rounded."""
    for i in range(values.shape[0]):
        out[i] = abs(values[i]) + step


def _to_e4m3(words, sums, out):
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        # Moves the exponent (0xC4000000 is -120 << 23) and rounds: half a unit, and 1 if odd.
        normal = (
            size + np.uint32(0xC407FFFF) + ((size >> np.uint32(20)) & np.uint32(1))
        ) >> np.uint32(20)
        tiny = sums[i] - np.uint32(0x46800000)
        is_tiny = np.uint32(0) - np.uint32(size < np.uint32(0x3C800000))
        finite = normal ^ ((normal ^ tiny) & is_tiny)
        is_big = np.uint32(0) - np.uint32(size > np.uint32(0x43E80000))
        kept = (finite | is_big) & np.uint32(0x7F)
        out[i] = np.uint8(kept | ((word >> np.uint32(24)) & np.uint32(0x80)))


def _to_e5m2(words, sums, out):
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        # 0xC8000000 is -112 << 23.
        normal = (
            size + np.uint32(0xC80FFFFF) + ((size >> np.uint32(21)) & np.uint32(1))
        ) >> np.uint32(21)
        tiny = sums[i] - np.uint32(0x43000000)
        is_tiny = np.uint32(0) - np.uint32(size < np.uint32(0x38800000))
        finite = normal ^ ((normal ^ tiny) & is_tiny)
        is_big = np.uint32(0) - np.uint32(size > np.uint32(0x476FFFFF))
        is_nan = np.uint32(0) - np.uint32(size > np.uint32(0x7F800000))
        beyond = np.uint32(0x7C) | (is_nan & np.uint32(0x02))
        kept = finite ^ ((finite ^ beyond) & is_big)
        out[i] = np.uint8(kept | ((word >> np.uint32(24)) & np.uint32(0x80)))


def narrow_e4m3(words, values, out, scratch_words, scratch_values):
    overflow = 0
    underflow = 0
    subnormal = 0
    n = words.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        part = words[at:end]
        least, greatest = _range(part)
        _add(values[at:end], np.float32(16384.0), scratch_values)
        _to_e4m3(part, scratch_words, out[at:end])
        if greatest > np.int32(0x43E80000):
            # An infinity becomes NaN, which is a loss; a NaN is none before and none after.
            overflow += _above(part, np.int32(0x43E80000)) - _above(part, np.int32(0x7F800000))
        if least < np.int32(0x3C6FFFFF):
            zero = _above(part, np.int32(0))
            one = _above(part, np.int32(0x3A800000))
            underflow += zero - one
            subnormal += one - _above(part, np.int32(0x3C6FFFFF))
    return overflow, underflow, subnormal


def narrow_e5m2(words, values, out, scratch_words, scratch_values):
    overflow = 0
    underflow = 0
    subnormal = 0
    n = words.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        part = words[at:end]
        least, greatest = _range(part)
        _add(values[at:end], np.float32(128.0), scratch_values)
        _to_e5m2(part, scratch_words, out[at:end])
        if greatest > np.int32(0x476FFFFF):
            overflow += _above(part, np.int32(0x476FFFFF)) - _above(part, np.int32(0x7F7FFFFF))
        if least < np.int32(0x385FFFFF):
            zero = _above(part, np.int32(0))
            one = _above(part, np.int32(0x37000000))
            underflow += zero - one
            subnormal += one - _above(part, np.int32(0x385FFFFF))
    return overflow, underflow, subnormal


def widen_float8(codes, table, out):
    """The value that the table has for each code."""
    for i in range(codes.shape[0]):
        out[i] = table[codes[i]]
