"""ModelFormat: what a file format has to offer, the registry, and opening by content.

A format is chosen by the first bytes of a file; its suffix only breaks a tie. Formats of other
distributions are found by the entry point group ``ruda.formats`` and loaded on first use.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ruda.progress import SILENT, Monitor
from ruda.store.index import TensorIndex

HEAD_BYTES = 4096
"""How much of a file's start ``matches`` is shown."""


class ModelFormat(Protocol):
    """One on-disk kind of tensor file."""

    name: str
    """Short name: ``safetensors``, ``pytorch``, ``rudapack``."""
    title: str
    """What a person reads: ``PyTorch checkpoint``."""
    suffixes: tuple[str, ...]

    def matches(self, head: bytes, path: Path) -> bool:
        """True if a file that starts with ``head`` is of this kind. Reads nothing else."""

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the file; reads headers only. Raises FormatError and FileAccessError."""
