"""Two documents beside each other: what is asked for, as data, and the comparison itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from ruda.errors import RecipeError
from ruda.progress import SILENT, Monitor
from ruda.session.pages.rules import RuleDraft, rules_of
from ruda.session.sentences import say
from ruda.store import PathFilter, Recipe, compare
from ruda.tensor import Tolerance

if TYPE_CHECKING:
    from ruda.session.document import Document
    from ruda.store import CompareReport


class SideView(Enum):
    """What of a document is compared."""

    FILE = "file"
    """The tensors as they are in the file."""
    RECIPE = "recipe"
    """What its recipe makes of them."""
    UNCAST = "uncast"
    """What its recipe makes of them, in the types of the file."""


@dataclass(frozen=True, slots=True)
class CompareSide:
    """How one side is brought to the keys of the other."""

    view: SideView = SideView.FILE
    rules: tuple[RuleDraft, ...] = ()
    """Further remap rules, of this comparison only."""

    def recipe(self, document: Document) -> Recipe:
        """The recipe that this side is compared through. Raises RecipeError for a broken rule."""
        recipe = Recipe() if self.view is SideView.FILE else document.recipe
        if self.view is SideView.UNCAST:
            recipe = recipe.with_cast(None)
        active = tuple(rule for rule in self.rules if rule.enabled and rule.pattern)
        return recipe.with_rules((*recipe.remap.rules, *rules_of(active)))


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Everything that a comparison of two documents is asked with."""

    values: bool = False
    """True to read and compare every value; else headers only."""
    absolute: float | None = None
    relative: float | None = None
    ulp: int = 0
    any_dtype: bool = False
    only: str = ""
    """A regex: only keys that it matches, after the rules of their side; empty for all."""
    left: CompareSide = CompareSide()
    right: CompareSide = CompareSide()

    @property
    def tolerance(self) -> Tolerance | None:
        """The tolerance; None where equal values are wanted. Raises SettingError out of range."""
        if self.absolute is None and self.relative is None:
            return None
        return Tolerance.rel_abs(self.relative or 0.0, self.absolute or 0.0)

    @property
    def problem(self) -> str:
        """Why ``only`` cannot be used; empty for none."""
        try:
            PathFilter((self.only,) if self.only else ())
        except RecipeError as error:
            return say(str(error))
        return ""

    @property
    def is_lenient(self) -> bool:
        """True if values may differ a little."""
        return self.absolute is not None or self.relative is not None or self.ulp > 0

    def with_values(self, *, on: bool) -> CompareOptions:
        """The same with or without values."""
        return replace(self, values=on)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which open documents stand beside each other, by their ids, and how they are compared."""

    left: int | None = None
    right: int | None = None
    options: CompareOptions = CompareOptions()

    @property
    def sides(self) -> tuple[int | None, int | None]:
        """Both documents."""
        return self.left, self.right

    def with_sides(self, left: int | None, right: int | None) -> Comparison:
        """The same question of other documents; values have to be asked for again."""
        return replace(self, left=left, right=right, options=self.options.with_values(on=False))

    def with_options(self, options: CompareOptions) -> Comparison:
        """The same documents compared in another way."""
        return replace(self, options=options)

    def without(self, document_id: int) -> Comparison:
        """The comparison once a document is closed."""
        left, right = (None if side == document_id else side for side in self.sides)
        return self.with_sides(left, right)

    def swapped(self) -> Comparison:
        """The sides in each other's place, with their rules."""
        options = replace(self.options, left=self.options.right, right=self.options.left)
        return Comparison(self.right, self.left, options.with_values(on=False))


def compare_documents(
    left: Document, right: Document, options: CompareOptions, *, monitor: Monitor = SILENT
) -> CompareReport:
    """Compare two documents, tensor by tensor. Tolerances count where values are compared.

    Raises RecipeError for a broken rule, SettingError for a tolerance out of range, and what
    converting and reading raise.
    """
    lenient = options.values and options.is_lenient
    return compare(
        left.index,
        right.index,
        values=options.values,
        tolerance=options.tolerance if lenient else None,
        ulp=options.ulp if lenient else 0,
        any_dtype=options.any_dtype,
        only=PathFilter((options.only,)) if options.only else None,
        recipe_left=options.left.recipe(left),
        recipe_right=options.right.recipe(right),
        monitor=monitor,
    )
