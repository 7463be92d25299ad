"""Products and norms on the last axes."""

from __future__ import annotations

from typing import Self

from ruda.tensor.methods.held import Held, tensor_array
from ruda.tensor.operations import linear


class Linear(Held):
    """Products of vectors and matrices on the last axes; copies unless a method says otherwise.

    Dtypes promote. Halves are multiplied and added in f32 and rounded once; integers wrap around in
    their own dtype, unlike sums, which have 64 bits: cast them first. Every product raises
    DTypeError for bool, fp8, u64 with a signed integer, and what is no tensor.
    """

    __slots__ = ()

    def __matmul__(self, other: Self) -> Self:
        return self.matmul(other)

    def __rmatmul__(self, other: Self) -> Self:
        return self._new(linear.matmul(tensor_array("matmul", other), self._array))

    def matmul(self, other: Self) -> Self:
        """Matrix product on the last two axes: (…, n, k) @ (…, k, m) → (…, n, m).

        The axes in front broadcast; a vector is a row on the left, a column on the right, and its
        axis of size 1 goes again. Integers wrap around in their dtype. Raises ShapeError where
        inner sizes differ, where the axes in front do not broadcast, and for a scalar; DTypeError
        as the class says.
        """
        return self._new(linear.matmul(self._array, tensor_array("matmul", other)))

    def matvec(self, vector: Self) -> Self:
        """Matrices times vectors: (…, n, k) and (…, k) → (…, n); the axes in front broadcast.

        Integers wrap around in their dtype. Raises ShapeError naming both shapes where they do not
        fit, DTypeError as the class says.
        """
        return self._new(linear.matvec(self._array, tensor_array("matvec", vector)))

    def dot(self, other: Self, axis: int = -1) -> Self:
        """Σ conj(x)·y along an axis that both have: (…, k) and (…, k) → (…); the others broadcast.

        Integers wrap around in their dtype. Raises ShapeError where sizes differ, where the other
        axes do not broadcast, for a scalar, and for an axis counted from the front of two ranks;
        IndexRangeError for one outside the rank; DTypeError as the class says.
        """
        return self._new(linear.vecdot(self._array, tensor_array("dot", other), axis))

    def outer(self, other: Self) -> Self:
        """All products of two vectors: (n,) and (m,) → (n, m).

        Integers wrap around in their dtype. Raises ShapeError for what is no vector, DTypeError as
        the class says.
        """
        return self._new(linear.outer(self._array, tensor_array("outer", other)))

    def cross(self, other: Self, axis: int = -1) -> Self:
        """Cross product along an axis of size 3: (…, 3) and (…, 3) → (…, 3); the others broadcast.

        Integers wrap around in their dtype. Raises ShapeError for another size, where the other
        axes do not broadcast, and for an axis counted from the front of two ranks; IndexRangeError
        for one outside the rank; DTypeError as the class says.
        """
        return self._new(linear.cross(self._array, tensor_array("cross", other), axis))

    def diag(self, offset: int = 0) -> Self:
        """The diagonal of the last two axes as the last axis: (…, n, m) → (…, k); a view.

        A positive offset moves it right, a negative one down, and k is what is left of it, 0 where
        it is outside. Raises ShapeError below rank 2, DTypeError for an offset that is no whole
        number.
        """
        return self._new(linear.diagonal(self._array, offset))

    def trace(self, offset: int = 0) -> Self:
        """Sum of the diagonal of the last two axes: (…, n, m) → (…); dtypes as in ``sum``.

        Raises ShapeError below rank 2, DTypeError for fp8.
        """
        return self._new(linear.trace(self._array, offset))

    def vector_norm(
        self,
        order: float = 2.0,
        axis: int | tuple[int, ...] | None = None,
        *,
        keepdims: bool = False,
    ) -> Self:
        """(Σ |x|^order)^(1/order) over axes: (a, b, c) over axis 1 → (a, c).

        ±inf gives the largest or smallest magnitude, 0 counts what is not 0. Of the same dtype, of
        complex numbers a float; squares that leave its range do no harm. Raises DTypeError for
        integers, bool, fp8 and an order that is no real number, ShapeError for a negative order
        over nothing and for an axis named twice, IndexRangeError for one outside the rank.
        """
        return self._new(linear.vector_norm(self._array, axis, order, keepdims=keepdims))

    def vector_normalize(self, order: float = 2.0, axis: int = -1, *, eps: float = 1e-12) -> Self:
        """Vectors along an axis divided by their norm, or by ``eps`` where that is larger.

        Same shape and dtype; a norm beyond the dtype does no harm. Raises DTypeError for anything
        but floats of 16 bits and more, IndexRangeError for an axis outside the rank, as of a
        scalar.
        """
        return self._new(linear.normalised(self._array, order, axis, eps))

    def cosine_similarity(self, other: Self, axis: int = -1, *, eps: float = 1e-8) -> Self:
        """x·y / (|x|·|y|) along an axis, each norm at least ``eps``: (…, k) and (…, k) → (…).

        Both shapes broadcast first, and dtypes promote. Raises ShapeError where they do not,
        IndexRangeError for an axis outside the rank, DTypeError where the result is no float of 16
        bits or more.
        """
        given = tensor_array("cosine_similarity", other)
        return self._new(linear.cosine(self._array, given, axis, eps))
