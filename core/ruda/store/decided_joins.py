"""Decisions about a tensor that is joined from several: for its parts, and for the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ruda.store.adapt import ChainAdapter, ModuleAdapter
from ruda.store.decided import DecidedCast
from ruda.store.shaping import ShapedAdapter
from ruda.store.snapshot import TensorSnapshot


def _members(adapter: ModuleAdapter) -> tuple[ModuleAdapter, ...]:
    return adapter.members if isinstance(adapter, ChainAdapter) else (adapter,)


def for_parts(adapter: ModuleAdapter, key: str, parts: Iterable[str]) -> ModuleAdapter:
    """The adapter for the parts of ``key``: what is decided for its type counts for each."""
    members = _members(adapter)
    if not any(isinstance(m, DecidedCast) and m.decides(key) for m in members):
        return adapter
    keys = list(parts)
    return ChainAdapter(
        tuple(m.also_for(key, keys) if isinstance(m, DecidedCast) else m for m in members)
    )


def after_join(
    adapter: ModuleAdapter, whole: TensorSnapshot, parts: Sequence[TensorSnapshot]
) -> TensorSnapshot:
    """The whole after what is decided for its shape, unless a part with its key had that done.

    Raises DecisionError where it cannot be done.
    """
    if any(part.key == whole.key for part in parts):
        return whole
    for member in _members(adapter):
        if isinstance(member, ShapedAdapter):
            whole = member.adapt(whole)
    return whole
