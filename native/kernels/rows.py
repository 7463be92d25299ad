# pythran export softmax(float32[:,:] order(C), float32[:,:] order(C), int64[], float32, float32[:,:] order(C), int32[:,:] order(C), float32[:,:] order(C), int32[:,:] order(C))
# pythran export log_softmax(float32[:,:] order(C), float32[:,:] order(C), int64[], float32, float32[:,:] order(C), int32[:,:] order(C), float32[:,:] order(C), int32[:,:] order(C))
# pythran export layer_norm(float32[:,:] order(C), float32[], float32[], float, float32[:,:] order(C))
# pythran export add_layer_norm(float32[:,:] order(C), float32[:,:] order(C), float32[], float32[], float, float32[:,:] order(C), float32[:,:] order(C))
# pythran export rms_norm(float32[:,:] order(C), float32[], float, float32[:,:] order(C))
"""Softmax, log-softmax and the norms over the last axis, a row at a time; sums are in float64."""

import numpy as np
from powers import power_less

BLOCK = 1024


def _scaled(values, scale, out):
    for i in range(values.shape[0]):
        out[i] = values[i] * scale


def _masked(values, scale, mask, out):
    for i in range(values.shape[0]):
        out[i] = values[i] * scale + mask[i]


def _top_key(words):
    """The greatest key; a key is the word with the magnitude of negative numbers flipped."""
    top = np.int32(0x7FFFFFFF) ^ np.int32(-1)
    for i in range(words.shape[0]):
        word = words[i]
        top = max(top, word ^ ((word >> np.int32(31)) & np.int32(0x7FFFFFFF)))
    return top


def _lower(values, top):
    for i in range(values.shape[0]):
        values[i] = values[i] - top


def _times(values, factor):
    for i in range(values.shape[0]):
        values[i] = values[i] * factor


def _total(values):
    total = 0.0
    # omp simd reduction(+:total)
    for i in range(values.shape[0]):
        total += np.float64(values[i])
    return total


def _squares(values):
    total = 0.0
    # omp simd reduction(+:total)
    for i in range(values.shape[0]):
        total += np.float64(values[i]) * np.float64(values[i])
    return total


def _spread(values, mean):
    """Sum of the squared distances from the mean."""
    total = 0.0
    # omp simd reduction(+:total)
    for i in range(values.shape[0]):
        total += (np.float64(values[i]) - mean) * (np.float64(values[i]) - mean)
    return total


def _largest(words, scratch, scratch_words):
    """The greatest value of a row, through a word of the scratch; NaN if one has no sign."""
    key = _top_key(words)
    scratch_words[0] = key ^ ((key >> np.int32(31)) & np.int32(0x7FFFFFFF))
    return scratch[0]


def _prepare(values, mask, places, scale, row, out):
    if places.shape[0] > 0:
        _masked(values[row], scale, mask[places[row]], out)
    else:
        _scaled(values[row], scale, out)


def softmax(values, mask, places, scale, out, out_words, scratch, scratch_words):
    width = values.shape[1]
    scales = scratch[0]
    scale_words = scratch_words[0]
    for row in range(values.shape[0]):
        line = out[row]
        _prepare(values, mask, places, scale, row, line)
        top = _largest(out_words[row], scales, scale_words)
        total = 0.0
        for at in range(0, width, BLOCK):
            end = min(at + BLOCK, width)
            part = line[at:end]
            power_less(part, top, scales, scale_words, part)
            total += _total(part)
        _times(line, np.float32(1.0 / total))


def log_softmax(values, mask, places, scale, out, out_words, scratch, scratch_words):
    width = values.shape[1]
    scales = scratch[0]
    scale_words = scratch_words[0]
    powers = scratch[1]
    for row in range(values.shape[0]):
        line = out[row]
        _prepare(values, mask, places, scale, row, line)
        top = _largest(out_words[row], scales, scale_words)
        _lower(line, top)
        total = 0.0
        for at in range(0, width, BLOCK):
            end = min(at + BLOCK, width)
            short = powers[0 : end - at]
            power_less(line[at:end], np.float32(0), scales, scale_words, short)
            total += _total(short)
        _lower(line, np.float32(np.log(total)))


def _normalised(values, mean, rest, factor, gamma, beta, out):
    """The mean comes as two float32: what one alone lacks shows where values are far from 0."""
    for i in range(values.shape[0]):
        out[i] = ((values[i] - mean) - rest) * factor * gamma[i] + beta[i]


def _normalise(values, gamma, beta, epsilon, out):
    width = values.shape[0]
    mean = _total(values) / width
    factor = 1.0 / np.sqrt(_spread(values, mean) / width + epsilon)
    near = np.float32(mean)
    rest = np.float32(mean - np.float64(near))
    _normalised(values, near, rest, np.float32(factor), gamma, beta, out)


def layer_norm(values, gamma, beta, epsilon, out):
    for row in range(values.shape[0]):
        _normalise(values[row], gamma, beta, epsilon, out[row])


def _sum(left, right, out):
    for i in range(left.shape[0]):
        out[i] = left[i] + right[i]


def add_layer_norm(values, other, gamma, beta, epsilon, added, out):
    for row in range(values.shape[0]):
        _sum(values[row], other[row], added[row])
        _normalise(added[row], gamma, beta, epsilon, out[row])


def _scaled_by(values, factor, gamma, out):
    for i in range(values.shape[0]):
        out[i] = values[i] * factor * gamma[i]


def rms_norm(values, gamma, epsilon, out):
    width = values.shape[1]
    for row in range(values.shape[0]):
        line = values[row]
        factor = 1.0 / np.sqrt(_squares(line) / width + epsilon)
        _scaled_by(line, np.float32(factor), gamma, out[row])
