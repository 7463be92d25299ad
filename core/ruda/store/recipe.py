"""Recipe: what is done to the tensors of a file, as data.

Everything that looks at a recipe (diff, apply, convert, the window, the command line) does the
same steps in the same order: merge tensors that only mean something together, remap the keys, take
tensors of other files, adapt to the modules of the target, change the shapes of single tensors,
cast, and select by the resulting key. A recipe is frozen; an edit makes a new one, so undo is the
one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from ruda.errors import DTypeError, RecipeError, SettingError
from ruda.store.adapt import IdentityAdapter, ModuleAdapter, adapter_named, chain
from ruda.store.castable import CAST_TARGETS, cast_target
from ruda.store.decided import Choice, DecidedCast
from ruda.store.decisions import Action, Change, Decision, Take, require_compatible
from ruda.store.half import HALF_MODULES, FloatCastAdapter, HalfPrecisionAdapter
from ruda.store.merging import require_merge
from ruda.store.naming import require_alone
from ruda.store.patterns import compile_pattern, guard
from ruda.store.remap import KeyRemapper, RemapRule
from ruda.store.select import PathFilter
from ruda.store.shaping import ShapedAdapter
from ruda.tensor import DType

__all__ = [
    "Action",
    "Adaptation",
    "CastPolicy",
    "CastScope",
    "DTypePolicy",
    "Decision",
    "Recipe",
]


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


@dataclass(frozen=True, slots=True)
class DTypePolicy:
    """The element type of every tensor in whose key a regex is found: kept, cast or clamped.

    It goes before the cast of the recipe; of several that fit, the first counts; a decision about
    the very tensor goes before all. Tensors of integers and bools are left alone. Raises
    RecipeError for a regex that does not compile, and unless ``to`` fits the action.
    """

    pattern: str
    action: Action = Action.KEEP
    to: DType | None = None

    def __post_init__(self) -> None:
        compile_pattern(self.pattern, "policy")
        if self.action is Action.KEEP:
            if self.to is not None:
                raise RecipeError("keep casts to nothing", step="policy")
        elif self.action not in (Action.CAST, Action.CLAMP):
            raise RecipeError(
                f"a policy keeps, casts or clamps; {self.action.value} is for single tensors",
                step="policy",
            )
        else:
            self._check_type()

    def _check_type(self) -> None:
        allowed = CAST_TARGETS if self.action is Action.CAST else CAST_TARGETS[:-1]
        if self.to not in allowed:
            names = ", ".join(str(dtype) for dtype in allowed)
            raise RecipeError(f"{self.action.value} takes {names}, not {self.to}", step="policy")

    @classmethod
    def parse(cls, text: str) -> DTypePolicy:
        """``REGEX=keep``, ``REGEX=bf16`` or ``REGEX=clamp:f16``. Raises RecipeError."""
        pattern, sign, word = text.rpartition("=")
        if not sign or not pattern:
            raise RecipeError(
                f"expected REGEX=keep, REGEX=DTYPE or REGEX=clamp:DTYPE, got {text!r}",
                step="policy",
            )
        if word == "keep":
            return cls(pattern)
        clamped = word.startswith("clamp:")
        name = word.removeprefix("clamp:")
        try:
            to = DType.I8 if name == "int8" else cast_target(name)
        except DTypeError as error:
            raise RecipeError(f"{text!r}: {error}", step="policy") from None
        return cls(pattern, Action.CLAMP if clamped else Action.CAST, to)

    @property
    def text(self) -> str:
        """What ``parse`` reads."""
        if self.to is None:
            return f"{self.pattern}=keep"
        clamp = "clamp:" if self.action is Action.CLAMP else ""
        return f"{self.pattern}={clamp}{self.to}"


_CHOICES = (Action.KEEP, Action.CAST, Action.CLAMP)
"""Decisions about the element type of a tensor."""

Adaptation = str | ModuleAdapter
"""An adapter by its name, or one of your own (which a recipe file cannot hold)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Merge, remap, adapt, cast, select and decide; see above for the order."""

    select: PathFilter = field(default_factory=PathFilter)
    remap: KeyRemapper = field(default_factory=KeyRemapper)
    adapt: tuple[Adaptation, ...] = ()
    cast: CastPolicy | None = None
    decide: tuple[Decision, ...] = ()
    policy: tuple[DTypePolicy, ...] = ()
    """Element types by pattern, before ``cast``."""
    merge: tuple[str, ...] = ()
    """What is computed out of several tensors, by name: ``scales``, ``weight-norm``, ….
    Done first, on the keys of the file."""

    def __post_init__(self) -> None:
        for entry in self.adapt:
            if isinstance(entry, str):
                adapter_named(entry)
        require_alone(self.adapt)
        require_compatible(self.decide)
        for name in self.merge:
            require_merge(name)

    @property
    def is_identity(self) -> bool:
        """True if nothing at all is done."""
        return (
            self.select.is_empty
            and self.remap.is_empty
            and not self.adapt
            and self.cast is None
            and not (self.decide or self.policy or self.merge)
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
            if d.action in _CHOICES
        }

    @property
    def takes(self) -> dict[str, Take]:
        """The tensors that are taken from other files, by key."""
        return {d.key: d.change for d in self.decide if isinstance(d.change, Take)}

    @property
    def changes(self) -> dict[str, tuple[Change, ...]]:
        """What is done to the shapes of single tensors, by key, in order."""
        found: dict[str, tuple[Change, ...]] = {}
        for decision in self.decide:
            if decision.is_shape and decision.change is not None:
                found[decision.key] = (*found.get(decision.key, ()), decision.change)
        return found

    @property
    def decided_keys(self) -> frozenset[str]:
        """Keys of tensors whose element type or shape is decided."""
        return frozenset(self.choices) | frozenset(self.changes)

    @property
    def casts(self) -> bool:
        """True if any element type may change."""
        if self.cast is not None or self.policy:
            return True
        return any(decision.action in _CHOICES for decision in self.decide)

    def guard(self, keys: Iterable[str]) -> None:
        """Raise RecipeError for a pattern of the filter or policy that takes too long on these."""
        found = list(keys)
        self.select.guard(found)
        for policy in self.policy:
            guard(policy.pattern, found, "policy")

    def adapter(self, protected: Mapping[str, str] = MappingProxyType({})) -> ModuleAdapter:
        """All adapters, the changes of shapes, and the cast as one.

        ``protected`` maps tensors that keep their element type and shape to the scale (or what
        else) that they mean nothing without.
        """
        adapters = [adapter_named(a) if isinstance(a, str) else a for a in self.adapt]
        changes = self.changes
        if changes:
            adapters.append(ShapedAdapter(changes, protected))
        choices = {key: Choice() for key in protected} | self.choices if self.casts else {}
        if choices or self.policy:
            inner = IdentityAdapter() if self.cast is None else self.cast.adapter()
            rules = tuple((p.pattern, Choice(p.to, p.action is Action.CLAMP)) for p in self.policy)
            adapters.append(DecidedCast(inner, choices, rules, broad=bool(protected)))
        elif self.cast is not None:
            adapters.append(self.cast.adapter())
        return chain(adapters)

    def reverse(self, keys: Iterable[str] | None = None) -> tuple[Recipe, ...]:
        """The recipes that take this one back, one after the other; none for an identity.

        There may be up to three, since a recipe has one order of steps: turned axes first, then
        the adapters, then the names. ``keys`` are those of the file that this recipe is for: with
        them it is sure that every name comes back. Without them a rule that strips a prefix puts
        it before every key, before those, too, that never had it.

        Raises RecipeError naming the first step that has no reverse: merges, filters, casts and
        policies have none, nor have decisions but transposes, and rules as
        ``KeyRemapper.reverse`` says.
        """
        lost = (
            ("merge", self.merge, "what it computed does not tell its parts"),
            ("select", not self.select.is_empty, "what is left out is in no file to bring back"),
            ("cast", self.cast, "a cast forgets what it rounded"),
            ("policy", self.policy, "a cast forgets what it rounded"),
        )
        for step, there, why in lost:
            if there:
                raise RecipeError(
                    f"has no reverse: {why}; take it out to reverse the rest", step=step
                )
        turned = tuple(decision.reverse() for decision in reversed(self.decide))
        back: list[Adaptation] = []
        for entry in reversed(self.adapt):
            adapter = (adapter_named(entry) if isinstance(entry, str) else entry).reverse()
            if not isinstance(adapter, IdentityAdapter):
                back.append(adapter.name if isinstance(entry, str) else adapter)
        steps = (
            Recipe(decide=turned),
            Recipe(adapt=tuple(back)),
            Recipe(remap=self.remap.reverse(keys)),
        )
        return tuple(step for step in steps if not step.is_identity)

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

    def with_policy(self, *policy: DTypePolicy) -> Recipe:
        """With these element types by pattern instead."""
        return replace(self, policy=policy)

    def with_merge(self, *names: str) -> Recipe:
        """With these merges instead. Raises RecipeError for a name that is none."""
        return replace(self, merge=names)

    def with_further(self, *decisions: Decision) -> Recipe:
        """With these decisions besides others. Raises RecipeError where they exclude each other."""
        return replace(self, decide=(*self.decide, *decisions))

    def with_decision(self, *decisions: Decision) -> Recipe:
        """With these decisions, instead of others about the same tensors."""
        keys = {decision.key for decision in decisions}
        kept = tuple(d for d in self.decide if d.key not in keys)
        return replace(self, decide=(*kept, *decisions))

    def without_decision(self, *keys: str) -> Recipe:
        """Without the decisions about these tensors."""
        return replace(self, decide=tuple(d for d in self.decide if d.key not in keys))
