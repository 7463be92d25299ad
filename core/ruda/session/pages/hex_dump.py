"""The bytes of a tensor in lines of sixteen, with a mark between elements and their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ruda.progress import SILENT, Monitor
from ruda.session.language import tr
from ruda.session.wording import count_text, number_text

if TYPE_CHECKING:
    from ruda.store import TensorSnapshot

LINE = 16
LINES = 64
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class HexPage:
    """Lines of bytes from ``start`` on."""

    start: int
    """Number of the first byte in the tensor; whole pages."""
    total: int
    """Bytes of the tensor."""
    lines: tuple[str, ...]
    """``000010  00 00 80 3f│00 00 00 40  1 · 2``: place, bytes, values where there are any."""
    caption: str

    @property
    def before(self) -> int:
        """Start of the page before this one."""
        return max(0, self.start - LINE * LINES)

    @property
    def after(self) -> int | None:
        """Start of the page after this one; None at the end."""
        found = self.start + LINE * LINES
        return found if found < self.total else None


def hex_page(snapshot: TensorSnapshot, start: int = 0, *, monitor: Monitor = SILENT) -> HexPage:
    """A page of the bytes of a tensor, little-endian, as a safetensors file would hold them.

    ``start`` is moved to the begin of its line and into the tensor. Raises the StoreError of the
    file, Cancelled.
    """
    total = snapshot.nbytes
    begin = max(0, min(start, total - 1)) // LINE * LINE
    held = _bytes(snapshot, begin, LINE * LINES, monitor)
    size = snapshot.dtype.carrier.itemsize
    lines = tuple(
        _line(snapshot, begin + at, held[at : at + LINE], size) for at in range(0, len(held), LINE)
    )
    caption = tr(
        "Bytes {start} to {end} of {total}, {size} an element",
        start=count_text(begin),
        end=count_text(begin + len(held)),
        total=count_text(total),
        size=size,
    )
    return HexPage(begin, total, lines, caption)


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


def _line(snapshot: TensorSnapshot, place: int, held: bytes, size: int) -> str:
    parts = []
    for at, byte in enumerate(held):
        ends = (at + 1) % size == 0 if size <= LINE else False
        mark = "│" if ends and at + 1 < len(held) else " "
        parts.append(f"{byte:02x}{mark}")
    text = "".join(parts).ljust(3 * LINE)
    return f"{place:08x}  {text} {_values(snapshot, held, size)}".rstrip()


def _values(snapshot: TensorSnapshot, held: bytes, size: int) -> str:
    """The elements of a line; nothing for those that are packed or have no plain number."""
    if not snapshot.dtype.is_ordered or size > LINE or len(held) % size:
        return ""
    array = np.frombuffer(held, snapshot.dtype.carrier.newbyteorder("<"))
    if array.dtype.kind in "iub":
        return " · ".join(str(value) for value in array)
    return " · ".join(number_text(float(value)) for value in array)
