"""Keys that may have been meant: alike names, enum variants, prefixes that would match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from ruda._freeing import LargeDict, grown
from ruda.nn import ParamSpec
from ruda.progress import SILENT, Monitor
from ruda.store.diff_report import Hint
from ruda.store.diff_rows import Nearest, fold
from ruda.store.snapshot import TensorSnapshot
from ruda.store.suggest_prefixes import prefix_votes, tails

THRESHOLD = 0.70
"""Jaro similarity from which a key is suggested."""

COMPARISONS = 20_000
"""Pairs of names that one report compares at most; a file of unlike names stays fast."""

ORDINARY = 200
"""Letters of a pair of names beyond which it counts as more than one."""

_DIGITS = re.compile(r"\d+")


def jaro(one: str, other: str) -> float:
    """Jaro similarity of two strings, 0.0 to 1.0."""
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    window = max(len(one), len(other)) // 2 - 1
    taken = [False] * len(other)
    free: dict[str, int] = {}  # per letter: all of it before this is taken, or lies too far back
    matched: list[str] = []
    for at, letter in enumerate(one):
        place = other.find(letter, max(0, at - window, free.get(letter, 0)), at + window + 1)
        if place >= 0:
            taken[place] = True
            free[letter] = place + 1
            matched.append(letter)
    if not matched:
        return 0.0
    opposite = [letter for letter, hit in zip(other, taken, strict=True) if hit]
    swaps = sum(a != b for a, b in zip(matched, opposite, strict=True)) / 2
    hits = len(matched)
    return (hits / len(one) + hits / len(other) + (hits - swaps) / hits) / 3


def without_variant(key: str) -> str | None:
    """The key without its first middle segment in CamelCase: what PyTorch has no name for."""
    segments = key.split(".")
    for at, segment in enumerate(segments[1:-1], 1):
        if len(segment) > 1 and segment[0].isupper() and any(c.islower() for c in segment[1:]):
            return ".".join(segments[:at] + segments[at + 1 :])
    return None


class NearestKeys:
    """Answers, for missing targets, which unused source may have been meant.

    Nothing is compared before the first question. Whole families are compared once; members are
    then found by their numbers, so that tens of thousands of keys cost no more than their tens of
    families.
    """

    def __init__(
        self,
        unused: Mapping[str, TensorSnapshot],
        other_names: Callable[[ParamSpec], Iterable[str]] = lambda target: (),
    ) -> None:
        """``unused`` maps the key after the recipe to the snapshot in the file.

        ``other_names`` gives the keys of a target under other conventions.
        """
        self._unused = unused
        self._other_names = other_names
        self._left = COMPARISONS
        self._ranked: dict[str, list[tuple[float, str]]] = {}
        self._chosen: dict[tuple[str, tuple[int, ...]], tuple[str, float] | None] = {}

    def of(self, target: ParamSpec) -> tuple[Nearest, ...]:
        """The best candidate, or nothing below the threshold.

        A key that is the target's under another convention, with an enum variant left out or with
        a prefix before it goes before keys that look alike, and same shapes before others.
        """
        if not self._unused:
            return ()
        plain = self._spelled_otherwise(target)
        if plain is not None:
            score = max(THRESHOLD, jaro(plain, target.key))
            return (self._nearest(plain, target, score),)
        folded = fold(target.key)
        known = (folded, target.shape)
        if known not in self._chosen:
            candidates = [
                self._nearest(self._member(family, target.key), target, score)
                for score, family in self._rank(folded)
            ]
            best = max(candidates, key=lambda n: (n.same_shape, n.score), default=None)
            self._chosen[known] = None if best is None else (fold(best.key), best.score)
        chosen = self._chosen[known]
        if chosen is None:
            return ()
        return (self._nearest(self._member(chosen[0], target.key), target, chosen[1]),)

    def _spelled_otherwise(self, target: ParamSpec) -> str | None:
        """The unused key that is the target's in other words, if there is one."""
        for name in self._other_names(target):
            if name in self._unused:
                return name
        plain = without_variant(target.key)
        if plain is not None and plain in self._unused:
            return plain
        return self._by_suffix.get(target.key)

    @cached_property
    def _families(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key in self._unused:
            grown(found, fold(key)).append(key)
        return found

    @cached_property
    def _by_suffix(self) -> dict[str, str]:
        """First unused key for each end of one that begins after a dot."""
        found: dict[str, str] = LargeDict()
        for key in self._unused:
            for tail in tails(key):
                found.setdefault(tail, key)
        return found

    def _rank(self, family: str) -> list[tuple[float, str]]:
        """Up to five families above the threshold, the most alike first."""
        if family not in self._ranked:
            scored: list[tuple[float, str]] = []
            for other in self._families:
                if self._left <= 0:
                    break
                self._left -= 1 + (len(family) + len(other)) // ORDINARY
                score = jaro(family, other)
                if score >= THRESHOLD:
                    scored.append((score, other))
            self._ranked[family] = sorted(scored, key=lambda pair: -pair[0])[:5]
        return self._ranked[family]

    def _member(self, family: str, key: str) -> str:
        """The member with the same numbers as the key, or the first."""
        numbers = _DIGITS.findall(key)
        if family.count("*") == len(numbers):
            parts = family.split("*")
            spelled = parts[0] + "".join(n + p for n, p in zip(numbers, parts[1:], strict=True))
            if spelled in self._unused:
                return spelled
        return self._families[family][0]

    def _nearest(self, key: str, target: ParamSpec, score: float) -> Nearest:
        shape = self._unused[key].shape
        return Nearest(key, round(score, 4), shape in (target.shape, target.shape[::-1]))


def probe_prefixes(
    unused: Iterable[str], wanted: Iterable[str], *, monitor: Monitor = SILENT
) -> list[Hint]:
    """Prefixes that, stripped from or added to the unused keys, would match wanted ones.

    Stripping one prefix may leave another (``module.`` below ``_orig_mod.``), so whole runs of
    leading segments are tried at once. The best of each kind, most matches first.
    """
    # Not dict.fromkeys: one call over a million keys holds up every other thread.
    sources, targets = ({key: None for key in keys} for keys in (unused, wanted))  # noqa: C420
    hints: list[Hint] = []
    for kind, longer, shorter in (("strip", sources, targets), ("add", targets, sources)):
        monitor.check()
        found = prefix_votes(list(longer), shorter)
        if found:
            prefix, count = max(found.items(), key=lambda pair: (pair[1], -len(pair[0])))
            hints.append(Hint(kind, prefix, count))
    return sorted(hints, key=lambda hint: -hint.matches)
