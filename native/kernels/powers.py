"""e to the power of float32, for the kernels that need it; not a module of its own.

x = n · ln 2 + r with a whole n, so e^x = 2^n · e^r; e^r is a polynomial that was fitted to a
relative error of 3e-9, and 2^n is put together from its bits. Within 2 ulp. Below -86.99 the
result is 0, above 88.72 it is infinite, NaN stays NaN.

A loop writes ``fraction`` and ``half_scale`` of each value; the next one multiplies the fraction,
the half scale seen as a float, and 2.
"""

import numpy as np


def within(x):
    """x where the power is a number, else just beyond."""
    # Comparisons the way round that keeps NaN.
    x = np.float32(-87.5) if x < np.float32(-87.5) else x
    return np.float32(88.8) if x > np.float32(88.8) else x


def whole(x):
    """n: adding 1.5 · 2²³ rounds to a whole number."""
    return (x * np.float32(1.4426950408889634) + np.float32(12582912.0)) - np.float32(12582912.0)


def fraction(x, n):
    """e^r."""
    r = (x - n * np.float32(0.693359375)) + n * np.float32(2.12194440054690583e-4)
    p = np.float32(0.00836874544620514) + r * np.float32(0.001381453825160861)
    p = np.float32(0.04166838899254799) + r * p
    p = np.float32(0.1666652113199234) + r * p
    p = np.float32(0.4999999403953552) + r * p
    return np.float32(1) + (r + r * r * p)


def half_scale(n):
    """The word of half of 2^n: 2^128 itself has no word. n = -126 gives 0."""
    return (np.int32(n) + np.int32(126)) << np.int32(23)


def power_less(values, top, scales, scale_words, out):
    """out = e^(values - top); ``scales`` and ``scale_words`` are the same memory."""
    for i in range(values.shape[0]):
        x = within(values[i] - top)
        n = whole(x)
        out[i] = fraction(x, n)
        scale_words[i] = half_scale(n)
    for i in range(values.shape[0]):
        out[i] = out[i] * scales[i] * np.float32(2)


def power(values, scales, scale_words, out):
    """out = e^values; ``scales`` and ``scale_words`` are the same memory, as long as values."""
    power_less(values, np.float32(0), scales, scale_words, out)
