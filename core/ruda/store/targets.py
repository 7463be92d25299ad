"""What a load is laid onto: a module, the specification of one, or another file."""

from __future__ import annotations

from typing import NamedTuple

from ruda._freeing import LargeTuple
from ruda.nn import Module, ModuleSpec, ParamSpec
from ruda.store.containers import Inference, infer_containers
from ruda.store.index import LazySnapshots, TensorIndex
from ruda.tensor import DType, Kind

Target = TensorIndex | Module | ModuleSpec
"""A module, the specification of one, or an index."""

_QUANTIZED = frozenset(dtype for dtype in DType if dtype.kind is Kind.QUANTIZED)


class Expected(NamedTuple):
    """The parameters of a target in its order, its name, and what had to be inferred for it."""

    params: tuple[ParamSpec, ...]
    name: str
    notes: tuple[str, ...] = ()
    tied: tuple[tuple[str, str], ...] = ()
    """Pairs of keys that stand for one tensor of the target: a later key, and the first one."""


def expected_of(target: Target, *, needs_kinds: bool = True) -> Expected:
    """What the target expects.

    A file knows no modules: with ``needs_kinds`` they are inferred from its keys, and noted.
    """
    if isinstance(target, TensorIndex):
        return _of_index(target, needs_kinds=needs_kinds)
    spec = target if isinstance(target, ModuleSpec) else ModuleSpec.of(target)
    return Expected(spec.entries, spec.name or _root_name(spec.entries), tied=spec.tied)


def _root_name(params: tuple[ParamSpec, ...]) -> str:
    """Name of the outermost module, which every parameter has in its containers."""
    outer = params[0].containers[:1] if params else ()
    return outer[0].partition(":")[2] if outer else "model"


def _of_index(index: TensorIndex, *, needs_kinds: bool) -> Expected:
    name = index.format if index.path is None else index.path.name
    found = Inference({}, ())
    if needs_kinds and not all(s.containers for s in index.snapshots.values()):
        found = infer_containers(index)
    known = found.containers
    params = LargeTuple(
        ParamSpec(
            s.key,
            s.shape,
            s.dtype,
            known.get(s.key, s.containers) if known else s.containers,
            s.param_id,
            s.scheme if s.dtype in _QUANTIZED else None,
        )
        for s in index.snapshots.values()
    )
    notes = tuple(f"target {name}: {note}" for note in found.notes)
    return Expected(params, name, notes, aliases_of(index))


def aliases_of(index: TensorIndex) -> tuple[tuple[str, str], ...]:
    """Keys of a file that are wholly one tensor: the same bytes as the same type and shape.

    Pairs of an alias and its owner.
    """
    found: list[tuple[str, str]] = []
    if isinstance(index.snapshots, LazySnapshots) and all(
        facts.shared_with is None for facts in index.facts()
    ):
        return ()  # without making a snapshot
    for alias in [s for s in index.snapshots.values() if s.shared_with is not None]:
        owner = index.get(alias.shared_with or "")
        place = alias.origin
        if owner is None or place is None or place.offset is None or place != owner.origin:
            continue
        if (owner.dtype_label, owner.shape) == (alias.dtype_label, alias.shape):
            found.append((alias.key, owner.key))
    return tuple(found)
