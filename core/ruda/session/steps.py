"""The steps of a recipe in words, one line each; what the recipe panel and the terminal list."""

from __future__ import annotations

from ruda.session.language import tr
from ruda.session.wording import counted, listed
from ruda.store import Action, CastScope, Recipe


def step_lines(recipe: Recipe) -> tuple[str, ...]:
    """One line per step, in the order in which the steps are done."""
    lines = [_rule_line(rule.pattern, rule.replacement) for rule in recipe.remap.active]
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
    if not recipe.select.is_empty:
        chosen = recipe.select
        simple = listed([*chosen.regexes, *chosen.keys])
        lines.append(tr("select {simple}", simple=simple) if simple else tr("select by a filter"))
    for action in Action:
        keys = [decision.key for decision in recipe.decide if decision.action is action]
        if keys:
            lines.append(f"{action.value} {listed(keys)}")
    return tuple(lines)


def steps_text(recipe: Recipe) -> str:
    """``recipe has 2 steps``; ``no recipe`` for none."""
    count = len(step_lines(recipe))
    return tr("recipe has {count}", count=counted(count, "step")) if count else tr("no recipe")


def _rule_line(pattern: str, replacement: str) -> str:
    return (
        tr("rename {pattern} to {replacement}", pattern=pattern, replacement=replacement)
        if replacement
        else tr("strip {pattern}", pattern=pattern)
    )
