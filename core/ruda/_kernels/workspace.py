"""Scratch memory of each thread that the kernels use again and again.

Making it anew for every call takes longer than the work on a small array does. A kernel must be
done with it when it returns; nothing that callers see lies in it.
"""

from __future__ import annotations

import threading

import numpy as np

from ruda._kernels.checks import Array

LINES = (5, 1024)
"""Rows of one BLOCK of float32 kernels: most of what any of them needs."""
BLOCK = 1 << 16
"""Items that are widened or placed at a time: they stay in the second-level cache."""
DISTANCES = 2048
"""The BLOCK of the difference kernel."""
GATES = (8, 512)
"""Rows of one BLOCK of the kernel of recurrent cells."""


class _Workspace(threading.local):
    """Each kind of scratch with its words, which are the same memory."""

    def __init__(self) -> None:
        self.lines = np.empty(LINES, np.float32)
        self.line_keys = self.lines.view(np.int32)
        self.block: Array | None = None
        self.places: Array | None = None
        self.distances = np.empty(DISTANCES, np.float64)
        self.distance_words = self.distances.view(np.int64)
        self.gates: Array | None = None


_workspace = _Workspace()


def line_scratch() -> tuple[Array, Array]:
    """Scratch of this thread: float32 (5, 1024), and the same memory as int32."""
    return _workspace.lines, _workspace.line_keys


def block_scratch() -> Array:
    """Scratch of this thread: float32 (65536)."""
    if _workspace.block is None:
        _workspace.block = np.empty(BLOCK, np.float32)
    return _workspace.block


def place_scratch() -> Array:
    """Scratch of this thread: uint32 (65536)."""
    if _workspace.places is None:
        _workspace.places = np.empty(BLOCK, np.uint32)
    return _workspace.places


def distance_scratch() -> tuple[Array, Array]:
    """Scratch of this thread: float64 (2048), and the same memory as int64."""
    return _workspace.distances, _workspace.distance_words


def gate_scratch() -> tuple[Array, Array]:
    """Scratch of this thread: float32 (8, 512), and the same memory as int32."""
    if _workspace.gates is None:
        _workspace.gates = np.empty(GATES, np.float32)
    return _workspace.gates, _workspace.gates.view(np.int32)
