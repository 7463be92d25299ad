# pythran export to_tiles(float32[:,:,:] order(C), int, int, int, float32[:,:] order(C), float32[:,:,:] order(C))
# pythran export from_tiles(float32[:,:,:] order(C), float32[], int, int, int, float32[:,:] order(C), float32[:,:,:] order(C))
# pythran export unfold(float32[:,:,:,:] order(C), int, int, int, int, int, int, int, float32[:,:,:,:] order(C))
"""What goes before and after the matrix products of a convolution.

Winograd's F(2×2, 3×3) (Lavin & Gray 2015): tiles of 4 × 4 points, two apart, become 16 matrices
of (channel, tile), and 16 products become tiles of 2 × 2 results. Planes have an even size here.
"""

import numpy as np


def _rows(a, b, c, d, first, second, third, fourth):
    for i in range(first.shape[0]):
        first[i] = a[i] - c[i]
        second[i] = b[i] + c[i]
        third[i] = c[i] - b[i]
        fourth[i] = b[i] - d[i]


def _columns(line, first, second, third, fourth):
    for i in range(first.shape[0]):
        b = line[2 * i + 1]
        c = line[2 * i + 2]
        first[i] = line[2 * i] - c
        second[i] = b + c
        third[i] = c - b
        fourth[i] = b - line[2 * i + 3]


def to_tiles(planes, top, down, at, lines, out):
    """Rows of tiles from ``top`` on, ``down`` of them, into the places of out from ``at`` on."""
    across = (planes.shape[2] - 2) // 2
    a = lines[0]
    b = lines[1]
    c = lines[2]
    d = lines[3]
    for channel in range(planes.shape[0]):
        for row in range(down):
            y = 2 * (top + row)
            _rows(
                planes[channel, y],
                planes[channel, y + 1],
                planes[channel, y + 2],
                planes[channel, y + 3],
                a,
                b,
                c,
                d,
            )
            first = at + row * across
            last = first + across
            for i in range(4):
                _columns(
                    lines[i],
                    out[4 * i, channel, first:last],
                    out[4 * i + 1, channel, first:last],
                    out[4 * i + 2, channel, first:last],
                    out[4 * i + 3, channel, first:last],
                )


def _add_rows(a, b, c, d, upper, lower):
    for i in range(upper.shape[0]):
        upper[i] = (a[i] + b[i]) + c[i]
        lower[i] = (b[i] - c[i]) - d[i]


def _add_columns(a, b, c, d, bias, out):
    for i in range(out.shape[0] // 2):
        out[2 * i] = ((a[i] + b[i]) + c[i]) + bias
        out[2 * i + 1] = ((b[i] - c[i]) - d[i]) + bias


def _not_finite(line):
    """NaN if a value is NaN or infinite, else 0."""
    total = np.float32(0)
    # omp simd reduction(+:total)
    for i in range(line.shape[0]):
        total += line[i] - line[i]
    return total


def from_tiles(products, bias, at, top, down, lines, out):
    """Tiles from ``at`` on, in rows of tiles of out; 0 if all of them are finite, else NaN."""
    across = out.shape[2] // 2
    seen = np.float32(0)
    for channel in range(out.shape[0]):
        for row in range(down):
            first = at + row * across
            last = first + across
            for j in range(4):
                _add_rows(
                    products[j, channel, first:last],
                    products[4 + j, channel, first:last],
                    products[8 + j, channel, first:last],
                    products[12 + j, channel, first:last],
                    lines[j],
                    lines[4 + j],
                )
            for i in range(2):
                line = out[channel, 2 * (top + row) + i]
                _add_columns(
                    lines[4 * i],
                    lines[4 * i + 1],
                    lines[4 * i + 2],
                    lines[4 * i + 3],
                    bias[channel],
                    line,
                )
                seen += _not_finite(line)
    return seen


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


def unfold(images, height, width, down, across, down_gap, across_gap, columns, out):
    """(image, channel, row, column) → (channel, point, image, position)."""
    rows = out.shape[3] // columns
    for channel in range(out.shape[0]):
        for i in range(height):
            for j in range(width):
                for image in range(images.shape[0]):
                    target = out[channel, i * width + j, image]
                    for row in range(rows):
                        line = images[image, channel, row * down + i * down_gap]
                        _copy(
                            line[j * across_gap :],
                            across,
                            target[row * columns : (row + 1) * columns],
                        )
