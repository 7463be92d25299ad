# pythran export moments_f32(int32[], float32[])
# pythran export moments_f64(float64[])
"""Extremes, sums and counts of floats in one pass.

A key is the word with the magnitude of negative numbers flipped: int32 that order like the values,
because the compiler vectorises minimum and maximum of integers but not those of floats.
"""

import numpy as np

BLOCK = 4096


def _range(words):
    low = np.int32(0x7FFFFFFF)
    high = np.int32(0x7FFFFFFF) ^ np.int32(-1)
    zeros = np.int32(0)
    for i in range(words.shape[0]):
        word = words[i]
        key = word ^ ((word >> np.int32(31)) & np.int32(0x7FFFFFFF))
        low = min(low, key)
        high = max(high, key)
        zeros += np.int32((word & np.int32(0x7FFFFFFF)) == np.int32(0))
    return low, high, zeros


def _sums(values):
    total = 0.0
    squares = 0.0
    # omp simd reduction(+:total,squares)
    for i in range(values.shape[0]):
        value = np.float64(values[i])
        total += value
        squares += value * value
    return total, squares


def _finite_only(words, values):
    """All figures but zeros of a block that has NaN or infinities, one item at a time."""
    low = 0x7FFFFFFF
    high = -0x80000000
    total = 0.0
    squares = 0.0
    nans = 0
    pos_infs = 0
    neg_infs = 0
    for i in range(words.shape[0]):
        word = words[i]
        size = word & np.int32(0x7FFFFFFF)
        if size < np.int32(0x7F800000):
            key = np.int64(word ^ ((word >> np.int32(31)) & np.int32(0x7FFFFFFF)))
            low = min(low, key)
            high = max(high, key)
            value = np.float64(values[i])
            total += value
            squares += value * value
        elif size > np.int32(0x7F800000):
            nans += 1
        elif word > np.int32(0):
            pos_infs += 1
        else:
            neg_infs += 1
    return low, high, total, squares, nans, pos_infs, neg_infs


def moments_f32(words, values):
    low = 0x7FFFFFFF
    high = -0x80000000
    total = 0.0
    squares = 0.0
    zeros = 0
    nans = 0
    pos_infs = 0
    neg_infs = 0
    n = words.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        part = words[at:end]
        block_low, block_high, block_zeros = _range(part)
        zeros += block_zeros
        # The keys of +inf and -inf; those of NaN lie beyond them.
        if block_high < np.int32(0x7F800000) and block_low > np.int32(-0x7F800001):
            low = min(low, np.int64(block_low))
            high = max(high, np.int64(block_high))
            block_total, block_squares = _sums(values[at:end])
        else:
            found = _finite_only(part, values[at:end])
            low = min(low, found[0])
            high = max(high, found[1])
            block_total = found[2]
            block_squares = found[3]
            nans += found[4]
            pos_infs += found[5]
            neg_infs += found[6]
        total += block_total
        squares += block_squares
    return low, high, total, squares, zeros, nans, pos_infs, neg_infs


def _not_finite(values):
    """NaN if a value is NaN or infinite, else 0."""
    total = 0.0
    # omp simd reduction(+:total)
    for i in range(values.shape[0]):
        total += values[i] - values[i]
    return total


def _extremes(values):
    low = np.inf
    high = -np.inf
    # omp simd reduction(min:low) reduction(max:high)
    for i in range(values.shape[0]):
        low = values[i] if values[i] < low else low
        high = values[i] if values[i] > high else high
    return low, high


def _zeros(values):
    zeros = 0
    for i in range(values.shape[0]):
        zeros += values[i] == 0.0
    return zeros


def moments_f64(values):
    low = np.inf
    high = -np.inf
    total = 0.0
    squares = 0.0
    zeros = 0
    nans = 0
    pos_infs = 0
    neg_infs = 0
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        part = values[at : min(at + BLOCK, n)]
        zeros += _zeros(part)
        if _not_finite(part) == 0.0:
            block_low, block_high = _extremes(part)
            block_total, block_squares = _sums(part)
            low = min(low, block_low)
            high = max(high, block_high)
            total += block_total
            squares += block_squares
        else:
            for i in range(part.shape[0]):
                value = part[i]
                if value != value:
                    nans += 1
                elif value - value == 0.0:
                    low = min(low, value)
                    high = max(high, value)
                    total += value
                    squares += value * value
                elif value > 0.0:
                    pos_infs += 1
                else:
                    neg_infs += 1
    return low, high, total, squares, zeros, nans, pos_infs, neg_infs
