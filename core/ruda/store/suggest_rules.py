"""Rules out of pairs of names: the widest regex that fits a pair and still only gains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from ruda.store.remap import RemapRule
from ruda.store.suggest_board import Board
from ruda.store.suggest_pairs import Pair

TRIED = 32
"""Pairs, those of the largest families, that rules are made of at a time."""

_RUN = re.compile(r"\d+")


def best_rule(board: Board, pairs: list[Pair]) -> tuple[RemapRule, Pair, int] | None:
    """The rule of any of the pairs that gains most, and its gain on the board.

    Among equals the one that renames least besides, then the shortest.
    """
    ranked: list[tuple[tuple[int, int, int], int, RemapRule, Pair]] = []
    order = count()
    for pair in sorted(pairs, key=lambda pair: -pair.count)[:TRIED]:
        for rule in dict.fromkeys(candidates(pair)):
            gain, aside = board.trial(rule)
            if gain > 0:
                rank = (-gain, aside, len(rule.pattern) + len(rule.replacement))
                ranked.append((rank, next(order), rule, pair))
    for _, _, rule, pair in sorted(ranked, key=lambda entry: entry[:2]):
        after = board.after(rule)
        gain = 0 if after is None else after.covered - board.covered
        if gain > 0:
            return rule, pair, gain
    return None


def candidates(pair: Pair) -> Iterator[RemapRule]:
    """Rules that make one name of a pair the other, from the whole name to what differs."""
    source, target = pair.source.split("."), pair.target.split(".")
    most = min(len(source), len(target))
    begin = _shared(source, target, most)
    end = _shared(source[::-1], target[::-1], most - begin)
    for left in sorted({0, min(1, begin), begin}):
        for right in sorted({0, min(1, end), end}):
            for literal in (False,) if pair.varying else (False, True):
                rule = _rule(source, target, (begin, left), (end, right), literal=literal)
                if rule is not None:
                    yield rule


def _shared(one: list[str], other: list[str], most: int) -> int:
    """Number of first segments that are the same."""
    found = 0
    while found < most and one[found] == other[found]:
        found += 1
    return found


def _rule(
    source: list[str],
    target: list[str],
    start: tuple[int, int],
    stop: tuple[int, int],
    *,
    literal: bool,
) -> RemapRule | None:
    """The rule for what differs, with ``left`` and ``right`` shared segments around it.

    ``start`` and ``stop`` are (shared, kept). None where nothing would be left to find.
    """
    (begin, left), (end, right) = start, stop
    first, past = begin - left, end - right
    old = source[first : len(source) - past]
    new = target[first : len(target) - past]
    if not old:
        return None
    # Without anything before it, the rule holds at the start of a key or after any dot.
    free = first > 0
    head, text = ("(^|\\.)", "${1}") if free else ("^", "")
    pattern, replacement = _texts(".".join(old), ".".join(new), 2 if free else 1, literal=literal)
    follows = "" if not past else "\\."
    ending = "$" if not past else ""
    if past and not new:
        return RemapRule(head + pattern + follows, text)
    after = "." if past else ""
    return RemapRule(head + pattern + follows + ending, text + replacement + after)


def _texts(old: str, new: str, number: int, *, literal: bool) -> tuple[str, str]:
    """Pattern and replacement of two texts; numbers that both have become groups."""
    if literal:
        return re.escape(old), _plain(new)
    groups: list[tuple[str, int]] = []
    wanted = _RUN.findall(new)
    pattern, at = "", 0
    for run in _RUN.finditer(old):
        pattern += re.escape(old[at : run.start()])
        if run[0] in wanted:
            wanted.remove(run[0])
            groups.append((run[0], number + len(groups)))
            pattern += r"(\d+)"
        else:
            pattern += re.escape(run[0])
        at = run.end()
    pattern += re.escape(old[at:])
    replacement, at = "", 0
    for run in _RUN.finditer(new):
        replacement += _plain(new[at : run.start()])
        found = next((group for group in groups if group[0] == run[0]), None)
        if found is None:
            replacement += run[0]
        else:
            groups.remove(found)
            replacement += f"${{{found[1]}}}"
        at = run.end()
    return pattern, replacement + _plain(new[at:])


def _plain(text: str) -> str:
    """The text as a replacement that has no groups."""
    return text.replace("$", "$$").replace("\\", "\\\\")
