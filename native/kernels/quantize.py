# pythran export largest_in_rows(int32[:,:] order(C), int32[])
# pythran export quantize_rows(float32[:,:] order(C), float32[], int8[:,:] order(C))
# pythran export dequantize_rows(int8[:,:] order(C), float32[], float32[:,:] order(C))
# pythran export unpack_q4_0(uint8[:,:] order(C), float32[], float32[:,:] order(C))
# pythran export unpack_q8_0(int8[:,:] order(C), float32[], float32[:,:] order(C))
"""Whole numbers of 8 and 4 bits with one scale for each row (a channel, or a block of a channel)."""

import numpy as np

BLOCK = 1024


def _largest(words):
    top = np.int32(0)
    for i in range(words.shape[0]):
        top = max(top, words[i] & np.int32(0x7FFFFFFF))
    return top


def largest_in_rows(words, out):
    """The greatest magnitude of each row, as a word; a NaN is greater than infinity."""
    for row in range(words.shape[0]):
        out[row] = _largest(words[row])


def _quantize(values, scale, out):
    """Values divided by the scale, exactly as in float32, which Pythran does in float64."""
    for i in range(values.shape[0]):
        share = np.float32(values[i] / scale)
        share = np.float32(127) if share > np.float32(127) else share
        share = np.float32(-127) if share < np.float32(-127) else share
        # Adding 1.5 · 2²³ rounds to a whole number, to even in the middle.
        whole = (share + np.float32(12582912.0)) - np.float32(12582912.0)
        whole = np.float32(0) if whole != whole else whole
        out[i] = np.int8(np.int32(whole))


def _nearest(values, factor, out):
    """As ``_quantize``, by the inverse of the scale; right but for what ``_doubtful`` counts."""
    for i in range(values.shape[0]):
        share = values[i] * factor
        share = np.float32(127) if share > np.float32(127) else share
        share = np.float32(-127) if share < np.float32(-127) else share
        whole = (share + np.float32(12582912.0)) - np.float32(12582912.0)
        whole = np.float32(0) if whole != whole else whole
        out[i] = np.int8(np.int32(whole))


def _doubtful(values, factor):
    """How many are so near to the middle of two whole numbers that the quotient may go elsewhere.

    A share of up to 128 is 3 roundings, less than 0.00003, off the quotient. What is larger counts
    only if its rest says so, which does no harm; NaN and infinity have no rest.
    """
    count = np.int32(0)
    for i in range(values.shape[0]):
        share = values[i] * factor
        whole = (share + np.float32(12582912.0)) - np.float32(12582912.0)
        count += np.int32(abs(share - whole) > np.float32(0.49997))
    return count


def _unheld(values):
    """How many are NaN or infinite."""
    count = np.int32(0)
    for i in range(values.shape[0]):
        # Infinity minus infinity is NaN, which is not equal to itself.
        rest = values[i] - values[i]
        count += np.int32(rest != rest)
    return count


def quantize_rows(values, scales, out):
    width = values.shape[1]
    lost = 0
    for row in range(values.shape[0]):
        scale = scales[row]
        # Where the inverse is a number with all its digits.
        usual = scale > np.float32(1e-30) and scale < np.float32(1e30)
        factor = np.reciprocal(scale) if usual else np.float32(0)
        for at in range(0, width, BLOCK):
            end = min(at + BLOCK, width)
            part = values[row, at:end]
            target = out[row, at:end]
            lost += _unheld(part)
            if usual and _doubtful(part, factor) == np.int32(0):
                _nearest(part, factor, target)
            else:
                _quantize(part, scale, target)
    return lost


def _dequantize(codes, scale, out):
    for i in range(codes.shape[0]):
        out[i] = np.float32(np.int32(codes[i])) * scale


def dequantize_rows(codes, scales, out):
    for row in range(codes.shape[0]):
        _dequantize(codes[row], scales[row], out[row])


def unpack_q4_0(blocks, scales, out):
    """16 bytes from the third on: values 0 to 15 in the low halves, 16 to 31 in the high ones."""
    for row in range(blocks.shape[0]):
        scale = scales[row]
        line = blocks[row]
        values = out[row]
        for i in range(16):
            values[i] = np.float32(np.int32(line[i + 2] & np.uint8(15)) - np.int32(8)) * scale
        for i in range(16):
            values[i + 16] = np.float32(np.int32(line[i + 2] >> np.uint8(4)) - np.int32(8)) * scale


def unpack_q8_0(blocks, scales, out):
    """32 whole numbers from the third byte on."""
    for row in range(blocks.shape[0]):
        scale = scales[row]
        line = blocks[row]
        values = out[row]
        for i in range(32):
            values[i] = np.float32(np.int32(line[i + 2])) * scale
