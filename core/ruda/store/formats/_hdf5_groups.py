"""The members of an HDF5 group, of the old form (a tree of names) and the new one (links)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ruda.errors import HeaderError, UnsupportedContentError
from ruda.store.formats._hdf5_header import Bytes, Hdf5Reader, Kind, Message

LINK_BYTES = 8
"""Least bytes that a link takes."""
MAX_LEVELS = 16
NODE_LIMIT = 16 << 20
_SOFT, _EXTERNAL = 1, 64


@dataclass(frozen=True, slots=True)
class Link:
    """A name in a group, and what it stands for."""

    name: bytes
    address: int | None
    """Of the object; None for links by name, which are not followed."""
    note: str = ""
    """What a link is that is not followed."""


def links(reader: Hdf5Reader, messages: list[Message]) -> list[Link]:
    """All members of the group with these messages, in the order of their names."""
    found: list[Link] = []
    for message in messages:
        if message.kind == Kind.SYMBOL_TABLE:
            body = message.body("a group")
            tree, heap = reader.needed(body), reader.needed(body)
            found += _old_links(reader, tree, heap)
        elif message.kind == Kind.LINK:
            found.append(_link(reader, message.body("a link")))
        elif message.kind == Kind.LINK_INFO:
            found += _dense_links(reader, message.body("a group"))
    found.sort(key=lambda link: link.name)
    for before, after in pairwise(found):
        if before.name == after.name:
            raise HeaderError(f"a group has two members called {after.name!r}")
    return found


def is_group(messages: list[Message]) -> bool:
    """True for the messages of a group."""
    kinds = {message.kind for message in messages}
    return bool(kinds & {Kind.SYMBOL_TABLE, Kind.LINK, Kind.LINK_INFO})


def tree_entries(
    reader: Hdf5Reader, address: int, kind: int, key_bytes: int
) -> Iterator[tuple[bytes, int]]:
    """Key and address of every leaf of a tree of version 1; each node is visited once."""
    waiting, seen = [(address, -1)], set[int]()
    while waiting:
        at, level = waiting.pop()
        if at in seen:
            raise HeaderError("a tree leads to one of its nodes twice", offset=reader.base + at)
        seen.add(at)
        head = reader.block(at, 8 + 2 * reader.offsets, "a node of a tree")
        head.expect(b"TREE")
        found_kind, found_level, count = head.number(1), head.number(1), head.number(2)
        if found_kind != kind or level not in (-1, found_level):
            raise HeaderError(
                f"a node of a tree has type {found_kind} and level {found_level}, expected {kind} "
                f"and {max(level, 0)}",
                offset=head.offset,
            )
        size = count * (key_bytes + reader.offsets)
        block = reader.block(at + 8 + 2 * reader.offsets, size, "a node of a tree")
        children = [(block.take(key_bytes), reader.needed(block)) for _ in range(count)]
        if found_level:
            waiting += [(child, found_level - 1) for _, child in reversed(children)]
        else:
            yield from children


def _old_links(reader: Hdf5Reader, tree: int, heap: int) -> Iterator[Link]:
    head = reader.block(heap, 8 + 2 * reader.lengths + reader.offsets, "a heap of names")
    head.expect(b"HEAP")
    head.take(4)
    size = reader.length(head)
    reader.length(head)
    names = reader.block(reader.needed(head), size, "a heap of names")
    for _, at in tree_entries(reader, tree, 0, reader.lengths):
        table = reader.block(at, 8, "a table of names")
        table.expect(b"SNOD")
        table.take(2)
        count = table.number(2)
        entries = reader.block(at + 8, count * (2 * reader.offsets + 24), "a table of names")
        for _ in range(count):
            names.at = 0
            names.take(min(entries.number(reader.offsets), size))
            name = names.text(padded=False)
            address, cached = reader.address(entries), entries.number(4)
            entries.take(20)
            if cached == 2:
                yield Link(name, None, "a link to another name")
            elif address is None:
                raise HeaderError(f"{name!r} points nowhere", offset=entries.offset)
            else:
                yield Link(name, address)


def _link(reader: Hdf5Reader, body: Bytes) -> Link:
    version, flags = body.number(1), body.number(1)
    if version != 1:
        raise HeaderError(f"a link has version {version}, expected 1", offset=body.offset)
    kind = body.number(1) if flags & 8 else 0
    body.take(8 if flags & 4 else 0)
    body.take(1 if flags & 16 else 0)
    name = body.take(body.number(1 << (flags & 3)))
    if kind == 0:
        return Link(name, reader.needed(body))
    if kind == _SOFT:
        return Link(name, None, "a link to another name")
    return Link(name, None, "a link to another file" if kind == _EXTERNAL else "a link of no kind")


def _dense_links(reader: Hdf5Reader, body: Bytes) -> Iterator[Link]:
    """Links of a group with many members: in a heap, listed by a tree of version 2."""
    body.take(1)
    flags = body.number(1)
    body.take(8 if flags & 1 else 0)
    heap, tree = reader.address(body), reader.address(body)
    if heap is None or tree is None:
        return
    objects = _Heap(reader, heap)
    for record in _records(reader, tree):
        yield _link(reader, objects.get(record[4:]))


def _records(reader: Hdf5Reader, address: int) -> Iterator[bytes]:
    """The records of a tree of version 2, in no order; each node is visited once."""
    what = "a tree of links"
    head = reader.block(address, 22 + reader.offsets + reader.lengths, what)
    head.expect(b"BTHD")
    head.take(2)
    node, size, depth = head.number(4), head.number(2), head.number(2)
    head.take(2)
    root, count = reader.address(head), head.number(2)
    if root is None:
        return
    if depth > MAX_LEVELS or not 5 <= size <= node or node > NODE_LIMIT:
        raise HeaderError(
            f"{what} has {depth} levels of nodes of {node} bytes and records of {size}",
            offset=head.offset,
        )
    widths = _counter_widths(reader, node, size, depth)
    waiting, seen = [(root, count, depth)], set[int]()
    while waiting:
        at, held, level = waiting.pop()
        if at in seen:
            raise HeaderError(f"{what} leads to one of its nodes twice", offset=reader.base + at)
        seen.add(at)
        total = widths[level - 1] if level > 1 else 0
        children = (held + 1) * (reader.offsets + widths[0] + total) if level else 0
        block = reader.block(at, 6 + held * size + children, what)
        block.expect(b"BTIN" if level else b"BTLF")
        block.take(2)
        yield from (block.take(size) for _ in range(held))
        for _ in range(held + 1 if level else 0):
            child, inner = reader.needed(block), block.number(widths[0])
            block.take(total)
            waiting.append((child, inner, level - 1))


def _counter_widths(reader: Hdf5Reader, node: int, size: int, depth: int) -> list[int]:
    """Bytes that counters of records take: of one leaf, then of all below a node of each level."""
    most = (node - 10) // size
    total, width = most, _bytes_of(most)
    widths = [width]
    for level in range(1, depth):
        pointer = reader.offsets + width + (widths[level - 1] if level > 1 else 0)
        inner = max(0, node - 10 - pointer) // (size + pointer)
        total = (inner + 1) * total + inner
        widths.append(_bytes_of(total))
    return widths


def _bytes_of(largest: int) -> int:
    return max(1, (largest.bit_length() + 7) // 8)


class _Heap:
    """A fractal heap: objects in blocks whose sizes double from row to row."""

    def __init__(self, reader: Hdf5Reader, address: int) -> None:
        what = "a heap of links"
        self.reader = reader
        head = reader.block(address, 26 + 12 * reader.lengths + 3 * reader.offsets, what)
        head.expect(b"FRHP")
        head.take(3)
        filters = head.number(2)
        self.flags = head.number(1)
        largest = head.number(4)
        head.take(10 * reader.lengths + 2 * reader.offsets)
        self.width = head.number(2)
        self.first, self.direct = reader.length(head), reader.length(head)
        bits = head.number(2)
        head.take(2)
        root, self.rows = reader.address(head), head.number(2)
        if filters or not self.first or not self.width or root is None or bits > 64:
            raise UnsupportedContentError(
                f"{what} is packed or empty, which Ruda does not read", offset=head.offset
            )
        self.root = root
        self.place_bytes = (bits + 7) // 8
        self.size_bytes = (min(largest, self.direct).bit_length() + 7) // 8
        self._blocks = list(self._all_blocks()) if self.rows else [(0, self.first, root)]

    def _all_blocks(self) -> Iterator[tuple[int, int, int]]:
        """Where each block begins in the heap, its size and its address."""
        size = 5 + self.reader.offsets + self.place_bytes
        count = self.rows * self.width
        what = "a heap of links"
        table = self.reader.block(self.root, size + count * self.reader.offsets, what)
        table.expect(b"FHIB")
        table.take(size - 4)
        start = 0
        for row in range(self.rows):
            each = self.first << max(row - 1, 0)
            if each > self.direct:
                raise UnsupportedContentError(
                    f"{what} has blocks within blocks, which Ruda does not read",
                    offset=table.offset,
                )
            for _ in range(self.width):
                address = self.reader.address(table)
                if address is not None:
                    yield start, each, address
                start += each

    def get(self, name: bytes) -> Bytes:
        """The object that a record of the tree names."""
        what = "a link"
        ident = Bytes(name, self.reader.base + self.root, what)
        if ident.number(1) >> 4 & 3:
            raise UnsupportedContentError(f"{what} lies outside of its heap", offset=ident.offset)
        place, size = ident.number(self.place_bytes), ident.number(self.size_bytes)
        for start, length, address in self._blocks:
            if start <= place and place + size <= start + length:
                return self.reader.block(address + place - start, size, what)
        raise HeaderError(f"{what} lies at {place} of a heap that has no such place")
