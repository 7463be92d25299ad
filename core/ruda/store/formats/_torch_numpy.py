"""NumPy arrays inside of pickles, where PyTorch put a tensor's values into one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ruda.errors import DTypeError, HeaderError, OffsetError, UnsupportedContentError
from ruda.store.filerange import MAX_RANK, count_elements
from ruda.store.formats._pickle_values import Opaque
from ruda.tensor import DType, Kind

_STATE_FIELDS = 5


def array_of(thing: Any) -> np.ndarray[Any, Any]:
    """The array that a pickle describes: version, shape, dtype, order and bytes.

    Copies nothing. Raises HeaderError for anything else, OffsetError where bytes and shape
    disagree, UnsupportedContentError for arrays of anything but numbers.
    """
    state = thing.state if isinstance(thing, Opaque) else None
    if not isinstance(state, tuple) or len(state) != _STATE_FIELDS:
        raise HeaderError("the values of a tensor are no NumPy array")
    _, shape, about, fortran, raw = state
    dtype = _dtype(about)
    if not isinstance(shape, tuple) or len(shape) > MAX_RANK or not isinstance(raw, bytes):
        raise HeaderError("a NumPy array has no shape or no bytes")
    if any(type(size) is not int or size < 0 for size in shape):
        raise OffsetError(f"a NumPy array has the shape {list(shape)}")
    if count_elements(shape, "a NumPy array") * dtype.itemsize != len(raw):
        raise OffsetError(f"a NumPy array has {len(raw)} bytes, but {dtype} {list(shape)} has more")
    flat = np.frombuffer(raw, dtype, math.prod(shape))
    return flat.reshape(shape[::-1]).T if fortran is True else flat.reshape(shape)


def _dtype(about: Any) -> np.dtype[Any]:
    code = about.args[0] if isinstance(about, Opaque) and about.args else None
    state = about.state if isinstance(about, Opaque) else None
    order = state[1] if isinstance(state, tuple) and len(state) > 1 else "<"
    if not isinstance(code, str) or not isinstance(order, str):
        raise HeaderError("a NumPy array has no dtype")
    kind, size = code[:1], code[1:]
    if kind not in ("f", "i", "u", "b", "c") or size not in ("1", "2", "4", "8", "16"):
        raise UnsupportedContentError(f"a NumPy array has the dtype {code[:20]!r}")
    try:
        return np.dtype(code).newbyteorder(">" if order == ">" else "<")
    except TypeError:
        raise UnsupportedContentError(f"a NumPy array has the dtype {code!r}") from None


def bytes_as(array: np.ndarray[Any, Any], dtype: DType) -> bytes:
    """Row-major little-endian bytes of the values in another dtype, converted as NumPy does."""
    try:
        if dtype.kind in (Kind.PACKED, Kind.QUANTIZED) or (
            array.dtype.kind == "c" and dtype.kind is not Kind.COMPLEX
        ):
            raise DTypeError("no values")
        with np.errstate(over="ignore", invalid="ignore"):
            return array.astype(dtype.numpy).tobytes()
    except (DTypeError, TypeError):
        raise UnsupportedContentError(
            f"a tensor of {dtype} has its values in a NumPy array of {array.dtype}"
        ) from None
