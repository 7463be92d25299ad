"""NumPy twins of the kernels of rows: the same names, the same arguments; sums in float64."""

from __future__ import annotations

import numpy as np

from ruda._kernels.checks import Array


def _prepare(values: Array, mask: Array, places: Array, scale: np.float32, out: Array) -> None:
    np.multiply(values, scale, out=out)
    if places.size:
        out += mask[places]
    out -= out.max(axis=1, keepdims=True)


def softmax(
    values: Array,
    mask: Array,
    places: Array,
    scale: np.float32,
    out: Array,
    out_words: Array,
    scratch: Array,
    scratch_words: Array,
) -> None:
    """exp(s) / Σ exp(s) of s = values · scale + the row of the mask; the words and scratch idle."""
    with np.errstate(all="ignore"):
        _prepare(values, mask, places, scale, out)
        np.exp(out, out=out)
        total = out.sum(axis=1, keepdims=True, dtype=np.float64)
        out *= (1.0 / total).astype(np.float32)


def log_softmax(
    values: Array,
    mask: Array,
    places: Array,
    scale: np.float32,
    out: Array,
    out_words: Array,
    scratch: Array,
    scratch_words: Array,
) -> None:
    """The logarithm of ``softmax``."""
    with np.errstate(all="ignore"):
        _prepare(values, mask, places, scale, out)
        total = np.exp(out).sum(axis=1, keepdims=True, dtype=np.float64)
        out -= np.log(total).astype(np.float32)


def layer_norm(values: Array, gamma: Array, beta: Array, epsilon: float, out: Array) -> None:
    """(x - mean) / √(variance + epsilon) · gamma + beta of each row."""
    with np.errstate(all="ignore"):
        mean = values.mean(axis=1, keepdims=True, dtype=np.float64)
        centred = values - mean
        variance = np.square(centred).mean(axis=1, keepdims=True)
        centred *= 1.0 / np.sqrt(variance + epsilon)
        out[...] = centred
        out *= gamma
        out += beta


def add_layer_norm(
    values: Array, other: Array, gamma: Array, beta: Array, epsilon: float, added: Array, out: Array
) -> None:
    """``layer_norm`` of values + other, which goes into ``added``."""
    with np.errstate(all="ignore"):
        np.add(values, other, out=added)
    layer_norm(added, gamma, beta, epsilon, out)


def rms_norm(values: Array, gamma: Array, epsilon: float, out: Array) -> None:
    """Value x / √(mean(x²) + epsilon) · gamma of each row."""
    with np.errstate(all="ignore"):
        squares = np.square(values, dtype=np.float64).mean(axis=1, keepdims=True)
        np.multiply(values, (1.0 / np.sqrt(squares + epsilon)).astype(np.float32), out=out)
        out *= gamma
