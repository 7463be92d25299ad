"""Which element types floats are cast between, and the words for them."""

from __future__ import annotations

from ruda.errors import DTypeError
from ruda.tensor import DType

CASTABLE = (DType.F64, DType.F32, DType.FLEX32, DType.F16, DType.BF16)
"""Floats that carry their own scale. fp8 is left out: it means nothing without its scales."""

CAST_TARGETS = (*CASTABLE, DType.F8_E4M3FN, DType.F8_E5M2, DType.I8)
"""What floats can be cast to.

i8 gets one scale per channel, as ``int8_per_channel``: whole numbers mean nothing without. 8-bit
floats get none. They have a range of their own, and programs that scale them each do it their way
(per tensor, per block of 128, multiplied or divided); values beyond it are counted as overflow.
"""


def cast_target(name: str) -> DType:
    """The type that a cast names, such as ``bf16``.

    Raises DTypeError for a word that is no type, with those that floats can be cast to; a type that
    they cannot be cast to is refused by the cast itself.
    """
    try:
        return DType.parse(name)
    except DTypeError:
        known = ", ".join(str(dtype) for dtype in CAST_TARGETS)
        raise DTypeError(f"no dtype is called {name!r}; floats can be cast to {known}") from None
