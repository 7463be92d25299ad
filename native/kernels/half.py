# pythran export narrow_f16(int32[], float32[], uint16[], uint32[], float32[])
# pythran export narrow_bf16(int32[], uint16[])
# pythran export widen_f16(uint16[], uint32[], float32[])
# pythran export widen_bf16(uint16[], uint32[])
"""float32 to and from float16 and bfloat16, as words, rounded to nearest even.

The magnitude of a float is its word without the sign; magnitudes order like the values they stand
for, so one comparison of integers tells whether a value will overflow or become subnormal.
"""

import numpy as np

BLOCK = 1024  # a block, its scratch and its result fit the first-level cache with room to spare


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


def _add_half(words, values, out):
    """|value| + 0.5: the sum of a small value ends where a subnormal float16 ends, so adding rounds it.

    Also the least magnitude that is not 0 (less 1) and the greatest, for the price of no second pass.
    """
    least = np.int32(0x7FFFFFFF)
    greatest = np.int32(0)
    for i in range(values.shape[0]):
        size = words[i] & np.int32(0x7FFFFFFF)
        greatest = max(greatest, size)
        least = min(least, (size - np.int32(1)) & np.int32(0x7FFFFFFF))  # 0 turns into the largest
        out[i] = abs(values[i]) + np.float32(0.5)
    return least, greatest


def _to_f16(words, sums, out):
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        # Moves the exponent (0xC8000000 is -112 << 23) and rounds: half a unit, and 1 if odd.
        normal = (
            size + np.uint32(0xC8000FFF) + ((size >> np.uint32(13)) & np.uint32(1))
        ) >> np.uint32(13)
        tiny = sums[i] - np.uint32(0x3F000000)
        is_tiny = np.uint32(0) - np.uint32(size < np.uint32(0x38800000))
        finite = normal ^ ((normal ^ tiny) & is_tiny)
        is_big = np.uint32(0) - np.uint32(size > np.uint32(0x477FEFFF))
        is_nan = np.uint32(0) - np.uint32(size > np.uint32(0x7F800000))
        beyond = np.uint32(0x7C00) | (is_nan & np.uint32(0x200))
        sign = (word >> np.uint32(16)) & np.uint32(0x8000)
        out[i] = np.uint16((finite ^ ((finite ^ beyond) & is_big)) | sign)


def _to_f16_in_range(words, sums, out):
    """As ``_to_f16`` for a block without infinity, NaN or overflow, which is nearly every block."""
    for i in range(words.shape[0]):
        word = np.uint32(words[i])
        size = word & np.uint32(0x7FFFFFFF)
        normal = (
            size + np.uint32(0xC8000FFF) + ((size >> np.uint32(13)) & np.uint32(1))
        ) >> np.uint32(13)
        tiny = sums[i] - np.uint32(0x3F000000)
        is_tiny = np.uint32(0) - np.uint32(size < np.uint32(0x38800000))
        finite = normal ^ ((normal ^ tiny) & is_tiny)
        out[i] = np.uint16(finite | ((word >> np.uint32(16)) & np.uint32(0x8000)))


def _to_bf16(words, out):
    """Rounds what is not NaN; also as ``_add_half``, for the price of no second pass."""
    least = np.int32(0x7FFFFFFF)
    greatest = np.int32(0)
    for i in range(words.shape[0]):
        size = words[i] & np.int32(0x7FFFFFFF)
        greatest = max(greatest, size)
        least = min(least, (size - np.int32(1)) & np.int32(0x7FFFFFFF))
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


def narrow_f16(words, values, out, scratch_words, scratch_values):
    overflow = 0
    underflow = 0
    subnormal = 0
    n = words.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        part = words[at:end]
        least, greatest = _add_half(part, values[at:end], scratch_values)
        if greatest > np.int32(0x477FEFFF):
            overflow += _above(part, np.int32(0x477FEFFF)) - _above(part, np.int32(0x7F7FFFFF))
            _to_f16(part, scratch_words, out[at:end])
        else:
            _to_f16_in_range(part, scratch_words, out[at:end])
        if least < np.int32(0x387FDFFF):
            zero, one, two = _above_three(part, np.int32(0x33000000), np.int32(0x387FDFFF))
            underflow += zero - one
            subnormal += one - two
    return overflow, underflow, subnormal


def narrow_bf16(words, out):
    overflow = 0
    underflow = 0
    subnormal = 0
    n = words.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
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
    """Magnitudes of float32; those of subnormals 2⁻¹⁴ too large."""
    for i in range(halves.shape[0]):
        size = np.uint32(halves[i]) & np.uint32(0x7FFF)
        tiny = np.uint32(size < np.uint32(0x400)) << np.uint32(23)
        is_beyond = np.uint32(0) - np.uint32(size >= np.uint32(0x7C00))
        out[i] = (
            (size << np.uint32(13))
            + np.uint32(0x38000000)
            + tiny
            + (is_beyond & np.uint32(0x38000000))
        )


def _settle(halves, out):
    """Takes the 2⁻¹⁴ off again: an exact subtraction without a subnormal float32 anywhere."""
    for i in range(halves.shape[0]):
        is_tiny = (halves[i] & np.uint16(0x7C00)) == np.uint16(0)
        out[i] = out[i] - (np.float32(6.103515625e-05) if is_tiny else np.float32(0))


def _sign(halves, out):
    for i in range(halves.shape[0]):
        out[i] = out[i] | ((np.uint32(halves[i]) & np.uint32(0x8000)) << np.uint32(16))


def widen_f16(halves, out_words, out_values):
    n = halves.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        _place(halves[at:end], out_words[at:end])
        _settle(halves[at:end], out_values[at:end])
        _sign(halves[at:end], out_words[at:end])


def widen_bf16(halves, out_words):
    for i in range(halves.shape[0]):
        out_words[i] = np.uint32(halves[i]) << np.uint32(16)  # widen first: uint16 << 16 is 0
