# pythran export lstm(float32[:,:] order(C), float32[:,:] order(C), float32[], float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), int32[:,:] order(C))
# pythran export gru(float32[:,:] order(C), float32[:,:] order(C), float32[], float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), int32[:,:] order(C))
"""One step of LSTM and GRU after the matrix products: gates, activations and state in one pass.

The scratch is eight rows of a block, as floats and as words of the same memory. tanh near 0 is the
polynomial of Cephes (Moshier, ``tanhf.c``), elsewhere (1 - p) / (1 + p) with p = e^-2|x|.
"""

import numpy as np
from powers import power

BLOCK = 512


def _sum(given, product, bias, out):
    for i in range(out.shape[0]):
        out[i] = given[i] + (product[i] + bias[i])


def _minus(values, out):
    for i in range(out.shape[0]):
        out[i] = -values[i]


def _invert(powers, out):
    for i in range(out.shape[0]):
        out[i] = np.reciprocal(np.float32(1) + powers[i])


def _sigmoid(values, scratch, words):
    """In place; uses the rows from 5 on."""
    n = values.shape[0]
    line = values[0:n]  # a view of its own: the compiler knows that no store changes its address
    minus = scratch[5, 0:n]
    powers = scratch[7, 0:n]
    _minus(line, minus)
    power(minus, scratch[6], words[6], powers)
    _invert(powers, line)


def _minus_twice_sizes(values, out):
    for i in range(out.shape[0]):
        out[i] = np.float32(-2) * abs(values[i])


def _near(values, out):
    for i in range(out.shape[0]):
        x = values[i]
        s = x * x
        p = np.float32(2.06390887954e-2) + s * np.float32(-5.70498872745e-3)
        p = np.float32(-5.37397155531e-2) + s * p
        p = np.float32(1.33314422036e-1) + s * p
        p = np.float32(-3.33332819422e-1) + s * p
        out[i] = x + x * (s * p)


def _far(powers):
    for i in range(powers.shape[0]):
        p = powers[i]
        powers[i] = (np.float32(1) - p) * np.reciprocal(np.float32(1) + p)


def _sign(values, far):
    for i in range(values.shape[0]):
        f = far[i]
        far[i] = -f if values[i] < np.float32(0) else f


def _choose(near, far, values):
    for i in range(values.shape[0]):
        a = near[i]
        b = far[i]
        values[i] = a if abs(values[i]) < np.float32(0.625) else b


def _tanh(values, scratch, words):
    """In place; uses the rows from 5 on."""
    n = values.shape[0]
    line = values[0:n]  # a view of its own: the compiler knows that no store changes its address
    minus = scratch[5, 0:n]
    powers = scratch[7, 0:n]
    _minus_twice_sizes(line, minus)
    power(minus, scratch[6], words[6], powers)
    _near(line, minus)
    _far(powers)
    _sign(line, powers)
    _choose(minus, powers, line)


def _new_cell(forget, enter, new, cell, out):
    for i in range(cell.shape[0]):
        c = forget[i] * cell[i] + enter[i] * new[i]
        cell[i] = c
        out[i] = c


def _times(a, b, out):
    for i in range(out.shape[0]):
        out[i] = a[i] * b[i]


def lstm(given, product, bias, cell, out, scratch, words):
    """Gates side by side: input, forget, output, cell. ``cell`` is replaced by the new one."""
    width = cell.shape[1]
    for row in range(cell.shape[0]):
        for at in range(0, width, BLOCK):
            n = min(BLOCK, width - at)
            for gate in range(4):
                start = gate * width + at
                line = scratch[gate, 0:n]
                _sum(
                    given[row, start : start + n],
                    product[row, start : start + n],
                    bias[start : start + n],
                    line,
                )
                if gate < 3:
                    _sigmoid(line, scratch, words)
                else:
                    _tanh(line, scratch, words)
            inner = scratch[4, 0:n]
            _new_cell(
                scratch[1, 0:n], scratch[0, 0:n], scratch[3, 0:n], cell[row, at : at + n], inner
            )
            _tanh(inner, scratch, words)
            _times(scratch[2, 0:n], inner, out[row, at : at + n])


def _inner(given, reset, product, bias, out):
    for i in range(out.shape[0]):
        out[i] = given[i] + reset[i] * (product[i] + bias[i])


def _mix(update, new, hidden, out):
    for i in range(out.shape[0]):
        out[i] = (np.float32(1) - update[i]) * new[i] + update[i] * hidden[i]


def gru(given, product, bias, hidden, out, scratch, words):
    """Gates side by side: update, reset, new; the reset gate works on the product."""
    width = hidden.shape[1]
    for row in range(hidden.shape[0]):
        for at in range(0, width, BLOCK):
            n = min(BLOCK, width - at)
            for gate in range(2):
                start = gate * width + at
                line = scratch[gate, 0:n]
                _sum(
                    given[row, start : start + n],
                    product[row, start : start + n],
                    bias[start : start + n],
                    line,
                )
                _sigmoid(line, scratch, words)
            start = 2 * width + at
            new = scratch[2, 0:n]
            _inner(
                given[row, start : start + n],
                scratch[1, 0:n],
                product[row, start : start + n],
                bias[start : start + n],
                new,
            )
            _tanh(new, scratch, words)
            _mix(scratch[0, 0:n], new, hidden[row, at : at + n], out[row, at : at + n])
