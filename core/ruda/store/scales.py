"""Tensors that no cast may take blindly: scaled ones, and whole numbers stored as floats."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

FLOAT8 = frozenset({DType.F8_E4M3FN, DType.F8_E5M2, DType.F8_E4M3FNUZ, DType.F8_E5M2FNUZ})
FP8 = FLOAT8 | {DType.F4_E2M1}
"""Floats so short that most files scale them."""

_SUFFIXES = ("_scale_inv", "_scale", ".scale_weight", ".scale", ".weight_scale")
"""What the key of a scale adds to that of its tensor."""


_COUNTS = re.compile(
    r"(?:^|[._])(?:num_batches_tracked|position_ids|token_type_ids|step|"
    r"relative_position_index|input_ids|indices|lengths?)$"
)
"""Names of tensors that count or number things."""


def counts_things(key: str) -> bool:
    """True for a key whose tensor holds whole numbers by its name, whatever its element type."""
    return _COUNTS.search(key) is not None


def scale_key(key: str, keys: Container[str]) -> str | None:
    """Key of the scale of a tensor, if one of the usual names of it is among ``keys``.

    ``w.weight_scale_inv`` and ``w.weight_scale`` belong to ``w.weight``, ``w.scale_weight`` too.
    """
    stem, _, last = key.rpartition(".")
    prefix = f"{stem}." if stem else ""
    for name in (*(key + suffix for suffix in _SUFFIXES), f"{prefix}scale_{last}"):
        if name != key and name in keys:
            return name
    return None


def scale_of(key: str, index: Mapping[str, TensorSnapshot]) -> str | None:
    """Key of the scale of a short float or an 8-bit integer; None for any other tensor."""
    snapshot = index.get(key)
    if snapshot is None or (snapshot.dtype not in FP8 and snapshot.dtype is not DType.I8):
        return None
    found = scale_key(key, index)
    return found if found is not None and index[found].dtype.is_float else None


def protected_keys(index: Mapping[str, TensorSnapshot]) -> dict[str, str]:
    """Tensors that need a scale, with its key, and the scales: neither is cast by itself.

    A cast of the values loses the scale; one of the scale loses what it multiplies.
    """
    found: dict[str, str] = {}
    for key in index:
        scale = scale_of(key, index)
        if scale is not None:
            found[key] = found[scale] = scale
    return found
