"""CompareReport: what two sets of tensors have in common and where they differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ruda.store.diff_rows import fold
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import Deviation


class Likeness(Enum):
    """The one status of a row of a comparison."""

    SAME = "same"
    CHANGED = "changed"
    LEFT = "only left"
    RIGHT = "only right"


@dataclass(frozen=True, slots=True, eq=False)
class CompareRow:
    """One key, and the tensor that each side has under it after its recipe."""

    likeness: Likeness
    left: TensorSnapshot | None = None
    right: TensorSnapshot | None = None
    reason: str = ""
    """Why it is changed, and what was left uncompared; empty for tensors that are the same."""
    deviation: Deviation | None = None
    """How the values differ; None where they were not compared."""

    @property
    def key(self) -> str:
        """Key of both, or of the one that is there."""
        found = self.left if self.left is not None else self.right
        return "" if found is None else found.key

    @property
    def family(self) -> str:
        """The key with every number folded to ``*``."""
        return fold(self.key)

    def as_data(self) -> dict[str, Any]:
        """The row as plain values, for JSON; a number that is not finite is null."""
        return {
            "status": self.likeness.value,
            "key": self.key,
            "reason": self.reason,
            "left": _side(self.left),
            "right": _side(self.right),
            "values": None if self.deviation is None else _figures(self.deviation, self.left),
        }


def _side(snapshot: TensorSnapshot | None) -> dict[str, Any] | None:
    if snapshot is None:
        return None
    return {
        "dtype": snapshot.dtype_label,
        "shape": list(snapshot.shape),
        "bytes": snapshot.nbytes,
        "trail": list(snapshot.trail),
    }


def _figures(found: Deviation, left: TensorSnapshot | None) -> dict[str, Any]:
    shape = () if left is None else left.shape
    return {
        "numel": found.numel,
        "changed": found.changed,
        "changed_share": found.changed_share,
        "beyond_tolerance": found.beyond,
        "max_absolute": finite(found.max_absolute),
        "mean_absolute": finite(found.mean_absolute),
        "rms": finite(found.rms),
        "cosine": found.cosine,
        "max_ulp": found.max_ulp,
        "nans": list(found.nans),
        "infs": list(found.infs),
        "first": [
            {
                "position": position_of(spot.offset, shape),
                "left": _number(spot.left),
                "right": _number(spot.right),
            }
            for spot in found.first
        ],
    }


def position_of(offset: int, shape: tuple[int, ...]) -> list[int]:
    """Index along every axis of the value at a row-major offset."""
    place = []
    for size in reversed(shape):
        offset, index = divmod(offset, max(size, 1))
        place.append(index)
    return place[::-1]


def finite(value: float) -> float | None:
    """The number, or None where JSON has no word for it."""
    return value if math.isfinite(value) else None


def _number(value: Any) -> Any:
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


@dataclass(frozen=True, eq=False)
class CompareReport:
    """Rows in the order of the left side, then what only the right side has, in its order."""

    rows: tuple[CompareRow, ...]
    left_name: str = "left"
    right_name: str = "right"
    values: bool = False
    """False where headers alone were compared: ``same`` then means the same dtype and shape."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = " ".join(f"{status.value}={count}" for status, count in self.counts.items())
        return f"<CompareReport {self.left_name} and {self.right_name}: {counts}>"

    def __str__(self) -> str:
        """Counts, every row that differs with its reason, and what was not looked at."""
        lines = [f"{self.left_name} and {self.right_name}", self.summary]
        lines += [
            f"  {row.likeness.value:<10} {row.key}" + (f": {row.reason}" if row.reason else "")
            for row in self.rows
            if row.likeness is not Likeness.SAME
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    @cached_property
    def counts(self) -> Mapping[Likeness, int]:
        """Number of rows of every status, none left out."""
        found = Counter(row.likeness for row in self.rows)
        return MappingProxyType({status: found.get(status, 0) for status in Likeness})

    @property
    def is_same(self) -> bool:
        """True if every tensor is on both sides and none is changed."""
        return self.counts[Likeness.SAME] == len(self.rows)

    @property
    def summary(self) -> str:
        """One line: the counts, and whether values were looked at."""
        words = ", ".join(f"{status.value} {count}" for status, count in self.counts.items())
        how = "values compared" if self.values else "structure only: values were not compared"
        return f"{words} ({how})"

    def of(self, *statuses: Likeness) -> tuple[CompareRow, ...]:
        """The rows of these statuses."""
        return tuple(row for row in self.rows if row.likeness in statuses)

    def as_data(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "left": self.left_name,
            "right": self.right_name,
            "values": self.values,
            "same": self.is_same,
            "counts": {status.value: count for status, count in self.counts.items()},
            "notes": list(self.notes),
            "rows": [row.as_data() for row in self.rows],
        }
