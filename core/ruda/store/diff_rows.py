"""One row of a load diff: what one tensor does, or what does not happen to it, and why."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol

from ruda.nn import ParamSpec
from ruda.progress import SILENT, Monitor
from ruda.store.moving import parts_in
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType, Kind

_DIGITS = re.compile(r"\d+")


class Status(Enum):
    """The one status of a row."""

    APPLIED = "applied"
    SKIPPED = "skipped"
    MISSING = "missing"
    UNUSED = "unused"
    ERROR = "error"


class Cause(Enum):
    """Why a row has its status."""

    TAKEN = "taken"
    FILTER = "filter"
    DECISION = "decision"
    NO_SOURCE = "no source"
    NO_TARGET = "no target"
    HARMLESS = "harmless"
    """Unused, and nothing is lost: a counter of PyTorch's training, a table that is computed, or
    another key of a tensor that is applied."""
    COLLISION = "collision"
    SHAPE = "shape"
    DTYPE = "dtype"
    KIND = "kind"
    """Integer against float and the like: no cast is offered for that."""
    ADAPTER = "adapter"
    LOAD = "load"
    """The bytes could not be read; only applying can find that out."""


class Flag(Enum):
    """What else is worth knowing of a row."""

    RENAMED = "renamed"
    TRANSPOSED = "transposed"
    CAST = "cast"
    UNPROVEN = "orientation unproven"
    """A square matrix of a Linear: its shape cannot show which way round it is."""
    SPLIT = "split"
    """The target takes a block of rows of the source; other targets take the others."""
    JOINED = "joined"
    """The target takes several sources."""
    PERMUTED = "permuted"
    SHAPED = "shaped"
    """Cut, padded or given another shape by a decision."""
    TAKEN = "taken"
    """A decision takes the tensor from another file."""
    MERGED = "merged"
    """Computed out of several tensors of the file, or multiplied with a scale."""
    TIED = "tied"
    """The file holds it as an alias of another tensor, or the target does."""
    PLACEHOLDER = "placeholder"
    """The file has an empty tensor where the target wants values."""
    HARMLESS = "harmless"
    COLLISION = "collision"


class Nearest(NamedTuple):
    """A source key that may have been meant, and how alike it is (1.0: the same)."""

    key: str
    score: float
    same_shape: bool


class NearestFinder(Protocol):
    """Looks for the sources that may have been meant for a target."""

    def of(self, target: ParamSpec) -> tuple[Nearest, ...]:
        """The best candidates, or nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class DiffRow:
    """Source, target and status of one row; everything that is shown derives from them.

    A pair has both sides; a missing row only a target, an unused row only a source, and a skipped
    row either or both.
    """

    status: Status
    cause: Cause
    source: TensorSnapshot | None = None
    """The tensor as the file has it."""
    adapted: TensorSnapshot | None = None
    """The tensor as the recipe makes it; reading it does the work."""
    target: ParamSpec | None = None
    detail: str = ""
    """The fact behind an error, for the reason."""
    finder: NearestFinder | None = field(default=None, repr=False)
    """Who knows, for a missing row, which sources may have been meant."""
    caution: bool = False
    """True for a square matrix whose orientation nothing proves."""
    others: tuple[TensorSnapshot, ...] = ()
    """Further tensors of the file that are joined with the source."""
    share: int = 1
    """Into how many rows the source is split."""

    @property
    def key(self) -> str:
        """The key that names the row: the target's, or the source's after the remap rules."""
        if self.target is not None:
            return self.target.key
        return "" if self.adapted is None else self.adapted.key

    @property
    def sources(self) -> tuple[TensorSnapshot, ...]:
        """All tensors of the file that the row is about."""
        return () if self.source is None else (self.source, *self.others)

    @property
    def merged_from(self) -> tuple[str, ...]:
        """Keys in the file of the tensors that a merge computes the sources out of; mostly none."""
        parts = (part.key for source in self.sources for part in parts_in(source.source))
        return tuple(dict.fromkeys(parts))

    @property
    def source_key(self) -> str | None:
        """Key in the file, before any step."""
        return None if self.source is None else self.source.key

    @property
    def renamed_key(self) -> str | None:
        """Key of the source after the recipe; the target's where there is a pair."""
        return None if self.adapted is None else self.adapted.key

    @property
    def target_key(self) -> str | None:
        """Key in the target."""
        return None if self.target is None else self.target.key

    @property
    def nearest(self) -> tuple[Nearest, ...]:
        """Unused sources that may have been meant for a missing target, the best first."""
        if self.finder is None or self.target is None:
            return ()
        return self.finder.of(self.target)

    @property
    def family(self) -> str:
        """The key with every number folded to ``*``."""
        return fold(self.key)

    @property
    def source_shape(self) -> tuple[int, ...] | None:
        """Shape in the file."""
        return None if self.source is None else self.source.shape

    @property
    def adapted_shape(self) -> tuple[int, ...] | None:
        """Shape after the recipe."""
        return None if self.adapted is None else self.adapted.shape

    @property
    def target_shape(self) -> tuple[int, ...] | None:
        """Shape that the target expects."""
        return None if self.target is None else self.target.shape

    @property
    def source_dtype(self) -> DType | None:
        """Element type in the file."""
        return None if self.source is None else self.source.dtype

    @property
    def adapted_dtype(self) -> DType | None:
        """Element type after the recipe."""
        return None if self.adapted is None else self.adapted.dtype

    @property
    def target_dtype(self) -> DType | None:
        """Element type that the target expects."""
        return None if self.target is None else self.target.dtype

    @property
    def numel(self) -> int:
        """Number of elements: the target's, or the source's where no target takes it."""
        if self.target is None:
            return 0 if self.source is None else self.source.numel
        return math.prod(self.target.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor in the file; for a missing one, bytes that the target wants.

        0 for a missing one that is quantized: the scheme decides, not the element type.
        """
        if self.source is not None:
            return sum(source.nbytes for source in self.sources) // self.share
        if self.target is None or self.target.dtype.kind is Kind.QUANTIZED:
            return 0
        return -(-self.numel * self.target.dtype.bits // 8)

    @property
    def containers(self) -> tuple[str, ...]:
        """Kinds of the modules that own it in the target, outermost first."""
        return () if self.target is None else self.target.containers

    @property
    def trail(self) -> tuple[str, ...]:
        """What the steps of the recipe did, in order: ``rename``, ``transpose 1,0``, …."""
        return () if self.adapted is None else self.adapted.trail

    @property
    def flags(self) -> frozenset[Flag]:
        """What else is worth knowing."""
        found: set[Flag] = set()
        for step in self.trail:
            found.add(_FLAG_OF_STEP.get(step.partition(" ")[0], Flag.RENAMED))
        if self.caution:
            found.add(Flag.UNPROVEN)
        if self.cause is Cause.HARMLESS:
            found.add(Flag.HARMLESS)
        if self.cause is Cause.COLLISION:
            found.add(Flag.COLLISION)
        if self.source is not None:
            if self.source.shared_with is not None:
                found.add(Flag.TIED)
            if self.source.numel == 0 and self.target is not None and self.numel:
                found.add(Flag.PLACEHOLDER)
        return frozenset(found)

    @property
    def reason(self) -> str:
        """One sentence that says why the row has its status."""
        sentence = self.detail or _SENTENCES[self.cause]
        if self.cause is Cause.TAKEN and self.trail:
            sentence = f"the target takes this tensor after: {'; '.join(self.trail)}"
        if self.caution:
            sentence += "; the matrix is square, so its shape cannot prove the orientation"
        return sentence

    def as_data(self) -> dict[str, Any]:
        """The row as plain values, for JSON."""
        return {
            "status": self.status.value,
            "cause": self.cause.value,
            "flags": sorted(flag.value for flag in self.flags),
            "family": self.family,
            "source_key": self.source_key,
            "other_source_keys": [source.key for source in self.others],
            "merged_from": list(self.merged_from),
            "target_key": self.target_key,
            "source_shape": _listed(self.source_shape),
            "adapted_shape": _listed(self.adapted_shape),
            "target_shape": _listed(self.target_shape),
            "source_dtype": _named(self.source_dtype),
            "adapted_dtype": _named(self.adapted_dtype),
            "target_dtype": _named(self.target_dtype),
            "bytes": self.nbytes,
            "trail": list(self.trail),
            "reason": self.reason,
            "containers": list(self.containers),
            "nearest": [n._asdict() for n in self.nearest],
        }


_FLAG_OF_STEP = {
    "rename": Flag.RENAMED,
    "transpose": Flag.TRANSPOSED,
    "cast": Flag.CAST,
    "split": Flag.SPLIT,
    "join": Flag.JOINED,
    "permute": Flag.PERMUTED,
    "clamp": Flag.CAST,
    "dequantize": Flag.CAST,
    "scale": Flag.MERGED,
    "merge": Flag.MERGED,
    "slice": Flag.SHAPED,
    "pad": Flag.SHAPED,
    "reshape": Flag.SHAPED,
    "take": Flag.TAKEN,
    "tied": Flag.TIED,
}

_SENTENCES = {
    Cause.TAKEN: "the target takes this tensor",
    Cause.FILTER: "the filter leaves it out",
    Cause.DECISION: "left out by your decision",
    Cause.NO_SOURCE: "nothing in the source; the target keeps its initial value",
    Cause.NO_TARGET: "in the source, wanted by nobody",
    Cause.HARMLESS: "a counter or a computed table of PyTorch's that no model needs: harmless",
    Cause.COLLISION: "two source tensors would become one",
    Cause.SHAPE: "the shapes differ",
    Cause.DTYPE: "the element types differ",
    Cause.KIND: "the kinds of number differ",
    Cause.ADAPTER: "the adapter cannot take it",
    Cause.LOAD: "the values cannot be read",
}


def fold(key: str) -> str:
    """The key with every number folded to ``*``: the family it belongs to."""
    return _DIGITS.sub("*", key)


FOLDED_AT_ONCE = 8192
"""Keys that are folded as one text: other threads run in between."""


def fold_all(keys: Sequence[str], *, monitor: Monitor = SILENT) -> list[str]:
    """The family of every key, in order; ``monitor`` may stop it every few thousand keys."""
    found: list[str] = []
    for start in range(0, len(keys), FOLDED_AT_ONCE):
        monitor.check()
        found += _folded(keys[start : start + FOLDED_AT_ONCE])
    return found


def _folded(keys: Sequence[str]) -> list[str]:
    text = "\n".join(keys)
    folded = (_fold_plain(text) if text.isascii() and _MARK not in text else fold(text)).split("\n")
    return folded if len(folded) == len(keys) else [fold(key) for key in keys]


_MARK = "\0"
_MARKED = str.maketrans("0123456789", _MARK * 10)


def _fold_plain(text: str) -> str:
    """``fold`` of ASCII without the mark: four times as fast as the regex on long texts."""
    text = text.translate(_MARKED)
    while _MARK * 2 in text:
        text = text.replace(_MARK * 2, _MARK)
    return text.replace(_MARK, "*")


def _listed(shape: tuple[int, ...] | None) -> list[int] | None:
    return None if shape is None else list(shape)


def _named(dtype: DType | None) -> str | None:
    return None if dtype is None else str(dtype)
