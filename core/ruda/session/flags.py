"""Recipe flags: the part of a recipe that fits on a command line, both ways.

``RecipeFlags.of(recipe).recipe()`` is the recipe again, so that what is copied from the window
does the same when ``ruda`` runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ruda.errors import SettingError
from ruda.store import Action, CastPolicy, CastScope, KeyRemapper, Recipe
from ruda.tensor import DType


@dataclass(frozen=True, slots=True)
class RecipeFlags:
    """The values of ``--select --remap --adapt --half --keep --cast --skip``."""

    select: tuple[str, ...] = ()
    remap: tuple[tuple[str, str], ...] = ()
    adapt: tuple[str, ...] = ()
    half: str | None = None
    keep: tuple[str, ...] = ()
    cast: str | None = None
    skip: tuple[str, ...] = ()

    @classmethod
    def of(cls, recipe: Recipe) -> RecipeFlags | None:
        """The flags equal to a recipe; None where it needs a file (``--recipe``).

        Rules that are switched off do nothing and are left out.
        """
        names = tuple(entry for entry in recipe.adapt if isinstance(entry, str))
        cast = recipe.cast
        halved = cast is not None and cast.scope is CastScope.MODULES
        flags = cls(
            select=recipe.select.regexes,
            remap=recipe.remap.to_regex_pairs(),
            adapt=names,
            half=cast.to.label if cast is not None and halved else None,
            keep=tuple(sorted(cast.keep)) if cast is not None else (),
            cast=cast.to.label if cast is not None and not halved else None,
            skip=tuple(d.key for d in recipe.decide if d.action is Action.SKIP),
        )
        effective = replace(recipe, remap=replace(recipe.remap, rules=recipe.remap.active))
        return flags if flags.recipe() == effective else None

    def recipe(self, start: Recipe | None = None) -> Recipe:
        """The recipe of these flags, added to ``start``; a cast replaces that of ``start``.

        Raises RecipeError and DTypeError for values that cannot be understood, SettingError for
        flags that exclude each other.
        """
        recipe = Recipe() if start is None else start
        if self.select:
            recipe = recipe.with_select(recipe.select.with_regexes(self.select))
        if self.remap:
            recipe = recipe.with_remap(recipe.remap.then(KeyRemapper.of(*self.remap)))
        if self.adapt:
            recipe = recipe.with_adapt(*recipe.adapt, *self.adapt)
        cast = self._cast(recipe.cast)
        if cast is not recipe.cast:
            recipe = recipe.with_cast(cast)
        return recipe.with_skip(*self.skip) if self.skip else recipe

    def _cast(self, before: CastPolicy | None) -> CastPolicy | None:
        if self.half is not None and self.cast is not None:
            raise SettingError("--half and --cast exclude each other: both say what floats become")
        if self.half is not None:
            return CastPolicy.half(DType.parse(self.half), keep=self.keep)
        if self.cast is not None:
            name = "i8" if self.cast == "int8" else self.cast
            return CastPolicy.every(DType.parse(name), keep=self.keep)
        if self.keep and before is None:
            raise SettingError("--keep names modules that a cast leaves out; add --half or --cast")
        if self.keep and before is not None:
            return replace(before, keep=before.keep | frozenset(self.keep))
        return before

    def arguments(self) -> list[str]:
        """The flags as words of a command line."""
        words: list[str] = []
        for name, values in (("--select", self.select), ("--skip", self.skip)):
            words.extend(_pairs(name, values))
        for before, after in self.remap:
            words.extend(["--remap", before, after])
        words.extend(_pairs("--adapt", self.adapt))
        if self.half is not None:
            words.extend(["--half", self.half])
        if self.cast is not None:
            words.extend(["--cast", self.cast])
        words.extend(_pairs("--keep", self.keep))
        return words


def _pairs(name: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (name, value)]
