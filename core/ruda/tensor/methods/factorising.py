"""Matrices taken apart."""

from __future__ import annotations

from typing import Self

from ruda.tensor.methods.held import Held
from ruda.tensor.operations import factorising


class Factorising(Held):
    """Matrices on the last two axes, of f32, f64 or complex; new memory."""

    __slots__ = ()

    def det(self) -> Self:
        """Determinants: (…, n, n) → (…). Raises ShapeError unless square, DTypeError for halves."""
        return self._new(factorising.determinant(self._array))

    def lu(self) -> tuple[Self, Self, Self]:
        """P, L and U with self = P·L·U: (…, n, m) → (…, n, n), (…, n, k) and (…, k, m).

        P is a permutation, L has ones on its diagonal, k is the smaller of n and m. Partial
        pivoting; singular matrices have an LU as well. Raises ShapeError, DTypeError for halves.
        """
        permutation, lower, upper = factorising.lu(self._array)
        return self._new(permutation), self._new(lower), self._new(upper)

    def lu_decomposition(self) -> tuple[Self, Self]:
        """L (below the diagonal) and U in one tensor, and the pivots: (…, n, m) and (…, k) as i64.

        ``pivots[i]``, from 0, is the row that changed places with row i. Errors as for ``lu``.
        """
        compact, pivots = factorising.lu_compact("lu_decomposition", self._array)
        return self._new(compact), self._new(pivots)

    def qr(self) -> tuple[Self, Self]:
        """Q and R with self = Q·R: (…, n, m) → (…, n, k) and (…, k, m), k the smaller of n and m.

        Q has orthonormal columns, R is an upper triangle. Raises ShapeError, DTypeError for halves.
        """
        first, second = factorising.qr(self._array)
        return self._new(first), self._new(second)
