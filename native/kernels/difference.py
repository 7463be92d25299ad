# pythran export difference_f32(int32[], int32[], float32[], float32[], float, float, int, float64[], int64[])
"""How far two runs of float32 lie apart, in one pass.

A key counts the floats from zero: the magnitude, negative for negative numbers; both zeros are 0.
The scratch is a block of float64 and the same memory as int64: distances are not negative, so
their words order like the values, and the maximum of integers vectorises.
"""

import numpy as np

BLOCK = 2048
INFINITE = 0x7F800000


def _greatest(words):
    top = np.int32(0)
    for i in range(words.shape[0]):
        top = max(top, words[i] & np.int32(0x7FFFFFFF))
    return top


def _differing(left, right):
    """Pairs whose words differ: most blocks of nearly equal tensors have none."""
    count = np.int32(0)
    for i in range(left.shape[0]):
        count += np.int32(left[i] != right[i])
    return count


def _key(word):
    size = word & np.int32(0x7FFFFFFF)
    sign = word >> np.int32(31)
    return (size ^ sign) - sign


def _steps(left, right):
    """How many pairs are unequal, and the greatest number of steps between two."""
    changed = np.int32(0)
    top = np.uint32(0)
    for i in range(left.shape[0]):
        a = _key(left[i])
        b = _key(right[i])
        changed += np.int32(a != b)
        top = max(top, np.uint32(max(a, b)) - np.uint32(min(a, b)))
    return changed, top


def _squares(values):
    total = 0.0
    # omp simd reduction(+:total)
    for i in range(values.shape[0]):
        total += np.float64(values[i]) * np.float64(values[i])
    return total


def _products(left, right):
    dot = 0.0
    left_squares = 0.0
    right_squares = 0.0
    # omp simd reduction(+:dot,left_squares,right_squares)
    for i in range(left.shape[0]):
        dot += np.float64(left[i]) * np.float64(right[i])
        left_squares += np.float64(left[i]) * np.float64(left[i])
        right_squares += np.float64(right[i]) * np.float64(right[i])
    return dot, left_squares, right_squares


def _distances(left, right, out):
    for i in range(left.shape[0]):
        out[i] = abs(np.float64(left[i]) - np.float64(right[i]))


def _distance_sums(distances):
    total = 0.0
    squares = 0.0
    # omp simd reduction(+:total,squares)
    for i in range(distances.shape[0]):
        total += distances[i]
        squares += distances[i] * distances[i]
    return total, squares


def _longest(words):
    top = np.int64(0)
    for i in range(words.shape[0]):
        top = max(top, words[i])
    return top


def _passes(left_word, right_word, left, right, distance, relative, absolute, steps):
    """Whether two finite values are equal, closer than allowed, or few steps apart."""
    a = np.int64(_key(left_word))
    b = np.int64(_key(right_word))
    gap = max(a, b) - min(a, b)
    allowed = max(absolute, relative * max(abs(np.float64(left)), abs(np.float64(right))))
    return gap <= steps or distance < allowed


def _beyond(left_words, right_words, left, right, distances, relative, absolute, steps):
    count = 0
    for i in range(left.shape[0]):
        if not _passes(
            left_words[i],
            right_words[i],
            left[i],
            right[i],
            distances[i],
            relative,
            absolute,
            steps,
        ):
            count += 1
    return count


def _with_holes(left_words, right_words, left, right, relative, absolute, steps):
    """All figures of a block that has NaN or infinities, one pair at a time."""
    infinite = np.int32(INFINITE)
    changed = 0
    beyond = 0
    finite = 0
    unpaired = 0
    longest = 0.0
    total = 0.0
    squares = 0.0
    dot = 0.0
    left_squares = 0.0
    right_squares = 0.0
    top = 0
    for i in range(left.shape[0]):
        a = left_words[i] & np.int32(0x7FFFFFFF)
        b = right_words[i] & np.int32(0x7FFFFFFF)
        if a < infinite and b < infinite:
            x = np.float64(left[i])
            y = np.float64(right[i])
            distance = abs(x - y)
            finite += 1
            longest = max(longest, distance)
            total += distance
            squares += distance * distance
            dot += x * y
            left_squares += x * x
            right_squares += y * y
            first = np.int64(_key(left_words[i]))
            second = np.int64(_key(right_words[i]))
            gap = max(first, second) - min(first, second)
            top = max(top, gap)
            if gap > 0:
                changed += 1
                if not _passes(
                    left_words[i],
                    right_words[i],
                    left[i],
                    right[i],
                    distance,
                    relative,
                    absolute,
                    steps,
                ):
                    beyond += 1
        elif not (left_words[i] == right_words[i] or (a > infinite and b > infinite)):
            changed += 1
            beyond += 1
            unpaired += 1
    return (
        changed,
        beyond,
        finite,
        unpaired,
        longest,
        total,
        squares,
        dot,
        left_squares,
        right_squares,
        top,
    )


def _holes(words):
    """How many are NaN, and how many infinite."""
    nans = np.int32(0)
    infinities = np.int32(0)
    for i in range(words.shape[0]):
        size = words[i] & np.int32(0x7FFFFFFF)
        nans += np.int32(size > np.int32(INFINITE))
        infinities += np.int32(size == np.int32(INFINITE))
    return nans, infinities


def difference_f32(
    left_words, right_words, left, right, relative, absolute, steps, scratch, scratch_words
):
    changed = 0
    beyond = 0
    finite = 0
    unpaired = 0
    longest = 0.0
    total = 0.0
    squares = 0.0
    dot = 0.0
    left_squares = 0.0
    right_squares = 0.0
    top = 0
    left_nans = 0
    right_nans = 0
    left_infinities = 0
    right_infinities = 0
    n = left.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        a = left_words[at:end]
        b = right_words[at:end]
        x = left[at:end]
        y = right[at:end]
        if max(_greatest(a), _greatest(b)) >= np.int32(INFINITE):
            found = _with_holes(a, b, x, y, relative, absolute, steps)
            changed += found[0]
            beyond += found[1]
            finite += found[2]
            unpaired += found[3]
            longest = max(longest, found[4])
            total += found[5]
            squares += found[6]
            dot += found[7]
            left_squares += found[8]
            right_squares += found[9]
            top = max(top, np.int64(found[10]))
            holes = _holes(a)
            left_nans += holes[0]
            left_infinities += holes[1]
            holes = _holes(b)
            right_nans += holes[0]
            right_infinities += holes[1]
        elif _differing(a, b) == np.int32(0):
            finite += end - at
            size = _squares(x)
            dot += size
            left_squares += size
            right_squares += size
        else:
            finite += end - at
            some, gap = _steps(a, b)
            changed += some
            top = max(top, np.int64(gap))
            products = _products(x, y)
            dot += products[0]
            left_squares += products[1]
            right_squares += products[2]
            distances = scratch[0 : end - at]
            _distances(x, y, distances)
            sums = _distance_sums(distances)
            total += sums[0]
            squares += sums[1]
            # The greatest word belongs to the greatest distance; it is put back to be read as one.
            scratch_words[0] = _longest(scratch_words[0 : end - at])
            if some > np.int32(0):
                longest = max(longest, scratch[0])
                if steps > 0 or relative > 0.0 or absolute > 0.0:
                    _distances(x, y, distances)
                    beyond += _beyond(a, b, x, y, distances, relative, absolute, steps)
                else:
                    beyond += some
    return (
        changed,
        beyond,
        finite,
        unpaired,
        longest,
        total,
        squares,
        dot,
        left_squares,
        right_squares,
        top,
        left_nans,
        right_nans,
        left_infinities,
        right_infinities,
    )
