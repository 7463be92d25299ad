"""Initialisers: first values of parameters, a function of a seed and nothing else.

A model takes one seed. Each parameter draws from a seed derived from it and the parameter's own
name, so that adding a layer leaves the values of all others as they were.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ruda.errors import SettingError
from ruda.tensor import Distribution

Array = np.ndarray[Any, Any]


def derive_seed(seed: int, name: str) -> int:
    """The seed of a part, from the seed of the whole and the part's name; 64 bits."""
    text = f"{seed}/{name}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class Fans:
    """How many values feed one output (``fan_in``), and how many outputs one value feeds."""

    fan_in: int
    fan_out: int


class Initializer(Protocol):
    """A rule for the first values of a parameter."""

    def sample(self, shape: tuple[int, ...], fans: Fans, *, seed: int) -> Array:
        """Fresh f64 values of this shape, the same for the same seed."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Every element the same."""

    value: float

    def sample(self, shape: tuple[int, ...], fans: Fans, *, seed: int) -> Array:
        """The constant; fans and seed do not matter."""
        return np.full(shape, self.value, np.float64)


@dataclass(frozen=True, slots=True)
class Uniform:
    """U(low, high)."""

    low: float
    high: float

    def sample(self, shape: tuple[int, ...], fans: Fans, *, seed: int) -> Array:
        """Draws; fans do not matter."""
        return Distribution.uniform(self.low, self.high).sample(shape, seed=seed)


@dataclass(frozen=True, slots=True)
class Normal:
    """N(mean, std²)."""

    mean: float
    std: float

    def sample(self, shape: tuple[int, ...], fans: Fans, *, seed: int) -> Array:
        """Draws; fans do not matter."""
        return Distribution.normal(self.mean, self.std).sample(shape, seed=seed)


@dataclass(frozen=True, slots=True)
class KaimingUniform:
    """U(-a, a) with a = √3 · gain / √fan; the fan is ``fan_in`` unless told otherwise."""

    gain: float = 1.0
    fan_out_only: bool = False

    def sample(self, shape: tuple[int, ...], fans: Fans, *, seed: int) -> Array:
        """Draws. Raises SettingError if the fan is not positive."""
        fan = fans.fan_out if self.fan_out_only else fans.fan_in
        if fan < 1:
            raise SettingError(f"Kaiming initialisation needs a positive fan, got {fan}")
        limit = math.sqrt(3.0) * self.gain / math.sqrt(fan)
        return Distribution.uniform(-limit, limit).sample(shape, seed=seed)


@dataclass(frozen=True, slots=True)
class XavierNormal:
    """N(0, σ²) with σ = gain · √(2 / (fan_in + fan_out))."""

    gain: float = 1.0

    def sample(self, shape: tuple[int, ...], fans: Fans, *, seed: int) -> Array:
        """Draws. Raises SettingError if the fans are not positive."""
        total = fans.fan_in + fans.fan_out
        if total < 1:
            raise SettingError(f"Xavier initialisation needs positive fans, got {fans}")
        return Distribution.normal(0.0, self.gain * math.sqrt(2.0 / total)).sample(shape, seed=seed)


DEFAULT = KaimingUniform(gain=1.0 / math.sqrt(3.0))
"""U(-1/√fan_in, 1/√fan_in): what Burn and PyTorch give weights and biases of Linear and Conv."""
