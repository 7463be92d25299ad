# pythran export image_to_planes(uint8[:,:,:] order(C), int, int, int, float32[], float32[], float32[:,:,:] order(C))
# pythran export pad_rows(uint8[], int64[], uint8[], uint8[:,:] order(C))
# pythran export pad_rows(uint16[], int64[], uint16[], uint16[:,:] order(C))
# pythran export pad_rows(uint32[], int64[], uint32[], uint32[:,:] order(C))
# pythran export pad_rows(uint64[], int64[], uint64[], uint64[:,:] order(C))
"""What a batch is made of: images as planes of float32, and rows of unequal length."""

import numpy as np


def _three(line, factors, shifts, red, green, blue):
    """Three channels at once: the compiler turns the interleaved bytes into three vectors."""
    f0 = factors[0]
    f1 = factors[1]
    f2 = factors[2]
    s0 = shifts[0]
    s1 = shifts[1]
    s2 = shifts[2]
    for i in range(red.shape[0]):
        red[i] = np.float32(line[3 * i]) * f0 + s0
        green[i] = np.float32(line[3 * i + 1]) * f1 + s1
        blue[i] = np.float32(line[3 * i + 2]) * f2 + s2


def _one(pixels, channel, factor, shift, out):
    for i in range(out.shape[0]):
        out[i] = np.float32(pixels[i, channel]) * factor + shift


def _turn(line, spare):
    n = line.shape[0]
    for i in range(n):
        spare[i] = line[i]
    at = np.uint64(n)
    for i in range(n):
        # An unsigned index needs no test for negative ones.
        at = at - np.uint64(1)
        line[i] = spare[at]


def image_to_planes(image, top, left, flip, factors, shifts, out):
    channels = out.shape[0]
    width = out.shape[2]
    spare = np.empty(width, np.float32)
    for row in range(out.shape[1]):
        pixels = image[top + row, left : left + width]
        if channels == 3:
            line = pixels.reshape(3 * width)
            _three(line, factors, shifts, out[0, row], out[1, row], out[2, row])
        else:
            for channel in range(channels):
                _one(pixels, channel, factors[channel], shifts[channel], out[channel, row])
        if flip:
            for channel in range(channels):
                _turn(out[channel, row], spare)


def pad_rows(values, starts, fill, out):
    """Row i of out: values from starts[i] to starts[i + 1], and then fill[0]."""
    width = out.shape[1]
    for row in range(out.shape[0]):
        start = starts[row]
        size = starts[row + 1] - start
        line = out[row]
        part = values[start : start + size]
        for i in range(size):
            line[i] = part[i]
        for i in range(size, width):
            line[i] = fill[0]
