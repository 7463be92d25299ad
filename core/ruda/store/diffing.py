"""The load diff: what every tensor of a source would do to a target, from headers alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ruda.errors import AdapterError
from ruda.nn import ParamSpec
from ruda.progress import SILENT, Monitor
from ruda.store.adapt import (
    IdentityAdapter,
    ModuleAdapter,
    adapter_named,
    adapter_names,
    pieces_of,
    with_last_segment,
)
from ruda.store.adapted import relabelled
from ruda.store.diff_report import DiffReport, Hint
from ruda.store.diff_rows import Cause, DiffRow, Status
from ruda.store.index import TensorIndex
from ruda.store.nearest import NearestKeys, probe_prefixes
from ruda.store.recipe import Recipe
from ruda.store.regrouping import Parts, Taken, adapt, find_parts, gathered
from ruda.store.remap import Collision
from ruda.store.snapshot import TensorSnapshot, kind_of
from ruda.store.targets import Target, expected_of
from ruda.store.unscale import unscaled
from ruda.tensor import DType, Kind

HARMLESS = frozenset({"num_batches_tracked"})
"""Last segments of keys that PyTorch writes and no model needs."""

CHECK_EVERY = 4096
"""Rows between two points where a diff can be stopped."""


def diff(
    source: TensorIndex,
    target: Target,
    *,
    recipe: Recipe | None = None,
    monitor: Monitor = SILENT,
) -> DiffReport:
    """What every tensor of the source would do to the target under the recipe.

    Reads headers only and never raises for what does not fit: that is what the rows are for.
    Raises RecipeError for a pattern that takes exponential time on these keys.
    """
    recipe = Recipe() if recipe is None else recipe
    source = unscaled(source, recipe)
    adapter = recipe.adapter()
    expected = expected_of(target, needs_kinds=not isinstance(adapter, IdentityAdapter))
    run = _Diff(source, expected.params, recipe, adapter, monitor)
    rows = run.rows()
    return DiffReport(
        rows=tuple(rows),
        source_tensors=len(source),
        target_tensors=len(expected.params),
        hints=run.hints(rows),
        notes=(*expected.notes, *run.notes(rows)),
        source_name=source.format if source.path is None else source.path.name,
        target_name=expected.name,
    )


def alternative_key(adapter: ModuleAdapter, param: ParamSpec) -> str | None:
    """The key under which the adapter would also look for a parameter."""
    last = param.key.rpartition(".")[2]
    other = adapter.alternative_name(last, kind_of(param.containers))
    return None if other is None else with_last_segment(param.key, other)


def alternative_keys(adapter: ModuleAdapter, param: ParamSpec) -> Iterator[str]:
    """``alternative_key``, and the keys of tensors that a parameter is a part of or made from."""
    other = alternative_key(adapter, param)
    if other is not None:
        yield other
    for parts in pieces_of(adapter, param.key, param.containers):
        yield from (piece.key for piece in parts)


def other_names(param: ParamSpec) -> Iterator[str]:
    """Keys under which some adapter, in the recipe or not, knows the parameter."""
    for name in adapter_names():
        yield from alternative_keys(adapter_named(name), param)


class _Diff:
    """One run: matches first, so that a missing row can name an unused source."""

    def __init__(
        self,
        source: TensorIndex,
        params: tuple[ParamSpec, ...],
        recipe: Recipe,
        adapter: ModuleAdapter,
        monitor: Monitor,
    ) -> None:
        self.params = params
        self.recipe = recipe
        self.adapter = adapter
        self.monitor = monitor
        self.plain = isinstance(adapter, IdentityAdapter)
        self.is_pytorch = source.format == "pytorch"
        self.skipped_keys = recipe.skipped_keys
        self.select = None if recipe.select.is_empty else recipe.select
        self.skips = self.select is not None or bool(self.skipped_keys)
        self.sources: dict[str, TensorSnapshot] = {}
        self.doubles: list[tuple[TensorSnapshot, str]] = []
        self.collisions: Mapping[str, Collision] = {}
        self._rename(source)
        self.matches = self._match()
        if self.select is not None:
            self.select.guard([*self.sources, *(param.key for param in params)])

    def _rename(self, source: TensorIndex) -> None:
        """Find the sources by their keys after the remap rules; the first of several counts."""
        if self.recipe.remap.is_empty:
            self.sources = dict(source.snapshots)
            return
        plan = self.recipe.remap.plan(source.snapshots)
        for change, snapshot in zip(plan.changes, source.snapshots.values(), strict=True):
            if self.sources.setdefault(change.after, snapshot) is not snapshot:
                self.doubles.append((snapshot, change.after))
        self.collisions = {clash.key: clash for clash in plan.collisions}

    def _match(self) -> list[str | Parts | None]:
        """Name in ``sources`` for every parameter: its key, else the adapter's other name.

        Several names, or a part of what has the name, where the adapter splits or joins.
        """
        sources = self.sources
        found: list[str | Parts | None] = []
        parted: dict[int, ParamSpec] = {}
        taken: set[str] = set()
        own = {param.key for param in self.params} if not self.plain else frozenset()
        for param in self.params:
            name: str | None = param.key
            if name not in sources and not self.plain:
                name = alternative_key(self.adapter, param)
                if name in own or name in taken:
                    name = None
            if name is None or name not in sources:
                if not self.plain:
                    parted[len(found)] = param
                found.append(None)
            else:
                taken.add(name)
                found.append(name)
        used = Taken()
        used.whole |= taken
        for at, param in parted.items():
            parts = find_parts(self.adapter, param, sources, own, used)
            if parts is not None:
                used.take(parts)
                found[at] = parts
        self.unused = {name: s for name, s in sources.items() if name not in used}
        self.blocks = used.blocks
        return found

    def rows(self) -> list[DiffRow]:
        """All rows: the target's in its order, then the sources that are left."""
        nearest = NearestKeys(self.unused, other_names)
        rows: list[DiffRow] = []
        for at, (param, name) in enumerate(zip(self.params, self.matches, strict=True)):
            if not at % CHECK_EVERY:
                self.monitor.check()
            if name is not None:
                row = (
                    self._pair(param, name) if isinstance(name, str) else self._parted(param, name)
                )
                rows.append(row)
                continue
            cause = self._skip_cause(param.key, param.containers)
            if cause is not None:
                rows.append(DiffRow(Status.SKIPPED, cause, target=param))
            else:
                row = DiffRow(Status.MISSING, Cause.NO_SOURCE, target=param, finder=nearest)
                rows.append(row)
        self.monitor.check()
        rows += [self._alone(snapshot, name) for name, snapshot in self.unused.items()]
        rows += [self._alone(snapshot, name) for snapshot, name in self.doubles]
        return rows

    def _skip_cause(self, key: str, containers: tuple[str, ...], also: str = "") -> Cause | None:
        """Why a key is left out: a decision, the filter, or None."""
        if key in self.skipped_keys or also in self.skipped_keys:
            return Cause.DECISION
        if self.select is not None and not self.select.matches(key, containers):
            return Cause.FILTER
        return None

    def _pair(self, param: ParamSpec, name: str) -> DiffRow:
        """Row of a parameter and the source that has its name."""
        snapshot = self.sources[name]
        if self.skips:
            skip = self._skip_cause(param.key, param.containers)
            if skip is not None:
                return DiffRow(Status.SKIPPED, skip, snapshot, snapshot, param)
        clash = self.collisions.get(name) if self.collisions else None
        if clash is not None:
            return DiffRow(
                Status.ERROR, Cause.COLLISION, snapshot, None, param, collision_fact(clash)
            )
        try:
            adapted = snapshot
            if not self.plain or snapshot.key != param.key:
                adapted = self._adapted(snapshot, param)
        except AdapterError as error:
            return DiffRow(Status.ERROR, Cause.ADAPTER, snapshot, None, param, str(error))
        return self._judged(param, snapshot, adapted)

    def _parted(self, param: ParamSpec, parts: Parts) -> DiffRow:
        """Row of a parameter that is a part of a source, or made of several, or a tied one."""
        sources = [self.sources[piece.key] for piece in parts]
        extra: dict[str, Any] = {
            "others": tuple(sources[1:]),
            "share": max(piece.blocks for piece in parts),
        }
        first = sources[0]
        if self.skips:
            skip = self._skip_cause(param.key, param.containers)
            if skip is not None:
                return DiffRow(Status.SKIPPED, skip, first, first, param, **extra)
        clashes = (self.collisions.get(piece.key) for piece in parts)
        clash = next((clash for clash in clashes if clash is not None), None)
        if clash is not None:
            fact = collision_fact(clash)
            return DiffRow(Status.ERROR, Cause.COLLISION, first, None, param, fact, **extra)
        try:
            given = gathered(parts, self.sources, param.key, param.containers)
            adapted = adapt(self.adapter, given)
        except AdapterError as error:
            return DiffRow(Status.ERROR, Cause.ADAPTER, first, None, param, str(error), **extra)
        if adapted.key != param.key:
            adapted = replace(adapted, key=param.key)
        row = self._judged(param, first, adapted)
        # The larger tensor that it is a part of shows which way round it lies.
        caution = row.caution and extra["share"] == 1 and len(parts) == 1
        return replace(row, caution=caution, **extra)

    def _judged(
        self, param: ParamSpec, snapshot: TensorSnapshot, adapted: TensorSnapshot
    ) -> DiffRow:
        """Row of a parameter and what would be put into it: whether it fits."""
        if adapted.shape != param.shape:
            fact = shape_fact(adapted.shape, param.shape)
            return DiffRow(Status.ERROR, Cause.SHAPE, snapshot, adapted, param, fact)
        if adapted.dtype is not param.dtype:
            cause = dtype_cause(snapshot, adapted, param.dtype)
            if cause is not None:
                fact = dtype_fact(cause, adapted, param)
                return DiffRow(Status.ERROR, cause, snapshot, adapted, param, fact)
        elif adapted.scheme != param.scheme and adapted.dtype.kind is Kind.QUANTIZED:
            fact = dtype_fact(Cause.DTYPE, adapted, param)
            return DiffRow(Status.ERROR, Cause.DTYPE, snapshot, adapted, param, fact)
        shape = param.shape
        is_square = len(shape) == 2 and shape[0] == shape[1]
        caution = is_square and self._is_unproven(snapshot, adapted, param)
        return DiffRow(Status.APPLIED, Cause.TAKEN, snapshot, adapted, param, caution=caution)

    def _adapted(self, snapshot: TensorSnapshot, param: ParamSpec) -> TensorSnapshot:
        """The source under the target's key and containers, as the adapters make it."""
        labelled = relabelled(snapshot, param.key, param.containers)
        adapted = labelled if self.plain else self.adapter.adapt(labelled)
        return adapted if adapted.key == param.key else replace(adapted, key=param.key)

    def _is_unproven(
        self, snapshot: TensorSnapshot, adapted: TensorSnapshot, param: ParamSpec
    ) -> bool:
        """True for a square matrix that was turned, or that PyTorch would hold turned."""
        if any(step.startswith("transpose") for step in adapted.trail[len(snapshot.trail) :]):
            return True
        is_linear = kind_of(param.containers) == "Linear" and param.key.endswith("weight")
        return is_linear and self.is_pytorch

    def _alone(self, snapshot: TensorSnapshot, name: str) -> DiffRow:
        """Row of a source that no target takes; ``name`` is its key after the remap rules."""
        adapted = relabelled(snapshot, name, snapshot.containers)
        skip = self._skip_cause(name, snapshot.containers, snapshot.key) if self.skips else None
        if skip is not None:
            return DiffRow(Status.SKIPPED, skip, snapshot, adapted)
        clash = self.collisions.get(name)
        if clash is not None:
            fact = collision_fact(clash)
            return DiffRow(Status.UNUSED, Cause.COLLISION, snapshot, snapshot, detail=fact)
        is_harmless = name.rpartition(".")[2] in HARMLESS
        cause = Cause.HARMLESS if is_harmless else Cause.NO_TARGET
        return DiffRow(Status.UNUSED, cause, snapshot, adapted)

    def hints(self, rows: list[DiffRow]) -> tuple[Hint, ...]:
        """Steps that would let more tensors load, the most matches first."""
        missing = [r.target for r in rows if r.status is Status.MISSING and r.target is not None]
        turned = [r for r in rows if r.cause is Cause.SHAPE and _is_turned_linear(r)]
        if not missing and not turned:
            return ()
        wanted = [param.key for param in missing]
        if not self.plain:
            wanted += [key for param in missing for key in alternative_keys(self.adapter, param)]
        hints = probe_prefixes(self.unused, wanted)
        if hints and hints[0].matches >= len(missing) and not turned:
            return tuple(hints)  # an adapter could not match more
        best = Hint("adapt", "", 0)
        for name in adapter_names():
            if name not in self.recipe.adapt and not self._has_reverse(name):
                other = adapter_named(name)
                found = sum(
                    any(key in self.unused for key in alternative_keys(other, param))
                    for param in missing
                )
                hint = Hint("adapt", name, found + len(turned))
                best = hint if hint.matches > best.matches else best
        if best.matches:
            hints.append(best)
        return tuple(sorted(hints, key=lambda hint: -hint.matches))

    def _has_reverse(self, name: str) -> bool:
        """True if the recipe holds the adapter for the other way."""
        return adapter_named(name).reverse().name in self.recipe.adapt

    def notes(self, rows: list[DiffRow]) -> tuple[str, ...]:
        """What of the recipe had no effect on anything here."""
        found: list[str] = []
        if rows and self.select is not None and all(row.cause is Cause.FILTER for row in rows):
            found.append("the filter takes none of the keys")
        if self.skipped_keys:
            keys = {row.target_key for row in rows} | {row.source_key for row in rows}
            found += [
                f"no tensor has the key {key!r} of a decision"
                for key in sorted(self.skipped_keys - keys - self.sources.keys())
            ]
        names = {s.key: name for name, s in self.sources.items()} if self.blocks else {}
        for row in rows:
            if row.share > 1 and row.source is not None and row.status is not Status.ERROR:
                seen = self.blocks.get(names[row.source.key], set())
                if len(seen) < row.share:
                    fact = f"{row.share - len(seen)} of the {row.share} blocks of rows"
                    found.append(f"{fact} of {row.source.key!r} are wanted by nobody")
        found = list(dict.fromkeys(found))
        if self.recipe.cast is not None:
            kinds = {kind_of(param.containers) for param in self.params}
            found += [
                f"keep {name}: no such module here"
                for name in sorted(self.recipe.cast.keep)
                if name not in kinds
            ]
        return tuple(found)


def _is_turned_linear(row: DiffRow) -> bool:
    """True if a Linear weight would fit once its axes are swapped."""
    if row.target is None or row.source is None or not row.target.key.endswith("weight"):
        return False
    return (
        kind_of(row.target.containers) == "Linear"
        and len(row.target.shape) == 2
        and row.source.shape == row.target.shape[::-1]
    )


def collision_fact(clash: Collision) -> str:
    """The sentence about several sources that would become one."""
    named = " and ".join(repr(source) for source in clash.sources)
    return f"{named} would both become {clash.key!r} by {clash.step}"


def shape_fact(found: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The sentence about two shapes that differ: which axis, or that the axes are swapped."""
    both = f"the file has {list(found)}, the target expects {list(expected)}"
    if 0 in found and 0 not in expected:
        return f"shape: {both}; the file holds an empty placeholder (a partitioned save?)"
    if len(found) != len(expected):
        return f"shape: {both}; {len(found)} axes against {len(expected)}"
    if found == expected[::-1]:
        return f"shape: {both}; the axes are swapped, as between PyTorch and Ruda for Linear"
    axes = [at for at, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]]
    where = ", ".join(f"axis {at}: {found[at]} against {expected[at]}" for at in axes)
    return f"shape: {both}; {where}"


def dtype_cause(snapshot: TensorSnapshot, adapted: TensorSnapshot, expected: DType) -> Cause | None:
    """Why two dtypes do not fit; None where the recipe casts, or both are f32 in the file."""
    if {adapted.dtype, expected} == {DType.F32, DType.FLEX32}:
        return None
    if any(step.startswith("cast") for step in adapted.trail[len(snapshot.trail) :]):
        return None  # a cast that was asked for is what the target gets
    both = adapted.dtype, expected
    if all(dtype.is_float for dtype in both) or all(dtype.is_integer for dtype in both):
        return Cause.DTYPE
    return Cause.KIND if adapted.dtype.kind is not expected.kind else Cause.DTYPE


def dtype_fact(cause: Cause, adapted: TensorSnapshot, param: ParamSpec) -> str:
    """The sentence about two dtypes, or schemes of one, that do not fit."""
    found, expected = adapted.dtype, param.dtype
    wanted = getattr(param.scheme, "label", expected)
    both = f"the file has {adapted.dtype_label}, the target expects {wanted}"
    if cause is Cause.KIND:
        unpack = f"; a cast to {expected} dequantises it" if found is DType.GGML else ""
        return f"kind: {both}; {found.kind.value} is not {expected.kind.value}{unpack}"
    if adapted.dtype_label == str(wanted):
        return f"dtype: {both} of another scheme"
    remedy = f"; cast it to {expected}" if expected.is_float else ""
    return f"dtype: {both}{remedy}"
