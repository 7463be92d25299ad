"""Prefixes that, taken away from or put before the keys of a source, match those of a target."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from ruda.progress import SILENT, Monitor
from ruda.store.remap import RemapRule
from ruda.store.suggest_board import Board, watched
from ruda.store.suggest_report import Suggestion, SuggestKind, Verdict

PREFIX_DEPTH = 4
"""Leading segments that are tried as a prefix."""

SAMPLED_KEYS = 1000
"""Number of keys that propose prefixes where there are at least twice as many."""

PROPOSED = 4
"""Prefixes that are counted over all keys after that."""

ROUNDS = 8
"""Prefixes that are taken one after the other at most."""

WRAPPERS = ("_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
"""Segments that wrappers of PyTorch put into keys, at any depth."""


class Claim(NamedTuple):
    """A prefix and the pairs (source, target) that it would match."""

    kind: Literal["strip", "add"]
    prefix: str
    pairs: tuple[tuple[str, str], ...]


def tails(key: str) -> Iterator[str]:
    """The key without its first segment, without its first two, and so on."""
    at = -1
    for _ in range(PREFIX_DEPTH):
        at = key.find(".", at + 1)
        if at < 0:
            return
        yield key[at + 1 :]


def claims(
    sources: Mapping[str, object],
    wanted: Mapping[str, object],
    *,
    shaped: bool = False,
    monitor: Monitor = SILENT,
) -> list[Claim]:
    """All prefixes with what they would match, the most matches first, short ones before long.

    The values of the maps are shapes, compared where ``shaped``.
    """
    found: dict[tuple[Literal["strip", "add"], str], list[tuple[str, str]]] = {}
    for key in watched(sources, monitor):
        for tail in tails(key):
            if tail in wanted and (not shaped or sources[key] == wanted[tail]):
                found.setdefault(("strip", key[: len(key) - len(tail)]), []).append((key, tail))
    for key in watched(wanted, monitor):
        for tail in tails(key):
            if tail in sources and (not shaped or sources[tail] == wanted[key]):
                found.setdefault(("add", key[: len(key) - len(tail)]), []).append((tail, key))
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), len(item[0][1])))
    return [Claim(kind, prefix, tuple(pairs)) for (kind, prefix), pairs in ranked]


def prefix_votes(longer: Sequence[str], shorter: Collection[str]) -> Counter[str]:
    """How many of the longer keys are among the shorter ones without a prefix, by prefix.

    Of very many keys a part proposes the prefixes, which are then counted over all of them.
    """
    step = len(longer) // SAMPLED_KEYS
    votes = _votes(longer[::step] if step > 1 else longer, shorter)
    if step <= 1:
        return votes
    if not votes:
        return _votes_of_families(longer, shorter)
    best = sorted(votes, key=lambda prefix: (-votes[prefix], len(prefix)))[:PROPOSED]
    return Counter({prefix: _with_prefix(longer, shorter, prefix) for prefix in best})


def _votes(longer: Sequence[str], shorter: Collection[str]) -> Counter[str]:
    votes: Counter[str] = Counter()
    for key in longer:
        for tail in tails(key):
            if tail in shorter:
                votes[key[: len(key) - len(tail)]] += 1
    return votes


def _votes_of_families(longer: Sequence[str], shorter: Collection[str]) -> Counter[str]:
    """``_votes``, of the keys that can have any: whose end is a shorter key but for its digits."""
    ends = set(_without_digits(list(shorter)))
    folded = _without_digits(longer)
    chosen = {family for family in set(folded) if any(tail in ends for tail in tails(family))}
    if not chosen:
        return Counter()
    return _votes([key for key, f in zip(longer, folded, strict=True) if f in chosen], shorter)


_DIGITS = str.maketrans("123456789", "0" * 9)
_PIECE = 8192
"""Keys that one call works on: one of a million holds up every other thread for long."""


def _without_digits(keys: Sequence[str]) -> list[str]:
    """The keys with every ASCII digit as 0: few are left to compare, and at a small price."""
    found: list[str] = []
    for start in range(0, len(keys), _PIECE):
        found += _zeroed(keys[start : start + _PIECE])
    return found


def _zeroed(keys: Sequence[str]) -> list[str]:
    found = "\n".join(keys).translate(_DIGITS).split("\n")
    return found if len(found) == len(keys) else [key.translate(_DIGITS) for key in keys]


def _with_prefix(longer: Sequence[str], shorter: Collection[str], prefix: str) -> int:
    size = len(prefix)
    return sum(key[size:] in shorter for key in longer if key.startswith(prefix))


def take_prefixes(board: Board) -> tuple[Board, list[Suggestion]]:
    """The board after all prefixes that match more, to a fixed point, and what was taken."""
    steps: list[Suggestion] = []
    refused: set[tuple[str, str]] = set()
    for _ in range(ROUNDS):
        ranked = [claim for claim in _open_claims(board) if claim[:2] not in refused]
        if not ranked:
            break
        best = ranked[0]
        refused.add(best[:2])
        rivals = [other for other in ranked[1:] if _is_rival(best, other)]
        if rivals:
            steps.append(_disputed(best, rivals))
            refused.update(rival[:2] for rival in rivals)
            contested = (pair[1] for claim in (best, *rivals) for pair in claim.pairs)
            board = board.with_disputed(board.by_name[name] for name in contested)
            continue
        for rule in _rules(best):
            after = board.after(rule)
            gain = 0 if after is None else after.covered - board.covered
            if after is not None and gain > 0:
                steps.append(_taken(board, best, rule, gain))
                board = after
                refused.clear()
                break
    return board, steps


def take_wrappers(board: Board) -> tuple[Board, list[Suggestion]]:
    """The board without the segments of wrappers inside of keys, wherever nothing is lost."""
    steps: list[Suggestion] = []
    for word in WRAPPERS:
        if any(f".{word}." in name for name in board.names):
            rule = RemapRule(rf"\.{word}\.", ".")
            after = board.after(rule)
            if after is not None and len(after.matched) >= len(board.matched):
                gain = after.covered - board.covered
                text = f"{word!r} is what a wrapper of PyTorch puts into keys"
                steps.append(Suggestion(SuggestKind.PREFIX, Verdict.CERTAIN, gain, text, rule))
                board = after
    return board, steps


_GROUPS = (
    RemapRule(r"^([^/]+)/(?:[^/]+/)*([^/:]+)(?::\d+)?$", "${1}.${2}"),
    RemapRule(r"^(?:[^/]+/)*([^/]+)/([^/:]+)(?::\d+)?$", "${1}.${2}"),
)
"""Layers of Keras's by the first group of their path, or by the last."""


def take_groups(board: Board) -> tuple[Board, list[Suggestion]]:
    """The board with paths of groups, as Keras writes them, as dotted keys."""
    if not any("/" in name for name in board.names):
        return board, []
    tried = [(rule, board.after(rule)) for rule in _GROUPS]
    made = [(rule, after) for rule, after in tried if after is not None]
    if not made:
        return board, []
    rule, best = max(made, key=lambda pair: pair[1].covered)
    text = "Keras puts the name of a layer before a path, and the number of an output behind it"
    gain = best.covered - board.covered
    return best, [Suggestion(SuggestKind.PREFIX, Verdict.CERTAIN, gain, text, rule)]


def _open_claims(board: Board) -> list[Claim]:
    sources = {board.seen[at]: board.entries[at].shape for at in board.open_entries}
    wanted = {}
    for at in board.open_wants:
        want = board.wants[at]
        wanted[want.key] = wanted[want.name] = want.shape
    return claims(sources, wanted, shaped=True, monitor=board.monitor)


def _is_rival(best: Claim, other: Claim) -> bool:
    """True if both would fill mostly the same targets, or use mostly the same sources."""
    if best.kind != other.kind:
        return False
    side = 1 if best.kind == "strip" else 0
    shared = {pair[side] for pair in best.pairs} & {pair[side] for pair in other.pairs}
    return 2 * len(shared) >= len(best.pairs)


def _rules(claim: Claim) -> Iterator[RemapRule]:
    """Rules for a claim: for all keys, then for those with the first segments of its pairs."""
    text = claim.prefix.replace("$", "$$").replace("\\", "\\\\")
    if claim.kind == "strip":
        yield RemapRule("^" + re.escape(claim.prefix), "")
        return
    yield RemapRule("^", text)
    heads = _alternation(source.partition(".")[0] for source, _ in claim.pairs)
    yield RemapRule(rf"^({heads})(\.|$)", text + "${1}${2}")


def _alternation(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in dict.fromkeys(words))


def _taken(board: Board, claim: Claim, rule: RemapRule, gain: int) -> Suggestion:
    wanted = len(board.open_wants)
    longer = (
        [board.seen[at] for at in board.open_entries]
        if claim.kind == "strip"
        else [board.wants[at].name for at in board.open_wants]
    )
    common = sum(name.startswith(claim.prefix) for name in longer)
    # One match is little, unless most keys have the prefix.
    sure = gain > 1 or wanted == 1 or 2 * common > len(longer)
    done = "without" if claim.kind == "strip" else "with"
    text = (
        f"{gain} of {wanted} open keys are in the target {done} {claim.prefix!r} before them, "
        "with the same shapes"
    )
    verdict = Verdict.CERTAIN if sure else Verdict.LIKELY
    return Suggestion(SuggestKind.PREFIX, verdict, gain, text, rule)


def _disputed(best: Claim, rivals: list[Claim]) -> Suggestion:
    text = f"{len(rivals) + 1} prefixes would match the same tensors: only one of them can be meant"
    rule = next(iter(_rules(best)))
    others = tuple(f"{rival.kind} {rival.prefix!r}" for rival in rivals)
    return Suggestion(
        SuggestKind.PREFIX, Verdict.AMBIGUOUS, len(best.pairs), text, rule, alternatives=others
    )
