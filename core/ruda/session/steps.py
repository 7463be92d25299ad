"""The steps of a recipe in words, one line each; what the recipe panel and the terminal list."""

from __future__ import annotations

from ruda.session.wording import counted, listed
from ruda.store import Action, CastScope, Recipe


def step_lines(recipe: Recipe) -> tuple[str, ...]:
    """One line per step, in the order in which the steps are done."""
    lines = [_rule_line(rule.pattern, rule.replacement) for rule in recipe.remap.active]
    if recipe.remap.contiguous:
        lines.append("close gaps in numbered keys")
    lines.extend(
        f"adapt {entry if isinstance(entry, str) else entry.name}" for entry in recipe.adapt
    )
    cast = recipe.cast
    if cast is not None:
        what = "half precision" if cast.scope is CastScope.MODULES else "cast floats to"
        kept = f", {listed(sorted(cast.keep))} kept" if cast.keep else ""
        lines.append(f"{what} {cast.to}{kept}")
    if not recipe.select.is_empty:
        chosen = recipe.select
        simple = listed([*chosen.regexes, *chosen.keys])
        lines.append(f"select {simple}" if simple else "select by a filter")
    for action in Action:
        keys = [decision.key for decision in recipe.decide if decision.action is action]
        if keys:
            lines.append(f"{action.value} {listed(keys)}")
    return tuple(lines)


def steps_text(recipe: Recipe) -> str:
    """``recipe has 2 steps``; ``no recipe`` for none."""
    count = len(step_lines(recipe))
    return f"recipe has {counted(count, 'step')}" if count else "no recipe"


def _rule_line(pattern: str, replacement: str) -> str:
    return f"rename {pattern} to {replacement}" if replacement else f"strip {pattern}"
