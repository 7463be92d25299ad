"""Drawing from distributions that a tensor describes."""

from __future__ import annotations

import numpy as np

from ruda.errors import DTypeError, OperationError, SettingError, ShapeError
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import Array, dtype_of, recast
from ruda.tensor.promotion import require_float
from ruda.tensor.sizes import require_room, whole


def categorical(weights: Array, count: int, generator: np.random.Generator) -> Array:
    """Places on the last axis, each drawn as often as its weight asks, with replacement.

    (…, classes) of a float dtype → (…, count) as i64. Weights need not add up to 1; a class of
    weight 0 is never drawn. By inverting the cumulative sum in f64 (Devroye, "Non-uniform random
    variate generation", 1986, §III.2). Raises DTypeError for weights that are not floats,
    ShapeError without classes, SettingError for a negative count, OperationError for weights that
    are negative, NaN, infinite, or all 0.
    """
    require_float("categorical", dtype_of(weights))
    shape = list(weights.shape)
    if not weights.ndim or not weights.shape[-1]:
        raise ShapeError(f"categorical: shape {shape} has no classes on its last axis")
    count = whole("categorical", "a count", count)
    if not isinstance(generator, np.random.Generator):
        raise DTypeError(
            f"categorical: expected a numpy.random.Generator, got {type(generator).__name__}; "
            f"numpy.random.default_rng(seed) makes one"
        )
    if count < 0:
        raise SettingError(f"categorical: draws 0 places or more, got {count}")
    require_room("categorical", (*weights.shape[:-1], count), DType.F64)
    rows = recast(weights, DType.F64).reshape(-1, weights.shape[-1])
    largest = rows.max(axis=1)
    if not (np.isfinite(rows).all() and (rows >= 0).all() and (largest > 0).all()):
        raise OperationError(
            f"categorical: weights of shape {shape} are finite, from 0, and one of each row is "
            f"above 0; take softmax of logits first"
        )
    # By the largest first, so that the sum can neither overflow nor vanish.
    sums = np.cumsum(rows / largest[:, None], axis=1)
    drawn = generator.random((len(rows), count)) * sums[:, -1:]
    found = np.empty((len(rows), count), np.int64)
    for row, (cumulative, points) in enumerate(zip(sums, drawn, strict=True)):
        found[row] = np.searchsorted(cumulative, points, side="right")
    return found.reshape(*weights.shape[:-1], count)
