"""``np.matmul`` whose sums keep their digits, whatever the memory order of what goes in.

NumPy hands matrices to BLAS only where their rows or columns lie on end in memory. Others, such as
an expanded axis, go through a loop of its own that adds one product after the other: eight million
tenths of f32 become 837,937. And BLAS itself adds so where one side is a vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda.tensor.operations.operands import Array, common_shape
from ruda.tensor.operations.sums import added

_BLOCK = 1024
"""Products that a vector adds up one after the other; the sums of blocks are added pairwise."""
_COPIED_AT_ONCE = 1 << 22
"""Elements of an operand that are laid out anew at a time: views may be of any size."""


def product(left: Array, right: Array) -> Array:
    """(…, n, k) @ (…, k, m) → (…, n, m), or vectors, of one dtype and of shapes that fit.

    Integers wrap around.
    """
    if left.dtype.kind not in "fc":
        return np.asarray(np.matmul(left, right))
    a = left[None] if left.ndim == 1 else left
    b = right[:, None] if right.ndim == 1 else right
    if _packed(a) and _packed(b):
        found = _blocked(a, b)
    else:
        batch = common_shape("matmul", a.shape[:-2], b.shape[:-2])
        found = np.empty((*batch, a.shape[-2], b.shape[-1]), left.dtype)
        _fill(_wide(a, batch), _wide(b, batch), found)
    found = found[..., 0] if right.ndim == 1 else found
    if left.ndim == 1:
        found = found[..., 0, :] if right.ndim > 1 else found[..., 0]
    return np.asarray(found)


def _wide(values: Array, batch: tuple[int, ...]) -> Array:
    return np.broadcast_to(values, (*batch, *values.shape[-2:]))


def _packed(values: Array) -> bool:
    """Whether the rows or the columns of each matrix lie on end, as BLAS takes them."""
    if values.flags.c_contiguous:
        return True
    item = values.itemsize
    rows, columns = values.shape[-2:]
    down, across = values.strides[-2:]
    if rows == 1 or columns == 1:
        return (across if rows == 1 else down) == item or rows == columns
    if across == item:
        return down >= columns * item and not down % item
    return down == item and across >= rows * item and not across % item


def _blocked(a: Array, b: Array) -> Array:
    """The product of packed matrices: a long sum for a vector is one of several short ones."""
    inner = b.shape[-2]
    if inner <= _BLOCK or (a.shape[-2] != 1 and b.shape[-1] != 1):
        return np.asarray(np.matmul(a, b))
    count = inner // _BLOCK
    whole = count * _BLOCK
    lead = a[..., :whole].reshape(*a.shape[:-1], count, _BLOCK).swapaxes(-3, -2)
    follow = b[..., :whole, :].reshape(*b.shape[:-2], count, _BLOCK, b.shape[-1])
    found = added(np.matmul(lead, follow), (-3 % max(lead.ndim, follow.ndim),))
    if whole < inner:
        found += np.matmul(a[..., whole:], b[..., whole:, :])
    return found


def _fill(a: Array, b: Array, out: Array) -> None:
    """Write the product into ``out``, in pieces of which the copies have a bound."""
    if not out.size:
        return
    heavy = [one for one in (a, b) if not _packed(one) and _own(one).size > _COPIED_AT_ONCE]
    if not heavy:
        out[...] = _blocked(*(one if _packed(one) else _laid_out(one) for one in (a, b)))
    elif (axis := _held_axis(heavy[0])) is not None:
        for part in _halves(out.shape[axis], axis):
            _fill(a[part], b[part], out[part])
    elif heavy[0] is a and out.shape[-2] > 1:
        for part in _halves(out.shape[-2], 0):
            _fill(a[(..., *part, slice(None))], b, out[(..., *part, slice(None))])
    elif heavy[0] is b and out.shape[-1] > 1:
        for part in _halves(out.shape[-1], 0):
            _fill(a, b[(..., *part)], out[(..., *part)])
    else:
        first, second = _halves(b.shape[-2], 0)
        _fill(a[(..., *first)], b[(..., *first, slice(None))], out)
        rest = np.empty_like(out)
        _fill(a[(..., *second)], b[(..., *second, slice(None))], rest)
        out += rest


def _held_axis(values: Array) -> int | None:
    """The longest axis in front of the matrices of which no item repeats another."""
    sizes = [
        size if step else 1 for size, step in zip(values.shape[:-2], values.strides, strict=False)
    ]
    return sizes.index(max(sizes)) if max(sizes, default=1) > 1 else None


def _halves(size: int, axis: int) -> tuple[Any, Any]:
    """Indices of the two halves of an axis, the first a number of whole blocks where it can be."""
    middle = size // 2
    middle -= middle % _BLOCK if middle > _BLOCK else 0
    front = (slice(None),) * axis
    return (*front, slice(0, middle)), (*front, slice(middle, None))


def _own(values: Array) -> Array:
    """The values without what is only repeated along the axes in front."""
    repeated = [
        slice(0, 1) if not step and size > 1 else slice(None)
        for size, step in zip(values.shape[:-2], values.strides, strict=False)
    ]
    return values[tuple(repeated)]


def _laid_out(values: Array) -> Array:
    return np.broadcast_to(np.ascontiguousarray(_own(values)), values.shape)
