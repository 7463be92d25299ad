"""Recipe: what is done to the tensors of a file, as data.

Everything that looks at a recipe (diff, apply, convert, the window, the command line) does the
same steps in the same order: remap the keys, adapt to the modules of the target, cast, select by
the resulting key, and last the decisions for single tensors. A recipe is frozen; an edit makes a
new one, so undo is the one before.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from ruda.errors import RecipeError, SettingError
from ruda.store.adapt import IdentityAdapter, ModuleAdapter, adapter_named, chain
from ruda.store.decided import Choice, DecidedCast
from ruda.store.half import HALF_MODULES, FloatCastAdapter, HalfPrecisionAdapter
from ruda.store.remap import KeyRemapper, RemapRule
from ruda.store.select import PathFilter
from ruda.tensor import DType


class CastScope(Enum):
    """Which tensors a cast takes."""

    MODULES = "modules"
    """Those of the kinds of module that stand half precision (``HALF_MODULES``)."""
    ALL = "all"
    """Every float tensor."""


@dataclass(frozen=True, slots=True)
class CastPolicy:
    """The element type that tensors are cast to, and which kinds of module keep theirs.

    ``keep`` takes kinds out of the choice, ``add`` puts kinds in (scope ``MODULES`` only).
    Raises RecipeError for a dtype that is no plain float, or a kind that nobody knows.
    """

    to: DType
    scope: CastScope = CastScope.ALL
    keep: frozenset[str] = frozenset()
    add: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.scope is CastScope.ALL and self.add:
            raise RecipeError("a cast of all tensors has no kinds to add", step="cast")
        try:
            self.adapter()
        except SettingError as error:
            raise RecipeError(str(error), step="cast") from None

    @classmethod
    def half(
        cls, to: DType = DType.F16, *, keep: Iterable[str] = (), add: Iterable[str] = ()
    ) -> CastPolicy:
        """Half precision for the kinds of module that stand it."""
        return cls(to, CastScope.MODULES, frozenset(keep), frozenset(add))

    @classmethod
    def every(cls, to: DType, *, keep: Iterable[str] = ()) -> CastPolicy:
        """One dtype for every float tensor."""
        return cls(to, CastScope.ALL, frozenset(keep))

    def adapter(self) -> ModuleAdapter:
        """The adapter that does it. Raises SettingError."""
        # Made for either scope: it is what refuses a kind that nobody knows.
        half = HalfPrecisionAdapter(modules=HALF_MODULES | self.add).without_modules(self.keep)
        if self.scope is CastScope.ALL:
            return FloatCastAdapter(self.to, self.keep)
        return replace(half, to=self.to)


class Action(Enum):
    """What is decided for one tensor."""

    SKIP = "skip"
    """Leave it out: the target keeps its value, a converted file lacks it."""
    KEEP = "keep"
    """Keep its element type, whatever the cast of the recipe says."""
    CAST = "cast"
    """Another element type than the cast of the recipe says."""
    CLAMP = "clamp"
    """As ``CAST``, and values that do not fit become the largest that do."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with one tensor, by its key in the target (or in the file, if none takes it).

    Raises RecipeError unless ``to`` is a float for ``CAST`` and ``CLAMP``, and absent elsewhere.
    """

    key: str
    action: Action = Action.SKIP
    to: DType | None = None

    def __post_init__(self) -> None:
        casts = self.action in (Action.CAST, Action.CLAMP)
        if casts and (self.to is None or not self.to.is_float):
            raise RecipeError(f"{self.action.value} needs a float to cast to", step="decide")
        if not casts and self.to is not None:
            raise RecipeError(f"{self.action.value} casts to nothing", step="decide")


Adaptation = str | ModuleAdapter
"""An adapter by its name, or one of your own (which a recipe file cannot hold)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Remap, adapt, cast, select and decide, in this order."""

    select: PathFilter = field(default_factory=PathFilter)
    remap: KeyRemapper = field(default_factory=KeyRemapper)
    adapt: tuple[Adaptation, ...] = ()
    cast: CastPolicy | None = None
    decide: tuple[Decision, ...] = ()

    def __post_init__(self) -> None:
        for entry in self.adapt:
            if isinstance(entry, str):
                adapter_named(entry)
        seen: set[str] = set()
        for decision in self.decide:
            if decision.key in seen:
                raise RecipeError(f"two decisions for {decision.key!r}", step="decide")
            seen.add(decision.key)

    @property
    def is_identity(self) -> bool:
        """True if nothing at all is done."""
        return (
            self.select.is_empty
            and self.remap.is_empty
            and not self.adapt
            and self.cast is None
            and not self.decide
        )

    @property
    def skipped_keys(self) -> frozenset[str]:
        """Keys that are decided to be left out."""
        return frozenset(d.key for d in self.decide if d.action is Action.SKIP)

    @property
    def choices(self) -> dict[str, Choice]:
        """The element types that are decided for single tensors, by key."""
        return {
            d.key: Choice(d.to, d.action is Action.CLAMP)
            for d in self.decide
            if d.action is not Action.SKIP
        }

    def adapter(self, protected: Iterable[str] = ()) -> ModuleAdapter:
        """All adapters and the cast as one; ``protected`` tensors keep their element type."""
        adapters = [adapter_named(a) if isinstance(a, str) else a for a in self.adapt]
        choices = {key: Choice() for key in protected} | self.choices
        if choices:
            inner = IdentityAdapter() if self.cast is None else self.cast.adapter()
            adapters.append(DecidedCast(inner, choices))
        elif self.cast is not None:
            adapters.append(self.cast.adapter())
        return chain(adapters)

    def with_select(self, select: PathFilter) -> Recipe:
        """With another filter."""
        return replace(self, select=select)

    def with_remap(self, remap: KeyRemapper) -> Recipe:
        """With another remapper."""
        return replace(self, remap=remap)

    def with_rule(self, pattern: str, replacement: str, *, at: int | None = None) -> Recipe:
        """With one more remap rule, at the end or before position ``at``. Raises RecipeError."""
        rules = list(self.remap.rules)
        rules.insert(len(rules) if at is None else at, RemapRule(pattern, replacement))
        return self.with_rules(rules)

    def with_rules(self, rules: Iterable[RemapRule]) -> Recipe:
        """With these remap rules instead."""
        return replace(self, remap=replace(self.remap, rules=tuple(rules)))

    def with_adapt(self, *adapters: Adaptation) -> Recipe:
        """With these adapters instead. Raises RecipeError for a name that is none."""
        return replace(self, adapt=adapters)

    def with_cast(self, cast: CastPolicy | None) -> Recipe:
        """With another cast, or none."""
        return replace(self, cast=cast)

    def with_skip(self, *keys: str) -> Recipe:
        """With the decision to leave these tensors out."""
        return self.with_decision(*(Decision(key) for key in keys))

    def with_decision(self, *decisions: Decision) -> Recipe:
        """With these decisions, instead of others about the same tensors."""
        keys = {decision.key for decision in decisions}
        kept = tuple(d for d in self.decide if d.key not in keys)
        return replace(self, decide=(*kept, *decisions))

    def without_decision(self, *keys: str) -> Recipe:
        """Without the decisions about these tensors."""
        return replace(self, decide=tuple(d for d in self.decide if d.key not in keys))


def nearest_word(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for a slip of the pen, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
