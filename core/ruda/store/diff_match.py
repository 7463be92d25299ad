"""Which tensor of a source is meant for which parameter of a target, by keys alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruda._freeing import LargeDict, LargeList
from ruda.nn import ParamSpec
from ruda.progress import SILENT, Monitor
from ruda.store.adapt import (
    IdentityAdapter,
    ModuleAdapter,
    adapter_named,
    adapter_names,
    all_pieces_of,
    may_divide,
    other_keys_of,
    pieces_of,
    with_last_segment,
)
from ruda.store.adapter import OtherKeys
from ruda.store.index import TensorIndex
from ruda.store.regroup import Piece
from ruda.store.regrouping import Parts, Taken, find_parts, parts_among
from ruda.store.remap import Collision, KeyRemapper
from ruda.store.snapshot import TensorSnapshot, kind_of

CHECK_EVERY = 4096
"""Tensors between two points where a diff can be stopped."""

NOWHERE = -1
"""Place of a source that is not there."""


def alternative_key(adapter: ModuleAdapter, param: ParamSpec) -> str | None:
    """The key under which the adapter would also look for a parameter."""
    last = param.key.rpartition(".")[2]
    other = adapter.alternative_name(last, kind_of(param.containers))
    return None if other is None else with_last_segment(param.key, other)


def alternative_keys(adapter: ModuleAdapter, param: ParamSpec) -> Iterator[str]:
    """``alternative_key``, and the keys of tensors that a parameter is a part of or made from."""
    other = alternative_key(adapter, param)
    if other is not None:
        yield other
    for parts in pieces_of(adapter, param.key, param.containers):
        yield from (piece.key for piece in parts)


def other_names(param: ParamSpec) -> Iterator[str]:
    """Keys under which some adapter, in the recipe or not, knows the parameter."""
    for name in adapter_names():
        yield from alternative_keys(adapter_named(name), param)


class Named(Mapping[str, TensorSnapshot]):
    """Tensors of a source by the keys that the remap rules gave them; made when asked for."""

    __slots__ = ("keys_before", "places", "snapshots")

    def __init__(
        self,
        places: Mapping[str, int],
        keys_before: Sequence[str],
        snapshots: Mapping[str, TensorSnapshot],
    ) -> None:
        self.places = places
        self.keys_before = keys_before
        self.snapshots = snapshots

    def __getitem__(self, key: str) -> TensorSnapshot:
        return self.snapshots[self.keys_before[self.places[key]]]

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True, slots=True)
class Matching:
    """What belongs together. Places count the tensors of the source in its order."""

    keys: Sequence[str]
    """Keys of the source before any step."""
    names: Mapping[str, int]
    """Place of the source by its key after the remap rules; of several, the first."""
    doubles: Sequence[tuple[int, str]]
    """Further sources that would get a name that is taken, with that name."""
    collisions: Mapping[str, Collision]
    places: Sequence[int]
    """For every parameter the place of its source, or ``NOWHERE``."""
    parts: Mapping[int, Parts]
    """For parameters that are a part of a source, or made of several, or tied: their pieces."""
    unused: Mapping[str, int]
    blocks: Mapping[str, set[int]]
    """Blocks of rows that are taken of the sources that are split."""


def match(
    source: TensorIndex,
    params: Sequence[ParamSpec],
    remap: KeyRemapper,
    adapter: ModuleAdapter,
    monitor: Monitor = SILENT,
) -> Matching:
    """The source of every parameter: by its key, else under the adapter's other names."""
    keys: list[str] = LargeList(source.snapshots)
    names, doubles, collisions = _named(keys, remap, monitor)
    wanted = [param.key for param in params]
    find = names.get
    places = LargeList([find(key, NOWHERE) for key in wanted])
    used = Taken()
    parts: dict[int, Parts] = {}
    if not isinstance(adapter, IdentityAdapter) and NOWHERE in places:
        parts = _match_otherwise(params, wanted, names, adapter, places, used, monitor)
    taken = bytearray(len(keys) + 1)  # one more: for those that have none
    for place in places:
        taken[place] = True
    for key in (*used.whole, *used.blocks) if parts else ():
        taken[names[key]] = True
    unused = LargeDict({name: place for name, place in names.items() if not taken[place]})
    return Matching(keys, names, doubles, collisions, places, parts, unused, used.blocks)


def _named(
    keys: Sequence[str], remap: KeyRemapper, monitor: Monitor
) -> tuple[dict[str, int], list[tuple[int, str]], dict[str, Collision]]:
    """Places by the names after the remap rules; what comes too late for its name; collisions."""
    if remap.is_empty:
        return _numbered(keys), [], {}
    plan = remap.plan(keys, monitor=monitor)
    if not plan.collisions:
        return _numbered(plan.after), [], {}
    names: dict[str, int] = LargeDict()
    doubles: list[tuple[int, str]] = LargeList()
    for place, name in enumerate(plan.after):
        if names.setdefault(name, place) != place:
            doubles.append((place, name))
    return names, doubles, {clash.key: clash for clash in plan.collisions}


def _numbered(names: Sequence[str]) -> dict[str, int]:
    # A loop, not a call: that of a million names holds up every other thread for half a second.
    return LargeDict({name: place for place, name in enumerate(names)})


def _match_otherwise(
    params: Sequence[ParamSpec],
    wanted: Sequence[str],
    names: Mapping[str, int],
    adapter: ModuleAdapter,
    places: list[int],
    used: Taken,
    monitor: Monitor,
) -> dict[int, Parts]:
    """Fill in ``places`` by other names; what is made of parts, or is a part, apart from them."""
    own = set(wanted)
    direct = own.intersection(names)
    used.whole |= direct
    others = OtherNames(adapter)
    left: list[int] = []
    asked: dict[tuple[tuple[str, ...], str], tuple[str | None, bool]] = {}
    for at, place in enumerate(places):
        if place != NOWHERE:
            continue
        if not at % CHECK_EVERY:
            monitor.check()
        key = wanted[at]
        end = key.rpartition(".")[2]
        known = params[at].containers, end
        told = asked.get(known)
        if told is None:
            told = asked[known] = others.name(*known), others.divides(known[0])
        other, divides = told
        name = None if other is None else key[: len(key) - len(end)] + other
        if name is not None and name in names and name not in own and name not in used.whole:
            used.whole.add(name)
            places[at] = names[name]
        elif divides:
            left.append(at)
    if not left:
        return {}
    found = _in_parts([params[at] for at in left], names, adapter, own, used, monitor)
    parts: dict[int, Parts] = {}
    for at, source in zip(left, found, strict=True):
        if isinstance(source, str):
            places[at] = names[source]
        elif source is not None:
            parts[at] = source
    return parts


def _in_parts(
    params: Sequence[ParamSpec],
    names: Mapping[str, int],
    adapter: ModuleAdapter,
    own: Collection[str],
    used: Taken,
    monitor: Monitor,
) -> Iterator[str | Parts | None]:
    """For every parameter the other name of its tensor, or the parts that it is made of.

    The adapter is asked about all of them at once, as far as it can be.
    """
    renamed = other_keys_of(adapter, [param.key for param in params])
    rest = [param for param, told in zip(params, renamed, strict=True) if told is None]
    places = iter(all_pieces_of(adapter, [p.key for p in rest], [p.containers for p in rest]))
    for count, (param, told) in enumerate(zip(params, renamed, strict=True)):
        if not count % CHECK_EVERY:
            monitor.check()
        found: Parts | None
        if told is None:
            found = parts_among(next(places), param.key, names, own, used)
        else:
            name = _spelled(told, param.key, names, own, used)
            if name is not None and told.blocks == 1:
                used.whole.add(name)
                yield name
                continue
            if name is None:  # what is tied is in none of these places
                found = find_parts(adapter, param, names, own, used)
            else:
                found = (Piece(name, told.block, told.blocks, axis=told.axis),)
        if found is not None:
            used.take(found)
        yield found


def _spelled(
    spelled: OtherKeys,
    key: str,
    names: Mapping[str, int],
    own: Collection[str],
    used: Taken,
) -> str | None:
    """The first of these names that the source has and nobody takes; as ``find_parts`` does."""
    for texts in spelled.texts:
        name = spelled.number.join(texts)
        if name not in names or name in used.whole or (name in own and name != key):
            continue
        taken = used.blocks.get(name)
        if not taken or (spelled.blocks != 1 and spelled.block not in taken):
            return name
    return None


class OtherNames:
    """``alternative_key`` and ``alternative_keys`` for very many parameters.

    The adapter is asked once for every kind of module and name in it.
    """

    def __init__(self, adapter: ModuleAdapter) -> None:
        self._adapter = adapter
        self._names: dict[tuple[tuple[str, ...], str], str | None] = {}
        self._divides: dict[tuple[str, ...], bool] = {}

    def key_of(self, param: ParamSpec) -> str | None:
        """The key under which the adapter would also look for the parameter."""
        last = param.key.rpartition(".")[2]
        name = self.name(param.containers, last)
        return None if name is None else param.key[: len(param.key) - len(last)] + name

    def knows(self, containers: tuple[str, ...], last: str) -> bool:
        """False if no key in these containers that ends so has another name."""
        return self.name(containers, last) is not None or self.divides(containers)

    def divides(self, containers: tuple[str, ...]) -> bool:
        """False if no parameter in them is a part of a tensor or made of several."""
        known = self._divides.get(containers)
        if known is None:
            known = self._divides[containers] = may_divide(self._adapter, containers)
        return known

    def keys_of(self, param: ParamSpec) -> Sequence[str]:
        """All of them, those of tensors that it is a part of or made from as well."""
        other = self.key_of(param)
        found = [] if other is None else [other]
        if self.divides(param.containers):
            for parts in pieces_of(self._adapter, param.key, param.containers):
                found += [piece.key for piece in parts]
        return found

    def name(self, containers: tuple[str, ...], last: str) -> str | None:
        """The other last segment of keys in these containers that end so."""
        known = containers, last
        if known not in self._names:
            name = self._adapter.alternative_name(last, kind_of(containers))
            self._names[known] = name
        return self._names[known]
