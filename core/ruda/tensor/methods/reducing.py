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
    """Sums, extremes and statistics; each gives a new tensor, never a view.

    ``axis`` is one, several, or None for all: (a, b, c) over axis 1 gives (a, c), with ``keepdims``
    (a, 1, c). Raises IndexRangeError for an axis outside the rank, ShapeError for one that is named
    twice, DTypeError for what is no axis and for a ``keepdims`` that is no bool.
    """

    __slots__ = ()

    def sum(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Sum over axes: (a, b, c) over axis 1 → (a, c); 0 over nothing.

        Floats and complex numbers keep their dtype (halves add up in f32), signed integers and bool
        give i64, unsigned ones u64; beyond those 64 bits sums wrap around. Raises DTypeError for
        fp8, which is for storage only.
        """
        return self._new(reductions.total(self._array, axis, keepdims=keepdims))

    def prod(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Product over axes: (a, b, c) over axis 1 → (a, c); 1 over nothing.

        Dtypes as in ``sum``, halves multiply in f32, integers wrap around in 64 bits. Raises
        DTypeError for fp8.
        """
        return self._new(reductions.product(self._array, axis, keepdims=keepdims))

    def mean(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Mean over axes: (a, b, c) over axis 1 → (a, c); NaN over nothing.

        Floats and complex numbers keep their dtype (halves add up in f32), integers and bool give
        f32. Raises DTypeError for fp8.
        """
        return self._new(reductions.mean(self._array, axis, keepdims=keepdims))

    def var(self, axis: Axes = None, *, correction: float = 1.0, keepdims: bool = False) -> Self:
        """Σ (x - mean)² / (n - correction) over axes: (a, b, c) over axis 1 → (a, c), same dtype.

        NaN where n - correction is not above 0. Raises DTypeError for anything but floats of 16
        bits and more, and for a correction that is no real number.
        """
        return self._new(
            reductions.variance(self._array, axis, correction=correction, keepdims=keepdims)
        )

    def std(self, axis: Axes = None, *, correction: float = 1.0, keepdims: bool = False) -> Self:
        """Square root of the variance; shapes, dtype and errors as in ``var``."""
        return self._new(
            reductions.deviation(self._array, axis, correction=correction, keepdims=keepdims)
        )

    def var_mean(
        self, axis: Axes = None, *, correction: float = 1.0, keepdims: bool = False
    ) -> tuple[Self, Self]:
        """Variance and mean, each as ``var`` and ``mean`` give it; errors as in ``var``."""
        spread = self.var(axis, correction=correction, keepdims=keepdims)
        return spread, self.mean(axis, keepdims=keepdims)

    def cov(self, correction: int = 1) -> Self:
        """Covariances between rows: (variables, observations) → (variables, variables), same dtype.

        A vector is one variable; of one it is a scalar. The sum is divided by n - correction, and
        by 0 where that is negative. Raises ShapeError above rank 2, DTypeError for anything but
        floats of 16 bits and more.
        """
        return self._new(reductions.covariance(self._array, correction))

    def max(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Largest value over axes: (a, b, c) over axis 1 → (a, c), of the same dtype; NaN wins.

        Raises ShapeError where there is nothing to choose from, DTypeError for complex numbers and
        fp8.
        """
        return self._new(reductions.maximum(self._array, axis, keepdims=keepdims))

    def min(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Smallest value over axes; NaN wins. Shapes, dtype and errors as in ``max``."""
        return self._new(reductions.minimum(self._array, axis, keepdims=keepdims))

    def max_abs(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Largest magnitude over axes: (a, b, c) over axis 1 → (a, c); NaN wins.

        Of the same dtype, of complex numbers a float. Raises ShapeError where there is nothing to
        choose from, DTypeError for bool and fp8, OperationError where the least integer of a dtype
        is there: the dtype has no number for its magnitude.
        """
        return self._new(reductions.largest_magnitude(self._array, axis, keepdims=keepdims))

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Position, as i64, of the first largest value of an axis: (a, b, c) over axis 1 → (a, c).

        None counts through all values in row-major order. The first NaN wins. Takes one axis;
        errors as in ``max``.
        """
        return self._new(reductions.argmax(self._array, axis, keepdims=keepdims))

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Position, as i64, of the first smallest value; all else as in ``argmax``."""
        return self._new(reductions.argmin(self._array, axis, keepdims=keepdims))

    def max_with_indices(self, axis: int, *, keepdims: bool = False) -> tuple[Self, Self]:
        """Largest values of an axis and their positions, i64: (a, b) over axis 1 → (a,) twice.

        Errors as in ``max``.
        """
        return (self.max(axis, keepdims=keepdims), self.argmax(axis, keepdims=keepdims))

    def min_with_indices(self, axis: int, *, keepdims: bool = False) -> tuple[Self, Self]:
        """Smallest values of an axis and their positions, i64: (a, b) over axis 1 → (a,) twice.

        Errors as in ``max``.
        """
        return (self.min(axis, keepdims=keepdims), self.argmin(axis, keepdims=keepdims))

    def all(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Bool, True where all values over axes are other than 0; NaN is. Over nothing True.

        (a, b, c) over axis 1 → (a, c). Takes every dtype.
        """
        return self._new(reductions.every(self._array, axis, keepdims=keepdims))

    def any(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """Bool, True where any value over axes is other than 0; NaN is. Over nothing False.

        (a, b, c) over axis 1 → (a, c). Takes every dtype.
        """
        return self._new(reductions.some(self._array, axis, keepdims=keepdims))

    def count_nonzero(self, axis: Axes = None, *, keepdims: bool = False) -> Self:
        """How many values over axes are other than 0, as i64: (a, b, c) over axis 1 → (a, c).

        Takes every dtype.
        """
        return self._new(reductions.count_nonzero(self._array, axis, keepdims=keepdims))

    def cumsum(self, axis: int) -> Self:
        """Sums up to each place of an axis, of the same shape; dtypes as in ``sum``.

        Raises IndexRangeError for a scalar, DTypeError for fp8.
        """
        return self._new(reductions.running_total(self._array, axis))

    def cumprod(self, axis: int) -> Self:
        """Products up to each place of an axis; shape, dtypes and errors as in ``cumsum``."""
        return self._new(reductions.running_product(self._array, axis))

    def cummax(self, axis: int) -> Self:
        """Largest value up to each place of an axis, same shape and dtype; from a NaN on it is NaN.

        Raises IndexRangeError for a scalar, DTypeError for complex numbers and fp8.
        """
        return self._new(reductions.running_maximum(self._array, axis))

    def cummin(self, axis: int) -> Self:
        """Smallest value up to each place of an axis; all else as in ``cummax``."""
        return self._new(reductions.running_minimum(self._array, axis))


class Ordering(Held):
    """Sorting, and the largest few; each gives a copy. NaN sorts as the largest value.

    Every method raises DTypeError for complex numbers, which have no order, and for fp8, and
    IndexRangeError for an axis outside the rank.
    """

    __slots__ = ()

    def categorical(self, count: int, generator: np.random.Generator) -> Self:
        """Draw classes by their weights on the last axis: (…, classes) → (…, count) as i64.

        With replacement; the generator is the caller's, so one seed gives one result.
        """
        return self._new(sampling.categorical(self._array, count, generator))

    def sort(self, axis: int = -1, *, descending: bool = False) -> Self:
        """Values of an axis in order, same shape and dtype; equal ones keep theirs, both ways.

        0.0 and -0.0 are equal. A scalar is itself.
        """
        return self._new(ordering.sort(self._array, axis, descending=descending))

    def argsort(self, axis: int = -1, *, descending: bool = False) -> Self:
        """Places, as i64, that sort an axis, of the same shape; equal values keep their order."""
        return self._new(ordering.argsort(self._array, axis, descending=descending))

    def sort_with_indices(self, axis: int = -1, *, descending: bool = False) -> tuple[Self, Self]:
        """Values of an axis in order, and the places, as i64, that they came from.

        Both of the same shape. Equal values keep their order, both ways.
        """
        places = ordering.argsort(self._array, axis, descending=descending)
        if not self._array.ndim:
            return self._new(self._array), self._new(places)
        return self._new(indexing.take_along(self._array, places, axis)), self._new(places)

    def topk(self, count: int, axis: int = -1) -> tuple[Self, Self]:
        """The ``count`` largest values of an axis in falling order, and their places as i64.

        (a, n) over axis -1 → (a, count) twice. NaN is larger than Inf; of equal values the first
        comes first. Raises ShapeError where the axis has fewer, IndexRangeError for a scalar.
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
        """Places of the ``count`` largest values of an axis: the second result of ``topk``."""
        return self.topk(count, axis)[1]

    def median_with_indices(self, axis: int) -> tuple[Self, Self]:
        """The middle value of an axis (the lower one of two), and its place as i64; NaN sorts last.

        (a, b, c) over axis 1 → (a, c) twice. Raises ShapeError where the axis is empty.
        """
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
        """The middle value, one that is there: the lower of two; NaN sorts last.

        (a, b, c) over axis 1 → (a, c), None: over all; same dtype. Raises ShapeError over nothing.
        """
        if axis is None:
            return self._new(self._array.reshape(-1)).median_with_indices(0)[0]
        return self.median_with_indices(axis)[0]
