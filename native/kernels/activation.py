# pythran export erf(float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export gelu(float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export gelu_tanh(float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export silu(float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export silu_times(float32[], float32[], float32[], float32[:,:] order(C), int32[:,:] order(C))
# pythran export bias_relu(float32[:,:] order(C), float32[], float32[:,:] order(C))
# pythran export bias_gelu(float32[:,:] order(C), float32[], int, float32[:,:] order(C), float32[:,:] order(C), int32[:,:] order(C))
"""erf and the activations built on it and on exp, a block at a time.

The scratch is five rows of a block, as floats and as words of the same memory. The normal
distribution's tail is exp(-x²/2) · g(|x|); g is (1 - t) times a polynomial in
t = (|x| - 3√2) / (|x| + 3√2) that was fitted to a relative error of 3e-9.
"""

import numpy as np
from powers import power

BLOCK = 1024


def _tail_factor(values, out):
    """g of magnitudes: the tail divided by exp(-x²/2)."""
    for i in range(values.shape[0]):
        x = values[i]
        t = np.float32((x - np.float32(4.242640687119286)) / (x + np.float32(4.242640687119286)))
        p = np.float32(-4.026494571007788e-05) + t * np.float32(-2.711129309318494e-05)
        p = np.float32(0.00025669412571005523) + t * p
        p = np.float32(-0.000102202408015728) + t * p
        p = np.float32(-0.002236652188003063) + t * p
        p = np.float32(0.009960755705833435) + t * p
        p = np.float32(-0.025872167199850082) + t * p
        p = np.float32(0.04918569326400757) + t * p
        p = np.float32(-0.07361620664596558) + t * p
        p = np.float32(0.08950057625770569) + t * p
        out[i] = (np.float32(1) - t) * p


def _magnitudes(values, limit, out):
    for i in range(values.shape[0]):
        size = abs(values[i])
        out[i] = limit if size > limit else size


def _high_parts(words, out):
    """The upper half of the digits: the square of that is exact."""
    for i in range(words.shape[0]):
        out[i] = words[i] & np.int32(-4096)


def _minus_half_squares(sizes, highs, out, rests):
    """-x²/2 without its last digits, and those: they would be up to 60 ulp of the power."""
    for i in range(sizes.shape[0]):
        out[i] = np.float32(-0.5) * (highs[i] * highs[i])
        rests[i] = np.float32(-0.5) * ((sizes[i] - highs[i]) * (sizes[i] + highs[i]))


def _correct(rests, powers):
    """e^(x + rest) out of e^x for a rest below 0.02."""
    for i in range(rests.shape[0]):
        r = rests[i]
        powers[i] = powers[i] + powers[i] * (
            r + r * r * (np.float32(0.5) + r * np.float32(0.16666667))
        )


def _apply_tails(values, powers, factors, out):
    for i in range(values.shape[0]):
        x = values[i]
        tail = powers[i] * factors[i]
        share = tail if x < np.float32(0) else np.float32(1) - tail
        # -inf times no tail would be NaN.
        x = np.float32(-14) if x < np.float32(-14) else x
        out[i] = x * share


def _gelu(values, out, scratch, scratch_words):
    n = values.shape[0]
    sizes = scratch[0, 0:n]
    highs = scratch[1, 0:n]
    powers = scratch[2, 0:n]
    rests = scratch[3, 0:n]
    _magnitudes(values, np.float32(14), sizes)
    _high_parts(scratch_words[0, 0:n], scratch_words[1, 0:n])
    _minus_half_squares(sizes, highs, powers, rests)
    # The scales of the power go where the high parts were; it reads a value before it writes one.
    power(powers, highs, scratch_words[1, 0:n], out)
    _correct(rests, out)
    _tail_factor(sizes, powers)
    for i in range(n):
        highs[i] = out[i]
    _apply_tails(values, highs, powers, out)


def gelu(values, out, scratch, scratch_words):
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        _gelu(values[at:end], out[at:end], scratch, scratch_words)


def _minus_logits(values, out):
    """-2√(2/π) · (x + 0.044715 x³): the tanh form of gelu is x / (1 + e to the power of it)."""
    for i in range(values.shape[0]):
        x = values[i]
        x = np.float32(-30) if x < np.float32(-30) else x
        x = np.float32(30) if x > np.float32(30) else x
        cubic = np.float32(1) + np.float32(0.044715) * (x * x)
        out[i] = np.float32(-1.5957691216057308) * x * cubic


def _minus(values, out):
    for i in range(values.shape[0]):
        out[i] = -values[i]


def _divide(values, powers, out):
    for i in range(values.shape[0]):
        x = values[i]
        # -inf over infinity would be NaN.
        x = np.float32(-1000) if x < np.float32(-1000) else x
        out[i] = np.float32(x / (np.float32(1) + powers[i]))


def _gelu_tanh(values, out, scratch, scratch_words):
    n = values.shape[0]
    logits = scratch[0, 0:n]
    powers = scratch[2, 0:n]
    _minus_logits(values, logits)
    power(logits, scratch[1], scratch_words[1], powers)
    _divide(values, powers, out)


def gelu_tanh(values, out, scratch, scratch_words):
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        _gelu_tanh(values[at:end], out[at:end], scratch, scratch_words)


def _silu(values, out, scratch, scratch_words):
    n = values.shape[0]
    logits = scratch[0, 0:n]
    powers = scratch[2, 0:n]
    _minus(values, logits)
    power(logits, scratch[1], scratch_words[1], powers)
    _divide(values, powers, out)


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


def _minus_squares(values, out):
    for i in range(values.shape[0]):
        out[i] = -(values[i] * values[i])


def _times_root_two(values):
    for i in range(values.shape[0]):
        values[i] = values[i] * np.float32(1.4142135623730951)


def _choose_erf(values, powers, factors, out):
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
        far = np.float32(1) - np.float32(2) * (powers[i] * factors[i])
        far = -far if x < np.float32(0) else far
        out[i] = near if size < np.float32(1) else far


def erf(values, out, scratch, scratch_words):
    n = values.shape[0]
    for at in range(0, n, BLOCK):
        end = min(at + BLOCK, n)
        part = values[at:end]
        sizes = scratch[0, 0 : end - at]
        squares = scratch[1, 0 : end - at]
        powers = scratch[2, 0 : end - at]
        _magnitudes(part, np.float32(6), sizes)
        _minus_squares(sizes, squares)
        power(squares, scratch[3], scratch_words[3], powers)
        _times_root_two(sizes)
        _tail_factor(sizes, squares)
        _choose_erf(part, powers, squares, out[at:end])


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
