"""Blocks of a tensor: one of them taken out, or several laid beside each other as one.

Both are lazy. A block of a tensor that lies in one piece of a file is read alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ruda.errors import AdapterError
from ruda.store.filerange import FileRange
from ruda.store.moving import CutSource, counts_in, peak_of, run_of
from ruda.store.snapshot import TOGETHER, Origin, TensorSnapshot, TensorSource, stream_of
from ruda.tensor import CastCounts

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class BesideSource:
    """The columns of several matrices, side by side."""

    sources: tuple[TensorSource, ...]
    nbytes: int

    @property
    def peak_bytes(self) -> int:
        """Memory that one read needs: the result, and one part at a time."""
        parts = (peak_of(source, 0) for source in self.sources)
        return self.nbytes + max(self.nbytes, *parts)

    @property
    def counts(self) -> CastCounts | None:
        """What casts further in did to the values when they were read last."""
        return _summed(self.sources)

    def read(self) -> Array:
        """The columns of all."""
        return np.concatenate([source.read() for source in self.sources], axis=1)


class StackedSource(BesideSource):
    """The rows of several sources, one after the other."""

    __slots__ = ()

    def read(self) -> Array:
        """All rows."""
        return np.concatenate([source.read() for source in self.sources])

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes of the sources in turn, in pieces of at most ``size``."""
        for source in self.sources:
            yield from stream_of(source, size)


def block_of(snapshot: TensorSnapshot, block: int, blocks: int, *, axis: int = 0) -> TensorSnapshot:
    """Block number ``block`` of ``blocks`` along an axis of a tensor; the trail says ``split 3``.

    A vector has one axis, whatever is asked for. Raises AdapterError as ``rows_of`` and
    ``columns_of``.
    """
    if axis and len(snapshot.shape) > 1:
        return columns_of(snapshot, block, blocks)
    return rows_of(snapshot, block, blocks)


def rows_of(snapshot: TensorSnapshot, block: int, blocks: int) -> TensorSnapshot:
    """Block number ``block`` of ``blocks`` equal blocks of rows; the trail says ``split 3``.

    Raises AdapterError where the rows do not divide or values cannot be told apart.
    """
    rows = snapshot.shape[0] if snapshot.shape else 0
    if not rows or rows % blocks:
        raise AdapterError(
            f"{list(snapshot.shape)} does not divide into {blocks} blocks of rows",
            key=snapshot.key,
        )
    if snapshot.dtype.kind in TOGETHER:
        raise AdapterError(f"{snapshot.dtype_label} values cannot be split", key=snapshot.key)
    count, nbytes = rows // blocks, snapshot.nbytes // blocks
    shape = (count, *snapshot.shape[1:])
    skip = block * (snapshot.numel // blocks)
    source = run_of(snapshot.source, snapshot.dtype, snapshot.shape, shape, skip)
    origin = None if snapshot.origin is None else Origin(snapshot.origin.path)
    if isinstance(source, FileRange):
        origin = Origin(source.file.path, source.offset, nbytes)
    return replace(
        snapshot,
        shape=shape,
        nbytes=nbytes,
        source=source,
        origin=origin,
        param_id=None,
        shared_with=None,
        trail=(*snapshot.trail, f"split {blocks}"),
    )


def columns_of(snapshot: TensorSnapshot, block: int, blocks: int) -> TensorSnapshot:
    """Block number ``block`` of ``blocks`` equal blocks of columns of a matrix.

    Raises AdapterError where the columns do not divide or values cannot be told apart.
    """
    rows, columns = snapshot.shape if len(snapshot.shape) == 2 else (0, 0)
    if not columns or columns % blocks:
        raise AdapterError(
            f"{list(snapshot.shape)} does not divide into {blocks} blocks of columns",
            key=snapshot.key,
        )
    if snapshot.dtype.kind in TOGETHER:
        raise AdapterError(f"{snapshot.dtype_label} values cannot be split", key=snapshot.key)
    count, nbytes = columns // blocks, snapshot.nbytes // blocks
    peak = nbytes + peak_of(snapshot.source, snapshot.nbytes)
    start = block * count
    return replace(
        snapshot,
        shape=(rows, count),
        nbytes=nbytes,
        source=CutSource(snapshot.source, snapshot.shape, 1, start, start + count, peak),
        origin=None if snapshot.origin is None else Origin(snapshot.origin.path),
        param_id=None,
        shared_with=None,
        trail=(*snapshot.trail, f"split {blocks}"),
    )


def stacked(
    parts: Sequence[TensorSnapshot],
    key: str,
    containers: tuple[str, ...],
    before: tuple[str, ...],
    *,
    axis: int = 0,
) -> TensorSnapshot:
    """All parts as one tensor; its trail is ``before``, the parts' steps, ``join 3``.

    They are laid below each other, or side by side with ``axis`` 1 (vectors behind each other).
    One part is only renamed. Raises AdapterError for parts that differ in type or in their
    further axes.
    """
    first = parts[0]
    done = (step for step in first.trail[len(before) :] if step != "rename")
    trail = (*before, *(("rename",) if key != first.key or len(parts) > 1 else ()), *done)
    if len(parts) == 1:
        return replace(first, key=key, containers=containers, trail=trail)
    for part in parts:
        if part.dtype is not first.dtype or part.dtype.kind in TOGETHER:
            labels = sorted({p.dtype_label for p in parts})
            raise AdapterError(f"parts of {' and '.join(labels)} cannot be joined", key=key)
        along = axis if len(part.shape) > 1 else 0
        if not part.shape or _without(part.shape, along) != _without(first.shape, along):
            by = "columns" if along else "rows"
            raise AdapterError(
                f"{list(first.shape)} and {list(part.shape)} cannot be joined by {by}", key=key
            )
    nbytes = sum(part.nbytes for part in parts)
    sources = tuple(part.source for part in parts)
    total = sum(part.shape[along] for part in parts)
    return replace(
        first,
        key=key,
        containers=containers,
        shape=(*first.shape[:along], total, *first.shape[along + 1 :]),
        nbytes=nbytes,
        source=BesideSource(sources, nbytes) if along else StackedSource(sources, nbytes),
        origin=None if first.origin is None else Origin(first.origin.path),
        param_id=None,
        shared_with=None,
        trail=(*trail, f"join {len(parts)}"),
    )


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _summed(sources: Sequence[TensorSource]) -> CastCounts | None:
    """What casts in these sources did to the values when they were read last."""
    total: CastCounts | None = None
    for source in sources:
        counts = counts_in(source)
        if counts is not None:
            total = counts if total is None else total + counts
    return total
