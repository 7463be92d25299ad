# pythran export difference_f32(int32[], int32[], float32[], float32[], float, float, int, float64[], int64[], int64[], float64[])
"""How far two runs of float32 lie apart, in one pass.

A key counts the floats from zero: the magnitude, negative for negative numbers; both zeros are 0.
The scratch is a block of float64 and the same memory as int64: distances are not negative, so
their words order like the values, and the maximum of integers vectorises.
"""

import numpy as np

BLOCK = 2048
INFINITE = 0x7F800000
# Places in the counts …
CHANGED = 0
BEYOND = 1
FINITE = 2
UNPAIRED = 3
STEPS = 4
LEFT_NANS = 5
RIGHT_NANS = 6
LEFT_INFS = 7
RIGHT_INFS = 8
# … and in the sums.
LONGEST = 0
TOTAL = 1
SQUARES = 2
DOT = 3
LEFT_SQUARES = 4
RIGHT_SQUARES = 5


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


def _finite_pair(a, b, x, y, relative, absolute, steps, counts, sums):
    """One pair of finite values, a and b their words."""
    left = np.float64(x)
    right = np.float64(y)
    distance = abs(left - right)
    counts[FINITE] += 1
    sums[LONGEST] = max(sums[LONGEST], distance)
    sums[TOTAL] += distance
    sums[SQUARES] += distance * distance
    sums[DOT] += left * right
    sums[LEFT_SQUARES] += left * left
    sums[RIGHT_SQUARES] += right * right
    first = np.int64(_key(a))
    second = np.int64(_key(b))
    gap = max(first, second) - min(first, second)
    counts[STEPS] = max(counts[STEPS], gap)
    if gap > 0:
        counts[CHANGED] += 1
        if not _passes(a, b, x, y, distance, relative, absolute, steps):
            counts[BEYOND] += 1


def _with_holes(left_words, right_words, left, right, relative, absolute, steps, counts, sums):
    """A block that has NaN or infinities, one pair at a time."""
    infinite = np.int32(INFINITE)
    for i in range(left.shape[0]):
        a = left_words[i]
        b = right_words[i]
        size = a & np.int32(0x7FFFFFFF)
        other = b & np.int32(0x7FFFFFFF)
        if size < infinite and other < infinite:
            _finite_pair(a, b, left[i], right[i], relative, absolute, steps, counts, sums)
        elif not (a == b or (size > infinite and other > infinite)):
            counts[CHANGED] += 1
            counts[BEYOND] += 1
            counts[UNPAIRED] += 1
    nans, infinities = _holes(left_words)
    counts[LEFT_NANS] += nans
    counts[LEFT_INFS] += infinities
    nans, infinities = _holes(right_words)
    counts[RIGHT_NANS] += nans
    counts[RIGHT_INFS] += infinities


def _holes(words):
    """How many are NaN, and how many infinite."""
    nans = np.int32(0)
    infinities = np.int32(0)
    for i in range(words.shape[0]):
        size = words[i] & np.int32(0x7FFFFFFF)
        nans += np.int32(size > np.int32(INFINITE))
        infinities += np.int32(size == np.int32(INFINITE))
    return nans, infinities


def _apart(a, b, x, y, relative, absolute, steps, scratch, scratch_words, counts, sums):
    """A block of finite values of which some differ."""
    n = x.shape[0]
    counts[FINITE] += n
    some, gap = _steps(a, b)
    counts[CHANGED] += some
    counts[STEPS] = max(counts[STEPS], np.int64(gap))
    dot, left_squares, right_squares = _products(x, y)
    sums[DOT] += dot
    sums[LEFT_SQUARES] += left_squares
    sums[RIGHT_SQUARES] += right_squares
    distances = scratch[0:n]
    _distances(x, y, distances)
    total, squares = _distance_sums(distances)
    sums[TOTAL] += total
    sums[SQUARES] += squares
    if some == np.int32(0):  # zeros of two signs
        return
    if steps > 0 or relative > 0.0 or absolute > 0.0:
        counts[BEYOND] += _beyond(a, b, x, y, distances, relative, absolute, steps)
    else:
        counts[BEYOND] += some
    # The greatest word belongs to the greatest distance; it is put back to be read as one.
    scratch_words[0] = _longest(scratch_words[0:n])
    sums[LONGEST] = max(sums[LONGEST], scratch[0])


def difference_f32(
    left_words,
    right_words,
    left,
    right,
    relative,
    absolute,
    steps,
    scratch,
    scratch_words,
    counts,
    sums,
):
    n = left.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        a = left_words[at:end]
        b = right_words[at:end]
        x = left[at:end]
        y = right[at:end]
        if max(_greatest(a), _greatest(b)) >= np.int32(INFINITE):
            _with_holes(a, b, x, y, relative, absolute, steps, counts, sums)
        elif _differing(a, b) == np.int32(0):
            size = _squares(x)
            counts[FINITE] += end - at
            sums[DOT] += size
            sums[LEFT_SQUARES] += size
            sums[RIGHT_SQUARES] += size
        else:
            _apart(a, b, x, y, relative, absolute, steps, scratch, scratch_words, counts, sums)
