"""Distribution: where random values come from, always with a seed of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.errors import SettingError


@dataclass(frozen=True, slots=True)
class Distribution:
    """A law for random values; made by one of the four constructors.

    Values are a function of the seed and the shape only. There is no global generator.
    """

    kind: str
    first: float
    second: float

    @classmethod
    def default(cls) -> Distribution:
        """Uniform over [0, 1)."""
        return cls("uniform", 0.0, 1.0)

    @classmethod
    def uniform(cls, low: float, high: float) -> Distribution:
        """Uniform over [low, high). Raises SettingError unless low < high, both finite."""
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise SettingError(f"uniform needs finite low < high, got {low} and {high}")
        return cls("uniform", float(low), float(high))

    @classmethod
    def normal(cls, mean: float, std: float) -> Distribution:
        """Normal with this mean and standard deviation. Raises SettingError if std is negative."""
        if not (np.isfinite(mean) and np.isfinite(std) and std >= 0):
            raise SettingError(f"normal needs a finite mean and std ≥ 0, got {mean} and {std}")
        return cls("normal", float(mean), float(std))

    @classmethod
    def bernoulli(cls, probability: float) -> Distribution:
        """One with this probability, otherwise zero. Raises SettingError outside 0 to 1."""
        if not 0.0 <= probability <= 1.0:
            raise SettingError(f"a probability is 0 to 1, got {probability}")
        return cls("bernoulli", float(probability), 0.0)

    def sample(self, shape: tuple[int, ...], *, seed: int) -> np.ndarray[Any, Any]:
        """Fresh f64 values of this shape, the same for the same seed."""
        generator = np.random.Generator(np.random.PCG64(seed))
        if self.kind == "uniform":
            drawn = generator.random(shape)
            span = self.second - self.first
            if math.isfinite(span):
                values = self.first + span * drawn
            else:  # from one end of f64 to the other
                values = self.first * (1 - drawn) + self.second * drawn
            # Rounding may land on the open end; the largest value below it is meant.
            return np.minimum(values, np.nextafter(self.second, self.first))
        if self.kind == "normal":
            return self.first + self.second * generator.standard_normal(shape)
        return (generator.random(shape) < self.first).astype(np.float64)
