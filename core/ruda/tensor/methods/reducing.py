"""Many values into one, over some axes or all; sorting and choosing."""

from __future__ import annotations

from typing import Self

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import ShapeError
from ruda.tensor.methods.held import Held
from ruda.tensor.operations import indexing, ordering, reductions, sampling
from ruda.tensor.operations.operands import Axes, normalise_axis
from ruda.tensor.sizes import whole


class Reducing(Held):
    """Sums, extremes and statistics. ``axis`` is one, several, or None for all."""

    __slots__ = ()

    def sum(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Sum; halves add up in f32, integers in i64."""
        return self._new(reductions.total(self._array, axis, keepdims=keepdims))

    def prod(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Product; halves multiply in f32, integers in i64."""
        return self._new(reductions.product(self._array, axis, keepdims=keepdims))

    def mean(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Mean; of integers as f32."""
        return self._new(reductions.mean(self._array, axis, keepdims=keepdims))

    def var(self, axis: Axes = None, *, correction: float = 1.0, keepdims: bool = False) -> Self:
        """Σ (x - mean)² / (n - correction), floats only."""
        return self._new(
            reductions.variance(self._array, axis, correction=correction, keepdims=keepdims)
        )

    def std(self, axis: Axes = None, *, correction: float = 1.0, keepdims: bool = False) -> Self:
        """Square root of the variance."""
        return self._new(
            reductions.deviation(self._array, axis, correction=correction, keepdims=keepdims)
        )

    def var_mean(
        self, axis: Axes = None, *, correction: float = 1.0, keepdims: bool = False
    ) -> tuple[Self, Self]:
        """Variance and mean."""
        spread = self.var(axis, correction=correction, keepdims=keepdims)
        return spread, self.mean(axis, keepdims=keepdims)

    def cov(self, correction: int = 1) -> Self:
        """Covariances between the rows of [variables, observations], with n - correction below.

        A vector is one variable; of one it is a scalar. Raises ShapeError above rank 2.
        """
        return self._new(reductions.covariance(self._array, correction))

    def max(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Largest value; NaN wins."""
        return self._new(reductions.maximum(self._array, axis, keepdims=keepdims))

    def min(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Smallest value; NaN wins."""
        return self._new(reductions.minimum(self._array, axis, keepdims=keepdims))

    def max_abs(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Largest magnitude; NaN wins."""
        return self._new(reductions.largest_magnitude(self._array, axis, keepdims=keepdims))

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Position of the first largest value, as i64."""
        return self._new(reductions.argmax(self._array, axis, keepdims=keepdims))

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Position of the first smallest value, as i64."""
        return self._new(reductions.argmin(self._array, axis, keepdims=keepdims))

    def max_with_indices(self, axis: int, *, keepdims: bool = False) -> tuple[Self, Self]:
        """Largest values of an axis and their positions."""
        return (self.max(axis, keepdims=keepdims), self.argmax(axis, keepdims=keepdims))

    def min_with_indices(self, axis: int, *, keepdims: bool = False) -> tuple[Self, Self]:
        """Smallest values of an axis and their positions."""
        return (self.min(axis, keepdims=keepdims), self.argmin(axis, keepdims=keepdims))

    def all(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """True where all values are other than 0."""
        return self._new(reductions.every(self._array, axis, keepdims=keepdims))

    def any(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """True where any value is other than 0."""
        return self._new(reductions.some(self._array, axis, keepdims=keepdims))

    def count_nonzero(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """How many values are other than 0, as i64."""
        return self._new(reductions.count_nonzero(self._array, axis, keepdims=keepdims))

    def cumsum(self, axis: int) -> Self:
        """Sums up to each place of an axis."""
        return self._new(reductions.running_total(self._array, axis))

    def cumprod(self, axis: int) -> Self:
        """Products up to each place of an axis."""
        return self._new(reductions.running_product(self._array, axis))

    def cummax(self, axis: int) -> Self:
        """Largest value up to each place of an axis."""
        return self._new(reductions.running_maximum(self._array, axis))

    def cummin(self, axis: int) -> Self:
        """Smallest value up to each place of an axis."""
        return self._new(reductions.running_minimum(self._array, axis))


class Ordering(Held):
    """Sorting, and the largest few. NaN sorts as the largest value."""

    __slots__ = ()

    def categorical(self, count: int, generator: np.random.Generator) -> Self:
        """Draw classes by their weights on the last axis: (…, classes) → (…, count) as i64.

        With replacement; the generator is the caller's, so one seed gives one result.
        """
        return self._new(sampling.categorical(self._array, count, generator))

    def sort(self, axis: int = -1, *, descending: bool = False) -> Self:
        """Values of an axis in order."""
        return self._new(ordering.sort(self._array, axis, descending=descending))

    def argsort(self, axis: int = -1, *, descending: bool = False) -> Self:
        """Places, as i64, that sort an axis; equal values keep their order."""
        return self._new(ordering.argsort(self._array, axis, descending=descending))

    def sort_with_indices(self, axis: int = -1, *, descending: bool = False) -> tuple[Self, Self]:
        """Values of an axis in order, and the places that they came from."""
        places = ordering.argsort(self._array, axis, descending=descending)
        if not self._array.ndim:
            return self._new(self._array), self._new(places)
        return self._new(indexing.take_along(self._array, places, axis)), self._new(places)

    def topk(self, count: int, axis: int = -1) -> tuple[Self, Self]:
        """The ``count`` largest values of an axis in falling order, and their places as i64.

        NaN is larger than Inf; of equal values the first comes first.
        Raises ShapeError where the axis has fewer.
        """
        one = normalise_axis("topk", self._array, axis)
        count = whole("topk", "a count", count)
        if not 0 <= count <= self._array.shape[one]:
            raise ShapeError(
                f"topk: axis {one} of shape {list(self._array.shape)} has "
                f"{self._array.shape[one]} values, not {shown_number(count)}"
            )
        places = ordering.largest(self._array, count, one)
        return self._new(indexing.take_along(self._array, places, one)), self._new(places)

    def argtopk(self, count: int, axis: int = -1) -> Self:
        """Places of the ``count`` largest values of an axis, in falling order."""
        return self.topk(count, axis)[1]

    def median_with_indices(self, axis: int) -> tuple[Self, Self]:
        """The middle value of an axis (the lower one of two), and its place; NaN sorts last."""
        one = normalise_axis("median", self._array, axis)
        if not self._array.shape[one]:
            raise ShapeError(
                f"median: shape {list(self._array.shape)} has no elements on axis {one}"
            )
        places = ordering.argsort(self._array, one)
        middle = (self._array.shape[one] - 1) // 2
        places = places[(slice(None),) * one + (slice(middle, middle + 1),)]
        found = indexing.take_along(self._array, places, one)
        return self._new(found.squeeze(one)), self._new(places.squeeze(one))

    def median(self, axis: int | None = None) -> Self:
        """The middle value, one that is there: the lower of two; NaN sorts last."""
        if axis is None:
            return self._new(self._array.reshape(-1)).median_with_indices(0)[0]
        return self.median_with_indices(axis)[0]
