"""Recipe flags: the part of a recipe that fits on a command line, both ways.

``RecipeFlags.of(recipe).recipe()`` is the recipe again, so that what is copied from the window
does the same when ``ruda`` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from ruda.errors import SettingError
from ruda.store import (
    Action,
    CastPolicy,
    CastScope,
    Decision,
    DTypePolicy,
    KeyRemapper,
    PathFilter,
    Recipe,
    cast_target,
    preset_named,
)
from ruda.tensor import DType


@dataclass(frozen=True, slots=True)
class RecipeFlags:
    """The values of the flags that make a recipe; ``arguments`` names the flags."""

    preset: tuple[str, ...] = ()
    """Ready-made steps, before all others; never in ``of``, which says the steps themselves."""
    merge: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    select_key: tuple[str, ...] = ()
    select_by: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    """Regexes of ``--except``."""
    leave_key: tuple[str, ...] = ()
    leave_by: tuple[str, ...] = ()
    remap: tuple[tuple[str, str], ...] = ()
    contiguous: bool = False
    keep_indices: str | None = None
    adapt: tuple[str, ...] = ()
    half: str | None = None
    cast: str | None = None
    keep: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    policy: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    decide: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, recipe: Recipe) -> RecipeFlags | None:
        """The flags equal to a recipe; None where it needs a file (``--recipe``).

        Rules that are switched off do nothing and are left out.
        """
        names = tuple(entry for entry in recipe.adapt if isinstance(entry, str))
        cast = recipe.cast
        halved = cast is not None and cast.scope is CastScope.MODULES
        taken = flat_filter(recipe.select)
        left = taken.excluded or PathFilter()
        skips = all(decision.action is Action.SKIP for decision in recipe.decide)
        flags = cls(
            merge=recipe.merge,
            select=taken.regexes,
            select_key=taken.keys,
            select_by=_named(taken),
            leave=left.regexes,
            leave_key=left.keys,
            leave_by=_named(left),
            remap=recipe.remap.to_regex_pairs(),
            contiguous=recipe.remap.contiguous,
            keep_indices=recipe.remap.keep_indices,
            adapt=names,
            half=cast.to.label if cast is not None and halved else None,
            cast=cast.to.label if cast is not None and not halved else None,
            keep=tuple(sorted(cast.keep)) if cast is not None else (),
            add=tuple(sorted(cast.add)) if cast is not None else (),
            policy=tuple(policy.text for policy in recipe.policy),
            skip=tuple(d.key for d in recipe.decide) if skips else (),
            decide=() if skips else tuple((d.key, d.text) for d in recipe.decide),
        )
        effective = replace(
            recipe, remap=replace(recipe.remap, rules=recipe.remap.active), select=taken
        )
        made = flags.recipe()
        return flags if replace(made, select=flat_filter(made.select)) == effective else None

    def recipe(self, start: Recipe | None = None) -> Recipe:
        """The recipe of these flags, added to ``start``; a cast replaces that of ``start``.

        Decisions replace those of ``start`` about the same tensors, policies come before its own.
        Raises RecipeError and DTypeError for values that cannot be understood, SettingError for
        flags that exclude each other.
        """
        recipe = Recipe() if start is None else start
        for name in self.preset:
            recipe = preset_named(name).on(recipe)
        if self.merge:
            recipe = recipe.with_merge(*dict.fromkeys((*recipe.merge, *self.merge)))
        recipe = recipe.with_select(self._select(recipe.select))
        recipe = recipe.with_remap(self._remap(recipe.remap))
        if self.adapt:
            recipe = recipe.with_adapt(*recipe.adapt, *self.adapt)
        cast = self._cast(recipe.cast)
        if cast is not recipe.cast:
            recipe = recipe.with_cast(cast)
        if self.policy:
            found = tuple(DTypePolicy.parse(text) for text in self.policy)
            recipe = recipe.with_policy(*found, *recipe.policy)
        if self.decide:
            decisions = [Decision.parse(key, text) for key, text in self.decide]
            recipe = recipe.without_decision(*(d.key for d in decisions)).with_further(*decisions)
        return recipe.with_skip(*self.skip) if self.skip else recipe

    def _select(self, before: PathFilter) -> PathFilter:
        taken = PathFilter(self.select, self.select_key, self.select_by)
        left = PathFilter(self.leave, self.leave_key, self.leave_by)
        found = before
        if not taken.is_empty and before.negated:
            found = before.or_(taken)
        elif not taken.is_empty:  # what the recipe excludes stays excluded
            found = replace(
                before,
                regexes=(*before.regexes, *taken.regexes),
                keys=(*before.keys, *taken.keys),
                predicates=(*before.predicates, *taken.predicates),
            )
        return found if left.is_empty else found.without(left)

    def _remap(self, before: KeyRemapper) -> KeyRemapper:
        if self.keep_indices is not None and not (self.contiguous or before.contiguous):
            raise SettingError("--keep-indices says where gaps stay; add --contiguous")
        found = before.then(KeyRemapper.of(*self.remap)) if self.remap else before
        if self.contiguous or self.keep_indices is not None:
            kept = self.keep_indices if self.keep_indices is not None else found.keep_indices
            found = found.map_indices_contiguous(keep=kept)
        return found

    def _cast(self, before: CastPolicy | None) -> CastPolicy | None:
        if self.half is not None and self.cast is not None:
            raise SettingError("--half and --cast exclude each other: both say what floats become")
        if self.half is not None:
            return CastPolicy.half(DType.parse(self.half), keep=self.keep, add=self.add)
        if self.add and (self.cast is not None or before is None):
            raise SettingError("--add names modules that are halved, too; add --half")
        if self.cast is not None:
            name = "i8" if self.cast == "int8" else self.cast
            return CastPolicy.every(cast_target(name), keep=self.keep)
        if self.keep and before is None:
            raise SettingError("--keep names modules that a cast leaves out; add --half or --cast")
        if before is not None and (self.keep or self.add):
            return replace(
                before, keep=before.keep | frozenset(self.keep), add=before.add | set(self.add)
            )
        return before

    def arguments(self, *, ending: str = "") -> list[str]:
        """The flags as words of a command line; ``-b`` ends those for a second file."""
        words: list[str] = []
        for each in fields(self):
            flag = _FLAGS.get(each.name, f"--{each.name.replace('_', '-')}") + ending
            value = getattr(self, each.name)
            if isinstance(value, bool):
                words.extend([flag] if value else [])
            elif isinstance(value, str):
                words.extend([flag, value])
            elif value is not None:
                for entry in value:
                    words.extend([flag, entry] if isinstance(entry, str) else [flag, *entry])
        return words


_FLAGS = {"leave": "--except", "leave_key": "--except-key", "leave_by": "--except-by"}


def flat_filter(chosen: PathFilter) -> PathFilter:
    """The filter with members merged and negation as an exclusion, as far as that says the same."""
    if chosen.negated and chosen.excluded is None:
        inner = flat_filter(replace(chosen, negated=False))
        return chosen if inner.excluded is not None else PathFilter(excluded=inner)
    members = [flat_filter(member) for member in chosen.any_of]
    if any(m.negated or m.excluded or m.any_of or m.is_empty for m in members):
        return chosen
    found = replace(chosen, any_of=(), excluded=None)
    for member in members:
        found = found.or_(member)
    if found.takes_all:
        found = PathFilter()
    left = None if chosen.excluded is None else flat_filter(chosen.excluded)
    return replace(found, excluded=left)


def _named(chosen: PathFilter) -> tuple[str, ...]:
    return tuple(each for each in chosen.predicates if isinstance(each, str))
