"""Pairs of families: which keys of a source are meant for which of a target, and how surely."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ruda.progress import Monitor
from ruda.store.diff_rows import fold
from ruda.store.nearest import jaro, without_variant
from ruda.store.suggest_board import Board, Shape, fold_numbers, numbers_of, watched
from ruda.store.suggest_report import SuggestKind, Verdict

MARGIN = 0.15
"""How far the score of a pair must be above every other pair of either family."""

SWAP_MARGIN = 2 * MARGIN
"""How much worse two pairs together must get when their partners are swapped."""

SUPPORT = 0.5
"""Share of telling words that both names of a likely pair have in common, at least."""

LARGEST_BUCKET = 64
"""Families of one shape on a side, beyond which names alone are not compared."""

MOST_LETTERS = 500
"""Letters of the words of a family that are compared; what lies behind them tells no more."""

_RUN = re.compile(r"\d+")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SAME_LAST = {
    "gamma": "weight",
    "scale": "weight",
    "kernel": "weight",
    "alpha": "weight",
    "beta": "bias",
    "offset": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}
_SAME_WORD = {
    **{"attn": "attention", "query": "q", "key": "k", "value": "v", "wq": "q", "wk": "k"},
    **{"wv": "v", "wo": "o", "out": "o", "ln": "norm", "layernorm": "norm", "bn": "norm"},
    **{"batchnorm": "norm", "embeddings": "embed", "embedding": "embed", "tok": "tokens"},
    **{"tokens": "tokens", "token": "tokens", "head": "output", "lm": "output", "emb": "embed"},
    **{"convolution": "conv", "dense": "linear", "fc": "linear"},
}
_ROTARY = (frozenset({"wq", "wk"}), frozenset({"q_proj", "k_proj"}))


class Family(NamedTuple):
    """Open tensors of one side whose names differ only in segments that are numbers."""

    name: str
    members: tuple[tuple[str, int], ...]
    """Name and place of every member."""
    wide: bool = False
    """True if numbers inside of words are folded as well (``conv*`` for ``conv1``)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A family of the source and the family of the target it may be meant for."""

    source: str
    target: str
    """Names of one member each, with the same numbers where the families have some."""
    count: int
    varying: bool
    """True if the numbers of the members differ, so that a rule has to carry them over."""
    verdict: Verdict
    evidence: str
    kind: SuggestKind = SuggestKind.FAMILY
    others: tuple[str, ...] = ()
    told: bool = False
    """True if all families of these shapes have partners of the very same telling words."""

    @property
    def families(self) -> str:
        """Both families, as shown."""
        return f"{fold_numbers(self.source)} -> {fold_numbers(self.target)}"


Signature = tuple[int, tuple[Shape, ...], bool]
Bucket = tuple[list[Family], list[Family]]


def families(names: Iterable[tuple[str, int]], *, wide: bool = False) -> list[Family]:
    """The names by family, in their order."""
    found: dict[str, list[tuple[str, int]]] = {}
    for name, at in names:
        found.setdefault(fold(name) if wide else fold_numbers(name), []).append((name, at))
    return [Family(name, tuple(members), wide) for name, members in found.items()]


def buckets(board: Board, *, wide: bool) -> list[Bucket]:
    """Open families of both sides by number of members, their shapes and kind of number."""
    entries, wants = board.entries, board.wants
    found: dict[Signature, Bucket] = {}
    names = ((board.seen[at], at) for at in watched(board.open_entries, board.monitor))
    for family in families(names, wide=wide):
        held = [(entries[at].shape, entries[at].is_float) for _, at in family.members]
        found.setdefault(_signature(held), ([], []))[0].append(family)
    names = ((wants[at].name, at) for at in watched(board.open_wants, board.monitor))
    for family in families(names, wide=wide):
        held = [(wants[at].shape, wants[at].is_float) for _, at in family.members]
        found.setdefault(_signature(held), ([], []))[1].append(family)
    return [bucket for bucket in found.values() if bucket[0] and bucket[1]]


def _signature(members: list[tuple[Shape, bool]]) -> Signature:
    shapes = tuple(sorted(shape for shape, _ in members))
    return len(members), shapes, members[0][1]


def pairs_of(board: Board, *, wide: bool = False) -> list[Pair]:
    """What may be meant for what: certain pairs, likely ones, and ambiguous ones.

    With ``wide`` the families of names like ``conv1`` and ``conv2`` are one.
    """
    found: list[Pair] = []
    for sources, targets in buckets(board, wide=wide):
        spelled = _spelled_otherwise(board, sources, targets)
        found += spelled
        used = {pair.families for pair in spelled}
        left = (
            [f for f in sources if not any(u.startswith(f"{f.name} -> ") for u in used)],
            [f for f in targets if not any(u.endswith(f" -> {f.name}") for u in used)],
        )
        if not left[0] or not left[1]:
            continue
        if len(left[0]) == len(left[1]) == 1 and not spelled:
            found += _only_pair(board, left[0][0], left[1][0])
        else:
            found += _by_names(board, *left)
    return found


def align(board: Board, source: Family, target: Family) -> tuple[str, str] | None:
    """Members of both with the same numbers; None unless all have a partner of their shape."""
    if len(source.members) == 1:
        return source.members[0][0], target.members[0][0]
    monitor = board.monitor
    there = dict(zip(_varying(target, monitor), target.members, strict=True))
    found: tuple[str, str] | None = None
    pairs = zip(_varying(source, monitor), source.members, strict=True)
    for numbers, (name, at) in watched(pairs, monitor):
        partner = there.get(numbers)
        if partner is None or board.wants[partner[1]].shape != board.entries[at].shape:
            return None
        found = name, partner[0]
    return found


def _varying(family: Family, monitor: Monitor) -> list[tuple[str, ...]]:
    """The numbers of every member, those left out that all members of the family have."""
    rows = [
        tuple(_RUN.findall(name)) if family.wide else numbers_of(name)
        for name, _ in watched(family.members, monitor)
    ]
    keep = [at for at, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
    return [tuple(row[at] for at in keep) for row in rows]


def _spelled_otherwise(board: Board, sources: list[Family], targets: list[Family]) -> list[Pair]:
    """Pairs whose names are the same but for words that mean the same, or an enum's variant."""
    found: list[Pair] = []
    spelled: dict[str, list[Family]] = {}
    for family in sources:
        spelled.setdefault(canonical(family.name), []).append(family)
    for target in targets:
        plain = without_variant(target.name)
        for name, kind in ((target.name, SuggestKind.FAMILY), (plain, SuggestKind.ENUM)):
            same = [] if name is None else spelled.get(canonical(name), [])
            members = align(board, same[0], target) if len(same) == 1 else None
            if members is not None:
                text = (
                    "the names are the same but for the variant of an enum"
                    if kind is SuggestKind.ENUM
                    else "the names differ only in words for the same thing"
                )
                found.append(_pair(same[0], target, members, Verdict.CERTAIN, text, kind))
                break
    return found


def canonical(name: str) -> str:
    """The name with the last segment in one spelling (gamma is weight, beta is bias)."""
    head, dot, last = name.rpartition(".")
    return f"{head}{dot}{_SAME_LAST.get(last, last)}"


def _pair(
    source: Family,
    target: Family,
    members: tuple[str, str],
    verdict: Verdict,
    evidence: str,
    kind: SuggestKind = SuggestKind.FAMILY,
    others: tuple[str, ...] = (),
) -> Pair:
    count = len(source.members)
    if verdict is not Verdict.AMBIGUOUS and _is_rotary(*members):
        verdict = Verdict.AMBIGUOUS
        evidence = (
            "names and shapes fit, but Meta and Hugging Face order the rows of rotary "
            "projections differently: renaming alone may give wrong values (the adapters "
            "rope-to-pairs:HEADS and rope-to-halves:HEADS put them in order)"
        )
    return Pair(*members, count, count > 1, verdict, evidence, kind, others)


def _is_rotary(source: str, target: str) -> bool:
    """True if one side calls a projection as Meta does and the other as Hugging Face does."""
    here, there = set(source.split(".")), set(target.split("."))
    meta, hugging = _ROTARY
    return bool((here & meta and there & hugging) or (here & hugging and there & meta))


def _only_pair(board: Board, source: Family, target: Family) -> list[Pair]:
    members = align(board, source, target)
    if members is None:
        return []
    shape = board.entries[source.members[0][1]].shape
    alike = _dice(_words(source.name), _words(target.name))
    sure = len(shape) > 1 or alike >= SUPPORT
    verdict = Verdict.CERTAIN if sure else Verdict.LIKELY
    many = len(source.members)
    text = f"no other open tensors have these shapes ({many} × {list(shape)} and the like)"
    if many == 1:
        text = f"no other open tensor has the shape {list(shape)}"
    return [_pair(source, target, members, verdict, text)]


def _by_names(board: Board, sources: list[Family], targets: list[Family]) -> list[Pair]:
    """Pairs of a bucket with several families: by the words that tell them apart."""
    if max(len(sources), len(targets)) > LARGEST_BUCKET:
        return []
    rows = _telling([_words(f.name) for f in sources])
    columns = _telling([_words(f.name) for f in targets])
    support = [[_dice(row, column) for column in columns] for row in rows]
    spelled = ["".join(sorted(row))[:MOST_LETTERS] for row in rows]
    others_spelled = ["".join(sorted(column))[:MOST_LETTERS] for column in columns]
    scores = [
        [
            0.5 * support[i][j]
            + 0.2 * jaro(spelled[i], others_spelled[j])
            + 0.2 * (_last(sources[i].name) == _last(targets[j].name))
            + 0.1 * (1 - abs(_rank(i, sources) - _rank(j, targets)))
            for j in range(len(targets))
        ]
        for i in range(len(sources))
    ]
    chosen = _assign(scores)
    supported = {(i, j) for i, j in chosen if support[i][j] >= SUPPORT}
    # A family left over on both sides might as well be the partner of any other one.
    is_open = len(supported) < min(len(sources), len(targets))
    told = not is_open and _is_told(support, chosen)
    found: list[Pair] = []
    for i, j in chosen:
        members = align(board, sources[i], targets[j])
        if members is None:
            continue
        clear = (i, j) in supported and not is_open and _is_clear(scores, chosen, i, j)
        others = () if clear else _others(sources, targets, scores, i, j)
        text = (
            f"of {len(sources)} × {len(targets)} families with these shapes, the names fit best by "
            "a clear margin"
            if clear
            else f"{len(sources)} families of the source and {len(targets)} of the target have "
            "these shapes, and their names do not tell which belongs to which"
        )
        verdict = Verdict.LIKELY if clear else Verdict.AMBIGUOUS
        pair = _pair(sources[i], targets[j], members, verdict, text, others=others)
        found.append(replace(pair, told=clear and told))
    return found


def _is_told(support: Sequence[Sequence[float]], chosen: Sequence[tuple[int, int]]) -> bool:
    """True if every family has a partner of the same telling words, and no other comes near."""
    if not len(support) == len(support[0]) == len(chosen):
        return False
    rest = [
        share
        for i, row in enumerate(support)
        for j, share in enumerate(row)
        if (i, j) not in set(chosen)
    ]
    return all(support[i][j] == 1.0 for i, j in chosen) and max(rest, default=0.0) <= SUPPORT


def _is_clear(
    scores: Sequence[Sequence[float]], chosen: Sequence[tuple[int, int]], i: int, j: int
) -> bool:
    """True if no other partner, and no swap of partners, comes near this pair."""
    rivals = [scores[i][k] for k in range(len(scores[i])) if k != j]
    rivals += [scores[k][j] for k in range(len(scores)) if k != i]
    if rivals and scores[i][j] - max(rivals) <= MARGIN:
        return False
    return all(
        scores[i][j] + scores[k][m] - scores[i][m] - scores[k][j] > SWAP_MARGIN
        for k, m in chosen
        if (k, m) != (i, j)
    )


def _assign(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The best pairs first, each family once."""
    ranked = sorted(
        ((score, i, j) for i, row in enumerate(scores) for j, score in enumerate(row)),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    rows: set[int] = set()
    columns: set[int] = set()
    chosen: list[tuple[int, int]] = []
    for _, i, j in ranked:
        if i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            chosen.append((i, j))
    return chosen


def _others(
    sources: list[Family],
    targets: list[Family],
    scores: Sequence[Sequence[float]],
    i: int,
    j: int,
) -> tuple[str, ...]:
    """The other partners of a pair's families, the best first."""
    rivals = [
        (scores[i][k], f"{sources[i].name} -> {targets[k].name}")
        for k in range(len(targets))
        if k != j
    ]
    rivals += [
        (scores[k][j], f"{sources[k].name} -> {targets[j].name}")
        for k in range(len(sources))
        if k != i
    ]
    return tuple(text for _, text in sorted(rivals, key=lambda pair: -pair[0])[:4])


def _words(name: str) -> Counter[str]:
    words = (word.lower() for word in _WORD.findall(canonical(name)))
    return Counter(_SAME_WORD.get(word, word) for word in words)


def _telling(families_words: list[Counter[str]]) -> list[Counter[str]]:
    """The words of every family without those that all of them have."""
    shared = families_words[0]
    for words in families_words[1:]:
        shared = shared & words
    return [words - shared if len(families_words) > 1 else words for words in families_words]


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 0.0 if not total else 2 * (one & other).total() / total


def _last(name: str) -> str:
    return canonical(name).rpartition(".")[2]


def _rank(at: int, listed: list[Family]) -> float:
    return at / max(1, len(listed) - 1)
