"""The element types of GGML: plain ones, and blocks of quantised values that share a scale.

Numbers, elements per block and bytes per block are those of ``ggml.h``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ruda.tensor import DType


@dataclass(frozen=True, slots=True)
class GgmlType:
    """One element type: ``block`` elements lie in ``block_bytes`` bytes."""

    number: int
    label: str
    """Lower case, as in file names and JSON: ``q4_0``."""
    block: int
    block_bytes: int
    dtype: DType = DType.GGML
    """The plain dtype of the same values, or GGML for blocks."""


@dataclass(frozen=True, slots=True)
class GgmlBlocks:
    """Scheme of a block-quantised tensor: which blocks, and in which byte order its file is."""

    type: GgmlType
    big_endian: bool = False

    @property
    def label(self) -> str:
        """Name of the element type: ``q4_0``."""
        return self.type.label


_PLAIN = (
    (0, DType.F32),
    (1, DType.F16),
    (24, DType.I8),
    (25, DType.I16),
    (26, DType.I32),
    (27, DType.I64),
    (28, DType.F64),
    (30, DType.BF16),
)
_BLOCKS = (
    (2, "q4_0", 32, 18),
    (3, "q4_1", 32, 20),
    (6, "q5_0", 32, 22),
    (7, "q5_1", 32, 24),
    (8, "q8_0", 32, 34),
    (9, "q8_1", 32, 40),
    (10, "q2_k", 256, 84),
    (11, "q3_k", 256, 110),
    (12, "q4_k", 256, 144),
    (13, "q5_k", 256, 176),
    (14, "q6_k", 256, 210),
    (15, "q8_k", 256, 292),
    (16, "iq2_xxs", 256, 66),
    (17, "iq2_xs", 256, 74),
    (18, "iq3_xxs", 256, 98),
    (19, "iq1_s", 256, 50),
    (20, "iq4_nl", 32, 18),
    (21, "iq3_s", 256, 110),
    (22, "iq2_s", 256, 82),
    (23, "iq4_xs", 256, 136),
    (29, "iq1_m", 256, 56),
    (34, "tq1_0", 256, 54),
    (35, "tq2_0", 256, 66),
    (39, "mxfp4", 32, 17),
    (40, "nvfp4", 64, 36),
    (41, "q1_0", 128, 18),
)
REMOVED = {
    4: "q4_2",
    5: "q4_3",
    31: "q4_0_4_4",
    32: "q4_0_4_8",
    33: "q4_0_8_8",
    36: "iq4_nl_4_4",
    37: "iq4_nl_4_8",
    38: "iq4_nl_8_8",
}
"""Types that GGML itself no longer reads."""

GGML_TYPES: dict[int, GgmlType] = {
    **{n: GgmlType(n, d.label, 1, d.itemsize, d) for n, d in _PLAIN},
    **{n: GgmlType(n, label, block, size) for n, label, block, size in _BLOCKS},
}
