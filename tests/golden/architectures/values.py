"""Values for weights and inputs out of their names, the same with every version of NumPy.

The goldens hold names, shapes and results only: ``tests/oracles/check_architectures.py`` fills the
modules of the other libraries with these values, and the tests fill Ruda's.
"""

import zlib

import numpy as np


def shares(name, count):
    """``count`` numbers from 0 to 1, out of the name. PCG64's raw stream is fixed for ever."""
    raw = np.random.PCG64(zlib.crc32(name.encode())).random_raw(count)
    return (np.atleast_1d(raw) >> np.uint64(11)) * 2.0**-53


def weights(key, shape, dtype="float32"):
    """Values that keep activations of order one: norms near 1, variances above 0.5."""
    if not dtype.startswith("float"):
        return np.zeros(shape, dtype)
    share = shares(key, int(np.prod(shape, dtype=np.int64))).reshape(shape)
    leaf = key.rpartition(".")[2]
    if leaf == "running_var" or (len(shape) == 1 and leaf in ("weight", "gamma")):
        return (0.5 + share).astype(dtype)
    fan_in = np.prod(shape[1:], dtype=np.int64) if len(shape) > 1 else 30
    return ((2 * share - 1) * np.sqrt(3 / fan_in)).astype(dtype)


def pictures(shape):
    """f32 (batch, 3, height, width) between -1 and 1."""
    return (2 * shares("pictures", int(np.prod(shape))) - 1).reshape(shape).astype(np.float32)


def tokens(shape, vocab):
    """i64 (batch, time)."""
    return (shares("tokens", int(np.prod(shape))) * vocab).astype(np.int64).reshape(shape)
