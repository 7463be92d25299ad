"""The same values under another shape, order or extent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from ruda._kernels import shown_number
from ruda.errors import ShapeError
from ruda.tensor.methods.held import Held
from ruda.tensor.operations import padding, shaping
from ruda.tensor.operations.operands import Axes, normalise_axis
from ruda.tensor.operations.padding import PadMode
from ruda.tensor.promotion import Scalar
from ruda.tensor.sizes import whole


class Shaping(Held):
    """Other shapes, with the same dtype. Each method says whether it gives a view or a copy.

    Every method takes any dtype and raises IndexRangeError for an axis outside the rank, DTypeError
    for a size, an axis or a count that is no whole number, and ShapeError for what no array can
    have.
    """

    __slots__ = ()

    @property
    def T(self) -> Self:
        """The transpose of a matrix; a view. Raises ShapeError unless the rank is 2."""
        if self._array.ndim != 2:
            raise ShapeError(
                f"T: shape {list(self._array.shape)} is not a matrix; use mT, or permute"
            )
        return self._new(self._array.T)

    @property
    def mT(self) -> Self:
        """The last two axes exchanged: (…, n, m) → (…, m, n); a view as ``transpose``."""
        return self.transpose()

    def transpose(self) -> Self:
        """The last two axes exchanged: (…, n, m) → (…, m, n); a view.

        Raises ShapeError below rank 2.
        """
        return self._new(shaping.transpose_matrices(self._array))

    def swap_dims(self, first: int, second: int) -> Self:
        """Two axes exchanged: (a, b, c) with 0 and 2 → (c, b, a); a view.

        Raises IndexRangeError for an axis outside the rank.
        """
        return self._new(shaping.swap_axes(self._array, first, second))

    def permute(self, *order: int | Sequence[int]) -> Self:
        """The axes in this order, as ``permute(1, 0)`` or ``permute((1, 0))``; a view.

        (a, b, c) by (2, 0, 1) → (c, a, b). Raises ShapeError unless each axis is named once,
        IndexRangeError for one outside the rank.
        """
        return self._new(shaping.permute(self._array, _flat(order)))

    def movedim(self, source: Axes, target: Axes) -> Self:
        """Axes taken to other places, the rest in their order; a view.

        (a, b, c) with 0 to 2 → (b, c, a). Raises ShapeError where the numbers of axes and places
        differ or one is named twice, IndexRangeError outside the rank.
        """
        return self._new(shaping.move_axes(self._array, source, target))

    def reshape(self, *shape: int | Sequence[int]) -> Self:
        """The same values under another shape, as ``reshape(2, -1)`` or ``reshape((2, -1))``.

        A view where memory allows, a copy of what is not in row-major order. Raises ShapeError
        where the values do not fill the shape; -1 cannot be found out beside an axis of size 0.
        """
        return self._new(shaping.reshape(self._array, _flat(shape)))

    def flatten(self, start: int = 0, end: int = -1) -> Self:
        """Join the axes from ``start`` to ``end``, both included; a view as in ``reshape``.

        (a, b, c) from 1 → (a, b·c); a scalar becomes (1,). Raises ShapeError where ``end`` comes
        before ``start``, IndexRangeError outside the rank.
        """
        return self._new(shaping.flatten(self._array, start, end))

    def unsqueeze(self, axis: int = 0) -> Self:
        """A new axis of size 1 at this position of the result: (a, b) at 1 → (a, 1, b); a view.

        Raises IndexRangeError outside the axes of the result.
        """
        return self._new(shaping.unsqueeze(self._array, axis))

    def squeeze(self, axis: Axes = None) -> Self:
        """Without these axes of size 1, or all such: (a, 1, b) → (a, b); a view.

        Raises ShapeError where a named axis has another size, IndexRangeError outside the rank.
        """
        return self._new(shaping.squeeze(self._array, axis))

    def expand(self, *shape: int | Sequence[int]) -> Self:
        """Repeated along axes of size 1 and new ones in front, without memory; a view.

        (a, 1) to (n, a, b) → (n, a, b); -1 keeps a size. Raises ShapeError where another axis would
        grow or axes would go.
        """
        return self._new(shaping.expand(self._array, _flat(shape)))

    def repeat(self, *times: int | Sequence[int]) -> Self:
        """The whole laid side by side so often along each axis, new axes in front; a copy.

        (a, b) by (2, 3) → (2a, 3b); fewer counts than axes are those of the last ones. Raises
        ShapeError for a negative count.
        """
        return self._new(shaping.tile(self._array, _flat(times)))

    def repeat_dim(self, axis: int, times: int) -> Self:
        """The whole laid side by side along one axis: (a, b) on 1 twice → (a, 2b); a copy.

        Raises ShapeError for a negative count, IndexRangeError outside the rank.
        """
        rank = self._array.ndim
        place = normalise_axis("repeat_dim", self._array, axis)
        return self._new(
            shaping.tile(self._array, [times if i == place else 1 for i in range(rank)])
        )

    def flip(self, axis: Axes = None) -> Self:
        """In reverse along these axes, or all; same shape, a view.

        Raises IndexRangeError outside the rank, ShapeError for an axis named twice.
        """
        return self._new(shaping.flip(self._array, axis))

    def roll(self, shift: int | Sequence[int], axis: Axes = None) -> Self:
        """Shifted along axes: what leaves at one end enters at the other; same shape, a copy.

        Without an axis through all values in row-major order. Raises ShapeError unless each axis
        has a shift, IndexRangeError outside the rank.
        """
        return self._new(shaping.roll(self._array, shift, axis))

    def narrow(self, axis: int, start: int, length: int) -> Self:
        """``length`` elements of an axis from ``start`` on: (a, b) on 1 → (a, length); a view.

        Raises ShapeError where they are not all there (nothing counts from the back),
        IndexRangeError for an axis outside the rank.
        """
        return self._new(shaping.narrow(self._array, axis, start, length))

    def split(self, size: int | Sequence[int], axis: int = 0) -> list[Self]:
        """Consecutive parts of ``size`` (the last may be smaller), or of these sizes; views.

        (7, b) by 3 → (3, b), (3, b), (1, b); none of an axis of size 0. Raises ShapeError for a
        size below 1 and for sizes that do not add up to the axis, IndexRangeError outside the rank.
        """
        place = normalise_axis("split", self._array, axis)
        length = self._array.shape[place]
        if not isinstance(size, Sequence):
            step = whole("split", "a size", size)
            if step < 1:
                raise ShapeError(f"split: parts of {shown_number(step)} elements are none")
            size = [min(step, length - start) for start in range(0, length, step)]
        return [self._new(part) for part in shaping.split(self._array, size, place)]

    def chunk(self, count: int, axis: int = 0) -> list[Self]:
        """At most ``count`` parts of equal size, the last may be smaller; views.

        (7, b) in 3 → (3, b), (3, b), (1, b); an axis of size 0 stays whole. Raises ShapeError for a
        count below 1, IndexRangeError outside the rank.
        """
        place = normalise_axis("chunk", self._array, axis)
        parts = whole("chunk", "a count", count)
        if parts < 1:
            raise ShapeError(f"chunk: {shown_number(parts)} parts are none")
        length = self._array.shape[place]
        return self.split(max(1, -(-length // parts)), place) if length else [self]

    def iter_dim(self, axis: int = 0) -> Iterator[Self]:
        """The slices along an axis one by one, each with a size of 1 there; views.

        (a, b) on 0 → a times (1, b). Raises IndexRangeError outside the rank.
        """
        place = normalise_axis("iter_dim", self._array, axis)
        return (self.narrow(place, at, 1) for at in range(self._array.shape[place]))

    def unbind(self, axis: int = 0) -> list[Self]:
        """The slices along an axis, without it: (a, b, c) on 1 → b times (a, c); views.

        Raises ShapeError for a scalar, IndexRangeError outside the rank.
        """
        return [self._new(part) for part in shaping.unstack(self._array, axis)]

    def unfold(self, axis: int, size: int, step: int = 1) -> Self:
        """Windows of an axis, each ``step`` further, as a new last axis of ``size``; a view.

        (n, c) on 0 → ((n - size) // step + 1, c, size). Raises ShapeError where no window fits or a
        step is below 1, IndexRangeError outside the rank.
        """
        return self._new(shaping.windows(self._array, axis, size, step))

    def pad(
        self, pairs: Sequence[tuple[int, int]], mode: PadMode = "constant", value: Scalar = 0
    ) -> Self:
        """New elements around: (before, after) for each axis, the last axis first; a copy.

        (a, b) by [(1, 2)] → (a, b + 3). Of ``value``, or taken from the tensor: ``reflect``
        mirrors, ``edge`` repeats. Raises ShapeError for more pairs than axes, negative ones, and
        where there is not enough to mirror; SettingError for another mode; DTypeError for a value
        that does not fit, and for fp8 beside a value.
        """
        return self._new(padding.pad(self._array, pairs, mode, value))

    def triu(self, diagonal: int = 0) -> Self:
        """Matrices (…, n, m) with zeros below the diagonal, which ``diagonal`` moves up; a copy.

        Raises ShapeError below rank 2.
        """
        return self._new(shaping.triangle(self._array, diagonal, upper=True))

    def tril(self, diagonal: int = 0) -> Self:
        """Matrices (…, n, m) with zeros above the diagonal, which ``diagonal`` moves up; a copy.

        Raises ShapeError below rank 2.
        """
        return self._new(shaping.triangle(self._array, diagonal, upper=False))


def _flat(parts: tuple[Any, ...]) -> list[int]:
    """Sizes given one by one or as a sequence."""
    sizes: list[int] = []
    for part in parts:
        sizes.extend(part if isinstance(part, Sequence) and not isinstance(part, str) else [part])
    return sizes
