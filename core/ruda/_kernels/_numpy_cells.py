"""NumPy twins of the recurrent cells: the same names, the same arguments."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def lstm(
    given: Array, product: Array, bias: Array, cell: Array, out: Array, scratch: Array, words: Array
) -> None:
    """Gates side by side: input, forget, output, cell. ``cell`` is replaced by the new one."""
    width = cell.shape[1]
    with np.errstate(all="ignore"):
        total = given + (product + bias)
        opened, new = _sigmoid(total[:, : 3 * width]), np.tanh(total[:, 3 * width :])
        enter, forget, leave = (opened[:, at * width : (at + 1) * width] for at in range(3))
        np.multiply(forget, cell, out=cell)
        cell += enter * new
        np.multiply(leave, np.tanh(cell), out=out)


def gru(
    given: Array,
    product: Array,
    bias: Array,
    hidden: Array,
    out: Array,
    scratch: Array,
    words: Array,
) -> None:
    """Gates side by side: update, reset, new; the reset gate works on the product."""
    width = hidden.shape[1]
    both = slice(0, 2 * width)
    last = slice(2 * width, 3 * width)
    with np.errstate(all="ignore"):
        opened = _sigmoid(given[:, both] + (product[:, both] + bias[both]))
        update, reset = opened[:, :width], opened[:, width:]
        new = np.tanh(given[:, last] + reset * (product[:, last] + bias[last]))
        np.add((1 - update) * new, update * hidden, out=out)
