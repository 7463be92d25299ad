# pythran export erf(float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export gelu(float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export gelu_tanh(float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export silu(float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export silu_times(float32[], float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export bias_relu(float32[:,:] order(C), float32[], float32[:,:] order(C))
# pythran export bias_gelu(float32[:,:] order(C), float32[], int, float32[:,:] order(C), float32[:,:] order(C), int32[:,:] order(C))
"""erf and the activations built on it and on exp, a block at a time.

The scratch is rows of a block, as floats and as words of the same memory: row 0 takes powers
without their scales, row 1 the scales. The normal distribution's tail is exp(-x²/2) · g(|x|); g is
(1 - t) times a polynomial in t = (|x| - 3√2) / (|x| + 3√2) that was fitted to a relative error of
3e-9.
"""

import numpy as np
from powers import fraction, half_scale, whole, within

BLOCK = 1024


def _tail_factor(x):
    """g of a magnitude: the tail divided by exp(-x²/2)."""
    t = (x - np.float32(4.242640687119286)) * np.reciprocal(x + np.float32(4.242640687119286))
    p = np.float32(-4.026494571007788e-05) + t * np.float32(-2.711129309318494e-05)
    p = np.float32(0.00025669412571005523) + t * p
    p = np.float32(-0.000102202408015728) + t * p
    p = np.float32(-0.002236652188003063) + t * p
    p = np.float32(0.009960755705833435) + t * p
    p = np.float32(-0.025872167199850082) + t * p
    p = np.float32(0.04918569326400757) + t * p
    p = np.float32(-0.07361620664596558) + t * p
    p = np.float32(0.08950057625770569) + t * p
    return (np.float32(1) - t) * p


def _corrected(power, rest):
    """e^(x + rest) out of e^x for a rest below 0.03."""
    return power + power * (rest + rest * rest * (np.float32(0.5) + rest * np.float32(0.16666667)))


def _magnitude(x, limit):
    size = abs(x)
    return limit if size > limit else size


def _tails(values, powers, scale_words):
    """Tails of the normal distribution beyond magnitudes, without their scales."""
    for i in range(values.shape[0]):
        size = _magnitude(values[i], np.float32(14))
        # To a multiple of 1/256, whose square is exact: the digits that x² lacks would be up to
        # 60 ulp of the power.
        near = (size + np.float32(49152)) - np.float32(49152)
        x = np.float32(-0.5) * (near * near)
        x = np.float32(-87.5) if x < np.float32(-87.5) else x
        rest = np.float32(-0.5) * ((size - near) * (size + near))
        n = whole(x)
        powers[i] = _corrected(fraction(x, n), rest) * _tail_factor(size)
        scale_words[i] = half_scale(n)


def _apply_tails(values, powers, scales, out):
    for i in range(values.shape[0]):
        x = values[i]
        tail = powers[i] * scales[i] * np.float32(2)
        share = tail if x < np.float32(0) else np.float32(1) - tail
        # -inf times no tail would be NaN.
        x = np.float32(-14) if x < np.float32(-14) else x
        out[i] = x * share


def _gelu(values, out, scratch, scratch_words):
    n = values.shape[0]
    powers = scratch[0, 0:n]
    _tails(values, powers, scratch_words[1, 0:n])
    _apply_tails(values, powers, scratch[1, 0:n], out)


def gelu(values, out, scratch, scratch_words):
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        _gelu(values[at:end], out[at:end], scratch, scratch_words)


def _minus_logits(values, powers, scale_words):
    """e to -2√(2/π) · (x + 0.044715 x³): the tanh form of gelu is x / (1 + that)."""
    for i in range(values.shape[0]):
        x = values[i]
        x = np.float32(-30) if x < np.float32(-30) else x
        x = np.float32(30) if x > np.float32(30) else x
        cubic = np.float32(1) + np.float32(0.044715) * (x * x)
        x = within(np.float32(-1.5957691216057308) * x * cubic)
        n = whole(x)
        powers[i] = fraction(x, n)
        scale_words[i] = half_scale(n)


def _minus(values, powers, scale_words):
    """e to the power of -x."""
    for i in range(values.shape[0]):
        x = within(-values[i])
        n = whole(x)
        powers[i] = fraction(x, n)
        scale_words[i] = half_scale(n)


def _divide(values, powers, scales, out):
    for i in range(values.shape[0]):
        x = values[i]
        # -inf over infinity would be NaN.
        x = np.float32(-1000) if x < np.float32(-1000) else x
        out[i] = x * np.reciprocal(np.float32(1) + powers[i] * scales[i] * np.float32(2))


def _gelu_tanh(values, out, scratch, scratch_words):
    n = values.shape[0]
    powers = scratch[0, 0:n]
    _minus_logits(values, powers, scratch_words[1, 0:n])
    _divide(values, powers, scratch[1, 0:n], out)


def gelu_tanh(values, out, scratch, scratch_words):
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        _gelu_tanh(values[at:end], out[at:end], scratch, scratch_words)


def _silu(values, out, scratch, scratch_words):
    n = values.shape[0]
    powers = scratch[0, 0:n]
    _minus(values, powers, scratch_words[1, 0:n])
    _divide(values, powers, scratch[1, 0:n], out)


def silu(values, out, scratch, scratch_words):
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        _silu(values[at:end], out[at:end], scratch, scratch_words)


def _multiply(factors, out):
    for i in range(factors.shape[0]):
        out[i] = out[i] * factors[i]


def silu_times(values, factors, out, scratch, scratch_words):
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        _silu(values[at:end], out[at:end], scratch, scratch_words)
        _multiply(factors[at:end], out[at:end])


def _two_tails(values, powers, scale_words):
    """As ``_tails`` of values times √2."""
    for i in range(values.shape[0]):
        size = _magnitude(values[i], np.float32(6))
        x = -(size * size)
        n = whole(x)
        powers[i] = fraction(x, n) * _tail_factor(size * np.float32(1.4142135623730951))
        scale_words[i] = half_scale(n)


def _choose_erf(values, powers, scales, out):
    for i in range(values.shape[0]):
        x = values[i]
        size = abs(x)
        s = x * x
        p = np.float32(-0.0008010192541405559) + s * np.float32(7.853857823647559e-05)
        p = np.float32(0.005188327748328447) + s * p
        p = np.float32(-0.026853810995817184) + s * p
        p = np.float32(0.1128358542919159) + s * p
        p = np.float32(-0.3761262595653534) + s * p
        near = x * (np.float32(1.1283791065216064) + s * p)
        far = np.float32(1) - np.float32(4) * (powers[i] * scales[i])
        far = -far if x < np.float32(0) else far
        out[i] = near if size < np.float32(1) else far


def erf(values, out, scratch, scratch_words):
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        part = values[at:end]
        powers = scratch[0, 0 : end - at]
        _two_tails(part, powers, scratch_words[1, 0 : end - at])
        _choose_erf(part, powers, scratch[1, 0 : end - at], out[at:end])


def _sum(values, bias, out):
    for i in range(values.shape[0]):
        out[i] = values[i] + bias[i]


def _sum_relu(values, bias, out):
    for i in range(values.shape[0]):
        s = values[i] + bias[i]
        out[i] = np.float32(0) if s < np.float32(0) else s


def bias_relu(values, bias, out):
    for row in range(values.shape[0]):
        _sum_relu(values[row], bias, out[row])


def bias_gelu(values, bias, tanh, out, scratch, scratch_words):
    width = values.shape[1]
    for row in range(values.shape[0]):
        for at in range(0, width, BLOCK):
            end = min(at + BLOCK, width)
            summed = scratch[4, 0 : end - at]
            _sum(values[row, at:end], bias[at:end], summed)
            if tanh:
                _gelu_tanh(summed, out[row, at:end], scratch, scratch_words)
            else:
                _gelu(summed, out[row, at:end], scratch, scratch_words)
