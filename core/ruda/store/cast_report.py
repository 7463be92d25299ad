"""ConversionReport: what casts and merges do to the values of every tensor, before writing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ruda import _kernels
from ruda.errors import RudaError
from ruda.progress import SILENT, Monitor, Progress
from ruda.store.adapted import CastSource
from ruda.store.compare_report import finite
from ruda.store.converting import convert
from ruda.store.decided import ClampedSource
from ruda.store.deciding import protected_by
from ruda.store.diff_rows import fold
from ruda.store.index import TensorIndex
from ruda.store.int8 import Int8Source, rows_of
from ruda.store.merging import left_unmerged
from ruda.store.moving import parts_in, remarks_in
from ruda.store.piecewise import BLOCK_ELEMENTS, Array, source_blocks
from ruda.store.recipe import Recipe
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.store.targets import Target
from ruda.store.writer import SaveResult
from ruda.tensor import CastCounts, DType, Tensor, cast, is_computable


@dataclass(frozen=True, slots=True)
class CastErrors:
    """How far values lie from what they were before a cast; add those of blocks with ``+``.

    Errors are over values that are finite before and after: ``finite`` of them. ``exact`` counts
    values that a cast back gives unchanged, NaN for NaN included; ``whole`` those that are whole
    numbers before the cast.
    """

    numel: int = 0
    exact: int = 0
    finite: int = 0
    max_absolute: float = 0.0
    total_squares: float = 0.0
    value_squares: float = 0.0
    whole: int = 0

    def __add__(self, other: CastErrors) -> CastErrors:
        return CastErrors(
            self.numel + other.numel,
            self.exact + other.exact,
            self.finite + other.finite,
            max(self.max_absolute, other.max_absolute),
            self.total_squares + other.total_squares,
            self.value_squares + other.value_squares,
            self.whole + other.whole,
        )

    @property
    def rounds_whole(self) -> bool:
        """True if all values are whole numbers, as of a counter, and not all of them stay so."""
        return self.whole == self.numel and self.exact < self.numel

    @property
    def relative_rms(self) -> float:
        """Root mean square of the error over that of the values; 0.0 where all is zero."""
        if not self.total_squares:
            return 0.0
        if not self.value_squares:
            return math.inf
        return math.sqrt(self.total_squares / self.value_squares)

    @classmethod
    def of(cls, before: Array, after: Array) -> CastErrors:
        """Errors of one block; both sides in dtypes that NumPy computes with."""
        with np.errstate(all="ignore"):
            x, y = _wide(before), _wide(after)
            sane = np.isfinite(x) & np.isfinite(y)
            error = np.where(sane, np.abs(x - y), 0.0)
            same = _equal(before, after, x, y)
            return cls(
                numel=before.size,
                exact=int(np.count_nonzero(same)),
                finite=int(np.count_nonzero(sane)),
                max_absolute=float(error.max(initial=0.0)),
                total_squares=float(np.square(error).sum()),
                value_squares=float(np.square(np.where(sane, np.abs(x), 0.0)).sum()),
                whole=int(np.count_nonzero(x == np.rint(x))),
            )


def _equal(before: Array, after: Array, x: Array, y: Array) -> Array:
    """Where both are one number or both NaN; ``x`` and ``y`` are they in float64."""
    kinds = [DType.from_numpy(side.dtype) for side in (before, after)]
    if {DType.I64, DType.U64} & set(kinds) and all(map(is_computable, kinds)):
        # float64 has not all of these integers; tensors compare them exactly.
        return Tensor(before).equal(Tensor(after)).numpy()
    same: Array = (x == y) | (np.isnan(x) & np.isnan(y))
    return same


def _wide(values: Array) -> Array:
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


@dataclass(frozen=True, slots=True)
class ConversionRow:
    """What happens to the values of one tensor."""

    key: str
    before: str
    """Element type in the file."""
    after: str
    """Element type that will be written."""
    bytes_before: int
    bytes_after: int
    counts: CastCounts = field(default_factory=CastCounts)
    errors: CastErrors = field(default_factory=CastErrors)
    is_cast: bool = False
    clamped: bool = False
    sampled: bool = False
    """True if only the first values were looked at."""
    refused: str = ""
    """Why it cannot be cast, or is left alone though the recipe casts; empty otherwise."""
    merged_from: tuple[str, ...] = ()
    """Keys in the file of the tensors that a merge computes it out of; mostly none."""
    remarks: tuple[str, ...] = ()
    """Sentences on values that a merge makes infinite or NaN."""

    @property
    def family(self) -> str:
        """The key with every number folded to ``*``."""
        return fold(self.key)

    @property
    def is_changed(self) -> bool:
        """True if its values are computed, by a cast or a merge."""
        return self.is_cast or bool(self.merged_from)

    @property
    def is_harmed(self) -> bool:
        """True if a value overflows: it becomes infinite, NaN, or is clamped."""
        return self.counts.overflow > 0

    @property
    def is_loud(self) -> bool:
        """True if it is worth a look: values overflow, vanish or fade, or it is refused."""
        lossy = not self.counts.clean or self.counts.subnormal > 0 or bool(self.remarks)
        return bool(self.refused) or lossy or self.errors.rounds_whole

    @property
    def is_lost(self) -> bool:
        """True if a value becomes infinite or NaN: by a merge, or by a cast that does not clamp."""
        return bool(self.remarks) or (self.is_harmed and not self.clamped)

    def as_data(self) -> dict[str, Any]:
        """The row as plain values, for JSON; a number that is not finite is null."""
        return {
            "key": self.key,
            "before": self.before,
            "after": self.after,
            "cast": self.is_cast,
            "clamped": self.clamped,
            "sampled": self.sampled,
            "refused": self.refused or None,
            "merged_from": list(self.merged_from),
            "remarks": list(self.remarks),
            "numel": self.errors.numel,
            "exact": self.errors.exact,
            "max_absolute": finite(self.errors.max_absolute),
            "relative_rms": finite(self.errors.relative_rms),
            "rounds_whole_numbers": self.errors.rounds_whole,
            "overflow": self.counts.overflow,
            "underflow": self.counts.underflow,
            "subnormal": self.counts.subnormal,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
        }


@dataclass(frozen=True, eq=False)
class ConversionReport:
    """One row per tensor of the new file, in its order; nothing was written."""

    rows: tuple[ConversionRow, ...]
    notes: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    """Sentences on tensors that a merge of the recipe leaves as they are; among the notes, too."""

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  {row.key}: {describe(row)}" for row in self.rows if row.is_changed]
        lines += [f"  {row.key}: {row.refused}" for row in self.rows if row.refused]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    @property
    def bytes_before(self) -> int:
        """Bytes of all tensors as the file has them."""
        return sum(row.bytes_before for row in self.rows)

    @property
    def bytes_after(self) -> int:
        """Bytes of all tensors as they will be written."""
        return sum(row.bytes_after for row in self.rows)

    @property
    def counts(self) -> CastCounts:
        """What all casts together do."""
        total = CastCounts()
        for row in self.rows:
            total += row.counts
        return total

    @property
    def is_harmless(self) -> bool:
        """True if no value overflows or is lost by a merge, and nothing is refused or left."""
        return not self.unmerged and not any(
            row.is_harmed or row.is_lost or row.refused for row in self.rows
        )

    @property
    def fits(self) -> bool:
        """True if no value becomes infinite or NaN, and every merge that is asked for is done."""
        return not self.unmerged and not any(row.is_lost for row in self.rows)

    @property
    def summary(self) -> str:
        """One line: how many tensors are cast and merged, and what that loses."""
        cast_rows = [row for row in self.rows if row.is_cast]
        merged_rows = [row for row in self.rows if row.merged_from]
        counts = self.counts
        text = (
            f"{len(cast_rows)} of {len(self.rows)} tensors cast, {self.bytes_before} to "
            f"{self.bytes_after} bytes; overflow {counts.overflow}, to zero {counts.underflow}, "
            f"subnormal {counts.subnormal}"
        )
        if merged_rows or self.unmerged:
            lost = sum(bool(row.remarks) for row in merged_rows)
            text += f"; {len(merged_rows)} merged, {lost} of them with values lost"
        return f"{text}, {len(self.unmerged)} not merged" if self.unmerged else text

    def as_data(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "harmless": self.is_harmless,
            "notes": list(self.notes),
            "unmerged": list(self.unmerged),
            "rows": [row.as_data() for row in self.rows],
        }


def describe(row: ConversionRow) -> str:
    """What a cast or a merge does to one tensor, in words and figures."""
    first = " (the first values only)" if row.sampled else ""
    if not row.merged_from:
        return _cast_text(row) + first
    lost = "; ".join(row.remarks) or "no value is lost by that"
    merge = f"computed out of {', '.join(map(repr, row.merged_from))}: {lost}"
    return (f"{merge}; {_cast_text(row)}" if row.is_cast else merge) + first


def _cast_text(row: ConversionRow) -> str:
    errors, counts = row.errors, row.counts
    text = (
        f"{row.before} to {row.after}: max error {errors.max_absolute:.3g}, relative rms "
        f"{errors.relative_rms:.3g}, exact {errors.exact} of {errors.numel}"
    )
    losses = {
        "clamped" if row.clamped else "overflow": counts.overflow,
        "to zero": counts.underflow,
        "subnormal": counts.subnormal,
    }
    text += "".join(f", {name} {count}" for name, count in losses.items() if count)
    if errors.rounds_whole:
        text += ", all whole numbers, of which some are rounded"
    return text


def conversion_report(
    source: TensorIndex,
    recipe: Recipe,
    *,
    target: Target | None = None,
    sample: int | None = None,
    monitor: Monitor = SILENT,
) -> ConversionReport:
    """What casts and merges of a recipe do to every tensor of a file, without writing.

    With ``sample`` only that many values at the beginning of every tensor are looked at. Rows that
    are not computed cost nothing. Raises what ``convert`` and reading raise, and Cancelled.
    """
    view = convert(source, recipe=recipe, target=target)
    scaled = protected_by(view, recipe) if recipe.casts else {}
    total = sum(s.numel if sample is None else min(s.numel, sample) for s in view.values())
    done = 0
    rows: list[ConversionRow] = []
    for snapshot in view.values():
        monitor.check()
        rows.append(_row(snapshot, scaled, sample, monitor))
        done += snapshot.numel if sample is None else min(snapshot.numel, sample)
        monitor.report(Progress(done, total, "values"))
    known = set(source.notes)
    notes = tuple(note for note in view.notes if note not in known)
    return ConversionReport(tuple(rows), notes, _unmerged(source, recipe))


def _unmerged(source: TensorIndex, recipe: Recipe) -> tuple[str, ...]:
    """Why merges that are asked for are not done, of tensors that the recipe does not leave out."""
    left = left_unmerged(source, recipe.merge)
    found = []
    for change in recipe.remap.plan(left).changes:
        names = {change.before, change.after}
        if recipe.skipped_keys.isdisjoint(names) and recipe.select.matches(change.after, ()):
            found.append(left[change.before])
    return tuple(found)


def _row(
    snapshot: TensorSnapshot,
    scaled: dict[str, str],
    sample: int | None,
    monitor: Monitor,
) -> ConversionRow:
    parts = parts_in(snapshot.source)
    plain = ConversionRow(
        key=snapshot.key,
        before=_unpacked_from(snapshot) or snapshot.dtype_label,
        after=snapshot.dtype_label,
        bytes_before=_stored_bytes(snapshot.source) or snapshot.nbytes,
        bytes_after=snapshot.nbytes,
        merged_from=tuple(dict.fromkeys(part.key for part in parts)),
    )
    found = _cast_of(snapshot)
    if found is None and parts:
        is_part = sample is not None and sample < snapshot.numel
        return _looked_at(replace(plain, sampled=is_part), snapshot, sample, monitor)
    if found is None:
        if scale_is_ours(snapshot):
            return replace(plain, bytes_before=0)
        return replace(plain, refused=_refusal(snapshot.key, scaled))
    row = replace(
        plain,
        before=_unpacked_from(snapshot) or found.label,
        bytes_before=_stored_bytes(snapshot.source) or found.nbytes(snapshot.numel),
        is_cast=True,
        clamped=isinstance(snapshot.source, ClampedSource),
        sampled=sample is not None and sample < snapshot.numel,
    )
    return _looked_at(row, snapshot, sample, monitor)


def _looked_at(
    row: ConversionRow, snapshot: TensorSnapshot, sample: int | None, monitor: Monitor
) -> ConversionRow:
    try:
        return _scanned(row, snapshot, sample, monitor)
    except RudaError as error:
        return replace(row, refused=str(error))


def scale_is_ours(snapshot: TensorSnapshot) -> bool:
    """True for a scale that the conversion makes and the source does not have."""
    return snapshot.trail[-1:] == ("scale of int8",)


def _refusal(key: str, scaled: dict[str, str]) -> str:
    if key not in scaled:
        return ""
    scale = scaled[key]
    if not scale:
        return "whole numbers stored as floats, by its name: the cast would round them"
    if key == scale:
        return "a scale of other values: casting it would change what it multiplies"
    return f"its values mean nothing without {scale!r}, and a cast of them alone would be wrong"


def _cast_of(snapshot: TensorSnapshot) -> DType | None:
    """Element type before the outermost cast; None for a tensor that is not cast."""
    source: Any = snapshot.source
    if isinstance(source, Int8Source):
        return source.scales.dtype
    made = _outermost_cast(source)
    return None if made is None else made.before


def _unpacked_from(snapshot: TensorSnapshot) -> str | None:
    """Element type in the file of a tensor that was dequantised on the way; else None."""
    for step in snapshot.trail:
        word, _, rest = step.partition(" ")
        if word == "dequantize":
            return rest
        if word == "scale" and rest != "of int8":
            return next((part.dtype_label for part in parts_in(snapshot.source)), None)
    return None


def lost_values(view: TensorIndex, result: SaveResult) -> int:
    """How many values of a saved view became infinite or NaN by its casts; clamped ones did not."""
    return sum(
        counts.overflow
        for key, counts in result.casts.items()
        if not any(step.startswith("clamp ") for step in view[key].trail)
    )


def _stored_bytes(source: Any) -> int | None:
    """Bytes of the innermost sources, those of the file; None where it does not say."""
    parts = getattr(source, "computed_from", ())
    if parts:
        return sum(_stored_bytes(part.source) or part.nbytes for part in parts)
    for name in ("source", "scales", "packed", "whole", "range"):
        inner = getattr(source, name, None)
        if inner is not None:
            return _stored_bytes(inner)
    if isinstance(source, ArraySource):
        return int(source.array.nbytes)
    found = getattr(source, "nbytes", None)
    return found if isinstance(found, int) else None


def _outermost_cast(source: Any) -> CastSource | None:
    while source is not None and not isinstance(source, CastSource):
        source = getattr(source, "source", None)
    return source


def _scanned(
    row: ConversionRow, snapshot: TensorSnapshot, sample: int | None, monitor: Monitor
) -> ConversionRow:
    counts, errors = CastCounts(), CastErrors()
    for found, error in _scan(snapshot, sample):
        monitor.check()
        counts += found
        errors += error
    return replace(row, counts=counts, errors=errors, remarks=remarks_in(snapshot.source))


def _scan(snapshot: TensorSnapshot, sample: int | None) -> Iterator[tuple[CastCounts, CastErrors]]:
    source: Any = snapshot.source
    if isinstance(source, Int8Source):
        yield from _scan_int8(source, sample)
        return
    made = _outermost_cast(source)
    run = BLOCK_ELEMENTS if sample is None else max(1, min(BLOCK_ELEMENTS, sample))
    left = snapshot.numel if sample is None else min(sample, snapshot.numel)
    inner, carrier = (
        (source, snapshot.dtype.carrier) if made is None else (made.source, made.before.carrier)
    )
    with closing(source_blocks(inner, carrier, run)) as blocks:
        for block in blocks:
            block = block[:left]
            if made is None:  # reading is enough: the merge says what it finds
                yield CastCounts(), CastErrors()
            else:
                values, counts = _converted(made, block)
                yield counts, CastErrors.of(block, values)
            left -= block.size
            if left <= 0:
                return


def _converted(made: CastSource, block: Array) -> tuple[Array, CastCounts]:
    if isinstance(made, ClampedSource):
        return made.clamped(block)
    return cast(block, made.before, made.after)


def _scan_int8(source: Int8Source, sample: int | None) -> Iterator[tuple[CastCounts, CastErrors]]:
    scales = source.scales.get()
    left = None if sample is None else sample
    for at, values in source.scales.values():
        values = values if left is None else values[:left]
        whole, back = _there_and_back(values, at, source.scales.width, scales)
        vanished = int(np.count_nonzero((values != 0) & (whole == 0)))
        yield CastCounts(values.size, underflow=vanished), CastErrors.of(values, back)
        if left is not None:
            left -= values.size
            if left <= 0:
                return


def _there_and_back(values: Array, at: int, width: int, scales: Array) -> tuple[Array, Array]:
    """Values from place ``at`` on as int8 in scales of channels, and what those stand for."""
    whole, back = np.empty(values.size, np.int8), np.empty(values.size, np.float32)
    for (rows, channels), (codes, _), (results, _) in zip(
        *(rows_of(run, at, width) for run in (values, whole, back)), strict=True
    ):
        _kernels.quantize_int8(rows, scales[channels], codes)
        _kernels.dequantize_int8(codes, scales[channels], results)
    return whole, back
