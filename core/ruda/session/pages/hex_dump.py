"""The bytes of a tensor in lines as wide as there is room for, with marks between elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ruda.progress import SILENT, Monitor
from ruda.session.language import tr
from ruda.session.wording import count_text, number_text

if TYPE_CHECKING:
    from ruda.store import TensorSnapshot
    from ruda.tensor import DType

LINE = 16
"""Bytes of a line where nobody says how much room there is; pages begin at a multiple of it."""
WIDTHS = (32, 16, 8)
"""Bytes that a line may have."""
PAGE = 1024
"""Bytes of a page."""
PIECE = 1 << 20
BETWEEN = " · "


@dataclass(frozen=True, slots=True)
class HexPage:
    """Bytes from ``start`` on."""

    start: int
    """Number of the first byte in the tensor; whole pages."""
    total: int
    """Bytes of the tensor."""
    data: bytes
    dtype: DType
    caption: str

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines of sixteen bytes."""
        return tuple(_beside(head, values) for head, values in self._parts(LINE))

    def lines_within(self, room: int) -> tuple[str, ...]:
        """Lines of at most ``room`` letters: as many bytes in each as fit with their values.

        ``0010  00 00 80 3f│00 00 00 40  1 · 2``: place, bytes, values where there are any. Where
        not even eight bytes fit with theirs, the values stand under the bytes.
        """
        for width in WIDTHS:
            made = [_beside(head, values) for head, values in self._parts(width)]
            if max(map(len, made), default=0) <= room:
                return tuple(made)
        under = " " * (self._digits + 2)
        lines: list[str] = []
        parts = self._parts(WIDTHS[-1])
        letters = 3 * self.dtype.carrier.itemsize  # that the bytes of an element take
        fits = all(len(value) < letters for _, values in parts for value in values)
        for head, values in parts:
            lines.append(head.rstrip())
            if values and fits:
                lines.append(under + "".join(value.ljust(letters) for value in values).rstrip())
            elif values:
                lines.append(under + BETWEEN.join(values))
        return tuple(lines)

    @property
    def _digits(self) -> int:
        return max(4, len(f"{self.total:x}"))

    def _parts(self, width: int) -> list[tuple[str, tuple[str, ...]]]:
        """Place and bytes of every line, and the values of its elements."""
        size = self.dtype.carrier.itemsize
        parts: list[tuple[str, tuple[str, ...]]] = []
        for at in range(0, len(self.data), width):
            held = self.data[at : at + width]
            place = f"{self.start + at:0{self._digits}x}"
            parts.append((f"{place}  {_spelled(held, width, size)}", _values(self.dtype, held)))
        return parts

    @property
    def before(self) -> int:
        """Start of the page before this one."""
        return max(0, self.start - PAGE)

    @property
    def after(self) -> int | None:
        """Start of the page after this one; None at the end."""
        found = self.start + PAGE
        return found if found < self.total else None


def hex_page(snapshot: TensorSnapshot, start: int = 0, *, monitor: Monitor = SILENT) -> HexPage:
    """A page of the bytes of a tensor, little-endian, as a safetensors file would hold them.

    ``start`` is moved to the begin of its line and into the tensor. Raises the StoreError of the
    file, Cancelled.
    """
    total = snapshot.nbytes
    begin = max(0, min(start, total - 1)) // LINE * LINE
    held = _bytes(snapshot, begin, PAGE, monitor)
    caption = tr(
        "Bytes {start} to {end} of {total}, {size} an element",
        start=count_text(begin),
        end=count_text(begin + len(held)),
        total=count_text(total),
        size=snapshot.dtype.carrier.itemsize,
    )
    return HexPage(begin, total, held, snapshot.dtype, caption)


def _bytes(snapshot: TensorSnapshot, start: int, count: int, monitor: Monitor) -> bytes:
    """A stretch of the tensor's bytes; what is before it is read and dropped."""
    held = bytearray()
    at = 0
    for piece in snapshot.chunks(PIECE):
        monitor.check()
        end = at + len(piece)
        if end > start:
            held += piece[max(0, start - at) : start + count - at]
        if end >= start + count:
            break
        at = end
    return bytes(held)


def _spelled(held: bytes, width: int, size: int) -> str:
    """The bytes of a line, with marks between elements, padded to a whole line."""
    parts = []
    for at, byte in enumerate(held):
        ends = (at + 1) % size == 0 if size <= width else False
        mark = "│" if ends and at + 1 < len(held) else " "
        parts.append(f"{byte:02x}{mark}")
    return "".join(parts).ljust(3 * width)[:-1]


def _beside(head: str, values: tuple[str, ...]) -> str:
    return f"{head}  {BETWEEN.join(values)}".rstrip()


def _values(dtype: DType, held: bytes) -> tuple[str, ...]:
    """The elements of a line; none of those that are packed or have no plain number."""
    if not dtype.is_ordered or len(held) % dtype.carrier.itemsize:
        return ()
    array = np.frombuffer(held, dtype.carrier.newbyteorder("<"))
    if array.dtype.kind in "iub":
        return tuple(str(value) for value in array)
    return tuple(number_text(float(value)) for value in array)
