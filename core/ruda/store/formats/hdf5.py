"""Reading HDF5 files of tensors, such as the weights that Keras saves; needs h5py.

Groups are walked without recursion; each object is visited once. Links by name are not followed,
other files never opened, filters that would need a plug-in never loaded. Values that lie plainly
in the file are read by position, the others through h5py by slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruda.errors import (
    HeaderError,
    MissingExtraError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.progress import SILENT, Monitor
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import FileRange, count_elements
from ruda.store.format import taken
from ruda.store.formats._hdf5_text import attributes
from ruda.store.formats._hdf5_types import Stored, stored_type
from ruda.store.formats._hdf5_values import Hdf5Source, library_errors
from ruda.store.formats._swapped import SwappedRange, range_of
from ruda.store.index import TensorIndex
from ruda.store.snapshot import Origin, TensorSnapshot

SIGNATURE = b"\x89HDF\r\n\x1a\n"
PLACES = (0, 512, 1024, 2048)
"""Where a file may begin within the part that is looked at to recognise it."""
MAX_DEPTH = 128
LINK_BYTES = 8
"""Least bytes that a link takes in a file."""
EXPANSION = 1032
"""Most that deflate can do."""
PLAIN_LIMIT = 256 << 20
"""Values up to this size may be made of less, such as chunks that nobody wrote."""
FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset"}
LZF = 32000
_COMPACT, _CONTIGUOUS, _CHUNKED, _VIRTUAL = range(4)
_GROUP, _DATASET = 0, 1


@dataclass(slots=True)
class _Walk:
    """What a walk over the groups gathers; ``seen`` has the addresses of objects."""

    file: ByteFile
    links_left: int
    seen: dict[int, str] = field(default_factory=dict)
    snapshots: list[TensorSnapshot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Hdf5Format:
    """Reader of ``.h5`` files. Needs the extra ``hdf5``."""

    name = "hdf5"
    title = "HDF5 file"
    suffixes: tuple[str, ...] = (".h5", ".hdf5", ".keras.h5")

    def matches(self, head: bytes, path: Path) -> bool:
        """True for the signature at the start, or behind a block of the user's."""
        return any(head[at : at + len(SIGNATURE)] == SIGNATURE for at in PLACES)

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the datasets in the order of their names; reads no values.

        Raises MissingExtraError where h5py is not installed.
        """
        return taken(ByteFile(path), lambda file: self._index(file, monitor))

    def _index(self, file: ByteFile, monitor: Monitor) -> TensorIndex:
        opened = _opened(file)
        try:
            with library_errors():
                walk = _Walk(file, file.size // LINK_BYTES)
                metadata = attributes(opened.id, walk.notes)
                _walk(opened.id, walk, monitor)
            _check_ranges(walk.snapshots)
        except BaseException:
            opened.close()
            raise
        return TensorIndex.of(
            walk.snapshots,
            format=self.name,
            path=file.path,
            metadata=metadata,
            notes=tuple(walk.notes),
            closers=(file.close, opened.close),
        )


def _opened(file: ByteFile) -> Any:
    """The file as h5py has it, for reading, without locks."""
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "hdf5", "reading an HDF5 file") from error
    with library_errors():
        return h5py.File(file.path, "r", locking=False)


def _walk(root: Any, walk: _Walk, monitor: Monitor) -> None:
    import h5py

    walk.seen[h5py.h5o.get_info(root).addr] = "/"
    open_groups = [(root, "", iter(_names(root, walk)))]
    while open_groups:
        group, prefix, names = open_groups[-1]
        name = next(names, None)
        if name is None:
            open_groups.pop()
            continue
        monitor.check()
        key = prefix + name.decode("utf-8", "backslashreplace")
        found = _member(group, name, key, walk)
        if isinstance(found, h5py.h5g.GroupID):
            if len(open_groups) >= MAX_DEPTH:
                raise UnsupportedContentError(
                    f"groups are nested deeper than {MAX_DEPTH} levels, at {key[:80]!r}"
                )
            open_groups.append((found, f"{key}/", iter(_names(found, walk))))
        elif isinstance(found, h5py.h5d.DatasetID):
            snapshot = _snapshot(found, key, walk)
            if snapshot is not None:
                walk.snapshots.append(snapshot)


def _names(group: Any, walk: _Walk) -> list[bytes]:
    """Names of the links in a group. A damaged list that never ends is stopped."""
    names: list[bytes] = []

    def take(name: bytes) -> bool | None:
        names.append(name)
        return True if len(names) > walk.links_left else None

    group.links.iterate(take)
    if len(names) > walk.links_left:
        raise HeaderError("the groups have more members than the file has room for")
    walk.links_left -= len(names)
    return names


def _member(group: Any, name: bytes, key: str, walk: _Walk) -> Any:
    """The object behind a link, or None with a note where it is not followed or was seen."""
    import h5py

    kind = group.links.get_info(name).type
    if kind == h5py.h5l.TYPE_SOFT:
        walk.notes.append(f"{key} is a link to another name; it is not followed")
        return None
    if kind != h5py.h5l.TYPE_HARD:
        walk.notes.append(f"{key} is a link to another file; it is not followed")
        return None
    info = h5py.h5o.get_info(group, name)
    before = walk.seen.get(info.addr)
    if before is not None:
        walk.notes.append(f"{key} is another name of {before}")
        return None
    walk.seen[info.addr] = key
    if info.type not in (_GROUP, _DATASET):
        return None
    return h5py.h5o.open(group, name)


def _snapshot(dataset: Any, key: str, walk: _Walk) -> TensorSnapshot | None:
    # The creation list comes first: asking a virtual dataset for its shape opens other files.
    created = dataset.get_create_plist()
    _refuse_elsewhere(created, key)
    stored = stored_type(dataset)
    if isinstance(stored, str):
        walk.notes.append(f"{key} holds {stored}, which Ruda does not read; left out")
        return None
    shape = dataset.shape
    if shape is None:
        walk.notes.append(f"{key} is an empty dataset without a shape; left out")
        return None
    nbytes = stored.dtype.nbytes(count_elements(shape, repr(key)))
    place = _plain_range(dataset, created, key, stored, shape, nbytes, walk.file)
    if place is not None:
        return place.snapshot(key)
    chunks = _chunks(created, key, stored, nbytes, walk.file)
    source = Hdf5Source(walk.file, dataset, stored, shape, nbytes, chunks)
    return TensorSnapshot(key, stored.dtype, shape, nbytes, source, Origin(walk.file.path))


def _refuse_elsewhere(created: Any, key: str) -> None:
    """Refuse values that lie in other files: the names of those come from the file."""
    if created.get_layout() == _VIRTUAL:
        raise UnsupportedContentError(
            f"{key!r} is a virtual dataset, whose values lie in other files; no other file is "
            "opened"
        )
    if created.get_external_count():
        name = created.get_external(0)[0].decode("utf-8", "backslashreplace")
        raise UnsupportedContentError(
            f"{key!r} has its values in the file {name[:80]!r}; no other file is opened"
        )


def _plain_range(
    dataset: Any,
    created: Any,
    key: str,
    stored: Stored,
    shape: tuple[int, ...],
    nbytes: int,
    file: ByteFile,
) -> FileRange | SwappedRange | None:
    """Where values in one piece lie, or None: in chunks, in the header, or never written."""
    if created.get_layout() != _CONTIGUOUS or created.get_nfilters():
        return None
    offset = dataset.get_offset()
    if offset is None:
        return None
    have = dataset.get_storage_size()
    if have != nbytes:
        raise OffsetError(
            f"{key!r} has {have} bytes, but {stored.dtype} {list(shape)} needs {nbytes}",
            offset=min(offset, file.size),
        )
    if offset + nbytes > file.size:
        raise TruncatedFileError(
            f"{key!r} ends at byte {offset + nbytes}, but the file has {file.size} bytes; it is "
            "cut short, get it again",
            offset=min(offset, file.size),
        )
    place = FileRange(file, offset, nbytes, stored.dtype, shape)
    return range_of(place, big_endian=stored.big_endian)


def _chunks(
    created: Any, key: str, stored: Stored, nbytes: int, file: ByteFile
) -> tuple[int, ...] | None:
    """Shape of the chunks, after proving that they and the values may be that large."""
    chunks: tuple[int, ...] | None = None
    size = nbytes
    if created.get_layout() == _CHUNKED:
        chunks = created.get_chunk()
        size = max(size, stored.dtype.nbytes(count_elements(chunks, repr(key))))
    for place in range(created.get_nfilters()):
        number, _, _, name = created.get_filter(place)
        if number not in FILTERS and number != LZF:
            called = name.decode("utf-8", "backslashreplace")[:40] or "of no name"
            raise UnsupportedContentError(
                f"{key!r} went through the filter {number} ({called}), which Ruda does not load"
            )
    if size > max(PLAIN_LIMIT, EXPANSION * file.size):
        raise UnsupportedContentError(
            f"{key!r} would fill {size} bytes out of a file of {file.size}, more than packing "
            "explains"
        )
    return chunks


def _check_ranges(snapshots: list[TensorSnapshot]) -> None:
    """Prove that no two datasets that lie plainly in the file share bytes."""
    position, previous = 0, ""
    for offset, nbytes, key in sorted(_ranges(snapshots)):
        if offset < position:
            raise OffsetError(
                f"{key!r} begins here and overlaps {previous!r}, which ends at {position}",
                offset=offset,
            )
        position, previous = offset + nbytes, key


def _ranges(snapshots: list[TensorSnapshot]) -> Iterator[tuple[int, int, str]]:
    for snapshot in snapshots:
        source = snapshot.source
        place = source.inner if isinstance(source, SwappedRange) else source
        if isinstance(place, FileRange) and place.nbytes:
            yield place.offset, place.nbytes, snapshot.key
