# pythran export max_pool(float32[:,:,:] order(C), int, int, int, int, int, int, float32[:,:,:] order(C))
# pythran export average_pool(float32[:,:,:] order(C), int, int, int, int, float32, float32[:,:,:] order(C))
# pythran export scale_planes(float32[:,:] order(C), float32[], float32[], int, float32[:,:] order(C))
# pythran export convolve_3x3(float32[:,:,:] order(C), float32[:,:] order(C), int, int, float32[:,:,:] order(C))
# pythran export rotate_pairs(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
"""Windows over planes (pooling, depthwise convolution), planes times factors, and rotations.

A plane is one channel of one image. Planes come with their padding. The step along a row is a case
of its own where it is 1 or 2, because the compiler needs the number to load vectors.
"""

import numpy as np


def _copy(line, step, out):
    if step == 1:
        for i in range(out.shape[0]):
            out[i] = line[i]
    elif step == 2:
        for i in range(out.shape[0]):
            out[i] = line[2 * i]
    else:
        for i in range(out.shape[0]):
            out[i] = line[step * i]


def _larger(kept, seen):
    """The larger; NaN if one is NaN."""
    stays = (kept >= seen) | (kept != kept)
    return kept if stays else seen


def _raise(line, step, out):
    if step == 1:
        for i in range(out.shape[0]):
            out[i] = _larger(out[i], line[i])
    elif step == 2:
        for i in range(out.shape[0]):
            out[i] = _larger(out[i], line[2 * i])
    else:
        for i in range(out.shape[0]):
            out[i] = _larger(out[i], line[step * i])


def _raise_by_two(line, out):
    """Windows of two points side by side, two steps apart."""
    for i in range(out.shape[0]):
        out[i] = _larger(out[i], _larger(line[2 * i], line[2 * i + 1]))


def _raise_by_three(line, out):
    """Windows of three points, two steps apart."""
    for i in range(out.shape[0]):
        seen = _larger(line[2 * i], line[2 * i + 1])
        out[i] = _larger(out[i], _larger(seen, line[2 * i + 2]))


def _raise_row(source, width, across, gap, line):
    """What one row of the windows sees; a call for each point costs more than short rows do."""
    if across == 2 and gap == 1 and width == 2:
        _raise_by_two(source, line)
    elif across == 2 and gap == 1 and width == 3:
        _raise_by_three(source, line)
    else:
        for j in range(width):
            _raise(source[j * gap :], across, line)


def max_pool(planes, height, width, down, across, down_gap, across_gap, out):
    """Window of height × width points, their gaps, and the steps from window to window."""
    for plane in range(out.shape[0]):
        for row in range(out.shape[1]):
            line = out[plane, row]
            _copy(planes[plane, row * down], across, line)
            for i in range(height):
                source = planes[plane, row * down + i * down_gap]
                _raise_row(source, width, across, across_gap, line)


def _add(line, step, out):
    if step == 1:
        for i in range(out.shape[0]):
            out[i] = out[i] + line[i]
    elif step == 2:
        for i in range(out.shape[0]):
            out[i] = out[i] + line[2 * i]
    else:
        for i in range(out.shape[0]):
            out[i] = out[i] + line[step * i]


def _times(out, factor):
    for i in range(out.shape[0]):
        out[i] = out[i] * factor


def average_pool(planes, height, width, down, across, factor, out):
    for plane in range(out.shape[0]):
        for row in range(out.shape[1]):
            line = out[plane, row]
            for i in range(height):
                source = planes[plane, row * down + i]
                for j in range(width):
                    if i == 0 and j == 0:
                        _copy(source, across, line)
                    else:
                        _add(source[j:], across, line)
            _times(line, factor)


def _scale(line, factor, shift, out):
    for i in range(line.shape[0]):
        out[i] = line[i] * factor + shift


def _scale_relu(line, factor, shift, out):
    for i in range(line.shape[0]):
        s = line[i] * factor + shift
        out[i] = np.float32(0) if s < np.float32(0) else s


def scale_planes(planes, factors, shifts, relu, out):
    """Plane p times factors[p mod channels] plus shifts of the same place."""
    channels = factors.shape[0]
    channel = 0
    for plane in range(planes.shape[0]):
        if relu:
            _scale_relu(planes[plane], factors[channel], shifts[channel], out[plane])
        else:
            _scale(planes[plane], factors[channel], shifts[channel], out[plane])
        channel = channel + 1 if channel + 1 < channels else 0


def _three_taps(line, a, b, c, step, out):
    if step == 1:
        for i in range(out.shape[0]):
            out[i] = out[i] + (line[i] * a + line[i + 1] * b + line[i + 2] * c)
    elif step == 2:
        for i in range(out.shape[0]):
            out[i] = out[i] + (line[2 * i] * a + line[2 * i + 1] * b + line[2 * i + 2] * c)
    else:
        for i in range(out.shape[0]):
            k = step * i
            out[i] = out[i] + (line[k] * a + line[k + 1] * b + line[k + 2] * c)


def _fill(line, value):
    for i in range(line.shape[0]):
        line[i] = value


def convolve_3x3(planes, weights, down, across, out):
    """Row c of the weights: nine taps of channel c and its bias. Plane p is channel p mod c."""
    channels = weights.shape[0]
    channel = 0
    for plane in range(out.shape[0]):
        taps = weights[channel]
        channel = channel + 1 if channel + 1 < channels else 0
        for row in range(out.shape[1]):
            line = out[plane, row]
            _fill(line, taps[9])
            for i in range(3):
                source = planes[plane, row * down + i]
                _three_taps(source, taps[3 * i], taps[3 * i + 1], taps[3 * i + 2], across, line)


def _rotate(line, cos, sin, out):
    for i in range(cos.shape[0]):
        out[2 * i] = line[2 * i] * cos[i] - line[2 * i + 1] * sin[i]
        out[2 * i + 1] = line[2 * i] * sin[i] + line[2 * i + 1] * cos[i]


def rotate_pairs(rows, cos, sin, out):
    """Row r is at position r mod the number of positions."""
    positions = cos.shape[0]
    place = 0
    for row in range(rows.shape[0]):
        _rotate(rows[row], cos[place], sin[place], out[row])
        place = place + 1 if place + 1 < positions else 0
