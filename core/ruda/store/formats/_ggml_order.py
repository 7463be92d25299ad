"""Blocks of GGML in big-endian files: where they have numbers of 16 bits, and turning those.

A block is a C struct, written as it lies in the memory of the machine. Only types whose other
parts are single bytes are known here. Some writers mark a file as big-endian and leave the scales
as they are; since scales of one tensor are of like size, that shows, and is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda.errors import HeaderError

Array = np.ndarray[Any, Any]

SWAPPED: dict[str, tuple[int, ...]] = {
    "q4_0": (0,),
    "q4_1": (0, 2),
    "q8_0": (0,),
    "q2_k": (80, 82),
    "q3_k": (108,),
    "q4_k": (0, 2),
    "q5_k": (0, 2),
    "q6_k": (208,),
    "iq4_nl": (0,),
    "iq4_xs": (0, 2),
    "tq1_0": (52,),
    "tq2_0": (64,),
    "mxfp4": (),
}
"""Where numbers of 16 bits begin in a block, the scale first; the rest are bytes."""
LEAST_BLOCKS = 16
"""Scales that a judgement of their order is made of."""
MARGIN = 3.0
"""How much closer together, in powers of two, scales have to be the other way round."""


def turned(blocks: Array, places: tuple[int, ...], label: str) -> Array:
    """A copy of blocks ``(blocks, bytes)`` whose 16-bit numbers are little-endian.

    Raises HeaderError if the scales look as if they were that before.
    """
    scales = np.ascontiguousarray(blocks[:, places[0] : places[0] + 2]).view(np.uint16).reshape(-1)
    if scales.size >= LEAST_BLOCKS and _spread(scales) + MARGIN < _spread(scales.byteswap()):
        raise HeaderError(
            f"the file is marked as big-endian, but the scales of its {label} blocks look "
            "little-endian; its writer did not turn them, convert the model again"
        )
    out = blocks.copy()
    for place in places:
        out[:, [place, place + 1]] = blocks[:, [place + 1, place]]
    return out


def _spread(words: Array) -> float:
    """Standard deviation of the exponents of some f16, without zeros; NaN and Inf count as far."""
    exponents = (words.astype(np.int32) & 0x7FFF) >> 10
    used = exponents[(words & 0x7FFF) != 0]
    return float(used.std()) if used.size else 0.0
