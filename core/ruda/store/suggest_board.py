"""Board: the names of a source against what a target wants, while rules are being tried."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from ruda.errors import AdapterError, RecipeError
from ruda.nn import ParamSpec
from ruda.progress import SILENT, Monitor
from ruda.store.adapt import IdentityAdapter, ModuleAdapter, key_depth, pieces_of, rule_of
from ruda.store.diff_match import alternative_key
from ruda.store.harmless import is_harmless
from ruda.store.regroup import EACH
from ruda.store.remap import RemapRule, compact_indices
from ruda.store.snapshot import ArraySource, TensorSnapshot

Shape = tuple[int, ...]

SAMPLED = 3000
"""Number of source keys from which candidates are tried on members of every family only."""

CHECK_EVERY = 4096
"""Names between two points where the work can be stopped."""

PER_FAMILY = 3
"""Members of a family in a sample."""

_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")
_NOTHING = ArraySource(np.empty(0, np.uint8))


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of the source: its key after the rules that were there, and its header."""

    key: str
    shape: Shape
    is_float: bool

    @property
    def is_harmless(self) -> bool:
        """True for what no model needs: it is never paired."""
        return is_harmless(self.key, self.shape)


@dataclass(frozen=True, slots=True)
class Want:
    """A tensor of the target, as a file would hold it for the adapter."""

    key: str
    name: str
    """The key under the names of the other framework; the key itself where they are the same."""
    shape: Shape
    """Before the adapter turns it."""
    is_float: bool
    is_turned: bool = False
    """True if the adapter swaps its axes, which the shape of a square matrix does not show."""
    count: int = 1
    """Number of parameters that the adapter makes of it."""
    also: tuple[str, ...] = ()
    """Further keys under which the adapter finds the same tensor."""


def wants_of(
    params: Iterable[ParamSpec],
    adapter: ModuleAdapter,
    monitor: Monitor = SILENT,
    *,
    leaves: Collection[str] = (),
) -> tuple[Want, ...]:
    """What a file must hold for these parameters under the adapter.

    ``leaves`` are the last segments of its keys, where they are known.
    """
    plain = isinstance(adapter, IdentityAdapter)
    before = _Before(adapter.reverse())
    found: dict[str, Want] = {}
    for param in watched(params, monitor):
        name, shape, turned, blocks = param.key, param.shape, False, 1
        also: tuple[str, ...] = ()
        if not plain:
            (name, blocks, axis), also = _names_before(adapter, param, leaves)
            shape, turned = before.of(param)
            if blocks == EACH:
                shape = (1, *shape)
            elif blocks > 1 and shape:
                axis = min(axis, len(shape) - 1)
                shape = (*shape[:axis], shape[axis] * blocks, *shape[axis + 1 :])
        # Parts of one tensor are one want; other parameters never are.
        place = name if blocks != 1 else param.key
        if place in found:
            count = found[place].count + 1
            found[place] = replace(found[place], count=count)
            if blocks == EACH:
                found[place] = replace(found[place], shape=(count, *shape[1:]))
        else:
            found[place] = Want(param.key, name, shape, param.dtype.is_float, turned, also=also)
    return tuple(found.values())


def _names_before(
    adapter: ModuleAdapter, param: ParamSpec, leaves: Collection[str]
) -> tuple[tuple[str, int, int], tuple[str, ...]]:
    """Where the adapter takes a parameter from, and the other keys under which it finds the same.

    The place is a key, the number of parts that its tensor is divided in, and their axis. Of
    several, it is the first whose last segment the file has.
    """
    whole = [p[0] for p in pieces_of(adapter, param.key, param.containers) if len(p) == 1]
    if whole:
        usual = (piece for piece in whole if piece.key.rpartition(".")[2] in leaves)
        first = next(usual, whole[0])
        also = tuple(p.key for p in whole if p.blocks == first.blocks and p is not first)
        return (first.key, first.blocks, first.axis), also
    other = alternative_key(adapter, param)
    return (param.key if other is None else other, 1, 0), ()


class _Before:
    """The shapes that an adapter turns into those of parameters; asked once for equal headers."""

    def __init__(self, back: ModuleAdapter) -> None:
        self._back = back
        self._depth = key_depth(back)
        self._known: dict[object, tuple[Shape, bool]] = {}

    def of(self, param: ParamSpec) -> tuple[Shape, bool]:
        """The shape, and whether the adapter swaps its axes."""
        depth = self._depth
        if depth is None:
            return _before(self._back, param)
        end = param.key.rsplit(".", depth)[-depth:] if depth else ()
        rule = rule_of(self._back, param.key)
        head = (param.shape, param.dtype, param.containers, rule, *end)
        if head not in self._known:
            self._known[head] = _before(self._back, param)
        return self._known[head]


def _before(back: ModuleAdapter, param: ParamSpec) -> tuple[Shape, bool]:
    """The shape that the adapter turns into the parameter's, and whether it swaps axes."""
    header = TensorSnapshot(
        param.key, param.dtype, param.shape, 0, _NOTHING, containers=param.containers
    )
    try:
        made = back.adapt(header)
    except AdapterError:
        return param.shape, False
    return made.shape, any(step.startswith("transpose") for step in made.trail)


T = TypeVar("T")


def watched(items: Iterable[T], monitor: Monitor) -> Iterator[T]:
    """The items, with a point every few thousand where the work can be stopped."""
    for count, item in enumerate(items):
        if not count % CHECK_EVERY:
            monitor.check()
        yield item


def fold_numbers(name: str) -> str:
    """The name with every segment that is a number folded to ``*``."""
    return _NUMBER.sub("*", name)


def numbers_of(name: str) -> tuple[str, ...]:
    """The segments that are numbers."""
    return tuple(_NUMBER.findall(name))


@dataclass(frozen=True)
class Board:
    """Names of the source (``names``, as the rules so far leave them) and wants of the target."""

    entries: tuple[Entry, ...]
    wants: tuple[Want, ...]
    names: tuple[str, ...]
    contiguous: bool = False
    keep_indices: str | None = None
    disputed: frozenset[int] = field(default=frozenset())
    """Places of wants that more than one prefix claims: nothing is paired with them."""
    monitor: Monitor = field(default=SILENT, compare=False, repr=False)

    @cached_property
    def by_name(self) -> dict[str, int]:
        """Place of the want for every key under which one is looked for."""
        found = {want.key: at for at, want in enumerate(self.wants)}
        for at, want in enumerate(self.wants):
            found.setdefault(want.name, at)
        for at, want in enumerate(self.wants):
            for name in want.also:
                found.setdefault(name, at)
        return found

    @cached_property
    def seen(self) -> tuple[str, ...]:
        """The names as the target sees them: after index compaction, where it is on."""
        return tuple(self._seen(self.names))

    def _seen(self, names: Sequence[str]) -> Sequence[str]:
        return compact_indices(names, keep=self.keep_indices) if self.contiguous else names

    @cached_property
    def matched(self) -> dict[int, int]:
        """Place of the source for every want that has one of its name and shape."""
        return self._matches(range(len(self.entries)), self.seen)

    def _matches(self, places: Iterable[int], seen: Sequence[str]) -> dict[int, int]:
        """A key that a target has itself goes before one under other names, of any shape."""
        found: dict[int, int] = {}
        own = {want.key for want in self.wants if want.key != want.name}.intersection(seen)
        for place, name in watched(zip(places, seen, strict=True), self.monitor):
            at = self.by_name.get(name)
            if at is None or self.entries[place].shape != self.wants[at].shape:
                continue
            if name == self.wants[at].key or self.wants[at].key not in own:
                found.setdefault(at, place)
        return found

    @property
    def covered(self) -> int:
        """Number of parameters of the target that have a source."""
        return sum(self.wants[at].count for at in self.matched)

    @cached_property
    def proven(self) -> bool:
        """False if matrices are turned that are all square, so that nothing shows it is right."""
        turned = [self.wants[at].shape for at in self.matched if self.wants[at].is_turned]
        return not turned or any(len(set(shape)) > 1 for shape in turned)

    @cached_property
    def open_entries(self) -> tuple[int, ...]:
        """Places of source tensors that nobody takes and that may be of use."""
        taken = set(self.matched.values())
        return tuple(
            at for at, entry in enumerate(self.entries) if at not in taken and not entry.is_harmless
        )

    @cached_property
    def open_wants(self) -> tuple[int, ...]:
        """Places of wants without a source, disputed ones left out."""
        return tuple(
            at
            for at in range(len(self.wants))
            if at not in self.matched and at not in self.disputed
        )

    @cached_property
    def _sample(self) -> tuple[int, ...]:
        """Places on which candidates are tried first: all, or some of every family."""
        if len(self.entries) <= SAMPLED or self.contiguous:
            return tuple(range(len(self.entries)))
        counts: dict[str, int] = {}
        chosen: list[int] = []
        for at, name in watched(enumerate(self.names), self.monitor):
            family = fold_numbers(name)
            counts[family] = counts.get(family, 0) + 1
            if counts[family] <= PER_FAMILY:
                chosen.append(at)
        return tuple(chosen)

    @cached_property
    def _sample_matched(self) -> int:
        return len(self._matches(self._sample, [self.seen[at] for at in self._sample]))

    def trial(self, rule: RemapRule) -> tuple[int, int]:
        """Net gain in matches on the sample, and how many names change without one.

        A rule that makes two names one gains nothing.
        """
        self.monitor.check()
        before = [self.names[at] for at in self._sample]
        after = [rule.rename(name) for name in before]
        changed = sum(a != b for a, b in zip(after, before, strict=True))
        if len(set(after)) < len(set(before)) or not all(after):
            return -1, changed
        gain = len(self._matches(self._sample, self._seen(after))) - self._sample_matched
        return gain, changed - gain

    def after(self, rule: RemapRule) -> Board | None:
        """The board once the rule is taken; None if two names would become one."""
        try:
            names = tuple(rule.rename_all(self.names, monitor=self.monitor))
        except RecipeError:  # it would take too long on these names, for a diff as well
            return None
        if len(set(names)) < len(set(self.names)) or not all(names):
            return None
        return self.with_names(names)

    def with_names(self, names: tuple[str, ...]) -> Board:
        """With other names."""
        return self._of(names=names)

    def with_disputed(self, places: Iterable[int]) -> Board:
        """With more wants that are left alone."""
        return self._of(disputed=self.disputed.union(places))

    def _of(
        self, names: tuple[str, ...] | None = None, disputed: frozenset[int] | None = None
    ) -> Board:
        return Board(
            self.entries,
            self.wants,
            self.names if names is None else names,
            self.contiguous,
            self.keep_indices,
            self.disputed if disputed is None else disputed,
            self.monitor,
        )
