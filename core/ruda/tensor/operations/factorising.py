"""Matrices as products of triangular ones, and what follows from them."""

from __future__ import annotations

import numpy as np

from ruda.errors import DTypeError
from ruda.tensor.dtype import DType
from ruda.tensor.operations.linear import require_matrices, solved
from ruda.tensor.operations.operands import Array, dtype_of
from ruda.tensor.promotion import require_inexact

_BLOCK = 48
"""Columns that are eliminated one by one before the rest is updated by one product of matrices."""


def lu_compact(name: str, values: Array) -> tuple[Array, Array]:
    """LU with partial pivoting: (…, rows, columns) → the same, and (…, smaller size) pivots, i64.

    L lies below the diagonal, without its ones, U on and above it. ``pivots[i]`` is the row that
    changed places with row i, counted from 0. Singular matrices have an LU as well: a column
    without a pivot is left as it is. Blocked elimination by columns (Golub and Van Loan, "Matrix
    computations", 4th ed., algorithm 3.4.1). Raises DTypeError for halves and what is no float or
    complex, ShapeError below rank 2.
    """
    dtype = dtype_of(values)
    require_inexact(name, dtype)
    if dtype in (DType.F16, DType.BF16):
        raise DTypeError(f"{name}: {dtype} is too coarse to solve in; cast it to f32 first")
    require_matrices(name, values)
    made = np.array(values, order="C")
    pivots = np.empty((*made.shape[:-2], min(made.shape[-2:])), np.int64)
    with np.errstate(all="ignore"):
        for place in np.ndindex(made.shape[:-2]):
            _eliminate(made[place], pivots[place])
    return made, pivots


def _eliminate(matrix: Array, pivots: Array) -> None:
    for start in range(0, len(pivots), _BLOCK):
        stop = min(start + _BLOCK, len(pivots))
        _eliminate_columns(matrix, pivots, start, stop)
        if stop < matrix.shape[1]:
            right = matrix[:, stop:]
            for row in range(start, stop):  # forward substitution in the block's own rows
                right[row] -= matrix[row, start:row] @ right[start:row]
            right[stop:] -= matrix[stop:, start:stop] @ right[start:stop]


def _eliminate_columns(matrix: Array, pivots: Array, start: int, stop: int) -> None:
    for column in range(start, stop):
        row = column + int(np.argmax(np.abs(matrix[column:, column])))
        pivots[column] = row
        if row != column:
            matrix[[column, row]] = matrix[[row, column]]
        if matrix[column, column] != 0:
            below = matrix[column + 1 :, column]
            below /= matrix[column, column]
            rest = matrix[column + 1 :, column + 1 : stop]
            rest -= below[:, None] * matrix[column, column + 1 : stop]


def lu(values: Array) -> tuple[Array, Array, Array]:
    """P, L and U with values = P·L·U: a permutation, a unit lower and an upper triangle."""
    compact, pivots = lu_compact("lu", values)
    rows, columns = compact.shape[-2:]
    small = min(rows, columns)
    one = compact.dtype.type(1)
    lower = np.tril(compact[..., :small], -1)
    lower[..., np.arange(small), np.arange(small)] = one
    upper = np.triu(compact[..., :small, :])
    permutation = np.zeros((*compact.shape[:-2], rows, rows), compact.dtype)
    for place in np.ndindex(compact.shape[:-2]):
        order = np.arange(rows)
        for at, with_ in enumerate(pivots[place]):
            order[[at, with_]] = order[[with_, at]]
        permutation[place][order, np.arange(rows)] = one
    return permutation, lower, upper


def determinant(values: Array) -> Array:
    """Determinants of the last two axes. Raises ShapeError unless they are square."""
    return np.asarray(solved("det", np.linalg.det, values))


def qr(values: Array) -> tuple[Array, Array]:
    """Orthonormal columns and an upper triangle whose product the values are, reduced."""
    found = solved("qr", np.linalg.qr, values, square=False)
    return found[0], found[1]
