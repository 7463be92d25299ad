"""Whether two tensors have the same values, told without reading either: for what is remembered.

Each edit of a recipe makes new snapshots, most of which read what those before them read.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from typing import TYPE_CHECKING

from ruda.store.adapted import CastSource, TransposedSource
from ruda.store.decided import ClampedSource
from ruda.store.filerange import FileRange
from ruda.store.moving import (
    CutSource,
    OrderedSource,
    PaddedSource,
    PermutedSource,
    ReshapedSource,
    RunSource,
)
from ruda.store.row_blocks import BesideSource, StackedSource

if TYPE_CHECKING:
    from ruda.store.snapshot import TensorSnapshot, TensorSource

_MOVED = (CutSource, OrderedSource, PaddedSource, ReshapedSource, RunSource)


def values_mark(snapshot: TensorSnapshot) -> Hashable:
    """Equal marks mean equal values: the same source, turned, cast, cut or joined alike.

    Two that differ may have the same values all the same. What reads the file is told by its
    identity, so a mark is good for as long as its snapshot is kept.
    """
    return (snapshot.dtype, snapshot.shape, _mark(snapshot.source))


def _mark(source: TensorSource) -> Hashable:
    # By the very class: one derived from it may read otherwise.
    kind = type(source)
    if kind in (CastSource, ClampedSource):
        assert isinstance(source, CastSource)
        return (kind, source.before, source.after, _mark(source.source))
    if kind is FileRange:
        assert isinstance(source, FileRange)
        return (kind, id(source.file), source.offset, source.nbytes, source.dtype, source.shape)
    if kind is TransposedSource:
        assert isinstance(source, TransposedSource)
        return (kind, source.shape, _mark(source.source))
    if kind is PermutedSource:
        assert isinstance(source, PermutedSource)
        return (kind, source.order.tobytes(), _mark(source.source))
    if kind in (BesideSource, StackedSource):
        assert isinstance(source, BesideSource)
        return (kind, *map(_mark, source.sources))
    if isinstance(source, _MOVED) and kind in _MOVED:
        rest = (getattr(source, f.name) for f in fields(source) if f.name != "source")
        return (kind, *rest, _mark(source.source))
    return id(source)
