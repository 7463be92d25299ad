"""Distribution: where random values come from, always with a seed of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import SettingError
from ruda.tensor.sizes import number, whole


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
        first, last = number("uniform", "low", low), number("uniform", "high", high)
        if not (math.isfinite(first) and math.isfinite(last) and first < last):
            raise SettingError(f"uniform needs finite low < high, got {low} and {high}")
        return cls("uniform", first, last)

    @classmethod
    def normal(cls, mean: float, std: float) -> Distribution:
        """Normal with this mean and standard deviation. Raises SettingError if std is negative."""
        middle, width = number("normal", "mean", mean), number("normal", "std", std)
        if not (math.isfinite(middle) and math.isfinite(width) and width >= 0):
            raise SettingError(f"normal needs a finite mean and std ≥ 0, got {mean} and {std}")
        return cls("normal", middle, width)

    @classmethod
    def bernoulli(cls, probability: float) -> Distribution:
        """One with this probability, otherwise zero. Raises SettingError outside 0 to 1."""
        share = number("bernoulli", "the probability", probability)
        if not 0.0 <= share <= 1.0:
            raise SettingError(f"a probability is 0 to 1, got {probability}")
        return cls("bernoulli", share, 0.0)

    def sample(self, shape: tuple[int, ...], *, seed: int) -> np.ndarray[Any, Any]:
        """Fresh f64 values of this shape, the same for the same seed.

        Raises SettingError for a seed below 0, DTypeError for one that is not whole.
        """
        seed = whole("random", "a seed", seed)
        if seed < 0:
            raise SettingError(f"random: a seed is 0 or more, got {shown_number(seed)}")
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
