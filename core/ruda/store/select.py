"""PathFilter: which keys a recipe takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from ruda.errors import RecipeError
from ruda.store.named_predicates import Predicate, predicate_named
from ruda.store.patterns import compile_pattern, guard

DEEPEST = 60
"""Filters inside each other; each level takes frames of the stack, and lines of a recipe file."""


@dataclass(frozen=True)
class PathFilter:
    """A choice of keys. A key is in if any criterion takes it; without criteria every key is in.

    Regexes are searched anywhere in the key (anchor them with ``^`` and ``$``), keys are compared
    whole, predicates get the key and its container path. ``~f`` takes what ``f`` leaves, ``f | g``
    what either takes, ``f.without(g)`` what ``f`` takes and ``g`` leaves.

    A predicate is a function or the name of a registered one (``norm``, ``kind:Linear``), which a
    recipe file can hold.

    Raises RecipeError for a regex that does not compile, with its position, and for a name that
    no predicate has.
    """

    regexes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    predicates: tuple[Predicate | str, ...] = ()
    any_of: tuple[PathFilter, ...] = ()
    """Whole filters as criteria: what ``|`` makes of filters that cannot be merged."""
    takes_all: bool = False
    excluded: PathFilter | None = None
    negated: bool = False

    def __post_init__(self) -> None:
        if self._depth > DEEPEST:
            raise RecipeError(
                f"filters are nested more than {DEEPEST} deep; join them with | and without()",
                step="select",
            )
        for pattern in self.regexes:
            compile_pattern(pattern, "select")
        for predicate in self.predicates:
            if isinstance(predicate, str):
                predicate_named(predicate)

    @classmethod
    def all(cls) -> PathFilter:
        """The filter that takes every key."""
        return cls(takes_all=True)

    @classmethod
    def of(cls, *regexes: str) -> PathFilter:
        """Filter of these regexes."""
        return cls(regexes=regexes)

    from_regex_patterns = of

    @classmethod
    def from_paths(cls, keys: Iterable[str]) -> PathFilter:
        """Filter of exactly these keys."""
        return cls(keys=tuple(keys))

    @classmethod
    def from_predicate(cls, predicate: Predicate | str) -> PathFilter:
        """Filter of the keys that the predicate takes."""
        return cls(predicates=(predicate,))

    def with_regex(self, pattern: str) -> PathFilter:
        """Also take keys in which the pattern is found."""
        return replace(self, regexes=(*self.regexes, pattern))

    def with_regexes(self, patterns: Iterable[str]) -> PathFilter:
        """Also take keys in which any of the patterns is found."""
        return replace(self, regexes=(*self.regexes, *patterns))

    def with_full_path(self, key: str) -> PathFilter:
        """Also take exactly this key."""
        return replace(self, keys=(*self.keys, key))

    def with_full_paths(self, keys: Iterable[str]) -> PathFilter:
        """Also take exactly these keys."""
        return replace(self, keys=(*self.keys, *keys))

    def with_predicate(self, predicate: Predicate | str) -> PathFilter:
        """Also take keys for which ``predicate(key, container_path)`` is true."""
        return replace(self, predicates=(*self.predicates, predicate))

    def match_all(self) -> PathFilter:
        """Take every key (that is not excluded)."""
        return replace(self, takes_all=True)

    def or_(self, other: PathFilter) -> PathFilter:
        """What either takes. A filter without criteria adds none, as in RUDA."""
        if other.is_empty:
            return self
        if self.is_empty:
            return other
        if not self._is_compound and other._is_compound:
            return replace(self, any_of=(*self.any_of, other))
        if self._is_compound and not other._is_compound:
            return replace(other, any_of=(self, *other.any_of))
        if self._is_compound:
            return PathFilter(any_of=(self, other))
        return PathFilter(
            regexes=(*self.regexes, *other.regexes),
            keys=(*self.keys, *other.keys),
            predicates=(*self.predicates, *other.predicates),
            any_of=(*self.any_of, *other.any_of),
            takes_all=self.takes_all or other.takes_all,
        )

    def without(self, other: PathFilter | str) -> PathFilter:
        """What this filter takes and ``other`` (a filter, or one regex) leaves."""
        leave = PathFilter.of(other) if isinstance(other, str) else other
        if self.negated:
            return PathFilter(any_of=(self,), excluded=leave)
        if self.excluded is None:
            return replace(self, excluded=leave)
        before = self.excluded
        alone = before.any_of and before == PathFilter(any_of=before.any_of)
        members = before.any_of if alone else (before,)
        return replace(self, excluded=PathFilter(any_of=(*members, leave)))

    __or__ = or_

    def __invert__(self) -> PathFilter:
        return replace(self, negated=not self.negated)

    @property
    def _is_compound(self) -> bool:
        return self.negated or self.excluded is not None

    @property
    def is_empty(self) -> bool:
        """True without any criterion: no filter at all."""
        return self.criteria_count == 0 and not self._is_compound

    @property
    def criteria_count(self) -> int:
        """Number of criteria; 1 if every key is taken."""
        if self.takes_all:
            return 1
        return len(self.regexes) + len(self.keys) + len(self.predicates) + len(self.any_of)

    @cached_property
    def _depth(self) -> int:
        """Filters inside each other, this one included."""
        return 1 + max((member._depth for member in self._members), default=0)

    @property
    def _members(self) -> tuple[PathFilter, ...]:
        return self.any_of if self.excluded is None else (*self.any_of, self.excluded)

    @cached_property
    def _searches(self) -> tuple[Callable[[str], object], ...]:
        return tuple(compile_pattern(p, "select").search for p in self.regexes)

    @cached_property
    def _calls(self) -> tuple[Predicate, ...]:
        return tuple(predicate_named(p) if isinstance(p, str) else p for p in self.predicates)

    @cached_property
    def _key_set(self) -> frozenset[str]:
        return frozenset(self.keys)

    def guard(self, keys: Iterable[str]) -> None:
        """Raise RecipeError for a regex that takes too long on these keys."""
        for pattern in self.regexes:
            guard(pattern, keys, "select")
        for member in self._members:
            member.guard(keys)

    def matches(self, key: str, containers: str | Iterable[str] = "") -> bool:
        """True if the key is taken. ``containers``: its container path, or the entries of it."""
        inside = self._takes(key, containers)
        if inside and self.excluded is not None:
            inside = not self.excluded.matches(key, containers)
        return inside != self.negated

    def _takes(self, key: str, containers: str | Iterable[str]) -> bool:
        if self.takes_all or self.criteria_count == 0 or key in self._key_set:
            return True
        if any(search(key) for search in self._searches):
            return True
        if self.predicates:
            path = containers if isinstance(containers, str) else ".".join(containers)
            if any(predicate(key, path) for predicate in self._calls):
                return True
        return any(member.matches(key, containers) for member in self.any_of)
