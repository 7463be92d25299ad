"""The trees of HDF5, of version 1 and 2: what their leaves say, each node visited once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ruda.errors import HeaderError
from ruda.store.formats._hdf5_header import Hdf5Reader

MAX_LEVELS = 16
NODE_LIMIT = 16 << 20


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


@dataclass(frozen=True, slots=True)
class Tree2:
    """A tree of version 2, from its header."""

    reader: Hdf5Reader
    what: str
    kind: int
    """What its records are: 1 of a heap, 5 and 8 of names, 10 and 11 of chunks."""
    record: int
    """Bytes of a record."""
    node: int
    depth: int
    root: int | None
    count: int
    """Records in the root."""

    def records(self) -> Iterator[bytes]:
        """All records, in no order. Raises HeaderError and ChecksumError for a node that lies."""
        if self.root is None:
            return
        reader, size = self.reader, self.record
        widths = _counter_widths(reader, self.node, size, self.depth)
        waiting, seen = [(self.root, self.count, self.depth)], set[int]()
        left = reader.stop // size
        while waiting:
            at, held, level = waiting.pop()
            left -= held
            if at in seen or left < 0:
                said = "leads to one of its nodes twice" if at in seen else "has too many records"
                raise HeaderError(f"{self.what} {said}", offset=reader.base + at)
            seen.add(at)
            total = widths[level - 1] if level > 1 else 0
            children = (held + 1) * (reader.offsets + widths[0] + total) if level else 0
            block = reader.checked(at, 6 + held * size + children, self.what)
            block.expect(b"BTIN" if level else b"BTLF")
            block.take(2)
            yield from (block.take(size) for _ in range(held))
            for _ in range(held + 1 if level else 0):
                child, inner = reader.needed(block), block.number(widths[0])
                block.take(total)
                waiting.append((child, inner, level - 1))


def tree2(reader: Hdf5Reader, address: int, what: str, *kinds: int) -> Tree2:
    """The tree of version 2 at an address, whose records are of one of these kinds."""
    head = reader.checked(address, 18 + reader.offsets + reader.lengths, what)
    head.expect(b"BTHD")
    head.take(1)
    kind = head.number(1)
    node, size, depth = head.number(4), head.number(2), head.number(2)
    head.take(2)
    root, count = reader.address(head), head.number(2)
    if kind not in kinds:
        raise HeaderError(f"{what} has records of type {kind}", offset=head.offset)
    if depth > MAX_LEVELS or not 5 <= size <= node or node > NODE_LIMIT:
        raise HeaderError(
            f"{what} has {depth} levels of nodes of {node} bytes and records of {size}",
            offset=head.offset,
        )
    return Tree2(reader, what, kind, size, node, depth, root, count)


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
