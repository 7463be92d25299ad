"""What a recipe does to the values of a tensor: lazy sources around the one that reads the file.

An adapted snapshot states its new shape and dtype at once; the work is done when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ruda.errors import AdapterError, ShapeError
from ruda.store.moving import Around, counts_in, peak_of
from ruda.store.snapshot import TOGETHER, Origin, TensorSnapshot, TensorSource, stream_of
from ruda.tensor import CastCounts, DType, cast, transpose_copy

Array = np.ndarray[Any, Any]


class TransposedSource(Around):
    """The values of a matrix with its two axes swapped, as a contiguous copy."""

    def __init__(self, source: TensorSource, shape: tuple[int, ...], nbytes: int) -> None:
        self.source = source
        self.shape = shape
        """Shape before the swap."""
        self.peak_bytes = nbytes + max(nbytes, peak_of(source, nbytes))
        """Memory that one read needs: the matrix and its copy."""

    def read(self) -> Array:
        """A C-contiguous copy of the transposed matrix."""
        return transpose_copy(self.source.read().reshape(self.shape))


class CastSource:
    """The values in another dtype. ``counts`` says what the last complete read lost."""

    def __init__(self, source: TensorSource, before: DType, after: DType, nbytes: int) -> None:
        self.source = source
        self.before = before
        self.after = after
        self.counts: CastCounts | None = None
        self._nbytes = nbytes
        """Bytes of the values before the cast."""

    @property
    def peak_bytes(self) -> int:
        """Memory that one whole read needs: the values before and after."""
        out = self._nbytes * self.after.bits // self.before.bits
        return out + peak_of(self.source, self._nbytes)

    def read(self) -> Array:
        """The values after the cast."""
        values, counts = cast(self.source.read(), self.before, self.after)
        self.counts = counts
        return values

    def stream(self, size: int) -> Iterator[memoryview]:
        """The row-major bytes after the cast in pieces of about ``size``.

        Raises ShapeError behind the last piece of a source that gave more or fewer bytes than
        its values have, so that none is left out in silence.
        """
        widest = max(self.before.itemsize, self.after.itemsize)
        step = max(1, size // widest) * self.before.itemsize
        rest, seen = b"", 0
        total: CastCounts | None = None
        for chunk in stream_of(self.source, step):
            seen += len(chunk)
            data = np.frombuffer(rest + bytes(chunk) if rest else chunk, dtype=np.uint8)
            whole = data.size - data.size % self.before.itemsize
            rest = data[whole:].tobytes()
            if whole:
                part = data[:whole]
                values, counts = cast(part.view(self.before.carrier), self.before, self.after)
                total = counts if total is None else total + counts
                yield values.reshape(-1).view(np.uint8).data
        self._require_all(seen)
        self.counts = total

    def _require_all(self, seen: int) -> None:
        """Raise ShapeError unless so many bytes are those of all values before the cast."""
        if seen != self._nbytes:
            raise ShapeError(f"the source gave {seen} bytes, expected {self._nbytes}")


def _rebuilt(
    snapshot: TensorSnapshot,
    step: str | None,
    *,
    source: TensorSource | None = None,
    key: str | None = None,
    containers: tuple[str, ...] | None = None,
    shape: tuple[int, ...] | None = None,
    dtype: DType | None = None,
    nbytes: int | None = None,
) -> TensorSnapshot:
    """The snapshot with some fields changed, much faster than ``dataclasses.replace``.

    With another source the bytes no longer lie in the file as they are, which the origin then says.
    """
    origin = snapshot.origin
    if source is not None and origin is not None:
        origin = Origin(origin.path)
    return TensorSnapshot(
        key=snapshot.key if key is None else key,
        dtype=snapshot.dtype if dtype is None else dtype,
        shape=snapshot.shape if shape is None else shape,
        nbytes=snapshot.nbytes if nbytes is None else nbytes,
        source=snapshot.source if source is None else source,
        origin=origin,
        containers=snapshot.containers if containers is None else containers,
        param_id=snapshot.param_id,
        shared_with=snapshot.shared_with,
        trail=snapshot.trail if step is None else (*snapshot.trail, step),
        scheme=snapshot.scheme if dtype is None else None,
    )


def relabelled(snapshot: TensorSnapshot, key: str, containers: tuple[str, ...]) -> TensorSnapshot:
    """The tensor under the key and in the containers of the module that takes it."""
    if snapshot.key == key:
        if snapshot.containers == containers:
            return snapshot
        return _rebuilt(snapshot, None, containers=containers)
    # What is taken from another file has no key here to be renamed from.
    step = None if snapshot.trail and snapshot.trail[-1].startswith("take ") else "rename"
    return _rebuilt(snapshot, step, key=key, containers=containers)


def transposed(snapshot: TensorSnapshot) -> TensorSnapshot:
    """The matrix with its two axes swapped; the trail says ``transpose 1,0``.

    Raises AdapterError for quantized and packed dtypes and for other ranks.
    """
    if len(snapshot.shape) != 2:
        raise AdapterError(
            f"only a matrix can be transposed, this has {len(snapshot.shape)} axes",
            key=snapshot.key,
        )
    if snapshot.dtype.kind in TOGETHER:
        raise AdapterError(
            f"{snapshot.dtype_label} values cannot be transposed: several share a byte or a scale",
            key=snapshot.key,
        )
    rows, columns = snapshot.shape
    return _rebuilt(
        snapshot,
        "transpose 1,0",
        shape=(columns, rows),
        source=TransposedSource(snapshot.source, snapshot.shape, snapshot.nbytes),
    )


def cast_to(snapshot: TensorSnapshot, dtype: DType) -> TensorSnapshot:
    """The tensor in another dtype; the trail says ``cast f16``. Itself if it has it already.

    Raises AdapterError for dtypes that are not plain numbers.
    """
    if dtype is snapshot.dtype:
        return snapshot
    if not (snapshot.dtype.is_float and dtype.is_float):
        raise AdapterError(f"{snapshot.dtype_label} cannot be cast to {dtype}", key=snapshot.key)
    return _rebuilt(
        snapshot,
        f"cast {dtype}",
        dtype=dtype,
        nbytes=dtype.nbytes(snapshot.numel),
        source=CastSource(snapshot.source, snapshot.dtype, dtype, snapshot.nbytes),
    )


def read_with_counts(snapshot: TensorSnapshot) -> tuple[Array, CastCounts | None]:
    """All values, and what casting them lost; None where nothing was cast."""
    return snapshot.read(), counts_of(snapshot)


def counts_of(snapshot: TensorSnapshot) -> CastCounts | None:
    """What casts lost when the values were read last; None where nothing was cast."""
    return counts_in(snapshot.source)
