"""Products and norms on the last axes."""

from __future__ import annotations

from typing import Self

from ruda.tensor.methods.held import Held, tensor_array
from ruda.tensor.operations import linear


class Linear(Held):
    """Products of vectors and matrices; halves are multiplied in f32, integers wrap around."""

    __slots__ = ()

    def __matmul__(self, other: Self) -> Self:
        return self.matmul(other)

    def __rmatmul__(self, other: Self) -> Self:
        return self._new(linear.matmul(tensor_array("matmul", other), self._array))

    def matmul(self, other: Self) -> Self:
        """Matrix product on the last two axes: (…, n, k) @ (…, k, m) → (…, n, m)."""
        return self._new(linear.matmul(self._array, tensor_array("matmul", other)))

    def matvec(self, vector: Self) -> Self:
        """Matrices times vectors: (…, n, k) and (…, k) → (…, n); the axes in front broadcast."""
        return self._new(linear.matvec(self._array, tensor_array("matvec", vector)))

    def dot(self, other: Self, axis: int = -1) -> Self:
        """Σ x·y along an axis that both have; the other axes broadcast."""
        return self._new(linear.vecdot(self._array, tensor_array("dot", other), axis))

    def outer(self, other: Self) -> Self:
        """All products of two vectors: (n,) and (m,) → (n, m)."""
        return self._new(linear.outer(self._array, tensor_array("outer", other)))

    def cross(self, other: Self, axis: int = -1) -> Self:
        """Cross product of vectors of three along an axis."""
        return self._new(linear.cross(self._array, tensor_array("cross", other), axis))

    def diag(self, offset: int = 0) -> Self:
        """The diagonal of the last two axes as the last axis; a view."""
        return self._new(linear.diagonal(self._array, offset))

    def trace(self, offset: int = 0) -> Self:
        """Sum of the diagonal of the last two axes."""
        return self._new(linear.trace(self._array, offset))

    def vector_norm(
        self,
        order: float = 2.0,
        axis: int | tuple[int, ...] | None = None,
        *,
        keepdims: bool = False,
    ) -> Self:
        """(Σ |x|^order)^(1/order); ±inf gives the largest or smallest, 0 counts what is not 0."""
        return self._new(linear.vector_norm(self._array, axis, order, keepdims=keepdims))

    def vector_normalize(self, order: float = 2.0, axis: int = -1, *, eps: float = 1e-12) -> Self:
        """Vectors along an axis divided by their norm, or by ``eps`` where that is larger."""
        return self._new(linear.normalised(self._array, order, axis, eps))

    def cosine_similarity(self, other: Self, axis: int = -1, *, eps: float = 1e-8) -> Self:
        """x·y / (|x|·|y|) along an axis, with each norm at least ``eps``."""
        given = tensor_array("cosine_similarity", other)
        return self._new(linear.cosine(self._array, given, axis, eps))
