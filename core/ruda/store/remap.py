"""KeyRemapper: ordered rules that rename keys, and index compaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ruda._freeing import LargeTuple
from ruda.errors import KeyCollisionError, RecipeError
from ruda.progress import SILENT, Monitor
from ruda.store.patterns import (
    Template,
    canonical,
    compile_pattern,
    expander,
    guard,
    parse_replacement,
    replace_all,
)

CHECK_EVERY = 4096
"""Keys between two points where renaming can be stopped."""

_INDEX = re.compile(r"\+?[0-9]+")
_LONGEST_INDEX = 19
"""Digits of the largest number that an index can have."""
_SIMPLE_GROUP = re.compile(r"\((?:\?P?<\w+>)?((?:[^()\\]|\\[^()])*)\)")
_SPECIAL = frozenset("\\^$.|?*+()[]{}")


class KeyChange(NamedTuple):
    """What became of one key."""

    before: str
    after: str


class Collision(NamedTuple):
    """Several keys that would become one, and the step after which they are the same."""

    key: str
    sources: tuple[str, ...]
    step: str


@dataclass(frozen=True)
class RemapRule:
    r"""One pattern and its replacement; every match in a key is replaced.

    The replacement is Rust's (``$1 ${1} $name ${name} $$``) or Python's (``\1 \g<name>``).
    Raises RecipeError, with a position, for either that cannot be understood.
    """

    pattern: str
    replacement: str
    enabled: bool = True

    def __post_init__(self) -> None:
        self.template  # noqa: B018 - both are checked when the rule is made

    @cached_property
    def template(self) -> Template:
        """The parsed replacement."""
        return parse_replacement(self.replacement, self._regex, self.name)

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return compile_pattern(self.pattern, self.name)

    @cached_property
    def _expand(self) -> Callable[[re.Match[str]], str]:
        return expander(self.template)

    @cached_property
    def _prefix(self) -> tuple[str, str] | None:
        """For a rule about how keys begin, ``^`` and plain text: the text and what replaces it."""
        parts = _plain_parts(self.pattern)
        if parts is None or not parts[0] or parts[2] or len(parts[1]) != 1:
            return None
        old, new = parts[1][0], self.template
        if not isinstance(old, str) or not all(isinstance(part, str) for part in new):
            return None
        return old, "".join(part for part in new if isinstance(part, str))

    @property
    def name(self) -> str:
        """The rule in one line, for messages."""
        return f"remap {self.pattern!r} -> {self.replacement!r}"

    @property
    def canonical(self) -> RemapRule:
        """The same rule with its replacement in the one stored spelling, ``${1}``."""
        return replace(self, replacement=canonical(self.template))

    def rename(self, key: str) -> str:
        """The key after this rule; unchanged if the pattern is not found."""
        return replace_all(self._regex, self._expand, key)

    def rename_all(self, keys: Sequence[str], *, monitor: Monitor = SILENT) -> list[str]:
        """The keys after this rule. Raises RecipeError if that would take too long."""
        if self._prefix is None:
            guard(self.pattern, keys, self.name)
        renamed: list[str] = []
        for start in range(0, len(keys), CHECK_EVERY):
            monitor.check()
            renamed += self._rename_some(keys[start : start + CHECK_EVERY])
        return renamed

    def _rename_some(self, keys: Sequence[str]) -> list[str]:
        if self._prefix is not None:
            old, new = self._prefix
            size = len(old)
            return [new + key[size:] if key.startswith(old) else key for key in keys]
        regex, expand = self._regex, self._expand
        return [replace_all(regex, expand, key) for key in keys]

    def count_hits(self, before: Sequence[str], after: Sequence[str]) -> int:
        """Number of keys in which the pattern is found, given what ``rename_all`` made of them."""
        same = [key for key, other in zip(before, after, strict=True) if key == other]
        if self._prefix is not None:
            old = self._prefix[0]
            return len(before) - len(same) + sum(key.startswith(old) for key in same)
        search = self._regex.search
        return len(before) - len(same) + sum(search(key) is not None for key in same)

    def hits(self, key: str) -> bool:
        """True if the pattern is found in the key."""
        return self._regex.search(key) is not None

    def reverse(self) -> RemapRule | None:
        """The rule that takes the renaming back, or None where none can be written down.

        There is one when the pattern is plain text and groups without groups inside, and the
        replacement uses each group once. It takes back every key that the rule changed; a key
        that looked like a changed one before is changed by it as well.
        """
        parts = _plain_parts(self.pattern)
        if parts is None:
            return None
        start, pieces, end = parts
        groups = [piece for piece in pieces if not isinstance(piece, str)]
        order = [part for part in self.template if isinstance(part, int)]
        if sorted(order) != list(range(1, len(groups) + 1)):
            return None
        pattern = "".join(
            re.escape(part) if isinstance(part, str) else groups[part - 1].text
            for part in self.template
        )
        if not pattern and not (start or end):
            return None
        template: Template = tuple(
            piece if isinstance(piece, str) else order.index(piece.number) + 1 for piece in pieces
        )
        return RemapRule(
            ("^" if start else "") + pattern + ("$" if end else ""),
            canonical(template),
            self.enabled,
        )


@dataclass(frozen=True, slots=True)
class _Group:
    number: int
    text: str


def _plain_parts(pattern: str) -> tuple[bool, list[str | _Group], bool] | None:
    """Anchors, literals and simple groups of a pattern; None if there is anything else in it."""
    start = pattern.startswith("^")
    end = pattern.endswith("$") and not pattern.endswith("\\$")
    text = pattern[start : len(pattern) - end]
    pieces: list[str | _Group] = []
    at, number = 0, 0
    while at < len(text):
        here = text[at]
        if here == "(":
            group = _SIMPLE_GROUP.match(text, at)
            if (
                group is None
                or group[1].startswith("?")
                or text[group.end() :][:1] in tuple("*+?{")
            ):
                return None
            number += 1
            pieces.append(_Group(number, f"({group[1]})"))
            at = group.end()
            continue
        if here == "\\":
            here, at = text[at + 1 : at + 2], at + 1
            if here.isalnum() or not here:
                return None
        elif here in _SPECIAL:
            return None
        if text[at + 1 : at + 2] in tuple("*+?{"):
            return None
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] += here
        else:
            pieces.append(here)
        at += 1
    return start, pieces, end


@dataclass(frozen=True, slots=True)
class RemapPlan:
    """What a remapper makes of a list of keys: every key after it, in order, and the collisions."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    collisions: tuple[Collision, ...] = ()

    @property
    def changes(self) -> tuple[KeyChange, ...]:
        """One change per key, in order."""
        return tuple(map(KeyChange, self.before, self.after))


@dataclass(frozen=True, slots=True)
class KeyRemapper:
    """Rules that rename keys: all of them, in order, each on what the one before left.

    ``contiguous`` then closes gaps in numeric segments (``fc.0 fc.2 fc.4`` → ``fc.0 fc.1 fc.2``),
    except under prefixes in which the regex ``keep_indices`` is found. It looks at all keys of the
    file at once, so it is off unless asked for: a part of a model would be renumbered as well.
    """

    rules: tuple[RemapRule, ...] = ()
    contiguous: bool = False
    keep_indices: str | None = None

    def __post_init__(self) -> None:
        if self.keep_indices is not None:
            compile_pattern(self.keep_indices, "index compaction")

    @classmethod
    def of(cls, *pairs: tuple[str, str]) -> KeyRemapper:
        """Remapper of (pattern, replacement) pairs. Raises RecipeError."""
        return cls(tuple(RemapRule(pattern, text) for pattern, text in pairs))

    @classmethod
    def from_patterns(cls, pairs: Iterable[tuple[str, str]]) -> KeyRemapper:
        """Remapper of (pattern, replacement) pairs. Raises RecipeError."""
        return cls.of(*pairs)

    def add_pattern(self, pattern: str, replacement: str) -> KeyRemapper:
        """With one more rule at the end. Raises RecipeError."""
        return replace(self, rules=(*self.rules, RemapRule(pattern, replacement)))

    def map_indices_contiguous(
        self, enabled: bool = True, *, keep: str | None = None
    ) -> KeyRemapper:
        """With index compaction on or off; prefixes in which ``keep`` is found stay as they are."""
        return replace(self, contiguous=enabled, keep_indices=keep)

    def then(self, other: KeyRemapper) -> KeyRemapper:
        """This remapper, then the other. Raises RecipeError if compaction would be in between."""
        if self.contiguous and other.rules:
            raise RecipeError("rules cannot follow index compaction", step="remap")
        return KeyRemapper(
            (*self.rules, *other.rules),
            self.contiguous or other.contiguous,
            other.keep_indices if other.contiguous else self.keep_indices,
        )

    @property
    def is_empty(self) -> bool:
        """True if no key can change."""
        return not self.contiguous and not any(rule.enabled for rule in self.rules)

    @property
    def active(self) -> tuple[RemapRule, ...]:
        """The rules that are switched on."""
        return tuple(rule for rule in self.rules if rule.enabled)

    def to_regex_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pattern and replacement of every rule that is on, as given."""
        return tuple((rule.pattern, rule.replacement) for rule in self.active)

    def rename(self, key: str) -> str:
        """The key after all rules (not index compaction, which needs every key)."""
        for rule in self.active:
            key = rule.rename(key)
        return key

    def trace(self, key: str) -> tuple[str, ...]:
        """The key before the first rule and after each, switched-off rules included."""
        names = [key]
        for rule in self.rules:
            names.append(rule.rename(names[-1]) if rule.enabled else names[-1])
        return tuple(names)

    def plan(self, keys: Iterable[str], *, monitor: Monitor = SILENT) -> RemapPlan:
        """What becomes of all keys of a file; collisions are listed, not raised.

        Raises RecipeError for a pattern that takes exponential time on these keys.
        """
        before = LargeTuple(keys)
        after: Sequence[str] = before
        for rule in self.active:
            monitor.check()
            after = rule.rename_all(after, monitor=monitor)
        if self.contiguous:
            monitor.check()
            after = compact_indices(after, keep=self.keep_indices)
        # A loop, not a call: that of a million keys holds up every other thread.
        if len({key for key in after}) == len(before):  # noqa: C416
            return RemapPlan(before, LargeTuple(after))
        return RemapPlan(before, LargeTuple(after), self._collisions(before, after))

    def remap(self, keys: Iterable[str]) -> tuple[KeyChange, ...]:
        """What becomes of all keys. Raises KeyCollisionError naming two keys and the rule."""
        plan = self.plan(keys)
        for clash in plan.collisions:
            raise KeyCollisionError(clash.key, clash.sources, step=clash.step)
        return plan.changes

    def reverse(self, keys: Iterable[str] | None = None) -> KeyRemapper:
        """The remapper that takes the renaming back.

        With the ``keys`` of the file it is tried on them, and gives each of them back. Without,
        nothing is known of them: a rule that strips a prefix puts it before every key, before
        those, too, that never had it. Raises RecipeError naming the rule that has no reverse, or
        whose reverse makes another key of one of these; index compaction has none.
        """
        if self.contiguous:
            raise RecipeError("index compaction forgets the old numbers", step="remap")
        names = [] if keys is None else list(keys)
        turned: list[RemapRule] = []
        for rule in self.rules:
            back = rule.reverse()
            if back is None:
                raise RecipeError("this rule has no reverse; write one by hand", step=rule.name)
            if rule.enabled:
                renamed = rule.rename_all(names)
                _require_back(rule, names, back.rename_all(renamed))
                names = renamed
            turned.append(back)
        return KeyRemapper(tuple(turned[::-1]))

    def _collisions(self, before: Sequence[str], after: Sequence[str]) -> tuple[Collision, ...]:
        sources: dict[str, list[str]] = {}
        for old, new in zip(before, after, strict=True):
            sources.setdefault(new, []).append(old)
        return tuple(
            Collision(key, tuple(names), self._joining_step(names[0], names[1]))
            for key, names in sources.items()
            if len(names) > 1
        )

    def _joining_step(self, one: str, other: str) -> str:
        """Name of the first rule after which two keys are the same."""
        steps = zip(self.trace(one)[1:], self.trace(other)[1:], self.rules, strict=True)
        for first, second, rule in steps:
            if first == second:
                return rule.name
        return "index compaction"


def _require_back(rule: RemapRule, before: Sequence[str], after: Sequence[str]) -> None:
    """Raise RecipeError for the first key that a rule and its reverse do not give back."""
    for key, other in zip(before, after, strict=True):
        if key != other:
            raise RecipeError(
                f"the reverse of this rule makes {other!r} of the key that was {key!r}; write one "
                "by hand",
                step=rule.name,
            )


def compact_indices(keys: Sequence[str], *, keep: str | None = None) -> list[str]:
    """The keys with every numeric segment renumbered from 0 without gaps, per original prefix.

    Prefixes in which the regex ``keep`` is found stay as they are.
    """
    if keep is not None:
        guard(keep, keys, "index compaction")
    kept = None if keep is None else compile_pattern(keep, "index compaction").search
    numbers: dict[str, set[int]] = {}
    places: list[list[tuple[int, str, int]]] = []
    split = [key.split(".") for key in keys]
    for segments in split:
        found: list[tuple[int, str, int]] = []
        for at, segment in enumerate(segments):
            if not _INDEX.fullmatch(segment):
                continue
            prefix = ".".join(segments[:at])
            if kept is not None and kept(prefix):
                continue
            if len(segment) > _LONGEST_INDEX:
                continue  # a number of no list, and beyond what Python takes for one
            number = int(segment)
            numbers.setdefault(prefix, set()).add(number)
            found.append((at, prefix, number))
        places.append(found)
    ranks = {
        prefix: {number: rank for rank, number in enumerate(sorted(members))}
        for prefix, members in numbers.items()
    }
    for segments, found in zip(split, places, strict=True):
        for at, prefix, number in found:
            segments[at] = str(ranks[prefix][number])
    return [".".join(segments) for segments in split]
