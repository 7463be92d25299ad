"""Sources that move values and compute none: runs of them, columns, pads, axes in another order.

All are lazy. What a cast further in did to the values when they were read last (``counts``) is
handed on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.errors import ShapeError
from ruda.store.filerange import FileRange
from ruda.store.snapshot import TensorSnapshot, TensorSource, stream_of
from ruda.tensor import CastCounts, DType

Array = np.ndarray[Any, Any]

_PIECE_BYTES = 1 << 20


def peak_of(source: TensorSource, nbytes: int) -> int:
    """Memory in bytes that one read of a source needs: what it says, else ``nbytes``."""
    return int(getattr(source, "peak_bytes", nbytes))


def counts_in(source: TensorSource) -> CastCounts | None:
    """What a cast in a source did to the values when they were read last; None without one."""
    found: CastCounts | None = getattr(source, "counts", None)
    return found


def remarks_in(source: TensorSource) -> tuple[str, ...]:
    """What computing the values found when they were read last, in sentences; mostly nothing."""
    told: str | None = getattr(source, "remark", None)
    found = [text for each in _inside(source) for text in remarks_in(each)]
    return (*found, told) if told else tuple(found)


def parts_in(source: TensorSource) -> tuple[TensorSnapshot, ...]:
    """The tensors of the file that a merge computes the values out of; nothing without one."""
    made_of: tuple[TensorSnapshot, ...] = getattr(source, "computed_from", ())
    if made_of:
        return tuple(part for each in made_of for part in parts_in(each.source) or (each,))
    return tuple(part for each in _inside(source) for part in parts_in(each))


def _inside(source: TensorSource) -> Iterator[TensorSource]:
    """The sources that a source gets its values from."""
    yield from (part.source for part in getattr(source, "computed_from", ()))
    several = getattr(source, "sources", None) or (getattr(source, "source", None),)
    yield from (each for each in several if each is not None)


class Around:
    """A source around another one."""

    __slots__ = ()

    source: TensorSource

    @property
    def counts(self) -> CastCounts | None:
        """What a cast further in did to the values when they were read last."""
        return counts_in(self.source)


@dataclass(frozen=True, slots=True)
class OrderedSource(Around):
    """The values with their axes in another order, as a contiguous copy."""

    source: TensorSource
    shape: tuple[int, ...]
    """Shape before."""
    axes: tuple[int, ...]
    peak_bytes: int
    """Memory that one read needs: the values before and after."""

    def read(self) -> Array:
        """A C-contiguous copy."""
        return np.ascontiguousarray(self.source.read().reshape(self.shape).transpose(self.axes))


@dataclass(frozen=True, slots=True)
class RunSource(Around):
    """A run of elements out of the row-major values, with equal elements before and behind it.

    Blocks of rows, and what is cut and padded along axis 0, are all this.
    """

    source: TensorSource
    dtype: DType
    shape: tuple[int, ...]
    """Shape after."""
    skip: int
    """Elements of the source that are left out at its start."""
    count: int
    """Elements of the source that are taken."""
    peak_bytes: int
    """Memory that one read needs."""
    before: int = 0
    """Elements before them."""
    after: int = 0
    """Elements behind them."""
    filler: bytes = b""
    """One padded element."""

    def read(self) -> Array:
        """The values in memory of their own."""
        raw = np.empty((self.before + self.count + self.after) * self.dtype.itemsize, np.uint8)
        at = 0
        for piece in self.stream(_PIECE_BYTES):
            raw[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        if at != raw.size:
            raise ShapeError(f"the source gave {at} bytes, expected {raw.size}")
        return raw.view(self.dtype.carrier).reshape(self.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes in pieces; the source is followed to its end, where a checksum may stand."""
        yield from self._filling(self.before, size)
        first = self.skip * self.dtype.itemsize
        last = first + self.count * self.dtype.itemsize
        at = 0
        for piece in stream_of(self.source, size):
            low, high = max(first - at, 0), min(last - at, len(piece))
            at += len(piece)
            if low < high:
                yield piece[low:high]
        yield from self._filling(self.after, size)

    def _filling(self, elements: int, size: int) -> Iterator[memoryview]:
        step = max(1, size // self.dtype.itemsize)
        for start in range(0, elements, step):
            yield memoryview(self.filler * min(step, elements - start))


def run_of(
    source: TensorSource, dtype: DType, before: tuple[int, ...], after: tuple[int, ...], skip: int
) -> TensorSource:
    """The source of ``after`` elements from the one numbered ``skip`` on of ``before`` elements.

    Read alone where they lie in one piece of a file. Shapes are those of the values.
    """
    count = math.prod(after)
    nbytes = dtype.nbytes(count)
    if isinstance(source, FileRange) and source.shape == before:
        offset = source.offset + dtype.nbytes(skip)
        return FileRange(source.file, offset, nbytes, source.dtype, after)
    held = 0 if hasattr(source, "stream") else dtype.nbytes(math.prod(before))
    return RunSource(source, dtype, after, skip, count, nbytes + peak_of(source, held))


@dataclass(frozen=True, slots=True)
class CutSource(Around):
    """A run of indices of an axis that is not the first."""

    source: TensorSource
    shape: tuple[int, ...]
    """Shape before."""
    axis: int
    start: int
    stop: int
    """First index that is not taken."""
    peak_bytes: int

    def read(self) -> Array:
        """The values in memory of their own."""
        inner = [slice(None)] * len(self.shape)
        inner[self.axis] = slice(self.start, self.stop)
        return self.source.read().reshape(self.shape)[tuple(inner)].copy(order="C")


@dataclass(frozen=True, slots=True)
class PaddedSource(Around):
    """More indices along an axis that is not the first."""

    source: TensorSource
    dtype: DType
    shape: tuple[int, ...]
    """Shape before."""
    axis: int
    before: int
    after: int
    filler: bytes
    """One padded element."""
    peak_bytes: int

    def read(self) -> Array:
        """The values in memory of their own."""
        axis, before = self.axis, self.before
        size = list(self.shape)
        size[axis] += before + self.after
        out = np.empty(size, self.dtype.carrier)
        out[...] = np.frombuffer(self.filler, self.dtype.carrier)
        inner = [slice(None)] * len(size)
        inner[axis] = slice(before, before + self.shape[axis])
        out[tuple(inner)] = self.source.read().reshape(self.shape)
        return out


@dataclass(frozen=True, slots=True)
class ReshapedSource(Around):
    """The same bytes under another shape."""

    source: TensorSource
    shape: tuple[int, ...]
    peak_bytes: int

    def read(self) -> Array:
        """The values; a view where the source gives one."""
        return self.source.read().reshape(self.shape)

    def stream(self, size: int) -> Iterator[memoryview]:
        """The bytes of the source."""
        yield from stream_of(self.source, size)


@dataclass(frozen=True, slots=True)
class PermutedSource(Around):
    """The values with the entries of their last axis in another order."""

    source: TensorSource
    order: Array
    peak_bytes: int

    def read(self) -> Array:
        """A contiguous copy."""
        return np.ascontiguousarray(self.source.read()[..., self.order])
