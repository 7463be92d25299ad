"""The members of an HDF5 group, of the old form (a tree of names) and the new one (links)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ruda.errors import HeaderError
from ruda.store.formats._hdf5_header import Bytes, Hdf5Reader, Kind, Message
from ruda.store.formats._hdf5_heap import Heap
from ruda.store.formats._hdf5_trees import tree2, tree_entries

LINK_BYTES = 8
"""Least bytes that a link takes."""
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
    objects = Heap(reader, heap, "a heap of links")
    for record in tree2(reader, tree, "a tree of links", 5).records():
        yield _link(reader, objects.get(record[4:]))
