"""What quantized values are: the numbers their codes stand for, their scales, and their bytes.

Words and ranges are those of Burn's ``QuantScheme`` (all of its schemes are symmetric). Sources:
Burn's public source of August 2026; BitNet b1.58, section 3.1, for ``Calibration.ABS_MEAN``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ruda.errors import SettingError, ShapeError
from ruda.tensor.dtype import DType

NATIVE, NATIVE_PAIRS, WORDS = "Native", "PackedNative", "PackedU32"
_STORES = (NATIVE, NATIVE_PAIRS, WORDS)
# Ends of the range and bits of one code.
_VALUES: dict[str, tuple[float, float, int]] = {
    "Q8F": (-128, 127, 8),
    "Q8S": (-127, 127, 8),
    "Q4F": (-8, 7, 4),
    "Q4S": (-7, 7, 4),
    "Q2F": (-2, 1, 2),
    "Q2S": (-1, 1, 2),
    "E4M3": (-448, 448, 8),
    "E5M2": (-57344, 57344, 8),
    "E2M1": (-6, 6, 4),
}
_SCALES = {
    "F32": DType.F32,
    "F16": DType.F16,
    "BF16": DType.BF16,
    "UE8M0": DType.F8_E8M0,
    "UE4M3": DType.F8_E4M3FN,
}
_LARGEST = {"F16": 65504.0, "UE4M3": 448.0}
"""Largest numbers of the kinds of scales that a global scale may stand over."""
MAX_BLOCK_AXES, MAX_BLOCK_SIZE = 5, 255


class Calibration(Enum):
    """How the range that codes cover is found in values."""

    MIN_MAX = "min_max"
    """From the smallest to the largest value: nothing is cut off."""
    ABS_MEAN = "abs_mean"
    """From -γ to γ with γ the mean of |x|, for Q2S; what lies beyond becomes the last code."""


@dataclass(frozen=True, slots=True)
class QuantScheme:
    """How floats become codes: value = code · scale. Without arguments, Burn's default.

    Raises SettingError for a word that Burn does not have and for parts that do not go together.
    """

    value: str = "Q8F"
    """Kind of the codes: ``Q8F`` -128 to 127, ``Q8S`` ±127, ``Q4F`` -8 to 7, ``Q4S`` ±7, ``Q2F``
    -2 to 1, ``Q2S`` ±1; the floats ``E4M3`` ±448, ``E5M2`` ±57344, ``E2M1`` ±6."""
    scale: str = "F32"
    """Kind of the scales: ``F32``, ``F16``, ``BF16``, ``UE8M0`` (powers of two), ``UE4M3``."""
    block: tuple[int, ...] | None = None
    """Sizes of a block along the last axes, or None for one scale for the whole tensor."""
    has_global: bool = False
    """True if all scales of blocks are multiplied with one f32; for scales of f16 and UE4M3."""
    store: str = WORDS
    """How codes lie in bytes: ``Native`` (one each), ``PackedNative`` (two fp4), ``PackedU32``."""

    def __post_init__(self) -> None:
        _known("value", self.value, _VALUES)
        _known("scale", self.scale, _SCALES)
        _known("store", self.store, _STORES)
        if self.block is not None:
            object.__setattr__(self, "block", _checked_block(self.block))
        if self.has_global and (self.block is None or self.scale not in _LARGEST):
            raise SettingError(
                f"quant scheme: a global scale stands over scales of blocks in F16 or UE4M3, got "
                f"block={self.block}, scale={self.scale}"
            )
        if (self.store == NATIVE_PAIRS) != (self.value == "E2M1") or (
            self.is_float and self.store == WORDS
        ):
            raise SettingError(
                f"quant scheme: {self.value} is not stored as {self.store}; E2M1 is stored as "
                f"PackedNative, E4M3 and E5M2 as Native, whole numbers as Native or PackedU32"
            )

    @property
    def is_float(self) -> bool:
        """True for fp8 and fp4 codes."""
        return self.value.startswith("E")

    @property
    def low(self) -> float:
        """The least number that a code stands for."""
        return _VALUES[self.value][0]

    @property
    def high(self) -> float:
        """The greatest number that a code stands for."""
        return _VALUES[self.value][1]

    @property
    def bits(self) -> int:
        """Bits of one code where codes are packed."""
        return _VALUES[self.value][2]

    @property
    def scale_dtype(self) -> DType:
        """Element type that scales are stored in."""
        return _SCALES[self.scale]

    @property
    def largest_scale(self) -> float:
        """What the largest scale of a block becomes under a global one."""
        return _LARGEST[self.scale]

    @property
    def per_unit(self) -> int:
        """Codes that share a byte or a word."""
        return {NATIVE: 1, NATIVE_PAIRS: 2, WORDS: 32 // self.bits}[self.store]

    @property
    def unit_bytes(self) -> int:
        """Bytes of what is stored in one piece: a byte, or a word."""
        return 4 if self.store == WORDS else 1

    def grid(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Number of blocks along each axis of a tensor; ``(1,)`` for one scale.

        Raises ShapeError where blocks have more axes than the tensor, or do not divide it.
        """
        if self.block is None:
            return (1,)
        if len(self.block) > len(shape):
            raise ShapeError(
                f"quantize: blocks of {list(self.block)} have more axes than shape {list(shape)}"
            )
        sizes = self.sizes(len(shape))
        for axis, (size, block) in enumerate(zip(shape, sizes, strict=True)):
            if size % block:
                raise ShapeError(
                    f"quantize: shape {list(shape)} is no whole number of blocks of "
                    f"{list(self.block)}: {size} on axis {axis} is no multiple of {block}; pad it, "
                    f"or choose blocks that divide it"
                )
        return tuple(size // block for size, block in zip(shape, sizes, strict=True))

    def sizes(self, rank: int) -> tuple[int, ...]:
        """Sizes of a block along all axes; 1 along those before its own."""
        block = self.block or ()
        return (1,) * (rank - len(block)) + block

    def nbytes(self, shape: tuple[int, ...]) -> int:
        """Bytes of codes, scales and global scale of a tensor of this shape."""
        scales = math.prod(self.grid(shape)) * self.scale_dtype.itemsize
        return self.code_bytes(shape) + scales + 4 * self.has_global

    def code_bytes(self, shape: tuple[int, ...]) -> int:
        """Bytes of the codes alone: every row ends on a whole byte or word."""
        lines, row = math.prod(shape[:-1]), shape[-1] if shape else 1
        return lines * -(-row // self.per_unit) * self.unit_bytes


def _known(name: str, found: Any, known: Any) -> None:
    if not isinstance(found, str) or found not in known:
        raise SettingError(f"quant scheme: no {name} is called {found!r}; known: {' '.join(known)}")


def _checked_block(block: Any) -> tuple[int, ...]:
    sizes = tuple(block) if isinstance(block, tuple | list) else ()
    whole = all(type(size) is int and 0 < size <= MAX_BLOCK_SIZE for size in sizes)
    if not whole or not 0 < len(sizes) <= MAX_BLOCK_AXES:
        raise SettingError(
            f"quant scheme: a block is 1 to {MAX_BLOCK_AXES} sizes from 1 to {MAX_BLOCK_SIZE}, got "
            f"{block!r}"
        )
    return sizes
