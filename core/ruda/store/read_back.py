"""What an independent reader finds in a file that was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ruda.tensor import DType


@dataclass(frozen=True, slots=True)
class FoundTensor:
    """One tensor as an independent reader sees it; ``offset`` counts from the file's start."""

    key: str
    dtype: DType | None
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    param_id: int | None = None
    strides: tuple[int, ...] | None = None
    """In elements; None: row-major."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """What an independent reader finds in a file. ``None``: the format has no place for it."""

    tensors: tuple[FoundTensor, ...]
    metadata: Mapping[str, str] | None
    blocks: tuple[FoundTensor, ...] | None = None
    """Where tensors share bytes: every run of bytes once, by the key of the first in it."""
    has_keys: bool = True
    """False for a file of one tensor that has no name."""
    scalars: Mapping[str, Any] = field(default_factory=dict)
