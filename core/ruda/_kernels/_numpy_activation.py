"""NumPy twins of the activation kernels: the same names and arguments, computed in float64."""

from __future__ import annotations

import math

import numpy as np

from ruda._kernels.checks import Array

_BLOCK = 1 << 14
"""Values at a time: the float64 temporaries of one block stay in the cache."""
_LIMIT = 3.0 * math.sqrt(2.0)
# The polynomials of native/kernels/activation.py, highest power first.
_TAIL = (-2.711129309318494e-05, -4.026494571007788e-05, 0.00025669412571005523,
         -0.000102202408015728, -0.002236652188003063, 0.009960755705833435,
         -0.025872167199850082, 0.04918569326400757, -0.07361620664596558,
         0.08950057625770569)  # fmt: skip
_NEAR = (7.853857823647559e-05, -0.0008010192541405559, 0.005188327748328447,
         -0.026853810995817184, 0.1128358542919159, -0.3761262595653534,
         1.1283791065216064)  # fmt: skip


def _tail(sizes: Array) -> Array:
    """Share of the normal distribution beyond magnitudes."""
    sizes = np.minimum(sizes, 40.0)
    t = (sizes - _LIMIT) / (sizes + _LIMIT)
    return np.asarray(np.exp(-0.5 * sizes * sizes) * ((1.0 - t) * np.polyval(_TAIL, t)))


def _erf(x: Array) -> Array:
    size = np.abs(x)
    far = np.copysign(1.0 - 2.0 * _tail(size * math.sqrt(2.0)), x)
    near = np.minimum(size, 1.0)
    return np.where(size < 1.0, x * np.polyval(_NEAR, near * near), far)


def _gelu(x: Array) -> Array:
    tail = _tail(np.abs(x))
    return np.asarray(np.maximum(x, -60.0) * np.where(x < 0, tail, 1.0 - tail))


def _gelu_tanh(x: Array) -> Array:
    low = np.maximum(x, -60.0)
    cubic = low + 0.044715 * low * low * low
    return np.asarray(low / (1.0 + np.exp(-2.0 * math.sqrt(2.0 / math.pi) * cubic)))


def _silu(x: Array) -> Array:
    low = np.maximum(x, -700.0)
    return np.asarray(low / (1.0 + np.exp(-low)))


def erf(values: Array, out: Array, scratch: Array, scratch_words: Array) -> None:
    """The error function; the scratch is for the compiled kernels only, here and below."""
    with np.errstate(all="ignore"):
        for at in range(0, values.size, _BLOCK):
            out[at : at + _BLOCK] = _erf(values[at : at + _BLOCK].astype(np.float64))


def gelu(values: Array, out: Array, scratch: Array, scratch_words: Array) -> None:
    """Value x · Φ(x)."""
    with np.errstate(all="ignore"):
        for at in range(0, values.size, _BLOCK):
            out[at : at + _BLOCK] = _gelu(values[at : at + _BLOCK].astype(np.float64))


def gelu_tanh(values: Array, out: Array, scratch: Array, scratch_words: Array) -> None:
    """½ · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))."""
    with np.errstate(all="ignore"):
        for at in range(0, values.size, _BLOCK):
            out[at : at + _BLOCK] = _gelu_tanh(values[at : at + _BLOCK].astype(np.float64))


def silu(values: Array, out: Array, scratch: Array, scratch_words: Array) -> None:
    """Value x / (1 + exp(-x))."""
    with np.errstate(all="ignore"):
        for at in range(0, values.size, _BLOCK):
            out[at : at + _BLOCK] = _silu(values[at : at + _BLOCK].astype(np.float64))


def silu_times(
    values: Array, factors: Array, out: Array, scratch: Array, scratch_words: Array
) -> None:
    """silu(values) · factors."""
    silu(values, out, scratch, scratch_words)
    with np.errstate(all="ignore"):
        out *= factors


def bias_relu(values: Array, bias: Array, out: Array) -> None:
    """max(0, values + bias)."""
    with np.errstate(all="ignore"):
        np.add(values, bias, out=out)
        out[out < 0] = 0


def bias_gelu(
    values: Array, bias: Array, tanh: int, out: Array, scratch: Array, scratch_words: Array
) -> None:
    """gelu(values + bias), with tanh or exactly."""
    with np.errstate(all="ignore"):
        summed = values + bias
    call = gelu_tanh if tanh else gelu
    call(summed.reshape(-1), out.reshape(-1), scratch, scratch_words)
