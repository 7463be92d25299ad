# pythran export narrow_e4m3(int32[], float32[], uint8[], int)
# pythran export narrow_e5m2(int32[], float32[], uint8[], int)
# pythran export widen_e4m3(uint8[], float32[], uint32[], float32[], int)
# pythran export widen_e5m2(uint8[], float32[], uint32[], float32[], int)
"""float32 to the two 8-bit floats of machine learning, rounded to nearest even, and back.

e4m3fn has no infinity: what is too large becomes NaN. e5m2 is the upper byte of a float16. The
magnitude of a float is its word without the sign; one comparison of integers tells what overflows.

The first block has ``lead`` items, from 1 to all that it can have, as in ``half``.
"""

import numpy as np

BLOCK = 1024  # a block and its result fit the first-level cache, also where it is gone over twice


def _fetch(words):
    """The greatest magnitude among one word of each line of the cache.

    What counts is that the lines are there afterwards: conversions are so long that a processor
    asks for few lines ahead, and waits at each page of memory. Nothing waits for the result.
    """
    greatest = np.int32(0)
    for i in range(0, words.shape[0], 16):
        greatest = max(greatest, words[i] & np.int32(0x7FFFFFFF))
    return greatest


def _above(words, limit):
    count = np.int32(0)
    for i in range(words.shape[0]):
        count += np.int32((words[i] & np.int32(0x7FFFFFFF)) > limit)
    return count


def _to_e4m3(words, values, out):
    """All that does not overflow; the greatest magnitude, and how many are above 0, stay so, stay normal.

    Adding 2¹⁴ rounds a small value: the last bit of the sum is that of a subnormal result, which is
    kept in the upper byte of a word until the end, so that it is narrowed only once.
    """
    greatest = np.int32(0)
    above = np.int32(0)
    kept = np.int32(0)
    normal = np.int32(0)
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        small = abs(values[i])
        small = small if small < np.float32(0.015625) else np.float32(0)
        # 2³³: units of 2⁻⁹, 24 bits up.
        tiny = np.uint32(
            np.int32(
                ((small + np.float32(16384.0)) - np.float32(16384.0)) * np.float32(8589934592.0)
            )
        )
        # Moves the exponent (0xC4000000 is -120 << 23) and rounds: half a unit, and 1 if odd.
        other = (
            size + np.uint32(0xC407FFFF) + ((size >> np.uint32(20)) & np.uint32(1))
        ) << np.uint32(4)
        is_other = np.uint32(0) - np.uint32(size >= np.uint32(0x3C800000))
        greatest = max(greatest, np.int32(size))
        above += np.int32(size > np.uint32(0))
        kept += np.int32(size > np.uint32(0x3A800000))
        normal += np.int32(size > np.uint32(0x3C6FFFFF))
        out[i] = np.uint8(
            (tiny | (other & is_other) | (word & np.uint32(0x80000000))) >> np.uint32(24)
        )
    return greatest, above, kept, normal


def _beyond_e4m3(words, out):
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        is_big = np.uint32(0) - np.uint32((word & np.uint32(0x7FFFFFFF)) > np.uint32(0x43E80000))
        beyond = np.uint32(0x7F) | ((word >> np.uint32(24)) & np.uint32(0x80))
        own = np.uint32(out[i])
        out[i] = np.uint8(own ^ ((own ^ beyond) & is_big))


def _to_e5m2(words, values, out):
    """As ``_to_e4m3``."""
    greatest = np.int32(0)
    above = np.int32(0)
    kept = np.int32(0)
    normal = np.int32(0)
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        small = abs(values[i])
        small = small if small < np.float32(6.103515625e-05) else np.float32(0)
        # 2⁴⁰: units of 2⁻¹⁶, 24 bits up.
        tiny = np.uint32(
            np.int32(
                ((small + np.float32(128.0)) - np.float32(128.0)) * np.float32(1099511627776.0)
            )
        )
        # 0xC8000000 is -112 << 23.
        other = (
            size + np.uint32(0xC80FFFFF) + ((size >> np.uint32(21)) & np.uint32(1))
        ) << np.uint32(3)
        is_other = np.uint32(0) - np.uint32(size >= np.uint32(0x38800000))
        greatest = max(greatest, np.int32(size))
        above += np.int32(size > np.uint32(0))
        kept += np.int32(size > np.uint32(0x37000000))
        normal += np.int32(size > np.uint32(0x385FFFFF))
        out[i] = np.uint8(
            (tiny | (other & is_other) | (word & np.uint32(0x80000000))) >> np.uint32(24)
        )
    return greatest, above, kept, normal


def _beyond_e5m2(words, out):
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        is_big = np.uint32(0) - np.uint32(size > np.uint32(0x476FFFFF))
        is_nan = np.uint32(0) - np.uint32(size > np.uint32(0x7F800000))
        beyond = (
            np.uint32(0x7C)
            | (is_nan & np.uint32(0x02))
            | ((word >> np.uint32(24)) & np.uint32(0x80))
        )
        own = np.uint32(out[i])
        out[i] = np.uint8(own ^ ((own ^ beyond) & is_big))


def narrow_e4m3(words, values, out, lead):
    overflow = 0
    underflow = 0
    subnormal = 0
    n = words.shape[0]
    for stop in range(lead, n + BLOCK, BLOCK):
        at = max(stop - BLOCK, 0)
        end = min(stop, n)
        part = words[at:end]
        fetched = _fetch(part)
        greatest, above, kept, normal = _to_e4m3(part, values[at:end], out[at:end])
        underflow += above - kept
        subnormal += kept - normal
        if max(greatest, fetched) > np.int32(0x43E80000):
            _beyond_e4m3(part, out[at:end])
            # An infinity becomes NaN, which is a loss; a NaN is none before and none after.
            overflow += _above(part, np.int32(0x43E80000)) - _above(part, np.int32(0x7F800000))
    return overflow, underflow, subnormal


def narrow_e5m2(words, values, out, lead):
    overflow = 0
    underflow = 0
    subnormal = 0
    n = words.shape[0]
    for stop in range(lead, n + BLOCK, BLOCK):
        at = max(stop - BLOCK, 0)
        end = min(stop, n)
        part = words[at:end]
        fetched = _fetch(part)
        greatest, above, kept, normal = _to_e5m2(part, values[at:end], out[at:end])
        underflow += above - kept
        subnormal += kept - normal
        if max(greatest, fetched) > np.int32(0x476FFFFF):
            _beyond_e5m2(part, out[at:end])
            overflow += _above(part, np.int32(0x476FFFFF)) - _above(part, np.int32(0x7F7FFFFF))
    return overflow, underflow, subnormal


def _greatest(codes):
    greatest = np.uint8(0)
    for i in range(codes.shape[0]):
        greatest = max(greatest, np.uint8(codes[i] & np.uint8(0x7F)))
    return greatest


def _place_e4m3(codes, out):
    """Magnitudes as float32, subnormals as if they were normal."""
    for i in range(codes.shape[0]):
        size = np.uint32(codes[i]) & np.uint32(0x7F)
        out[i] = (size << np.uint32(20)) + np.uint32(0x3C000000)


def _place_e5m2(codes, out):
    for i in range(codes.shape[0]):
        size = np.uint32(codes[i]) & np.uint32(0x7F)
        out[i] = (size << np.uint32(21)) + np.uint32(0x38000000)


def _settle(out, least):
    """Subnormals: half the least normal number · (1 + m) stands where it · m belongs."""
    for i in range(out.shape[0]):
        value = out[i]
        out[i] = value + (value - least if value < least else np.float32(0))


def _sign(codes, out):
    for i in range(codes.shape[0]):
        out[i] = out[i] | ((np.uint32(codes[i]) << np.uint32(24)) & np.uint32(0x80000000))


def _look_up(codes, table, out):
    for i in range(codes.shape[0]):
        out[i] = table[codes[i]]


def widen_e4m3(codes, table, out_words, out_values, lead):
    n = codes.shape[0]
    for stop in range(lead, n + BLOCK, BLOCK):
        at = max(stop - BLOCK, 0)
        end = min(stop, n)
        part = codes[at:end]
        if _greatest(part) > np.uint8(0x7E):
            _look_up(part, table, out_values[at:end])
        else:
            words = out_words[at:end]
            _place_e4m3(part, words)
            _settle(out_values[at:end], np.float32(0.015625))
            _sign(part, words)


def widen_e5m2(codes, table, out_words, out_values, lead):
    n = codes.shape[0]
    for stop in range(lead, n + BLOCK, BLOCK):
        at = max(stop - BLOCK, 0)
        end = min(stop, n)
        part = codes[at:end]
        if _greatest(part) > np.uint8(0x7B):
            _look_up(part, table, out_values[at:end])
        else:
            words = out_words[at:end]
            _place_e5m2(part, words)
            _settle(out_values[at:end], np.float32(6.103515625e-05))
            _sign(part, words)
