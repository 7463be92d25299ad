"""Whole numbers and shapes as callers give them, checked before NumPy sees them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np

from ruda._kernels import shown_number
from ruda.errors import DTypeError, ShapeError
from ruda.tensor.dtype import DType

MOST_AXES = 64
_MOST_BYTES = 2**63 - 1


def whole(name: str, what: str, value: Any) -> int:
    """A whole number of any integer type, as an int. Raises DTypeError for anything else."""
    try:
        return index(value)
    except TypeError:
        raise DTypeError(f"{name}: {what} is a whole number, got {value!r}") from None


def switch(name: str, what: str, value: Any) -> bool:
    """True or False. Raises DTypeError for anything else, which Python would take for one."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise DTypeError(f"{name}: {what} is True or False, got {value!r}")


def number(name: str, what: str, value: Any) -> float:
    """A real number of any type, as a float. Raises DTypeError for anything else."""
    try:
        if isinstance(value, int | float | np.integer | np.floating):
            return float(value)
    except OverflowError:
        pass
    shown = shown_number(value) if isinstance(value, int | float) else repr(value)
    raise DTypeError(f"{name}: {what} is a real number within f64, got {shown}")


def reach(name: str, what: str, value: Any, sizes: tuple[int, ...]) -> int:
    """How far a diagonal is moved in matrices of these sizes: not beyond them."""
    far = max(sizes, default=0)
    return max(-far, min(far, whole(name, what, value)))


def shape_of(name: str, shape: Any, dtype: DType | np.dtype[Any]) -> tuple[int, ...]:
    """A shape, also given as one size.

    Raises ShapeError where no array can have it, DTypeError for sizes that are not whole.
    """
    given = shape if isinstance(shape, Iterable) and not isinstance(shape, str) else (shape,)
    sizes = tuple(whole(name, "a size", size) for size in given)
    if any(size < 0 for size in sizes):
        raise ShapeError(
            f"{name}: shape {shown_sizes(sizes)} has a negative size; sizes are 0 or more"
        )
    require_room(name, sizes, dtype)
    return sizes


def sizes_of(name: str, given: Any, what: str = "a size") -> tuple[int, ...]:
    """Several whole numbers. Raises DTypeError for one alone, and for what is not whole."""
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise DTypeError(f"{name}: expected several whole numbers, got {given!r}")
    return tuple(whole(name, what, size) for size in given)


def require_room(name: str, sizes: tuple[int, ...], dtype: DType | np.dtype[Any]) -> None:
    """Raise ShapeError for more axes or bytes than an array can have, also one without memory."""
    if len(sizes) > MOST_AXES:
        raise ShapeError(f"{name}: {len(sizes)} axes; an array has at most {MOST_AXES}")
    # NumPy counts without the axes of size 0, which make everything empty.
    if math.prod(size for size in sizes if size) * dtype.itemsize > _MOST_BYTES:
        raise ShapeError(
            f"{name}: shape {shown_sizes(sizes)} of {dtype} takes more bytes than have an address"
        )


def shown_sizes(sizes: Iterable[int]) -> str:
    """A shape in a sentence."""
    return f"[{', '.join(map(shown_number, sizes))}]"
