"""The values of a tensor in runs of whole elements, so that no large one is in memory at once."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from ruda.errors import ShapeError
from ruda.store.snapshot import TensorSnapshot, TensorSource, stream_of

BLOCK_ELEMENTS = 1 << 20
"""Elements of one run."""

Array = np.ndarray[Any, Any]


def source_blocks(
    source: TensorSource, carrier: np.dtype[Any], elements: int = BLOCK_ELEMENTS
) -> Generator[Array, None, None]:
    """Runs of exactly ``elements`` values (the last may be shorter), flat, in ``carrier``.

    Every run has memory of its own. Bytes at the end that make no whole value are an error of
    the source: ShapeError.
    """
    size = elements * carrier.itemsize
    held = bytearray()
    for piece in stream_of(source, size):
        if not held and len(piece) == size:
            yield np.frombuffer(bytes(piece), carrier)
            continue
        held += piece
        while len(held) >= size:
            yield np.frombuffer(bytes(memoryview(held)[:size]), carrier)
            del held[:size]
    if len(held) % carrier.itemsize:
        raise ShapeError(
            f"the source ends with {len(held) % carrier.itemsize} bytes of a value of "
            f"{carrier.itemsize}"
        )
    if held:
        yield np.frombuffer(bytes(held), carrier)


def blocks(snapshot: TensorSnapshot, elements: int = BLOCK_ELEMENTS) -> Iterator[Array]:
    """The values of a tensor in runs, as ``source_blocks``; raw bytes of packed dtypes."""
    yield from source_blocks(snapshot.source, snapshot.dtype.carrier, elements)
