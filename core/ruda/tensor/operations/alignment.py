"""Sequences on sequences whose alignment is not known: the CTC loss."""

from __future__ import annotations

import numpy as np

from ruda.errors import IndexRangeError, ShapeError
from ruda.tensor.operations.indexing import check_indices
from ruda.tensor.operations.operands import Array, dtype_of, recast
from ruda.tensor.promotion import accumulator, require_float, require_integer
from ruda.tensor.sizes import whole


def ctc_loss(
    log_probs: Array, targets: Array, input_sizes: Array, target_sizes: Array, blank: int
) -> Array:
    """-log p(target) over all alignments: (time, batch, class), (batch, label) → (batch,).

    ``log_probs`` are logarithms of probabilities (``log_softmax``); of each sequence the first
    ``input_sizes`` steps and the first ``target_sizes`` labels count. Inf where there are too few
    steps. The forward recursion of Graves and others, "Connectionist temporal classification",
    2006, §4.1, on logarithms; halves in f32. Raises ShapeError, DTypeError, IndexRangeError for a
    label that is no class or is the blank.
    """
    dtype = dtype_of(log_probs)
    require_float("ctc_loss", dtype)
    sizes = _checked(log_probs, targets, input_sizes, target_sizes)
    blank = whole("ctc_loss", "the blank", blank)
    classes = log_probs.shape[2]
    if not 0 <= blank < classes:
        raise IndexRangeError(f"ctc_loss: blank {blank} is none of {classes} classes")
    counted = np.arange(targets.shape[1])[None, :] < sizes[1][:, None]
    labels = np.where(counted, targets, blank).astype(np.int64)
    check_indices("ctc_loss", labels, classes)
    if np.any(counted & ((labels == blank) | (labels < 0))):
        raise IndexRangeError(f"ctc_loss: labels are classes from 0 other than the blank, {blank}")
    wide = recast(log_probs, accumulator(dtype))
    with np.errstate(all="ignore"):
        found = _forward(wide, labels, sizes, blank)
    return recast(found, dtype)


def _checked(
    log_probs: Array, targets: Array, input_sizes: Array, target_sizes: Array
) -> tuple[Array, Array]:
    if log_probs.ndim != 3 or targets.ndim != 2 or targets.shape[0] != log_probs.shape[1]:
        raise ShapeError(
            f"ctc_loss: shapes {list(log_probs.shape)} and {list(targets.shape)}; expected (time, "
            f"batch, class) and (batch, label)"
        )
    require_integer("ctc_loss", dtype_of(targets))
    found = []
    for what, given, most in (
        ("input", input_sizes, log_probs.shape[0]),
        ("target", target_sizes, targets.shape[1]),
    ):
        require_integer("ctc_loss", dtype_of(given))
        if given.shape != (log_probs.shape[1],):
            raise ShapeError(
                f"ctc_loss: {what} sizes of shape {list(given.shape)}; expected one for each of "
                f"{log_probs.shape[1]} sequences"
            )
        if given.size and not 0 <= int(given.min()) <= int(given.max()) <= most:
            raise IndexRangeError(f"ctc_loss: {what} sizes are from 0 to {most}")
        found.append(given.astype(np.int64))
    return found[0], found[1]


def _forward(wide: Array, labels: Array, sizes: tuple[Array, Array], blank: int) -> Array:
    """Logarithms of the probability of each prefix of the target with blanks between, over time."""
    batch, states = len(labels), 2 * labels.shape[1] + 1
    path = np.full((batch, states), blank)
    path[:, 1::2] = labels
    # From a label to the next one without a blank only where they differ.
    skips = np.zeros((batch, states), np.bool_)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    every = np.arange(batch)[:, None]
    lowest = wide.dtype.type(-np.inf)
    alpha = np.full((batch, states), lowest)
    # Before the first step: one virtual state in front of the path, from which two can be entered.
    for time in range(wide.shape[0]):
        emitted = wide[time][every, path]
        if time == 0:
            entered = np.full_like(alpha, lowest)
            entered[:, :2] = 0
        else:
            entered = _into(alpha, skips, lowest)
        later = entered + emitted
        alpha = np.where((time < sizes[0])[:, None], later, alpha)
    last = 2 * sizes[1]
    ends = alpha[np.arange(batch), last]
    before = np.where(sizes[1] > 0, alpha[np.arange(batch), np.maximum(last - 1, 0)], lowest)
    total = np.logaddexp(ends, before)
    # Over no steps only the empty target is certain.
    return np.asarray(np.where(sizes[0] == 0, np.where(sizes[1] == 0, 0, np.inf), -total)).astype(
        wide.dtype
    )


def _into(alpha: Array, skips: Array, lowest: Array) -> Array:
    """The logarithm of what each state gets from itself, the one before, and over a blank."""
    one, two = np.full_like(alpha, lowest), np.full_like(alpha, lowest)
    one[:, 1:], two[:, 2:] = alpha[:, :-1], alpha[:, :-2]
    return np.logaddexp(np.logaddexp(alpha, one), np.where(skips, two, lowest))
