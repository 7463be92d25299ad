"""The remap rules with their live effect: hits, new matches, collisions, before → after."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ruda._bulk import without_collections
from ruda.errors import RecipeError
from ruda.progress import SILENT, Monitor
from ruda.session.families import families_of
from ruda.session.language import tr
from ruda.session.sentences import say
from ruda.session.wording import counted
from ruda.store import RemapRule, alternative_key, fold

if TYPE_CHECKING:
    from ruda.nn import ModuleSpec
    from ruda.store import Recipe

EXAMPLES = 200
"""Lines of before → after on one page; changed keys come first."""

SLOW_SHARE = 50e-6
SLOW_TOTAL = 0.5
"""Seconds of computing per key, and for all, from which a rule is marked as slow: others take 5."""
PIECE = 8192
"""Keys that are looked at between two points where the work can be stopped."""


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A rule as it stands in the editor; it may not be understood yet."""

    pattern: str
    replacement: str
    enabled: bool = True
    problem: str = ""
    """Why what was typed is no rule; empty where the pattern itself tells."""


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One rule and what it does to the keys that the rules before it left."""

    number: int
    """From 1, as a person counts."""
    draft: RuleDraft
    hits: int
    """Keys in which the pattern is found."""
    new_matches: int
    """Keys of the target that this rule lets be found, less those it loses."""
    problem: str
    """Why the rule cannot be used, or a warning; empty for none."""
    position: int | None
    """Where in the pattern the problem is."""
    is_error: bool

    @property
    def effect(self) -> str:
        """``122 keys, +98 matches``."""
        return tr(
            "{hits}, {new_matches} matches",
            hits=counted(self.hits, "key"),
            new_matches=f"{self.new_matches:+d}",
        )


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """What becomes of one key, or of all keys of a family that change alike."""

    before: str
    after: str
    count: int
    in_target: bool | None
    """None without a target."""
    problem: str

    @property
    def changed(self) -> bool:
        """True if the rules do anything to it."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class RulesPage:
    """What the rule editor shows."""

    rules: tuple[RuleLine, ...]
    changes: tuple[ChangeLine, ...]
    """The first ``EXAMPLES``; the summary counts all."""
    collisions: int
    usable: bool
    """False while any rule has an error or keys collide."""
    summary: str


@without_collections()
def rules_page(
    keys: Sequence[str],
    rules: Sequence[RuleDraft],
    *,
    wanted: frozenset[str] | None = None,
    monitor: Monitor = SILENT,
    clock: Callable[[], float] = time.thread_time,
) -> RulesPage:
    """The effect of rules on the keys of a file.

    ``wanted`` are the keys that the target finds a source under (``wanted_keys``); None without a
    target. A rule that cannot be understood is shown with its error and has no effect; one that
    takes long by the ``clock``, which counts seconds of computing, is marked.
    """
    lines: list[RuleLine] = []
    current: Sequence[str] = keys
    matched = _matched(keys, wanted, monitor)
    for number, draft in enumerate(rules, 1):
        began = clock()
        line, current, matched = _rule_line(number, draft, current, wanted, matched, monitor)
        lines.append(_timed(line, clock() - began, len(keys)))
    clashes = _collisions(keys, current, monitor)
    changes = _changes(keys, current, wanted, clashes, monitor)
    renamed = sum(before != after for before, after in zip(keys, current, strict=True))
    found = "" if wanted is None else tr(" · {count} found by the target", count=matched)
    return RulesPage(
        rules=tuple(lines),
        changes=tuple(changes[:EXAMPLES]),
        collisions=len({clash for clash in clashes.values() if clash}),
        usable=not any(line.is_error for line in lines) and not clashes,
        summary=tr(
            "{renamed} of {keys} renamed{found}",
            renamed=renamed,
            keys=counted(len(keys), "key"),
            found=found,
        ),
    )


def _timed(line: RuleLine, seconds: float, keys: int) -> RuleLine:
    """The line, marked where its pattern takes long on these keys."""
    if line.is_error or seconds < max(SLOW_TOTAL, SLOW_SHARE * keys):
        return line
    slow = tr("slow: {seconds} s for these keys", seconds=f"{seconds:.1f}")
    problem = f"{line.problem} · {slow}" if line.problem else slow
    return replace(line, problem=problem)


def edit_title(before: Sequence[RuleDraft], after: Sequence[RuleDraft]) -> str:
    """What the step of a history is called that turns these rules into those."""
    if len(before) == len(after):
        changed = [new for old, new in zip(before, after, strict=True) if old != new]
        if len(changed) > 1 and Counter(before) == Counter(after):
            return tr("Order of the rules")
        if len(changed) == 1:
            return tr("Rule {pattern}", pattern=changed[0].pattern)
    gone = [*(Counter(before) - Counter(after)).elements()]
    new = [*(Counter(after) - Counter(before)).elements()]
    if len(gone) == 1 and not new:
        return tr("Remove the rule {pattern}", pattern=gone[0].pattern)
    if len(new) == 1 and not gone:
        return tr("Rule {pattern}", pattern=new[0].pattern)
    return tr("Remap rules")


def _pieces(count: int, monitor: Monitor) -> Iterator[slice]:
    """Slices of all keys; between two of them the work can be stopped, and others run."""
    for start in range(0, count, PIECE):
        monitor.check()
        yield slice(start, start + PIECE)


def _matched(keys: Sequence[str], wanted: frozenset[str] | None, monitor: Monitor) -> int:
    """How many keys of the target are among these."""
    found: set[str] = set()
    if wanted is not None:
        for part in _pieces(len(keys), monitor):
            found.update(wanted.intersection(keys[part]))
    return len(found)


def drafts_of(recipe: Recipe) -> tuple[RuleDraft, ...]:
    """The rules of a recipe as the editor holds them."""
    return tuple(
        RuleDraft(rule.pattern, rule.replacement, rule.enabled) for rule in recipe.remap.rules
    )


def rules_of(drafts: Sequence[RuleDraft]) -> tuple[RemapRule, ...]:
    """The rules of an editor. Raises RecipeError for the first that cannot be understood."""
    for draft in drafts:
        if draft.problem:
            raise RecipeError(draft.problem, step="remap")
    return tuple(RemapRule(d.pattern, d.replacement, d.enabled) for d in drafts)


def wanted_keys(spec: ModuleSpec, recipe: Recipe) -> frozenset[str]:
    """Keys under which the target looks for its tensors: its own, and the adapters' other names."""
    adapter = recipe.adapter()
    others = (alternative_key(adapter, entry) for entry in spec)
    return frozenset([*(entry.key for entry in spec), *(key for key in others if key is not None)])


def _rule_line(
    number: int,
    draft: RuleDraft,
    keys: Sequence[str],
    wanted: frozenset[str] | None,
    matched: int,
    monitor: Monitor,
) -> tuple[RuleLine, Sequence[str], int]:
    """The line of one rule, the keys after it, and how many of them the target wants then."""
    if draft.problem:
        return RuleLine(number, draft, 0, 0, draft.problem, None, is_error=True), keys, matched
    try:
        rule = RemapRule(draft.pattern, draft.replacement)
        # Refuses patterns that would take forever on these keys.
        after = rule.rename_all(keys, monitor=monitor)
    except RecipeError as error:
        line = RuleLine(number, draft, 0, 0, say(str(error)), error.position, is_error=True)
        return line, keys, matched
    hits = rule.count_hits(keys, after)
    now = _matched(after, wanted, monitor)
    problem = ""
    if not hits:
        problem = tr("matches nothing")
    elif after == list(keys):
        problem = tr("changes nothing")
    line = RuleLine(number, draft, hits, now - matched, problem, None, is_error=False)
    return (line, after, now) if draft.enabled else (line, keys, matched)


def _collisions(before: Sequence[str], after: Sequence[str], monitor: Monitor) -> dict[int, str]:
    """Position of every key that would share its new name → a key it shares it with."""
    seen: set[str] = set()
    for part in _pieces(len(after), monitor):
        seen.update(after[part])
    if len(seen) == len(after):
        return {}
    places: dict[str, list[int]] = {}
    for position, key in enumerate(after):
        places.setdefault(key, []).append(position)
    found: dict[int, str] = {}
    for shared in places.values():
        if len(shared) > 1:
            for position in shared:
                other = shared[0] if position != shared[0] else shared[1]
                found[position] = before[other]
    return found


def _changes(
    before: Sequence[str],
    after: Sequence[str],
    wanted: frozenset[str] | None,
    clashes: dict[int, str],
    monitor: Monitor,
) -> list[ChangeLine]:
    groups: dict[tuple[object, ...], list[int]] = {}
    for part in _pieces(len(before), monitor):
        old_keys, new_keys = before[part], after[part]
        folded = zip(families_of(old_keys), families_of(new_keys), strict=True)
        rows = zip(old_keys, new_keys, folded, strict=True)
        for position, (old, new, families) in enumerate(rows, part.start):
            hit = None if wanted is None else new in wanted
            alone = not new or (clashes and position in clashes)
            likeness = (position,) if alone else (families, hit, old == new)
            groups.setdefault(likeness, []).append(position)
    lines = [_change_line(places, before, after, wanted, clashes) for places in groups.values()]
    return sorted(lines, key=lambda line: (not line.problem, not line.changed))


def _change_line(
    places: Sequence[int],
    before: Sequence[str],
    after: Sequence[str],
    wanted: frozenset[str] | None,
    clashes: dict[int, str],
) -> ChangeLine:
    first = places[0]
    old, new = before[first], after[first]
    problem = tr("collides with {key}", key=clashes[first]) if first in clashes else ""
    if not new:
        problem = tr("the name would be empty")
    several = len(places) > 1
    return ChangeLine(
        before=fold(old) if several else old,
        after=fold(new) if several else new,
        count=len(places),
        in_target=None if wanted is None else new in wanted,
        problem=problem,
    )
