"""The cast of a recipe with the decisions for single tensors: keep, another dtype, or clamp."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from ruda.errors import AdapterError
from ruda.store.adapt import Chaining, IdentityAdapter, ModuleAdapter
from ruda.store.adapted import CastSource, cast_to
from ruda.store.piecewise import Array, source_blocks
from ruda.store.scales import FP8
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import CastCounts, DType, cast


class ClampedSource(CastSource):
    """A cast whose overflowing finite values become the largest of the target.

    They count as overflow all the same: they are not what they were. Inf and NaN are cast plainly.
    """

    def read(self) -> Array:
        """The values after the cast."""
        values, self.counts = self.clamped(self.source.read())
        return values

    def stream(self, size: int) -> Iterator[memoryview]:
        """The row-major bytes after the cast in pieces of about ``size``."""
        total = CastCounts()
        step = max(1, size // max(self.before.itemsize, self.after.itemsize))
        for block in source_blocks(self.source, self.before.carrier, step):
            values, counts = self.clamped(block)
            total += counts
            yield values.reshape(-1).view(np.uint8).data
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

    @property
    def name(self) -> str:
        """Name on rows: that of the cast without the decisions."""
        return self.inner.name

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """What is decided, else what the cast does. Raises AdapterError where it cannot be."""
        choice = self.choices.get(snapshot.key)
        if choice is None:
            return self.inner.adapt(snapshot)
        if choice.to is None:
            return snapshot
        if snapshot.dtype in FP8 and choice.to is not snapshot.dtype:
            raise AdapterError(
                f"{snapshot.dtype_label} values may need a scale from another tensor, and a cast "
                "of this one alone would lose it",
                key=snapshot.key,
            )
        return clamp_to(snapshot, choice.to) if choice.clamped else cast_to(snapshot, choice.to)

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """None: a cast renames nothing."""
        return None

    def reverse(self) -> ModuleAdapter:
        """That of the cast; what single tensors were is not known any more."""
        return self.inner.reverse() if not self.choices else IdentityAdapter()
