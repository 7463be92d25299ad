"""Work in NumPy on large arrays, in blocks that stay in the cache and pieces that threads share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ruda._kernels.checks import Array, take_flat, take_plain, take_run
from ruda._kernels.threads import in_pieces
from ruda.progress import SILENT, Monitor

T = TypeVar("T")

BLOCK_BYTES = 1 << 19
"""Bytes of a block, read and written: with a few arrays made on the way they stay in the cache.
Smaller ones mean more Python, for which threads wait for each other."""


def in_blocks(
    task: Callable[[Array, Array], T],
    values: Array,
    out: Array,
    *,
    block_bytes: int = BLOCK_BYTES,
    monitor: Monitor = SILENT,
) -> list[T]:
    """Results of ``task`` over blocks of the values, in row-major order, and of ``out``.

    ``values`` may have any layout; its blocks have one axis, are C-contiguous, aligned and of
    native byte order, and are views where the memory allows. ``out`` has one axis, as many items
    and such memory already; the task writes its block of it and nothing else. ``block_bytes``
    are read and written at a time. Threads and the monitor are those of ``in_pieces``.
    """
    source = take_flat(values)
    item_bytes = values.itemsize + out.itemsize
    step = max(1, block_bytes // item_bytes)

    def piece(cut: slice) -> list[T]:
        run, part = take_run(source, cut), out[cut]
        return [
            task(take_plain(run[at : at + step]), part[at : at + step])
            for at in range(0, run.size, step)
        ]

    parts = in_pieces(piece, out.size, item_bytes, monitor)
    return [found for part in parts for found in part]
