"""Window functions for spectra, as Burn and PyTorch define them."""

from __future__ import annotations

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import SettingError
from ruda.tensor.operations.operands import Array
from ruda.tensor.sizes import require_room, whole

HANN = (0.5, 0.5)
HAMMING = (0.54, 0.46)
BLACKMAN = (0.42, 0.5, 0.08)


def cosine_window(name: str, size: int, terms: tuple[float, ...], *, periodic: bool) -> Array:
    """Σ (-1)^k · a_k · cos(2πkn / N) for n = 0 … size - 1: (size,), f64.

    N is ``size`` where periodic, else ``size - 1`` (symmetric); one element is 1. Source: Harris,
    "On the use of windows for harmonic analysis", 1978. Raises SettingError for a negative size.
    """
    size = whole(name, "a size", size)
    if size < 0:
        raise SettingError(f"{name}: a window has 0 elements or more, got {shown_number(size)}")
    require_room(name, (size,), np.dtype(np.float64))
    if size < 2:
        return np.ones(size, np.float64)
    angle = 2 * np.pi * np.arange(size) / (size if periodic else size - 1)
    found = np.zeros(size, np.float64)
    for order, weight in enumerate(terms):
        found += (-1.0) ** order * weight * np.cos(order * angle)
    return found
