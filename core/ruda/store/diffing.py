"""The load diff: what every tensor of a source would do to a target, from headers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from ruda._bulk import without_collections
from ruda._freeing import LargeList
from ruda.errors import AdapterError
from ruda.nn import ParamSpec
from ruda.progress import SILENT, Monitor
from ruda.store.adapt import (
    IdentityAdapter,
    ModuleAdapter,
    adapter_named,
    adapter_names,
    has_rules,
    key_depth,
    pieces_of,
    rules_of,
)
from ruda.store.adapted import relabelled
from ruda.store.deciding import (
    policy_notes,
    prepared,
    remap_notes,
    shield_notes,
    shielded,
    with_decisions,
)
from ruda.store.diff_heads import param_heads, source_heads
from ruda.store.diff_judge import Judge
from ruda.store.diff_match import (
    CHECK_EVERY,
    NOWHERE,
    Named,
    OtherNames,
    alternative_key,
    match,
    other_names,
)
from ruda.store.diff_report import DiffReport, Hint
from ruda.store.diff_rows import Cause, DiffRow, Status
from ruda.store.harmless import HARMLESS_ENDS, is_harmless
from ruda.store.idle_adapters import IdleAdapters
from ruda.store.index import TensorIndex
from ruda.store.naming import naming_notes, recognised
from ruda.store.nearest import NearestKeys, probe_prefixes
from ruda.store.recipe import Recipe
from ruda.store.regrouping import Parts, gathered
from ruda.store.row_list import RowKind, RowList
from ruda.store.snapshot import TensorSnapshot, kind_of
from ruda.store.targets import Target, aliases_of, expected_of
from ruda.store.tying import with_tied


@without_collections()
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
    in_file = len(source)
    source, merge_notes = prepared(source, recipe)
    protected = shielded(source, recipe)
    adapter = recipe.adapter(protected)
    expected = expected_of(target, needs_kinds=not isinstance(adapter, IdentityAdapter))
    run = _Diff(source, expected.params, recipe, adapter, monitor)
    report = DiffReport(
        rows=RowList(run, run.kinds, run.known, run.made),
        source_tensors=len(source),
        target_tensors=len(expected.params),
        hints=run.hints(monitor),
        notes=(*merge_notes, *expected.notes, *run.notes(), *shield_notes(protected, recipe)),
        source_name=source.format if source.path is None else source.path.name,
        target_name=expected.name,
        merged_tensors=in_file - len(source),
    )
    # What is taken from another file fills the parameters that are tied to it as well.
    report = with_decisions(report, expected.params, recipe, _again, monitor)
    return with_tied(report, expected.tied)


def _again(source: TensorIndex, target: Target, recipe: Recipe) -> DiffReport:
    return diff(source, target, recipe=recipe)


_LONE = frozenset({Cause.ADAPTER, Cause.COLLISION})
"""Causes whose sentences name a key: such a row is like no other."""


class _Diff:
    """One run: what belongs together first, then the kind of every row.

    Rows are those of the parameters in their order, then of the sources that are left. A row is
    judged for the first of its kind only; equal headers (``diff_heads``) are of one kind.
    """

    def __init__(
        self,
        source: TensorIndex,
        params: Sequence[ParamSpec],
        recipe: Recipe,
        adapter: ModuleAdapter,
        monitor: Monitor,
    ) -> None:
        self.params = params
        self.recipe = recipe
        self.adapter = adapter
        self.matching = found = match(source, params, recipe.remap, adapter, monitor)
        self.alone: list[tuple[int, str]] = LargeList(
            [*((place, name) for name, place in found.unused.items()), *found.doubles]
        )
        self.unused = Named(found.unused, found.keys, source.snapshots)
        self.judge = Judge(
            recipe,
            adapter,
            Named(found.names, found.keys, source.snapshots),
            found.collisions,
            source.format == "pytorch",
            NearestKeys(self.unused, other_names),
        )
        if recipe.policy or not recipe.select.is_empty:
            recipe.guard([*found.names, *(param.key for param in params)])
        self.known: list[RowKind] = []
        self.examples: list[int] = []
        """For every kind the place of the first row of it."""
        self.made: dict[int, DiffRow] = {}
        self.taken_as: Mapping[int, str] = {}
        """For places of unused sources the key under which the same tensor is applied."""
        self.kinds = self._kinds(source, monitor)

    def row(self, at: int) -> DiffRow:
        """The row at a place."""
        if at >= len(self.params):
            place, name = self.alone[at - len(self.params)]
            return self.judge.alone(self._snapshot(place), name, self.taken_as.get(place))
        param, place = self.params[at], self.matching.places[at]
        if place != NOWHERE:
            return self.judge.pair(param, self._snapshot(place), self._name_of(at))
        parts = self.matching.parts.get(at)
        return self.judge.lone_param(param) if parts is None else self.judge.parted(param, parts)

    def _snapshot(self, place: int) -> TensorSnapshot:
        found = self.unused
        return found.snapshots[found.keys_before[place]]

    def _name_of(self, at: int) -> str:
        """Key after the remap rules of the source that a parameter takes."""
        param, names = self.params[at], self.matching.names
        if names.get(param.key) == self.matching.places[at]:
            return param.key
        other = alternative_key(self.adapter, param)
        if other is not None:
            return other
        whole = (parts[0].key for parts in pieces_of(self.adapter, param.key, param.containers))
        place = self.matching.places[at]
        return next((name for name in whole if names.get(name) == place), param.key)

    def _kinds(self, source: TensorIndex, monitor: Monitor) -> list[int]:
        """The kind of every row."""
        numbers, odd, _ = source_heads(source)
        kinds = self._param_kinds(numbers, odd, monitor)
        self.taken_as = self._taken_as(source, kinds)
        kinds += self._alone_kinds(numbers, monitor)
        return kinds

    def _taken_as(self, source: TensorIndex, kinds: Sequence[int]) -> dict[int, str]:
        """The unused sources that are one tensor with a source that is applied."""
        owners = dict(aliases_of(source)) if self.alone else {}
        if not owners:
            return {}
        keys, known = self.matching.keys, self.known
        applied = {
            owners.get(keys[place], keys[place]): keys[place]
            for place, kind in zip(self.matching.places, kinds, strict=True)
            if place != NOWHERE and known[kind].status is Status.APPLIED
        }
        found = ((place, owners.get(keys[place], keys[place])) for place, _ in self.alone)
        return {place: applied[owner] for place, owner in found if owner in applied}

    def _param_kinds(
        self, numbers: Sequence[int], odd: frozenset[int], monitor: Monitor
    ) -> list[int]:
        keys, params, skips = self.matching.keys, self.params, self.judge.skips
        adapter, parts = self.adapter, self.matching.parts
        rules = partial(rules_of, adapter) if has_rules(adapter) else None
        heads = param_heads(params, key_depth(adapter) or 1, rules)
        single = self._single_params()
        rule_of_part = self._rules_of_parts()
        memo: dict[object, int] = {}
        kinds: list[int] = []
        for at, (place, head) in enumerate(zip(self.matching.places, heads.numbers, strict=True)):
            if not at % CHECK_EVERY:
                monitor.check()
            code: object = -1 - head
            if place != NOWHERE:
                renamed = keys[place] != params[at].key
                code = (numbers[place] * heads.total + head) * 2 + renamed
            elif at in parts:
                code = head, self._sort_of(parts[at], numbers, rule_of_part)
            if skips:
                code = code, self.judge.skip_cause(params[at].key, params[at].containers)
            kind = memo.get(code)
            if kind is None or (single and at in single):
                is_odd = head in heads.odd or (place != NOWHERE and numbers[place] in odd)
                if at in parts and odd:
                    is_odd = True
                kind = self._judged(at, None if is_odd or at in single else code, memo)
            kinds.append(kind)
        return kinds

    def _rules_of_parts(self) -> Mapping[str, Hashable]:
        """The rules of the parts that are adapted under their own keys, by those."""
        several = self.matching.parts.values()
        keys = [piece.key for parts in several for piece in parts if piece.containers]
        return dict(zip(keys, rules_of(self.adapter, keys), strict=True)) if keys else {}

    def _sort_of(
        self, parts: Parts, numbers: Sequence[int], rule_of_part: Mapping[str, Hashable]
    ) -> Hashable:
        """What has a say in the row of a parameter that these make up, beside its own head."""
        names, adapter = self.matching.names, self.adapter
        depth = key_depth(adapter) or 1
        found: list[Hashable] = []
        for piece in parts:
            found.append((numbers[names[piece.key]], piece.block, piece.blocks, piece.axis))
            if piece.containers:  # else it is adapted under the key of the parameter
                end = tuple(piece.key.rsplit(".", depth)[-depth:])
                found.append((piece.containers, end, rule_of_part[piece.key]))
        return tuple(found)

    def _alone_kinds(self, numbers: Sequence[int], monitor: Monitor) -> list[int]:
        keys, skips, collisions = self.matching.keys, self.judge.skips, self.matching.collisions
        memo: dict[object, int] = {}
        kinds: list[int] = []
        for at, (place, name) in enumerate(self.alone, len(self.params)):
            if not at % CHECK_EVERY:
                monitor.check()
            harmless = name.endswith(HARMLESS_ENDS) and is_harmless(
                name, self._snapshot(place).shape
            )
            code: object = numbers[place] * 4 + 2 * (keys[place] != name) + harmless
            if place in self.taken_as:
                code = None, at  # its sentence names a key
            elif skips:
                containers = self._snapshot(place).containers
                code = code, self.judge.skip_cause(name, containers, keys[place])
            kind = memo.get(code)
            if kind is None or (collisions and name in collisions):
                kind = self._judged(at, code, memo)
            kinds.append(kind)
        return kinds

    def _single_params(self) -> set[int]:
        """Places of parameters whose row may be like no other, whatever the headers say."""
        if key_depth(self.adapter) is None:
            return set(range(len(self.params)))
        # Decisions may be about the parts of a tensor, collisions about any of them.
        is_plain = not (self.recipe.decide or self.matching.collisions)
        single = set() if is_plain else set(self.matching.parts)
        if self.matching.collisions:
            single.update(
                at
                for at, place in enumerate(self.matching.places)
                if place != NOWHERE and self._name_of(at) in self.matching.collisions
            )
        if self.recipe.decide:
            # By their modules: an adapter may change the last segment before a decision is asked.
            parents = {decision.key.rpartition(".")[0] for decision in self.recipe.decide}
            single.update(
                at
                for at, param in enumerate(self.params)
                if param.key.rpartition(".")[0] in parents
            )
        return single

    def _judged(self, at: int, code: object, memo: dict[object, int]) -> int:
        """A new kind, that of the row at a place; others with this code are of it, too."""
        row = self.made[at] = self.row(at)
        kind = len(self.known)
        self.known.append(RowKind.of(row))
        self.examples.append(at)
        if code is not None and row.cause not in _LONE:
            memo[code] = kind
        return kind

    def source_keys(self) -> list[str | None]:
        """Key in the file of every row's first tensor."""
        keys, places = self.matching.keys, self.matching.places
        found: list[str | None] = [None if at == NOWHERE else keys[at] for at in places]
        for at, parts in self.matching.parts.items():
            found[at] = keys[self.matching.names[parts[0].key]]
        return found + [keys[place] for place, _ in self.alone]

    def target_keys(self) -> list[str | None]:
        """Key in the target of every row."""
        return [*(param.key for param in self.params), *[None] * len(self.alone)]

    def row_keys(self) -> list[str]:
        """The key that names every row."""
        found = [param.key for param in self.params]
        for place, name in self.alone:
            kind = self.known[self.kinds[len(found)]]
            found.append(self.matching.keys[place] if kind.cause is Cause.COLLISION else name)
        return found

    def further_sources(self) -> Iterable[str]:
        """Keys in the file of the second and further tensors of rows that join several."""
        keys, names = self.matching.keys, self.matching.names
        for parts in self.matching.parts.values():
            yield from (keys[names[piece.key]] for piece in parts[1:])

    def hints(self, monitor: Monitor = SILENT) -> tuple[Hint, ...]:
        """Steps that would let more tensors load, the most matches first."""
        found = (*self._name_hints(monitor), *self._cast_hints())
        return tuple(sorted(found, key=lambda hint: -hint.matches))

    def _cast_hints(self) -> Iterable[Hint]:
        """The cast that would do, where the targets of floats of other types want one type."""
        apart = [kind.cause is Cause.DTYPE for kind in self.known]
        if self.recipe.cast is not None or not any(apart):
            return
        wanted = [p.dtype for p, kind in zip(self.params, self.kinds, strict=False) if apart[kind]]
        if len(set(wanted)) == 1 and wanted[0].is_float:
            yield Hint("cast", str(wanted[0]), len(wanted))

    def _name_hints(self, monitor: Monitor) -> Sequence[Hint]:
        """Prefixes and adapters under which missing tensors would be found."""
        lacks = [kind.status is Status.MISSING for kind in self.known]
        missing = [p for p, kind in zip(self.params, self.kinds, strict=False) if lacks[kind]]
        counts = Counter(self.kinds)
        turned = sum(
            counts[kind]
            for kind, at in enumerate(self.examples)
            if self.known[kind].cause is Cause.SHAPE and _is_turned_linear(self.made[at])
        )
        if not missing and not turned:
            return ()
        wanted = [param.key for param in missing]
        groups: dict[tuple[tuple[str, ...], str], list[ParamSpec]] = {}
        for param in missing:
            groups.setdefault((param.containers, param.key.rpartition(".")[2]), []).append(param)
        if not isinstance(self.adapter, IdentityAdapter):
            others = OtherNames(self.adapter)
            for known, found in groups.items():
                if others.knows(*known):
                    wanted += [key for param in found for key in others.keys_of(param)]
        monitor.check()
        hints = probe_prefixes(self.unused, wanted, monitor=monitor)
        if hints and hints[0].matches >= len(missing) and not turned:
            return hints  # an adapter could not match more
        best = Hint("adapt", "", 0)
        by_name = () if self.recipe.adapt else recognised(self.matching.names.keys())
        for name in (*by_name, *adapter_names()):
            if name not in self.recipe.adapt and not self._has_reverse(name):
                others = OtherNames(adapter_named(name))
                some = [found for known, found in groups.items() if others.knows(*known)]
                matches = sum(self._found_by(others, params, monitor) for params in some)
                hint = Hint("adapt", name, matches + turned)
                best = hint if hint.matches > best.matches else best
        if best.matches:
            hints.append(best)
        return hints

    def _found_by(self, names: OtherNames, params: Sequence[ParamSpec], monitor: Monitor) -> int:
        """How many of the parameters have a source under other names."""
        unused = self.matching.unused
        found = 0
        for count, param in enumerate(params):
            if not count % CHECK_EVERY:
                monitor.check()
            found += any(key in unused for key in names.keys_of(param))
        return found

    def _has_reverse(self, name: str) -> bool:
        """True if the recipe holds the adapter for the other way."""
        return adapter_named(name).reverse().name in self.recipe.adapt

    def notes(self) -> tuple[str, ...]:
        """What of the recipe had no effect on anything here, and what no tensor says."""
        matching = self.matching
        found = [*remap_notes(self.recipe.remap, matching.keys, matching.names)]
        select, skipped = self.recipe.select, self.judge.skipped_keys
        causes = {kind.cause for kind in self.known}
        if not select.is_empty and causes == {Cause.FILTER}:
            found.append("the filter takes none of the keys")
        decided = skipped | self.recipe.decided_keys
        if decided or self.recipe.policy:
            there = {*self.matching.keys, *self.matching.names, *(p.key for p in self.params)}
            taken = self.recipe.takes.keys()
            found += [
                f"no tensor has the key {key!r} of a decision"
                for key in sorted(decided - there - taken)
            ]
            found += policy_notes(self.recipe, there)
        found += dict.fromkeys(self._idle_blocks())
        if self.recipe.cast is not None:
            kinds = {kind_of(param.containers) for param in self.params}
            found += [
                f"keep {name}: no such module here"
                for name in sorted(self.recipe.cast.keep)
                if name not in kinds
            ]
        found += naming_notes(self.recipe.adapt)
        found += self._idle_adapters()
        return tuple(found)

    def _idle_adapters(self) -> Iterable[str]:
        """Sentences about adapters without an effect; rows of one kind are adapted alike."""
        if not self.recipe.adapt:
            return ()
        idle, matching = IdleAdapters(self.recipe), self.matching
        for kind, at in zip(self.known, self.examples, strict=True):
            if not idle:
                return ()
            if at >= len(self.params) or kind.status in (Status.SKIPPED, Status.MISSING):
                continue
            param, parts = self.params[at], matching.parts.get(at)
            if parts is not None:
                idle.show_parts(param, parts)
                with suppress(AdapterError):  # the row says what does not divide
                    given = gathered(parts, self.judge.sources, param.key, param.containers)
                    idle.show(given)
                continue
            name = self._name_of(at)
            if name != param.key:
                idle.show_other_name(param, name)
            snapshot = self._snapshot(matching.places[at])
            idle.show(relabelled(snapshot, param.key, param.containers))
        return idle.notes()

    def _is_all_wanted(self, parts: Parts) -> bool:
        """True if the blocks of a tensor that is split in so many all have a target."""
        first, *more = parts
        return not more and first.blocks == len(self.matching.blocks.get(first.key, ()))

    def _idle_blocks(self) -> Iterable[str]:
        """Sentences about sources of which some blocks of rows have no target."""
        for at, parts in self.matching.parts.items():
            if all(piece.blocks == 1 for piece in parts) or self._is_all_wanted(parts):
                continue
            row = self.made[at] if at in self.made else self.made.setdefault(at, self.row(at))
            if row.share > 1 and row.source is not None and row.status is not Status.ERROR:
                seen = self.matching.blocks.get(parts[0].key, ())
                if len(seen) < row.share:
                    fact = f"{row.share - len(seen)} of the {row.share} blocks of rows"
                    yield f"{fact} of {row.source.key!r} are wanted by nobody"


def _is_turned_linear(row: DiffRow) -> bool:
    """True if a Linear weight would fit once its axes are swapped."""
    if row.target is None or row.source is None or not row.target.key.endswith("weight"):
        return False
    return (
        kind_of(row.target.containers) == "Linear"
        and len(row.target.shape) == 2
        and row.source.shape == row.target.shape[::-1]
    )
