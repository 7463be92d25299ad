"""Reading HDF5 files of tensors, such as the weights that Keras saves.

The file is read by our own parser: the library behind h5py can be made to crash or to run for
ever by a damaged file. Groups are walked without recursion, each object once; links by name are
not followed, other files never opened, and nothing is packed that Ruda cannot undo itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ruda.errors import HeaderError, OffsetError, TruncatedFileError, UnsupportedContentError
from ruda.progress import SILENT, Monitor
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import FileRange, count_elements
from ruda.store.format import opened_index
from ruda.store.formats._hdf5_chunk_lists import TREE, ChunkTable
from ruda.store.formats._hdf5_chunks import ChunkSource, Filter, chunk_table, filters
from ruda.store.formats._hdf5_groups import LINK_BYTES, Link, is_group, links
from ruda.store.formats._hdf5_header import PLACES, SIGNATURE, Bytes, Hdf5Reader, Kind, Message
from ruda.store.formats._hdf5_objects import Objects
from ruda.store.formats._hdf5_text import attributes
from ruda.store.formats._hdf5_types import Space, Stored, dataspace, stored_type
from ruda.store.formats._swapped import SwappedRange, range_of
from ruda.store.index import TensorIndex
from ruda.store.snapshot import Origin, TensorSnapshot
from ruda.tensor import DType

MAX_DEPTH = 128
EXPANSION = 1032
"""Most that deflate can do."""
PLAIN_LIMIT = 256 << 20
"""Values up to this size may be made of less, such as chunks that nobody wrote."""
DTYPE_ATTRIBUTE = "dtype"
"""Keras says here what opaque values are, such as ``bfloat16``."""
_COMPACT, _CONTIGUOUS, _CHUNKED, _VIRTUAL = range(4)


@dataclass(slots=True)
class _Walk:
    """What a walk over the groups gathers; ``seen`` has the addresses of objects."""

    objects: Objects
    links_left: int
    seen: dict[int, str] = field(default_factory=dict)
    snapshots: list[TensorSnapshot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def reader(self) -> Hdf5Reader:
        return self.objects.reader


class Hdf5Format:
    """Reader of ``.h5`` files."""

    name = "hdf5"
    title = "HDF5 file"
    suffixes: tuple[str, ...] = (".h5", ".hdf5", ".hdf", ".he5")

    def matches(self, head: bytes, path: Path) -> bool:
        """True for the signature at the start, or behind a block of the user's."""
        return any(head[at : at + len(SIGNATURE)] == SIGNATURE for at in PLACES[:4])

    def matches_inside(self, file: ByteFile) -> bool:
        """True for the signature behind a block of the user's that is longer than a head."""
        return any(
            file.read_at(at, len(SIGNATURE)) == SIGNATURE
            for at in PLACES[4:]
            if at + len(SIGNATURE) <= file.size
        )

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the datasets in the order of their names; reads no values."""
        return self.open_bytes(ByteFile(path), monitor=monitor)

    def open_bytes(self, file: ByteFile, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of a file that is open already, and that the index closes; see ``open``."""
        return opened_index(file, lambda file: self._index(file, monitor))

    def _index(self, file: ByteFile, monitor: Monitor) -> TensorIndex:
        metadata, snapshots, notes = read_hdf5(Hdf5Reader(file), monitor)
        return TensorIndex.of(
            snapshots,
            format=self.name,
            path=file.path,
            metadata=metadata,
            notes=tuple(notes),
            closers=(file.close,),
        )


def read_hdf5(
    reader: Hdf5Reader, monitor: Monitor
) -> tuple[dict[str, str], list[TensorSnapshot], list[str]]:
    """Metadata, datasets and notes of a file, or of one that lies in a larger file."""
    walk = _Walk(Objects(reader), reader.stop // LINK_BYTES, {reader.root: "/"})
    root = walk.objects.messages(reader.root)
    metadata = attributes(walk.objects, root, walk.notes)
    _walk(root, walk, monitor)
    _check_ranges(walk.snapshots)
    return metadata, walk.snapshots, walk.notes


def _walk(root: list[Message], walk: _Walk, monitor: Monitor) -> None:
    open_groups = [("", iter(_members(root, walk)))]
    while open_groups:
        prefix, members = open_groups[-1]
        link = next(members, None)
        if link is None:
            open_groups.pop()
            continue
        monitor.check()
        key = prefix + link.name.decode("utf-8", "backslashreplace")
        if link.address is None:
            walk.notes.append(f"{key} is {link.note}; it is not followed")
        elif link.address in walk.seen:
            walk.notes.append(f"{key} is another name of {walk.seen[link.address]}")
        else:
            walk.seen[link.address] = key
            messages = walk.objects.messages(link.address)
            if is_group(messages):
                if len(open_groups) >= MAX_DEPTH:
                    raise UnsupportedContentError(
                        f"groups are nested deeper than {MAX_DEPTH} levels, at {key[:80]!r}"
                    )
                open_groups.append((f"{key}/", iter(_members(messages, walk))))
            else:
                snapshot = _snapshot(messages, key, walk)
                walk.snapshots += [] if snapshot is None else [snapshot]


def _members(messages: list[Message], walk: _Walk) -> list[Link]:
    found = links(walk.reader, messages)
    walk.links_left -= len(found)
    if walk.links_left < 0:
        raise HeaderError("the groups have more members than the file has room for")
    return found


def _snapshot(messages: list[Message], key: str, walk: _Walk) -> TensorSnapshot | None:
    """Snapshot of a dataset, or None, with a note where it holds no values that Ruda reads."""
    one = {message.kind: message for message in messages}
    if Kind.LAYOUT not in one:
        return None  # a datatype that has a name of its own
    for kind, what in ((Kind.DATATYPE, "datatype"), (Kind.DATASPACE, "shape")):
        if kind not in one:
            raise HeaderError(f"{key!r} has no {what}", offset=one[Kind.LAYOUT].offset)
    if Kind.EXTERNAL in one:
        raise UnsupportedContentError(
            f"{key!r} has its values in another file; no other file is opened",
            offset=one[Kind.EXTERNAL].offset,
        )
    stored = stored_type(one[Kind.DATATYPE].body(f"the datatype of {key!r}"))
    dtype = _dtype(stored, messages, walk.objects)
    space = dataspace(walk.reader, one[Kind.DATASPACE].body(f"the shape of {key!r}"))
    if dtype is None or space is None:
        what = stored.name if dtype is None else "nothing: it has no shape"
        walk.notes.append(f"{key} holds {what}, which Ruda does not read; left out")
        return None
    steps: tuple[Filter, ...] = ()
    if Kind.FILTERS in one:
        steps = filters(one[Kind.FILTERS].body(f"the packing of {key!r}"), key)
    made = _Dataset(walk.reader, key, stored, dtype, space, steps, _fill(one, stored, key))
    return made.snapshot(one[Kind.LAYOUT].body(f"the layout of {key!r}"))


def _dtype(stored: Stored, messages: list[Message], objects: Objects) -> DType | None:
    """The dtype, which an attribute names where the values are opaque bytes."""
    if not stored.is_opaque:
        return stored.dtype
    dtype = DType.from_torch(attributes(objects, messages).get(DTYPE_ATTRIBUTE, ""))
    if dtype is None or dtype.is_raw or dtype.itemsize != stored.size:
        return None
    return dtype


def _fill(one: dict[int, Message], stored: Stored, key: str) -> bytes:
    """What values are that nobody wrote, as they would lie in the file."""
    value = b""
    if Kind.FILL in one:
        body = one[Kind.FILL].body(f"the fill value of {key!r}")
        version = body.number(1)
        if version == 3:
            has_value = body.number(1) & 0x20
        else:
            body.take(2)
            has_value = body.number(1)
        value = body.take(body.number(4)) if has_value else b""
    elif Kind.OLD_FILL in one:
        body = one[Kind.OLD_FILL].body(f"the fill value of {key!r}")
        value = body.take(body.number(4))
    if value and len(value) != stored.size:
        raise HeaderError(f"{key!r} has a fill value of {len(value)} bytes, not {stored.size}")
    return value or bytes(stored.size)


@dataclass(frozen=True, slots=True)
class _Dataset:
    """One dataset: what is known of it before its layout is looked at."""

    reader: Hdf5Reader
    key: str
    stored: Stored
    dtype: DType
    space: Space
    steps: tuple[Filter, ...]
    fill: bytes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.space.shape

    @property
    def nbytes(self) -> int:
        return self.dtype.nbytes(count_elements(self.shape, repr(self.key)))

    def snapshot(self, body: Bytes) -> TensorSnapshot:
        """Snapshot of the values that a layout message tells the place of."""
        version = body.number(1)
        if version in (1, 2):
            return self._old_snapshot(body, version)
        if version not in (3, 4, 5):
            raise UnsupportedContentError(
                f"{self.key!r} has a layout of version {version}, and Ruda reads 1 to 5",
                offset=body.offset,
            )
        kind = body.number(1)
        if kind == _CHUNKED:
            return self._chunked(body, version)
        if kind == _COMPACT:
            size = body.number(2)
            return self._plain(body.offset + body.at, size)
        if kind == _CONTIGUOUS:
            address, size = self.reader.address(body), self.reader.length(body)
            if address is None:
                return self._unwritten()
            return self._plain(self.reader.base + address, size)
        if kind == _VIRTUAL:
            raise UnsupportedContentError(
                f"{self.key!r} is a virtual dataset, whose values lie in other files; no other "
                "file is opened",
                offset=body.offset,
            )
        raise HeaderError(f"{self.key!r} has a layout of class {kind}", offset=body.offset)

    def _old_snapshot(self, body: Bytes, version: int) -> TensorSnapshot:
        """Snapshot of a layout as it was written before 2004: the sizes come last."""
        axes, kind = body.number(1), body.number(1)
        body.take(5)
        if kind == _CHUNKED:
            sizes = Bytes(bytes([axes]) + body.take(body.left), body.offset + 8, body.what)
            return self._chunked(sizes, version)
        address = self.reader.address(body) if kind == _CONTIGUOUS else None
        body.take(4 * axes)  # sizes of the values, which may be cut off to 32 bits
        if kind == _COMPACT:
            size = body.number(4)
            return self._plain(body.offset + body.at, size)
        if kind != _CONTIGUOUS:
            raise HeaderError(f"{self.key!r} has a layout of class {kind}", offset=body.offset)
        if address is None:
            return self._unwritten()
        return self._plain(self.reader.base + address, self.nbytes)

    def _plain(self, offset: int, have: int) -> TensorSnapshot:
        """Values in one piece."""
        nbytes, size = self.nbytes, self.reader.stop
        if have != nbytes:
            raise OffsetError(
                f"{self.key!r} has {have} bytes, but {self.dtype} {list(self.shape)} needs "
                f"{nbytes}",
                offset=min(offset, size),
            )
        if offset + nbytes > size:
            raise TruncatedFileError(
                f"{self.key!r} ends at byte {offset + nbytes}, but the file has {size} bytes; it "
                "is cut short, get it again",
                offset=min(offset, size),
            )
        place = FileRange(self.reader.file, offset, nbytes, self.dtype, self.shape)
        return range_of(place, big_endian=self.stored.big_endian).snapshot(self.key)

    def _chunked(self, body: Bytes, version: int) -> TensorSnapshot:
        table = chunk_table(self.reader, body, version, len(self.shape), self.key)
        inner = self.dtype.nbytes(count_elements(table.chunk, repr(self.key)))
        self._refuse_bomb(max(self.nbytes, inner))
        return self._made(table, self.steps)

    def _unwritten(self) -> TensorSnapshot:
        """Values that nobody wrote: all are the fill value, as of chunks that are not there."""
        self._refuse_bomb(self.nbytes)
        if not self.shape:
            value = np.frombuffer(self.fill, np.uint8)
            values = value[::-1] if self.stored.big_endian else value
            array = values.copy().view(self.dtype.carrier).reshape(())
            return TensorSnapshot.from_array(self.key, array, dtype=self.dtype)
        table = ChunkTable(tuple(max(size, 1) for size in self.shape), TREE, None)
        return self._made(table, ())

    def _refuse_bomb(self, size: int) -> None:
        have = self.reader.stop
        if size > max(PLAIN_LIMIT, EXPANSION * have):
            raise UnsupportedContentError(
                f"{self.key!r} would fill {size} bytes out of a file of {have}, more than packing "
                "explains"
            )

    def _made(self, table: ChunkTable, steps: tuple[Filter, ...]) -> TensorSnapshot:
        big, file = self.stored.big_endian, self.reader.file
        source = ChunkSource(
            self.reader, table, steps, self.key, self.dtype, big, *self.space, self.fill
        )
        return TensorSnapshot(
            self.key, self.dtype, self.shape, self.nbytes, source, Origin(file.path)
        )


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
