# pythran export image_to_planes(uint8[:,:] order(C), int, int, int, float32[], float32[], float32[:,:,:] order(C))
"""What a batch is made of: images as planes of float32."""

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


def _one(line, channel, channels, factor, shift, out):
    at = channel
    for i in range(out.shape[0]):
        out[i] = np.float32(line[at]) * factor + shift
        at += channels


def _turn(line, spare):
    n = line.shape[0]
    for i in range(n):
        spare[i] = line[i]
    at = np.uint64(n)
    for i in range(n):
        # An unsigned index needs no test for negative ones.
        at = at - np.uint64(1)
        line[i] = spare[at]


def image_to_planes(lines, top, start, flip, factors, shifts, out):
    """A row of ``lines`` has the channels of its pixels next to each other; ``start`` counts bytes."""
    channels = out.shape[0]
    width = out.shape[2]
    spare = np.empty(width, np.float32)
    for row in range(out.shape[1]):
        line = lines[top + row, start : start + channels * width]
        if channels == 3:
            _three(line, factors, shifts, out[0, row], out[1, row], out[2, row])
        else:
            for channel in range(channels):
                plane = out[channel, row]
                _one(line, channel, channels, factors[channel], shifts[channel], plane)
        if flip:
            for channel in range(channels):
                _turn(out[channel, row], spare)
