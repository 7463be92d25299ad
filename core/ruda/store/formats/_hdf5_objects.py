"""Objects of an HDF5 file with their messages, those that several objects share among them.

A message may be kept as a datatype that has a name of its own (it is "committed"), or in a heap of
the file that the extension of the superblock leads to. Either way it is found in one step; what is
shared again is refused, so that no circle can be walked.
"""

from __future__ import annotations

from ruda.errors import HeaderError, UnsupportedContentError
from ruda.store.formats._hdf5_header import Bytes, Hdf5Reader, Kind, Message
from ruda.store.formats._hdf5_heap import Heap
from ruda.store.formats._hdf5_trees import tree2

HEAP_IDENT = 8
MAX_TABLES = 8
_SHARED = 2
"""Flag of a message that lies elsewhere."""
_IN_HEAP, _COMMITTED = 1, 2
_RESOLVED = (
    Kind.DATASPACE,
    Kind.DATATYPE,
    Kind.OLD_FILL,
    Kind.FILL,
    Kind.FILTERS,
    Kind.ATTRIBUTE,
)
_ATTRIBUTES = 8
"""Kind of the records of a tree of attributes by name."""


class Objects:
    """Reads the messages of objects, wherever they are kept."""

    def __init__(self, reader: Hdf5Reader) -> None:
        self.reader = reader
        self._heaps: dict[int, Heap] = {}
        self._tables: list[tuple[int, int]] | None = None

    def messages(self, address: int) -> list[Message]:
        """All messages of the object at an address, shared ones with what they stand for."""
        return [
            self._resolved(message)
            if message.flags & _SHARED and message.kind in _RESOLVED
            else message
            for message in self.reader.messages(address)
        ]

    def shared(self, kind: int, body: Bytes) -> Bytes:
        """What a message, or a part of an attribute, stands for that says where it is kept."""
        reader, what = self.reader, body.what
        version, way = body.number(1), body.number(1)
        if version == 1:
            body.take(6 + reader.lengths)
            return self._committed(kind, reader.needed(body), what)
        if version == 3 and way == _IN_HEAP:
            return self._in_heap(kind, body.take(HEAP_IDENT), body)
        if version == 2 or (version == 3 and way == _COMMITTED):
            return self._committed(kind, reader.needed(body), what)
        raise UnsupportedContentError(
            f"{what} is shared in way {way} of version {version}, which Ruda does not read",
            offset=body.offset,
        )

    def dense_attributes(self, message: Message) -> list[Message]:
        """The attributes that lie in a heap, as messages in the order of their names' hashes."""
        reader, what = self.reader, "a heap of attributes"
        body = message.body("a list of attributes")
        body.take(1)
        body.take(2 if body.number(1) & 1 else 0)
        heap_at, tree_at = reader.address(body), reader.address(body)
        if heap_at is None or tree_at is None:
            return []
        heap = Heap(reader, heap_at, what)
        found: list[Message] = []
        for record in tree2(reader, tree_at, "a tree of attributes", _ATTRIBUTES).records():
            ident, flags = record[:HEAP_IDENT], record[HEAP_IDENT : HEAP_IDENT + 1]
            if flags == bytes([_SHARED]):
                place = Bytes(ident, message.offset, what)
                raw = self._in_heap(Kind.ATTRIBUTE, ident, place)
            else:
                raw = heap.get(ident)
            found.append(Message(Kind.ATTRIBUTE, 0, raw.raw, raw.offset))
        return found

    def _resolved(self, message: Message) -> Message:
        body = Bytes(message.raw, message.offset, "a shared message")
        found = self.shared(message.kind, body)
        return Message(message.kind, message.flags & ~_SHARED, found.raw, found.offset)

    def _committed(self, kind: int, address: int, what: str) -> Bytes:
        """The message of this kind of another object."""
        for message in self.reader.messages(address):
            if message.kind == kind:
                if message.flags & _SHARED:
                    raise HeaderError(f"{what} is shared twice over", offset=message.offset)
                return message.body(what)
        raise HeaderError(
            f"{what} is kept at an object that has none", offset=self.reader.base + address
        )

    def _in_heap(self, kind: int, ident: bytes, body: Bytes) -> Bytes:
        if self._tables is None:
            self._tables = self._shared_tables()
        if kind == Kind.OLD_FILL:
            kind = Kind.FILL  # the tables have one bit for both
        for kinds, address in self._tables:
            if kinds >> kind & 1:
                if address not in self._heaps:
                    self._heaps[address] = Heap(self.reader, address, "a heap of shared messages")
                return self._heaps[address].get(ident)
        raise HeaderError(
            f"{body.what} is in a heap, but the file has none for its kind", offset=body.offset
        )

    def _shared_tables(self) -> list[tuple[int, int]]:
        """Kinds of message (a bit each) and address of every heap of shared ones."""
        reader, what = self.reader, "the table of shared messages"
        if reader.extension is None:
            return []
        for message in reader.messages(reader.extension):
            if message.kind != Kind.SHARED_TABLE:
                continue
            body = message.body(what)
            body.take(1)
            address, count = reader.needed(body), body.number(1)
            if count > MAX_TABLES:
                raise HeaderError(f"{what} has {count} entries", offset=body.offset)
            size = 4 + count * (14 + 2 * reader.offsets)
            block = reader.checked(address, size, what)
            block.expect(b"SMTB")
            return [entry for _ in range(count) if (entry := self._table(block)) is not None]
        return []

    def _table(self, block: Bytes) -> tuple[int, int] | None:
        block.take(2)
        kinds = block.number(2)
        block.take(10)
        self.reader.address(block)
        heap = self.reader.address(block)
        return None if heap is None else (kinds, heap)
