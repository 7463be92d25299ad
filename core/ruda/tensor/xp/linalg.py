"""The extension ``linalg``: decompositions and products of matrices on the last two axes.

Linear systems take float32, float64 and complex. A singular matrix raises OperationError.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ruda.errors import SettingError, ShapeError
from ruda.tensor.dtype import DType
from ruda.tensor.operations import linear, shaping
from ruda.tensor.operations.operands import check_broadcast, dtype_of, pair, recast
from ruda.tensor.operations.sums import added
from ruda.tensor.promotion import require_inexact
from ruda.tensor.sizes import number, switch, whole
from ruda.tensor.tensor import Tensor
from ruda.tensor.xp._given import array, wrap
from ruda.tensor.xp.dtypes import finfo

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

Flag = builtins.bool


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Orthonormal columns Q and upper triangular R with x = Q·R."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the magnitude of a determinant."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """x = U · diag(S) · Vh, with S in falling order."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Matrix product on the last two axes; batch axes broadcast. Integers wrap around."""
    return wrap(linear.matmul(array("matmul", x1), array("matmul", x2)))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged; a view."""
    return wrap(shaping.transpose_matrices(array("matrix_transpose", x)))


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Sum of products over pairs of axes. Integers wrap around in their dtype."""
    return wrap(linear.tensordot(array("tensordot", x1), array("tensordot", x2), axes))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Σ conj(x1)·x2 along an axis that both have. Integers wrap around in their dtype."""
    return wrap(linear.vecdot(array("vecdot", x1), array("vecdot", x2), axis))


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of two vectors: (n,) and (m,) → (n, m). Integers wrap around."""
    return wrap(linear.outer(array("outer", x1), array("outer", x2)))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross product of vectors of three along an axis. Integers wrap around."""
    return wrap(linear.cross(array("cross", x1), array("cross", x2), axis))


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonal of the last two axes as the last axis; a view."""
    return wrap(linear.diagonal(array("diagonal", x), offset))


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Sum of the diagonal of the last two axes."""
    return wrap(linear.trace(array("trace", x), offset, dtype=dtype))


def cholesky(x: Tensor, /, *, upper: Flag = False) -> Tensor:
    """L with x = L·Lᴴ, or U with x = Uᴴ·U. Raises OperationError unless positive definite."""
    lower = linear.solved("cholesky", np.linalg.cholesky, array("cholesky", x))
    # The conjugate of the zeros below is -0j, which triu writes anew.
    return wrap(np.triu(np.conj(lower).swapaxes(-1, -2)) if upper else lower)


def det(x: Tensor, /) -> Tensor:
    """Determinant."""
    return wrap(np.asarray(linear.solved("det", np.linalg.det, array("det", x))))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Sign and logarithm of the magnitude of the determinant."""
    found = linear.solved("slogdet", np.linalg.slogdet, array("slogdet", x))
    return SlogdetResult(wrap(np.asarray(found[0])), wrap(np.asarray(found[1])))


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix (its lower triangle)."""
    found = linear.solved("eigh", np.linalg.eigh, array("eigh", x), finite=True)
    return EighResult(wrap(found[0]), wrap(found[1]))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of a symmetric or Hermitian matrix, in ascending order."""
    return wrap(linear.solved("eigvalsh", np.linalg.eigvalsh, array("eigvalsh", x), finite=True))


def inv(x: Tensor, /) -> Tensor:
    """Inverse. Raises OperationError for a singular matrix."""
    return wrap(linear.solved("inv", np.linalg.inv, array("inv", x)))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The y with x1·y = x2, which is a vector if it has one axis. Raises OperationError."""
    left, right = array("solve", x1), array("solve", x2)
    linear.require_matrices("solve", left, square=True)
    rows = right.shape[0 if right.ndim == 1 else -2] if right.ndim else -1
    if rows != left.shape[-1]:
        raise ShapeError(
            f"solve: shapes {list(left.shape)} and {list(right.shape)} do not fit: the first has "
            f"{left.shape[-1]} columns, the second {rows} rows"
        )
    if right.ndim > 1:
        check_broadcast("solve", left.shape[:-2], right.shape[:-2])
    _, _, dtype = pair("solve", left.reshape(-1)[:0], right.reshape(-1)[:0])
    a, b = recast(left, dtype), recast(right, dtype)
    return wrap(linear.solved("solve", np.linalg.solve, a, b))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Pseudo-inverse; singular values below ``rtol`` times the largest count as 0.

    ``rtol`` is max(rows, columns) · eps where none is given.
    """
    values = array("pinv", x)
    limit = _tolerance("pinv", values, rtol)
    return wrap(
        linear.solved(
            "pinv", lambda a: np.linalg.pinv(a, rtol=limit), values, square=False, finite=True
        )
    )


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Number of singular values above ``rtol`` times the largest, as int64."""
    values = array("matrix_rank", x)
    sizes = linear.solved("matrix_rank", np.linalg.svdvals, values, square=False, finite=True)
    limit = np.asarray(_tolerance("matrix_rank", values, rtol))
    check_broadcast("matrix_rank", limit.shape, values.shape[:-2])
    with np.errstate(over="ignore"):  # no value lies above Inf times the largest
        floor = sizes.max(axis=-1, keepdims=True, initial=0) * limit[..., None]
    return wrap(np.asarray(np.count_nonzero(sizes > floor, axis=-1)).astype(np.int64))


def _tolerance(name: str, values: np.ndarray[Any, Any], rtol: float | Tensor | None) -> Any:
    require_inexact(name, dtype_of(values))
    linear.require_matrices(name, values)
    if rtol is None:
        return max(values.shape[-2:]) * float(finfo(DType.from_numpy(values.dtype)).eps)
    return rtol._array if isinstance(rtol, Tensor) else number(name, "rtol", rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """Q and R; ``complete`` gives a square Q. Raises SettingError for another mode."""
    if mode not in ("reduced", "complete"):
        raise SettingError(f"qr: mode is reduced or complete, got {mode!r}")
    asked: Literal["reduced", "complete"] = "complete" if mode == "complete" else "reduced"
    found = linear.solved(
        "qr",
        lambda a: np.linalg.qr(a, mode=asked),
        array("qr", x),
        square=False,
    )
    return QRResult(wrap(found[0]), wrap(found[1]))


def svd(x: Tensor, /, *, full_matrices: Flag = True) -> SVDResult:
    """U, S and Vh; without ``full_matrices`` only the first min(rows, columns) vectors."""
    found = linear.solved(
        "svd",
        lambda a: np.linalg.svd(a, full_matrices=full_matrices),
        array("svd", x),
        square=False,
        finite=True,
    )
    return SVDResult(wrap(found[0]), wrap(found[1]), wrap(found[2]))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values in falling order."""
    return wrap(
        linear.solved("svdvals", np.linalg.svdvals, array("svdvals", x), square=False, finite=True)
    )


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """x·x·…; negative powers are those of the inverse."""
    values, n = array("matrix_power", x), whole("matrix_power", "a power", n)
    return wrap(linear.solved("matrix_power", lambda a: np.linalg.matrix_power(a, n), values))


def matrix_norm(x: Tensor, /, *, keepdims: Flag = False, ord: float | str | None = "fro") -> Tensor:
    """Norm of matrices: fro, nuc, ±1, ±2 or ±inf. Raises SettingError for another one."""
    if ord not in ("fro", "nuc", None, 1, -1, 2, -2, np.inf, -np.inf):
        raise SettingError(f"matrix_norm: no norm is called {ord!r}")
    finite = ord in ("nuc", 2, -2)
    compute = _singular_norm if finite else _plain_norm
    keepdims = switch("matrix_norm", "keepdims", keepdims)
    found = linear.solved(
        "matrix_norm",
        lambda a: compute(a, ord, keepdims=keepdims),
        array("matrix_norm", x),
        square=False,
        finite=finite,
    )
    return wrap(np.asarray(found))


def _singular_norm(values: np.ndarray[Any, Any], order: Any, *, keepdims: Flag) -> Any:
    return np.linalg.matrix_norm(values, keepdims=keepdims, ord=order)


def _plain_norm(values: np.ndarray[Any, Any], order: Any, *, keepdims: Flag) -> Any:
    """The root of all squares, or the largest or smallest sum of a column (±1) or row (±inf)."""
    if order in ("fro", None):
        return linear.vector_norm(values, (-2, -1), 2, keepdims=keepdims)
    sums = added(np.abs(values), (values.ndim - (2 if abs(order) == 1 else 1),), keepdims=True)
    found = sums.max(axis=(-2, -1)) if order > 0 else sums.min(axis=(-2, -1))
    return found[..., None, None] if keepdims else found


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: Flag = False,
    ord: float = 2,
) -> Tensor:
    """(Σ |x|^ord)^(1/ord) over axes or all; ±inf: the largest or smallest; 0 counts."""
    if not isinstance(ord, int | float):
        raise SettingError(f"vector_norm: an order is a number, got {ord!r}")
    return wrap(linear.vector_norm(array("vector_norm", x), axis, ord, keepdims=keepdims))
