"""Reading elements by index, and tensors in which some elements are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from types import EllipsisType
from typing import Self, TypeAlias

import numpy as np

from ruda.errors import ShapeError
from ruda.tensor.methods.held import Held, Number, operand, tensor_array
from ruda.tensor.operations import elementwise, indexing
from ruda.tensor.operations.operands import Array, normalise_axis

Index: TypeAlias = int | slice | EllipsisType | Held | None
"""One part of an index; a tensor of integers or of bool (a mask) picks elements one by one."""


class Indexing(Held):
    """Reading and replacing. Only ``t[i] = v`` changes a tensor, by giving it a new array."""

    __slots__ = ()

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Self:
        """A view for integers, slices, ``...`` and None; a copy for masks and integer tensors.

        Raises IndexRangeError outside the shape and for more parts than axes, DTypeError for a part
        that is none of these, lists and tensors of floats among them.
        """
        return self._new(indexing.pick(self._array, _parts(index)))

    def __setitem__(self, index: Index | tuple[Index, ...], value: Self | Number) -> None:
        """This tensor gets a changed copy of its values; views and copies of it keep theirs."""
        self._array = indexing.replace(self._array, _parts(index), operand("index", value))

    def __len__(self) -> int:
        if not self._array.ndim:
            raise ShapeError("len: a scalar has no first axis")
        return len(self._array)

    def __iter__(self) -> Iterator[Self]:
        if not self._array.ndim:
            raise ShapeError("iter: a scalar has no first axis")
        return (self._new(np.asarray(part)) for part in self._array)

    def slice_assign(self, index: Index | tuple[Index, ...], value: Self | Number) -> Self:
        """A copy in which the elements that the index names are ``value``, which broadcasts.

        Where an index tensor names one twice, the last value stays. Raises IndexRangeError outside
        the shape, DTypeError where ``value`` would change the dtype.
        """
        return self._new(indexing.replace(self._array, _parts(index), operand("index", value)))

    def slice_fill(self, index: Index | tuple[Index, ...], value: Number) -> Self:
        """A copy in which the elements that the index names are this number."""
        return self.slice_assign(index, value)

    def slice_dim(self, axis: int, start: int | None, stop: int | None, step: int = 1) -> Self:
        """``start:stop:step`` of one axis, as Python counts; a view.

        Raises IndexRangeError for an axis outside the rank and a step of 0, DTypeError for what is
        no whole number.
        """
        place = normalise_axis("slice_dim", self._array, axis)
        parts = (slice(None),) * place + (slice(start, stop, step),)
        return self._new(indexing.pick(self._array, parts))

    def select(self, axis: int, indices: Self) -> Self:
        """Slices of an axis in the order of an index vector: (a, b), axis 0, (n,) → (n, b); a copy.

        Negative indices count from the back. Raises ShapeError for what is no vector,
        IndexRangeError outside the axis or the rank, DTypeError for indices that are no integers.
        """
        places = tensor_array("select", indices)
        if places.ndim != 1:
            raise ShapeError(f"select: shape {list(places.shape)} is not an index vector")
        return self._new(indexing.take(self._array, places, axis))

    def select_assign(self, axis: int, indices: Self, values: Self) -> Self:
        """A copy to whose slices of an axis others are added; doubled indices add up.

        In the order of the indices, halves in f32. ``values`` broadcast to the slices. Raises
        IndexRangeError outside the axis, DTypeError for bool, which has no arithmetic.
        """
        place = normalise_axis("select_assign", self._array, axis)
        places = tensor_array("select_assign", indices)
        indexing.check_indices("select_assign", places, self._array.shape[place])
        new = tensor_array("select_assign", values)
        return self._new(indexing.added(self._array, places, new, place))

    def take(self, indices: Self, axis: int | None = None) -> Self:
        """Slices of an axis, a copy; the shape of the indices takes the place of the axis.

        (a, b), axis 0, indices (n, m) → (n, m, b). Without an axis the tensor is a vector, else
        ShapeError. Raises IndexRangeError outside the axis or the rank, DTypeError for indices that
        are no integers.
        """
        return self._new(indexing.take(self._array, tensor_array("take", indices), axis))

    def gather(self, axis: int, indices: Self) -> Self:
        """For each place of ``indices`` the element that it names on this axis; a copy.

        The result has their shape: of the same rank, on other axes not longer than the tensor.
        Raises ShapeError where that is not so, IndexRangeError outside the axis or the rank,
        DTypeError for indices that are no integers.
        """
        return self._new(indexing.gather(self._array, tensor_array("gather", indices), axis))

    def scatter(self, axis: int, indices: Self, values: Self, *, update: str = "add") -> Self:
        """A copy in which ``values`` go where the indices say on this axis.

        ``update``: ``add``, ``assign`` (the last one wins), ``mul``, ``min`` or ``max``; halves
        add up and multiply in f32. Raises SettingError for another one, IndexRangeError outside
        the axis, DTypeError for bool where nothing is assigned.
        """
        places = tensor_array("scatter", indices)
        return self._new(
            indexing.scatter(self._array, places, tensor_array("scatter", values), axis, update)
        )

    def gather_nd(self, indices: Self) -> Self:
        """The elements or slices at places: ``indices`` [..., k] hold k coordinates each.

        The result is [..., *shape[k:]], a copy. Raises IndexRangeError outside an axis, ShapeError
        for more coordinates than axes.
        """
        return self._new(indexing.gather_nd(self._array, tensor_array("gather_nd", indices)))

    def scatter_nd(self, indices: Self, values: Self, *, update: str = "add") -> Self:
        """A copy in which ``values`` [..., *shape[k:]] go to the places of ``gather_nd``.

        ``update`` and errors as in ``scatter``.
        """
        places = tensor_array("scatter_nd", indices)
        new = tensor_array("scatter_nd", values)
        return self._new(indexing.scatter_nd(self._array, places, new, update))

    def one_hot(self, classes: int) -> Self:
        """Integers as [..., classes] with a 1 at each one's place, in the same dtype.

        Raises IndexRangeError for a class below 0 or not below ``classes``.
        """
        return self._new(indexing.one_hot(self._array, classes))

    def one_hot_fill(self, classes: int, on: Number = 1, off: Number = 0, axis: int = -1) -> Self:
        """As ``one_hot`` on a new axis at this place, with these two numbers, in the same dtype.

        Raises DTypeError for a number that does not fit it.
        """
        return self._new(indexing.one_hot_filled(self._array, classes, on, off, axis))

    def mask_where(self, mask: Self, values: Self | Number) -> Self:
        """``values`` where the bool mask is True, this tensor elsewhere; all broadcast. A copy.

        Dtypes promote. Raises DTypeError for a mask of another dtype and a number that does not
        fit, ShapeError where shapes do not broadcast.
        """
        return self._new(
            elementwise.select(
                tensor_array("mask_where", mask), operand("mask_where", values), self._array
            )
        )

    def mask_fill(self, mask: Self, value: Number) -> Self:
        """This number where the bool mask is True, this tensor elsewhere; a copy.

        An integer tensor with a float gives f32. Errors as in ``mask_where``.
        """
        return self.mask_where(mask, value)

    def mask_select(self, mask: Self) -> Self:
        """The elements where the bool mask is True, as a vector (found,); a copy.

        Both broadcast. Raises DTypeError for a mask of another dtype, ShapeError where they do not
        broadcast.
        """
        return self._new(indexing.masked(self._array, tensor_array("mask_select", mask)))

    def nonzero(self) -> list[Self]:
        """For each axis the i64 indices (found,) of the values other than 0.

        Raises ShapeError for a scalar.
        """
        return [self._new(one) for one in indexing.nonzero(self._array)]

    def argwhere(self) -> Self:
        """Places of the values other than 0: (found, axes) as i64. Takes every dtype."""
        return self._new(np.argwhere(self._array != 0).astype(np.int64))


def _parts(index: Index | tuple[Index, ...]) -> tuple[indexing.Part, ...]:
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(_array_of(part) if isinstance(part, Held) else part for part in parts)


def _array_of(part: Held) -> Array:
    return part._array
