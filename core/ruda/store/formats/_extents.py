"""Which bytes of which memory a snapshot's values come from, so that equal ones can be told."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ruda.store.adapted import CastSource, TransposedSource
from ruda.store.collecting import ParamSource
from ruda.store.filerange import FileRange
from ruda.store.formats._torch_refs import element_bytes
from ruda.store.formats._torch_source import ViewSource
from ruda.store.mapped import MappedRange
from ruda.store.snapshot import ArraySource, TensorSnapshot, TensorSource


@dataclass(frozen=True, slots=True)
class Extent:
    """Where values lie: bytes ``start`` to ``stop`` of a memory; strides count elements."""

    memory: Hashable
    start: int
    stop: int
    strides: tuple[int, ...] | None = None


def extent_of(snapshot: TensorSnapshot) -> Extent | None:
    """Where the values come from; None where that cannot be told or there are none."""
    source = snapshot.source
    if not snapshot.nbytes:
        return None
    if isinstance(source, ViewSource) and not source.big_endian and not source.ref.bits:
        ref = source.ref
        item = element_bytes(ref.dtype)
        start = ref.offset * item
        return Extent(id(source.storage), start, start + ref.span * item, ref.strides)
    memory = _identity(source)
    return None if memory is None else Extent(memory, 0, snapshot.nbytes)


def _identity(source: TensorSource) -> Hashable | None:
    """Equal for two sources that are sure to give the same values."""
    if isinstance(source, ParamSource):
        return id(source.param)
    if isinstance(source, ArraySource):
        array = source.array
        place = array.__array_interface__["data"][0]
        return (place, array.shape, array.strides, array.dtype.str)
    if isinstance(source, MappedRange):
        source = source.range
    if isinstance(source, FileRange):
        return (id(source.file), source.offset, source.nbytes)
    if isinstance(source, ViewSource):
        ref = source.ref
        view = (ref.offset, ref.shape, ref.strides, ref.bits)
        return (id(source.storage), source.big_endian, view)
    if isinstance(source, CastSource | TransposedSource):
        inner = _identity(source.source)
        step = source.shape if isinstance(source, TransposedSource) else source.after
        return None if inner is None else (type(source), step, inner)
    return None
