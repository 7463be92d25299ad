"""Adapters of a recipe that touch nothing: neither name, place, layout nor values of any tensor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ruda.errors import AdapterError
from ruda.nn import ParamSpec
from ruda.store.adapt import adapter_named, pieces_of, results_of
from ruda.store.recipe import Recipe
from ruda.store.regrouping import Joining, Parts
from ruda.store.snapshot import TensorSnapshot, kind_of


class IdleAdapters:
    """Which adapters of a recipe have not touched any of the tensors that were shown so far."""

    def __init__(self, recipe: Recipe) -> None:
        self._members = [adapter_named(a) if isinstance(a, str) else a for a in recipe.adapt]
        self._left = set(range(len(self._members)))

    def __bool__(self) -> bool:
        return bool(self._left)

    def show(self, given: TensorSnapshot | Joining) -> None:
        """What the adapters are given for one tensor of the result."""
        snapshots = given.parts if isinstance(given, Joining) else (given,)
        for snapshot in snapshots:
            for at, member in enumerate(self._members):
                if not self._left:
                    return
                try:
                    adapted = member.adapt(snapshot)
                except AdapterError:
                    self._left.discard(at)
                    break
                if adapted is not snapshot:
                    self._left.discard(at)
                snapshot = adapted

    def show_source(self, snapshot: TensorSnapshot) -> None:
        """A tensor before it is split or joined, where nothing but its name says that it is."""
        for at in tuple(self._left):
            if results_of(self._members[at], snapshot.key, snapshot.containers):
                self._left.discard(at)

    def show_parts(self, param: ParamSpec, parts: Parts) -> None:
        """The tensors, or blocks of tensors, that make up a parameter."""
        for at in tuple(self._left):
            if parts in pieces_of(self._members[at], param.key, param.containers):
                self._left.discard(at)

    def show_wanted(self, param: ParamSpec, there: Collection[str]) -> None:
        """A parameter that may be made of other tensors of a source, those with these keys."""
        for at in tuple(self._left):
            places = pieces_of(self._members[at], param.key, param.containers)
            if any(all(piece.key in there for piece in parts) for parts in places):
                self._left.discard(at)

    def show_other_name(self, param: ParamSpec, name: str) -> None:
        """A parameter whose source is found under another name."""
        last, kind = param.key.rpartition(".")[2], kind_of(param.containers)
        for at in tuple(self._left):
            member = self._members[at]
            places = pieces_of(member, param.key, param.containers)
            is_place = any(len(parts) == 1 and parts[0].key == name for parts in places)
            if is_place or member.alternative_name(last, kind) is not None:
                self._left.discard(at)

    def notes(self) -> Iterator[str]:
        """One sentence for each that is left."""
        for at in sorted(self._left):
            yield (
                f"the adapter {self._members[at].name!r} touches nothing: no tensor that is taken "
                "has the names and the kind of module that it is for"
            )


def idle_in_conversion(
    recipe: Recipe,
    given: Iterable[TensorSnapshot | Joining],
    before: Iterable[TensorSnapshot],
    wanted: Sequence[ParamSpec],
) -> tuple[str, ...]:
    """What is said of adapters without an effect on what they are given in a conversion.

    ``before`` are the tensors that were split or joined to that, ``wanted`` the parameters of the
    target, if there is one.
    """
    idle = IdleAdapters(recipe)
    for each in given:
        if not idle:
            return ()
        idle.show(each)
    there: set[str] = set()
    for snapshot in before if idle else ():
        there.add(snapshot.key)
        idle.show_source(snapshot)
    for param in wanted if idle else ():
        if param.key not in there:
            idle.show_wanted(param, there)
    return tuple(idle.notes())
