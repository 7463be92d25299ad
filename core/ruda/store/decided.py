"""The cast of a recipe with the decisions for single tensors: keep, another dtype, or clamp."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import ml_dtypes
import numpy as np

from ruda.errors import AdapterError
from ruda.store.adapt import Chaining, IdentityAdapter, ModuleAdapter, key_depth
from ruda.store.adapted import CastSource, cast_to
from ruda.store.half import FloatCastAdapter
from ruda.store.patterns import compile_pattern
from ruda.store.piecewise import Array, source_blocks
from ruda.store.scales import FP8
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import CastCounts, DType, Kind, cast


class ClampedSource(CastSource):
    """A cast whose overflowing finite values become the largest of the target.

    They count as overflow all the same: they are not what they were. Inf and NaN are cast plainly.
    """

    def read(self) -> Array:
        """The values after the cast."""
        values, self.counts = self.clamped(self.source.read())
        return values

    def stream(self, size: int) -> Iterator[memoryview]:
        """As CastSource."""
        total, seen = CastCounts(), 0
        step = max(1, size // max(self.before.itemsize, self.after.itemsize))
        for block in source_blocks(self.source, self.before.carrier, step):
            values, counts = self.clamped(block)
            total += counts
            seen += block.nbytes
            yield values.reshape(-1).view(np.uint8).data
        self._require_all(seen)
        self.counts = total

    def clamped(self, values: Array) -> tuple[Array, CastCounts]:
        """Values of the dtype before in the dtype after."""
        out, counts = cast(values, self.before, self.after)
        if not counts.overflow:
            return out, counts
        with np.errstate(all="ignore"):
            wide = values.astype(np.float64)
            lost = np.isfinite(wide) & ~np.isfinite(out.astype(np.float64))
            out = np.array(out)
            limit = float(ml_dtypes.finfo(self.after.numpy).max)  # type: ignore[no-untyped-call]
            out[lost] = np.copysign(limit, wide[lost]).astype(self.after.numpy)
        return out, counts


def clamp_to(snapshot: TensorSnapshot, dtype: DType) -> TensorSnapshot:
    """The tensor in another float, overflowing values clamped; the trail says ``clamp f16``.

    Raises AdapterError for dtypes that are not plain numbers.
    """
    plain = cast_to(snapshot, dtype)
    if plain is snapshot:
        return snapshot
    return replace(
        plain,
        source=ClampedSource(snapshot.source, snapshot.dtype, dtype, snapshot.nbytes),
        trail=(*snapshot.trail, f"clamp {dtype}"),
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """The dtype that is decided for one tensor; None keeps its own."""

    to: DType | None = None
    clamped: bool = False


@dataclass(frozen=True)
class DecidedCast(Chaining):
    """An adapter for dtypes, except for tensors about which something else is decided."""

    inner: ModuleAdapter
    choices: Mapping[str, Choice]
    rules: tuple[tuple[str, Choice], ...] = ()
    """For tensors without a choice of their own: regexes, of which the first that is found counts.
    Unlike a choice they leave integers and bools alone."""
    broad: bool = False
    """True if choices are made for tensors that no decision of the recipe names."""

    @property
    def name(self) -> str:
        """Name on rows: that of the cast without the decisions."""
        return self.inner.name

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """What is decided, else what the cast does. Raises AdapterError where it cannot be."""
        choice = self.choices.get(snapshot.key)
        if choice is None:
            return self._ruled(snapshot)
        if choice.to is None:
            return snapshot
        return self._chosen(snapshot, choice, choice.to)

    def decides(self, key: str) -> bool:
        """True if a choice or a rule is about the key."""
        return self._choice(key) is not None

    def also_for(self, key: str, others: Iterable[str]) -> DecidedCast:
        """This, with what is decided for ``key`` decided for the others, too."""
        choice = self._choice(key)
        if choice is None:
            return self
        return replace(self, choices={**self.choices, **dict.fromkeys(others, choice)})

    def _choice(self, key: str) -> Choice | None:
        found = self.choices.get(key)
        return found or next((c for search, c in self._searches if search(key)), None)

    def _ruled(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """What the first rule that fits says, else what the cast does."""
        choice = next((c for search, c in self._searches if search(snapshot.key)), None)
        if choice is None:
            return self.inner.adapt(snapshot)
        is_float = snapshot.dtype.is_float
        if choice.to is None or not (is_float or snapshot.dtype.kind is Kind.QUANTIZED):
            return snapshot
        if is_float and (choice.clamped or snapshot.dtype in FP8):
            return self._chosen(snapshot, choice, choice.to)
        return FloatCastAdapter(choice.to).adapt(snapshot)

    @cached_property
    def _searches(self) -> tuple[tuple[Callable[[str], object], Choice], ...]:
        return tuple((compile_pattern(p, "policy").search, choice) for p, choice in self.rules)

    def _chosen(self, snapshot: TensorSnapshot, choice: Choice, to: DType) -> TensorSnapshot:
        """The tensor in the dtype that is decided. Raises AdapterError."""
        if snapshot.dtype in FP8 and to is not snapshot.dtype:
            raise AdapterError(
                f"{snapshot.dtype_label} values may need a scale from another tensor, and a cast "
                "of this one alone would lose it",
                key=snapshot.key,
            )
        return clamp_to(snapshot, to) if choice.clamped else cast_to(snapshot, to)

    def depth(self) -> int | None:
        """That of the cast; whoever asks has to look at the tensors of ``choices`` themselves."""
        return None if self.rules or self.broad else key_depth(self.inner)

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """None: a cast renames nothing."""
        return None

    def reverse(self) -> ModuleAdapter:
        """That of the cast; what single tensors were is not known any more."""
        return self.inner.reverse() if not (self.choices or self.rules) else IdentityAdapter()
