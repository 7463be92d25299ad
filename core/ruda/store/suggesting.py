"""suggest: the rules that would make a source fit a target, found from headers alone.

Families of keys are compared by the shapes of their members first and by their names second. A
step is taken into account only for what it gains; what could be meant in two ways is reported as
ambiguous and never chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ruda.nn import ParamSpec
from ruda.progress import SILENT, Monitor
from ruda.store.adapt import ModuleAdapter, adapter_names
from ruda.store.deciding import prepared
from ruda.store.decisions import Transpose
from ruda.store.diff_rows import fold
from ruda.store.index import TensorIndex
from ruda.store.keras import KerasToRuda, without_width
from ruda.store.naming import recognised, recognised_inside, title_of
from ruda.store.recipe import Recipe
from ruda.store.remap import RemapRule, compact_indices
from ruda.store.special import CONV1D_NAMES
from ruda.store.suggest_board import Board, Entry, wants_of, watched
from ruda.store.suggest_pairs import Pair, pairs_of
from ruda.store.suggest_prefixes import take_groups, take_prefixes, take_wrappers
from ruda.store.suggest_report import Suggestion, SuggestKind, SuggestReport, Verdict
from ruda.store.suggest_rules import best_rule, candidates
from ruda.store.suggest_trial import Trials
from ruda.store.targets import Expected, Target, expected_of

RULES = 64
"""Rules for families that one report suggests at most."""

KERAS = KerasToRuda().name

KERAS_FORMATS = frozenset({"hdf5", "keras"})
"""Formats that Keras writes."""


def suggest(
    source: TensorIndex,
    target: Target,
    *,
    recipe: Recipe | None = None,
    monitor: Monitor = SILENT,
) -> SuggestReport:
    """Steps that would let more of the source load into the target, with their evidence.

    Looks at what the recipe leaves open and adds to it. Reads headers only and changes nothing.
    Raises RecipeError for a recipe that cannot be used on these keys.
    """
    recipe = Recipe() if recipe is None else recipe
    merged, _ = prepared(source, recipe)
    expected = expected_of(target)
    entries = _entries(merged, recipe, monitor)
    params = _wanted(expected, recipe)
    before = _Hypothesis(recipe, None, recipe.remap.contiguous).board(entries, params, monitor)
    best = _best(merged, target, recipe, entries, params, monitor)
    report = SuggestReport(
        suggestions=best.suggestions(before, entries, params),
        recipe=recipe,
        matched_before=before.covered,
        matched_after=best.board.covered,
        target_tensors=len(params),
        source_name=source.format if source.path is None else source.path.name,
        target_name=expected.name,
    )
    is_all = len(params) == len(expected.params)
    wanted = None if is_all else {param.key for param in params}
    return _tried(report, Trials(source, target, wanted, monitor))


def _best(
    source: TensorIndex,
    target: Target,
    recipe: Recipe,
    entries: tuple[Entry, ...],
    params: tuple[ParamSpec, ...],
    monitor: Monitor,
) -> _Outcome:
    """What is found under the hypothesis that matches most."""
    trusted = _expected_adapter(source, target)
    best: _Outcome | None = None
    for hypothesis in _hypotheses(recipe, entries, _adapters(source, target)):
        monitor.check()
        if best is not None and hypothesis.adds_compaction and best.is_complete:
            break
        outcome = _infer(hypothesis, hypothesis.board(entries, params, monitor), monitor)
        if best is None or outcome.rank(trusted) > best.rank(trusted):
            best = outcome
        if best.is_complete and all(step.kind is SuggestKind.PREFIX for step in best.steps):
            break
    assert best is not None  # there is always the hypothesis of the recipe itself
    return best


def _tried(report: SuggestReport, trials: Trials) -> SuggestReport:
    """The report with the counts of what would really load; its own are of names and shapes."""
    before = trials.of(report.recipe)
    after = trials.of(report.to_recipe(likely=True)) if report.suggestions else before
    steps = report.suggestions
    taken = report.of(Verdict.CERTAIN, Verdict.LIKELY)
    if after.found - before.found != sum(step.matches for step in taken):
        steps = trials.recounted(steps, report.recipe, before)
    return replace(
        report,
        suggestions=steps,
        matched_before=before.applied,
        matched_after=after.applied,
        refused=after.refused,
    )


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """An adapter and index compaction that rules are looked for under."""

    recipe: Recipe
    adapter: str | None
    contiguous: bool

    def chain(self) -> ModuleAdapter:
        """What the recipe adapts with, the adapter of the hypothesis included."""
        names = self.recipe.adapt if self.adapter is None else (*self.recipe.adapt, self.adapter)
        plain = self.recipe.with_cast(None).without_decision(*_settled(self.recipe))
        return plain.with_adapt(*names).adapter()

    @property
    def adds_compaction(self) -> bool:
        """True if gaps are closed that the recipe leaves."""
        return self.contiguous and not self.recipe.remap.contiguous

    def board(
        self,
        entries: tuple[Entry, ...],
        params: tuple[ParamSpec, ...],
        monitor: Monitor = SILENT,
    ) -> Board:
        """The source against the target under the hypothesis."""
        leaves = frozenset(entry.key.rpartition(".")[2] for entry in entries)
        wants = wants_of(params, self.chain(), monitor, leaves=leaves)
        if self.adapter == KERAS:
            # It takes a kernel along one axis for one of width 1: here they have one shape.
            entries = tuple(replace(e, shape=without_width(e.shape)) for e in entries)
            wants = tuple(replace(want, shape=without_width(want.shape)) for want in wants)
        return Board(
            entries,
            wants,
            tuple(entry.key for entry in entries),
            self.contiguous,
            self.recipe.remap.keep_indices,
            monitor=monitor,
        )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was found under a hypothesis."""

    hypothesis: _Hypothesis
    board: Board
    steps: tuple[Suggestion, ...]

    @property
    def is_complete(self) -> bool:
        """True if every want has a source."""
        return len(self.board.matched) == len(self.board.wants)

    def rank(self, trusted: str | None) -> tuple[bool, int, int]:
        """Orders outcomes: more matches, then fewer steps.

        Square matrices are turned only by the adapter that the two formats ask for, unless
        others prove it.
        """
        adapter = self.hypothesis.adapter
        by_name = adapter is not None and title_of(adapter) is not None
        sound = self.board.proven or adapter == trusted or by_name
        steps = len(self.steps) + self.hypothesis.adds_compaction
        return sound, self.board.covered, -2 * steps - (adapter is not None)

    def suggestions(
        self, before: Board, entries: tuple[Entry, ...], params: tuple[ParamSpec, ...]
    ) -> tuple[Suggestion, ...]:
        """The rules, then compaction and the adapter; each counts what it adds to those before.

        So the counts of all that would be taken add up to what they gain together, although the
        rules were found under the adapter that comes after them.
        """
        hypothesis, covered = self.hypothesis, self.board.covered
        if hypothesis.adapter is None and not hypothesis.adds_compaction:
            found, reached = [*self.steps], covered
        else:
            found, reached = _recounted(self.steps, before)
        if hypothesis.adds_compaction:
            closed = replace(hypothesis, adapter=None).board(entries, params)
            now = closed.with_names(self.board.names).covered
            now = covered if hypothesis.adapter is None else max(now, reached)
            # How sure it is hangs on what it gains for all the others, the adapter included.
            gain = covered - replace(self.board, contiguous=False).covered
            found.append(replace(_compaction(gain), matches=now - reached))
            reached = now
        if hypothesis.adapter is not None:
            step = _adapter(hypothesis.adapter, covered - reached, proven=self.board.proven)
            found.append(_doubted(step, entries))
        if not self.is_complete:
            found += _swapped(self.board)
        return tuple(found)


def _recounted(steps: tuple[Suggestion, ...], start: Board) -> tuple[list[Suggestion], int]:
    """The rules with what each adds without any adapter, and what is found after all of them.

    What a rule finds for a later step only is counted with that step.
    """
    found: list[Suggestion] = []
    names, reached = start.names, start.covered
    for step in steps:
        if step.rule is None or step.verdict is Verdict.AMBIGUOUS:
            found.append(step)
            continue
        names = tuple(map(step.rule.rename, names))
        now = max(reached, start.with_names(names).covered)
        found.append(replace(step, matches=now - reached))
        reached = now
    return found, reached


def _expected_adapter(source: TensorIndex, target: Target) -> str | None:
    """The adapter that the formats of both sides ask for, where they are known to differ."""
    if _is_native(target):
        if source.format in KERAS_FORMATS:
            return KERAS
        return None if source.format == "rudapack" else "pytorch-to-ruda"
    if source.format == "rudapack" and getattr(target, "format", "") == "pytorch":
        return "ruda-to-pytorch"
    return None


def _is_native(target: Target) -> bool:
    return not isinstance(target, TensorIndex) or target.format == "rudapack"


def _adapters(source: TensorIndex, target: Target) -> tuple[str, ...]:
    """The adapters that are tried."""
    is_keras = source.format in KERAS_FORMATS and _is_native(target)
    return (KERAS, *adapter_names()) if is_keras else adapter_names()


def _entries(source: TensorIndex, recipe: Recipe, monitor: Monitor) -> tuple[Entry, ...]:
    """The tensors of the source under the keys that the recipe's rules give them."""
    keys = list(source.snapshots)
    for rule in recipe.remap.active:
        keys = rule.rename_all(keys, monitor=monitor)
    pairs = zip(keys, source.snapshots.values(), strict=True)
    return tuple(
        Entry(key, snapshot.shape, snapshot.dtype.is_float)
        for key, snapshot in watched(pairs, monitor)
    )


def _settled(recipe: Recipe) -> frozenset[str]:
    """Keys whose shape the recipe changes for good: what it was before, nothing tells."""
    return frozenset(
        key
        for key, changes in recipe.changes.items()
        if not all(isinstance(change, Transpose) for change in changes)
    )


def _wanted(expected: Expected, recipe: Recipe) -> tuple[ParamSpec, ...]:
    """The parameters that the recipe neither leaves out nor makes of something else."""
    decided = recipe.skipped_keys | _settled(recipe)
    return tuple(
        param
        for param in expected.params
        if param.key not in decided
        and (recipe.select.is_empty or recipe.select.matches(param.key, param.containers))
    )


def _hypotheses(
    recipe: Recipe, entries: tuple[Entry, ...], names: tuple[str, ...]
) -> Iterator[_Hypothesis]:
    """These adapters without and with compaction; only the recipe's own where it has some.

    Those whose names the keys bear come first: where one fits, nothing else is tried.
    """
    keys = [entry.key for entry in entries]
    adapters: list[str | None] = [None]
    if not recipe.adapt:
        there = frozenset(keys)
        adapters = [*(recognised(there) or recognised_inside(there)), None, *names]
    yield from (_Hypothesis(recipe, name, recipe.remap.contiguous) for name in adapters)
    if not recipe.remap.contiguous and compact_indices(keys) != keys:
        yield from (_Hypothesis(recipe, name, True) for name in adapters)


def _infer(hypothesis: _Hypothesis, start: Board, monitor: Monitor) -> _Outcome:
    """Prefixes, wrappers and families, one after the other, as long as something is gained."""
    steps: list[Suggestion] = []
    board = start
    for take in (take_groups, take_prefixes, take_wrappers, take_prefixes):
        monitor.check()
        board, taken = take(board)
        steps += taken
    board, taken = take_families(board, monitor)
    steps += taken
    kept = _needed(start, steps, len(board.matched))
    return _Outcome(hypothesis, board, tuple(_cautious(kept)))


def _needed(start: Board, steps: list[Suggestion], matched: int) -> list[Suggestion]:
    """The steps without those that gain nothing, neither alone nor for a later one."""
    for step in [step for step in steps if not step.matches]:
        rest = [other for other in steps if other is not step]
        names = start.names
        for other in rest:
            if other.rule is not None and other.verdict is not Verdict.AMBIGUOUS:
                names = tuple(map(other.rule.rename, names))
        if len(start.with_names(names).matched) >= matched:
            steps = rest
    return steps


def _cautious(steps: list[Suggestion]) -> Iterator[Suggestion]:
    """The steps; what was found after a likely one is no surer than that."""
    worst = Verdict.CERTAIN
    for step in steps:
        if step.verdict is Verdict.LIKELY:
            worst = Verdict.LIKELY
        yield replace(step, verdict=worst) if step.verdict is Verdict.CERTAIN else step


def take_families(board: Board, monitor: Monitor) -> tuple[Board, list[Suggestion]]:
    """Rules out of pairs, certain ones first; what is left is reported as ambiguous."""
    steps: list[Suggestion] = []
    for _ in range(RULES):
        monitor.check()
        if not board.open_wants or not board.open_entries:
            return board, steps
        pairs = pairs_of(board)
        found = _surest(board, pairs) or _surest(board, pairs_of(board, wide=True))
        if found is None:
            return board, [*steps, *_ambiguous(pairs)]
        rule, pair, gain = found
        after = board.after(rule)
        assert after is not None  # best_rule has tried it
        more = "" if gain <= pair.count else f"; the same rule matches {gain - pair.count} more"
        verdict = pair.verdict
        if verdict is Verdict.LIKELY and pair.told and _fits_shapes(board, after):
            verdict, more = Verdict.CERTAIN, f"{more}, of several shapes"
        text = f"{pair.families}: {pair.evidence}{more}"
        steps.append(Suggestion(pair.kind, verdict, gain, text, rule))
        board = after
    return board, steps


def _fits_shapes(board: Board, after: Board) -> bool:
    """True if a rule brought together tensors of different shapes: hardly by chance."""
    new = after.matched.keys() - board.matched.keys()
    return len({after.wants[at].shape for at in new}) > 1


def _surest(board: Board, pairs: list[Pair]) -> tuple[RemapRule, Pair, int] | None:
    """The best rule of certain pairs, or else of likely ones."""
    for verdict in (Verdict.CERTAIN, Verdict.LIKELY):
        found = best_rule(board, [pair for pair in pairs if pair.verdict is verdict])
        if found is not None:
            return found
    return None


def _ambiguous(pairs: list[Pair]) -> Iterator[Suggestion]:
    """One suggestion for all pairs of the same names with other numbers."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.verdict is Verdict.AMBIGUOUS:
            groups.setdefault(fold(f"{pair.source} -> {pair.target}"), []).append(pair)
    for alike in groups.values():
        pair = alike[0]
        text = f"{pair.families}: {pair.evidence}"
        if len(alike) > 1:
            text += f"; {len(alike) - 1} more like it"
        rule = list(candidates(pair))[-1]
        count = sum(member.count for member in alike)
        yield Suggestion(pair.kind, Verdict.AMBIGUOUS, count, text, rule, alternatives=pair.others)


def _compaction(gain: int) -> Suggestion:
    text = "the numbers of the source have gaps, those of the target have none"
    verdict = Verdict.CERTAIN if gain > 1 else Verdict.LIKELY
    return Suggestion(SuggestKind.INDEX, verdict, gain, text)


def _doubted(step: Suggestion, entries: tuple[Entry, ...]) -> Suggestion:
    """The step about an adapter; no more than likely where names are those of ``Conv1D``.

    Their weights lie as Ruda's do: an adapter that turns them fits the shapes of other layers.
    """
    names = {entry.key.rpartition(".")[0].rpartition(".")[2] for entry in entries}
    conv = sorted(names & (CONV1D_NAMES - {"c_proj"}))
    if step.adapter not in ("pytorch-to-ruda", "ruda-to-pytorch") or not conv:
        return step
    text = f"{step.evidence}; but {conv[0]} is a Conv1D in GPT-2, which this adapter turns wrongly"
    return replace(step, verdict=Verdict.LIKELY, evidence=text)


def _adapter(name: str, gain: int, *, proven: bool) -> Suggestion:
    title = title_of(name)
    if title is not None:
        text = f"the keys are those of {title}: names, layouts and blocks are known"
        return Suggestion(SuggestKind.ADAPTER, Verdict.CERTAIN, gain, text, adapter=name)
    text = "names of parameters and axes of matrices are those of the other framework"
    if not proven:
        text += "; all matrices are square, so their shapes cannot show that"
    verdict = Verdict.CERTAIN if proven else Verdict.LIKELY
    return Suggestion(SuggestKind.ADAPTER, verdict, gain, text, adapter=name)


def _swapped(board: Board) -> list[Suggestion]:
    """One suggestion about tensors that have the name of a want and its shape turned."""
    count = 0
    for at in board.open_entries:
        want = board.by_name.get(board.seen[at])
        shape = board.entries[at].shape
        if want is not None and len(shape) == 2 and shape == board.wants[want].shape[::-1]:
            count += 1
    if not count:
        return []
    text = f"{count} matrices have the name that the target wants and their axes swapped"
    return [Suggestion(SuggestKind.LAYOUT, Verdict.AMBIGUOUS, count, text)]
