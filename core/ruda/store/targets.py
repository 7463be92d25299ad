"""What a load is laid onto: a module, the specification of one, or another file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ruda.store.containers import infer_containers
from ruda.store.diff_rows import TargetParam
from ruda.store.index import TensorIndex


@runtime_checkable
class _Walks(Protocol):
    def walk(self) -> Iterator[Any]: ...


@runtime_checkable
class _Lists(Protocol):
    @property
    def entries(self) -> Iterable[Any]: ...


Target = TensorIndex | _Walks | _Lists
"""A module, a ModuleSpec or an index."""


class Expected(NamedTuple):
    """The parameters of a target in its order, its name, and what had to be inferred for it."""

    params: tuple[TargetParam, ...]
    name: str
    notes: tuple[str, ...] = ()


def expected_of(target: Target, *, needs_kinds: bool = True) -> Expected:
    """What the target expects.

    A file knows no modules: with ``needs_kinds`` they are inferred from its keys, and noted.
    """
    if isinstance(target, TensorIndex):
        return _of_index(target, needs_kinds=needs_kinds)
    if isinstance(target, _Lists):
        params = tuple(
            TargetParam(e.key, tuple(e.shape), e.dtype, tuple(e.containers), e.param_id)
            for e in target.entries
        )
        return Expected(params, str(getattr(target, "struct_name", "") or "model"))
    params = tuple(
        TargetParam(e.key, tuple(e.param.shape), e.param.dtype, tuple(e.containers), e.param.id)
        for e in target.walk()
    )
    return Expected(params, str(getattr(target, "struct_name", "") or type(target).__name__))


def _of_index(index: TensorIndex, *, needs_kinds: bool) -> Expected:
    name = index.format if index.path is None else index.path.name
    if not needs_kinds:
        params = tuple(
            TargetParam(s.key, s.shape, s.dtype, s.containers, s.param_id) for s in index.values()
        )
        return Expected(params, name)
    found = infer_containers(index)
    params = tuple(
        TargetParam(s.key, s.shape, s.dtype, found.containers.get(s.key, ()), s.param_id)
        for s in index.values()
    )
    notes = tuple(f"target {name}: {note}" for note in found.notes)
    return Expected(params, name, notes)
