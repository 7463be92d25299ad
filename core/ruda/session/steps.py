"""The steps of a recipe in words, one line each; what the recipe panel and the terminal list."""

from __future__ import annotations

from dataclasses import replace

from ruda.session.flags import flat_filter
from ruda.session.language import later, tr
from ruda.session.wording import counted, listed
from ruda.store import Action, CastScope, DTypePolicy, PathFilter, Recipe


def step_lines(recipe: Recipe) -> tuple[str, ...]:
    """One line per step, in the order in which the steps are done."""
    lines = [tr("merge {name}", name=name) for name in recipe.merge]
    lines += [_rule_line(rule.pattern, rule.replacement) for rule in recipe.remap.active]
    if recipe.remap.contiguous:
        lines.append(tr("close gaps in numbered keys"))
    lines.extend(
        tr("adapt {name}", name=entry if isinstance(entry, str) else entry.name)
        for entry in recipe.adapt
    )
    cast = recipe.cast
    if cast is not None:
        what = tr("half precision") if cast.scope is CastScope.MODULES else tr("cast floats to")
        kept = tr(", {keep} kept", keep=listed(sorted(cast.keep))) if cast.keep else ""
        lines.append(f"{what} {cast.to}{kept}")
    lines += [_policy_line(policy) for policy in recipe.policy]
    lines += _select_lines(recipe.select)
    for action, line in _PLAIN.items():
        keys = [decision.key for decision in recipe.decide if decision.action is action]
        if keys:
            lines.append(tr(line, keys=listed(keys)))
    lines += [f"{d.text}: {d.key}" for d in recipe.decide if d.action not in _PLAIN]
    return tuple(lines)


_PLAIN = {Action.SKIP: later("skip {keys}"), Action.KEEP: later("keep {keys}")}
"""Actions that say all by their name; several keys share a line."""


def _policy_line(policy: DTypePolicy) -> str:
    """What a policy does to the keys that fit its pattern."""
    if policy.to is None:
        return tr("keep the type of {pattern}", pattern=policy.pattern)
    if policy.action is Action.CLAMP:
        return tr("clamp {pattern} to {dtype}", pattern=policy.pattern, dtype=policy.to)
    return tr("cast {pattern} to {dtype}", pattern=policy.pattern, dtype=policy.to)


def _select_lines(chosen: PathFilter) -> list[str]:
    """What a filter takes and what it leaves out, as far as a line tells it."""
    flat = flat_filter(chosen)
    if flat.is_empty:
        return []
    left = flat.excluded
    if flat.negated or flat.any_of or (left is not None and (left.any_of or left.excluded)):
        return [tr("select by a filter")]
    lines: list[str] = []
    simple = _criteria(flat)
    if simple:
        lines.append(tr("select {simple}", simple=listed(simple)))
    if left is not None:
        lines.append(tr("leave out {simple}", simple=listed(_criteria(left))))
    return lines or [tr("select by a filter")]


def _criteria(chosen: PathFilter) -> list[str]:
    """The patterns, keys and predicates of a filter; one without a name as such."""
    named = [p if isinstance(p, str) else tr("a predicate") for p in chosen.predicates]
    return [*chosen.regexes, *chosen.keys, *named]


def steps_text(recipe: Recipe) -> str:
    """``recipe has 2 steps``; ``no recipe`` for none."""
    count = _step_count(recipe)
    return tr("recipe has {count}", count=counted(count, "step")) if count else tr("no recipe")


def _step_count(recipe: Recipe) -> int:
    """How many ``step_lines`` there are: of a million decisions no line is made to count them."""
    actions = [decision.action for decision in recipe.decide]
    plain = [actions.count(action) for action in _PLAIN]
    few = step_lines(replace(recipe, decide=()))
    return len(few) + sum(map(bool, plain)) + len(actions) - sum(plain)


def _rule_line(pattern: str, replacement: str) -> str:
    return (
        tr("rename {pattern} to {replacement}", pattern=pattern, replacement=replacement)
        if replacement
        else tr("strip {pattern}", pattern=pattern)
    )
