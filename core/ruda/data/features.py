"""Feature: what one field of an item is; DatasetSummary: what a dataset says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ruda.tensor import DType


class FeatureKind(Enum):
    """How a field wants to be looked at."""

    IMAGE = "image"
    LABEL = "label"
    """A class number, an index into ``class_names``."""
    NUMBER = "number"
    ARRAY = "array"
    TEXT = "text"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Feature:
    """Kind, dtype and shape of one field; None where it differs from item to item."""

    kind: FeatureKind
    dtype: DType | None = None
    shape: tuple[int, ...] | None = None

    def __str__(self) -> str:
        parts = [self.kind.value]
        if self.dtype is not None:
            parts.append(str(self.dtype))
        if self.shape:
            parts.append(str(list(self.shape)))
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """What ``Dataset.describe`` returns; ``str()`` is one line for a person."""

    kind: str
    source_id: str
    length: int
    fingerprint: str
    features: Mapping[str, Feature] = field(default_factory=dict)
    class_names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        parts = [f"{self.length} {'item' if self.length == 1 else 'items'}"]
        parts += [f"{name}: {feature}" for name, feature in self.features.items()]
        if self.class_names is not None:
            parts.append(f"{len(self.class_names)} classes")
        return f"{self.source_id} ({self.kind}): {', '.join(parts)}"
