"""Reading what Keras 3 saves: a zip archive with the weights as HDF5 and the model as JSON.

Only the weights are read. ``config.json`` describes layers and can hold marshalled code; it is
neither parsed nor handed out.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ruda.errors import UnsupportedContentError
from ruda.progress import SILENT, Monitor
from ruda.store.bytefile import ByteFile, MemoryFile
from ruda.store.format import opened_index
from ruda.store.formats._hdf5_header import Hdf5Reader
from ruda.store.formats._member_sums import SummedFile
from ruda.store.formats._zip import LOCAL_MAGIC, STORED, Member, ZipDirectory
from ruda.store.formats.hdf5 import read_hdf5
from ruda.store.index import TensorIndex

WEIGHTS = "model.weights.h5"
ABOUT = "metadata.json"
CONFIG = "config.json"
ABOUT_LIMIT = 1 << 20
PACKED_LIMIT = 1 << 30
"""Largest deflated weights that are unpacked into memory; Keras itself never deflates them."""


class KerasFormat:
    """Reader of ``.keras`` archives."""

    name = "keras"
    title = "Keras archive"
    suffixes: tuple[str, ...] = (".keras",)

    def matches(self, head: bytes, path: Path) -> bool:
        """True for a zip archive whose first member is one of those that Keras begins with."""
        name_size = int.from_bytes(head[26:28], "little")
        name = head[30 : 30 + name_size].decode("utf-8", "replace")
        return head[:4] == LOCAL_MAGIC and name in (ABOUT, CONFIG, WEIGHTS)

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the weights in the order of their names; reads no values."""
        return self.open_bytes(ByteFile(path), monitor=monitor)

    def open_bytes(self, file: ByteFile, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of a file that is open already, and that the index closes; see ``open``."""
        return opened_index(file, lambda file: self._index(file, monitor))

    def _index(self, file: ByteFile, monitor: Monitor) -> TensorIndex:
        archive = ZipDirectory(file)
        member = archive.members.get(WEIGHTS)
        if member is None:
            held = ", ".join(sorted(archive.members))[:200]
            raise UnsupportedContentError(f"has no {WEIGHTS} in it, only {held}")
        reader = _reader(archive, member)
        metadata, snapshots, notes = read_hdf5(reader, monitor)
        if isinstance(reader.file, SummedFile):
            reader.file.watch(sum(snapshot.nbytes for snapshot in snapshots))
        if CONFIG in archive.members:
            notes.append(f"{CONFIG} describes the layers; it is not read, as it can hold code")
        return TensorIndex.of(
            snapshots,
            format=self.name,
            path=file.path,
            metadata=MappingProxyType({**_about(archive), **metadata}),
            notes=tuple(notes),
            closers=(file.close, reader.file.close),
        )


def _reader(archive: ZipDirectory, member: Member) -> Hdf5Reader:
    """The weights where they lie, or unpacked where they are deflated."""
    if member.method == STORED:
        file = SummedFile(archive, member)
        return Hdf5Reader(file, member.offset, member.offset + member.size)
    raw = archive.read(member, PACKED_LIMIT)
    return Hdf5Reader(MemoryFile(raw, archive.file.path))


def _about(archive: ZipDirectory) -> dict[str, str]:
    """What ``metadata.json`` says in texts: the version of Keras, the day of the save."""
    if ABOUT not in archive.members:
        return {}
    try:
        found: Any = json.loads(archive.read(archive.members[ABOUT], ABOUT_LIMIT))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(key): value for key, value in found.items() if isinstance(value, str)}
