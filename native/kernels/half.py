# pythran export narrow_f16(int32[], float32[], uint16[], int)
# pythran export narrow_bf16(int32[], uint16[], int)
# pythran export widen_f16(uint16[], uint32[], float32[], int)
# pythran export widen_bf16(uint16[], uint32[], int)
"""float32 to and from float16 and bfloat16, as words, rounded to nearest even.

The magnitude of a float is its word without the sign; magnitudes order like the values they stand
for, so one comparison of integers tells whether a value will overflow or become subnormal.

The first block has ``lead`` items: those behind it begin a line of the cache in the result, where
wide stores need no two lines each.
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


def _above_three(words, first, second):
    """How many magnitudes are above 0, above the first limit and above the second."""
    zero = np.int32(0)
    one = np.int32(0)
    two = np.int32(0)
    for i in range(words.shape[0]):
        size = words[i] & np.int32(0x7FFFFFFF)
        zero += np.int32(size > np.int32(0))
        one += np.int32(size > first)
        two += np.int32(size > second)
    return zero, one, two


def _to_f16(words, values, out):
    """All that does not overflow; counts of what stays above 0 and what stays normal, and the greatest.

    Adding ½ rounds a small value: the last bit of the sum is that of a subnormal float16. The
    result is kept in the upper half of a word until the end, so that it is narrowed only once.
    """
    greatest = np.int32(0)
    kept = np.int32(0)
    normal = np.int32(0)
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        small = abs(values[i])
        small = small if small < np.float32(6.103515625e-05) else np.float32(0)
        # 2⁴⁰: units of 2⁻²⁴, 16 bits up.
        tiny = np.uint32(
            np.int32(((small + np.float32(0.5)) - np.float32(0.5)) * np.float32(1099511627776.0))
        )
        # Moves the exponent (0xC8000000 is -112 << 23) and rounds: half a unit, and 1 if odd.
        other = (
            size + np.uint32(0xC8000FFF) + ((size >> np.uint32(13)) & np.uint32(1))
        ) << np.uint32(3)
        is_other = np.uint32(0) - np.uint32(size >= np.uint32(0x38800000))
        greatest = max(greatest, np.int32(size))
        kept += np.int32(size > np.uint32(0x33000000))
        normal += np.int32(size > np.uint32(0x387FDFFF))
        out[i] = np.uint16(
            (tiny | (other & is_other) | (word & np.uint32(0x80000000))) >> np.uint32(16)
        )
    return greatest, kept, normal


def _beyond_f16(words, out):
    """Infinity for what is too large; NaN keeps the upper bits that fit, or 1 if all are 0."""
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        is_big = np.uint32(0) - np.uint32(size > np.uint32(0x477FEFFF))
        is_nan = np.uint32(0) - np.uint32(size > np.uint32(0x7F800000))
        rest = (size >> np.uint32(13)) & np.uint32(0x3FF)
        rest = rest + np.uint32(rest == np.uint32(0))
        beyond = np.uint32(0x7C00) | (rest & is_nan) | ((word >> np.uint32(16)) & np.uint32(0x8000))
        own = np.uint32(out[i])
        out[i] = np.uint16(own ^ ((own ^ beyond) & is_big))


def _to_bf16(words, out):
    """Rounds what is not NaN; also the least magnitude that is not 0 (less 1) and the greatest."""
    least = np.int32(0x7FFFFFFF)
    greatest = np.int32(0)
    for i in range(words.shape[0]):
        size = words[i] & np.int32(0x7FFFFFFF)
        greatest = max(greatest, size)
        least = min(least, (size - np.int32(1)) & np.int32(0x7FFFFFFF))  # 0 turns into the largest
        word = np.uint32(words[i])
        odd = (word >> np.uint32(16)) & np.uint32(1)
        out[i] = np.uint16((word + np.uint32(0x7FFF) + odd) >> np.uint32(16))
    return least, greatest


def _keep_nan(words, out):
    """NaN stays NaN, a quiet one: rounding could have made it an infinity or a number."""
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        if (word & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000):
            out[i] = np.uint16((word >> np.uint32(16)) | np.uint32(0x40))


def narrow_f16(words, values, out, lead):
    overflow = 0
    underflow = 0
    subnormal = 0
    n = words.shape[0]
    for stop in range(lead, n + BLOCK, BLOCK):
        at = max(stop - BLOCK, 0)
        end = min(stop, n)
        part = words[at:end]
        fetched = _fetch(part)
        greatest, kept, normal = _to_f16(part, values[at:end], out[at:end])
        subnormal += kept - normal
        if kept < end - at:
            underflow += _above(part, np.int32(0)) - kept
        if max(greatest, fetched) > np.int32(0x477FEFFF):
            _beyond_f16(part, out[at:end])
            overflow += _above(part, np.int32(0x477FEFFF)) - _above(part, np.int32(0x7F7FFFFF))
    return overflow, underflow, subnormal


def narrow_bf16(words, out, lead):
    overflow = 0
    underflow = 0
    subnormal = 0
    n = words.shape[0]
    for stop in range(lead, n + BLOCK, BLOCK):
        at = max(stop - BLOCK, 0)
        end = min(stop, n)
        part = words[at:end]
        least, greatest = _to_bf16(part, out[at:end])
        if greatest > np.int32(0x7F800000):
            _keep_nan(part, out[at:end])
        if greatest > np.int32(0x7F7F7FFF):
            overflow += _above(part, np.int32(0x7F7F7FFF)) - _above(part, np.int32(0x7F7FFFFF))
        if least < np.int32(0x7F7FFF):
            zero, one, two = _above_three(part, np.int32(0x8000), np.int32(0x7F7FFF))
            underflow += zero - one
            subnormal += one - two
    return overflow, underflow, subnormal


def _place(halves, out):
    """Magnitudes as float32, subnormals as if they were normal; the greatest of them as words."""
    greatest = np.uint16(0)
    for i in range(halves.shape[0]):
        size = np.uint16(halves[i] & np.uint16(0x7FFF))
        greatest = max(greatest, size)
        out[i] = (np.uint32(size) << np.uint32(13)) + np.uint32(0x38000000)
    return greatest


def _settle(out):
    """Subnormals: 2⁻¹⁵ · (1 + m) stands where 2⁻¹⁴ · m belongs; no subnormal float32 is met."""
    for i in range(out.shape[0]):
        value = out[i]
        out[i] = value + (
            value - np.float32(6.103515625e-05)
            if value < np.float32(6.103515625e-05)
            else np.float32(0)
        )


def _sign(halves, out):
    for i in range(halves.shape[0]):
        out[i] = out[i] | ((np.uint32(halves[i]) << np.uint32(16)) & np.uint32(0x80000000))


def _beyond(halves, out):
    """Infinity and NaN have the greatest exponent, here too; every other bit stays."""
    for i in range(halves.shape[0]):
        size = np.uint32(halves[i]) & np.uint32(0x7FFF)
        is_beyond = np.uint32(0) - np.uint32(size >= np.uint32(0x7C00))
        out[i] = out[i] + (is_beyond & np.uint32(0x38000000))


def widen_f16(halves, out_words, out_values, lead):
    n = halves.shape[0]
    for stop in range(lead, n + BLOCK, BLOCK):
        at = max(stop - BLOCK, 0)
        end = min(stop, n)
        part = halves[at:end]
        words = out_words[at:end]
        greatest = _place(part, words)
        _settle(out_values[at:end])
        _sign(part, words)
        if greatest >= np.uint16(0x7C00):
            _beyond(part, words)


def _shift(halves, out):
    for i in range(halves.shape[0]):
        out[i] = np.uint32(halves[i]) << np.uint32(16)  # widen first: uint16 << 16 is 0


def widen_bf16(halves, out_words, lead):
    n = halves.shape[0]
    for stop in range(lead, n + BLOCK, BLOCK):
        at = max(stop - BLOCK, 0)
        end = min(stop, n)
        _shift(halves[at:end], out_words[at:end])
