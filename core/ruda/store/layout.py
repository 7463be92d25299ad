"""Layout: what an encoder decides before any tensor byte is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ruda.errors import DTypeError
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType, Kind

PIECE_BYTES = 1 << 20
"""Bytes that a save moves at once: what was just read is still in the processor's cache."""


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """Something that a target cannot hold, or holds in another way than the source.

    ``blocking`` problems forbid writing; the others are what a person should know.
    """

    message: str
    key: str | None = None
    blocking: bool = True

    def __str__(self) -> str:
        return self.message if self.key is None else f"{self.key!r}: {self.message}"


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """One tensor with its place in the file to be: ``offset`` counts from the file's first byte."""

    key: str
    dtype: DType
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    snapshot: TensorSnapshot = field(compare=False, repr=False)
    strides: tuple[int, ...] | None = None
    """In elements, of a view into a block that several tensors share; None: row-major."""

    @property
    def end(self) -> int:
        """First byte after the tensor."""
        return self.offset + self.nbytes


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes that stand between the tensors or after them, such as the headers in an archive.

    Where ``checksum_of`` names a block, the CRC-32 of that block, little-endian, replaces the four
    bytes at ``place``.
    """

    offset: int
    content: bytes
    checksum_of: str | None = None
    place: int = 0

    def sealed(self, checksum: int) -> bytes:
        """The content with the checksum in its place."""
        at = self.place
        return self.content[:at] + checksum.to_bytes(4, "little") + self.content[at + 4 :]


@dataclass(frozen=True, slots=True)
class Layout:
    """Header bytes and every tensor's place, in file order; gaps up to ``file_size`` are zeros.

    ``blocks`` is what is written, in file order. It is ``entries`` but for formats in which
    tensors share bytes: there several entries lie in one block.
    """

    format: str
    header: bytes
    entries: tuple[PlannedTensor, ...]
    file_size: int
    problems: tuple[PlanProblem, ...] = ()
    frames: tuple[Frame, ...] = ()
    """In file order, behind the header."""
    checksums: Mapping[str, int] | None = None
    """For formats with checksums: by key of a block, the CRC-32 of what precedes it in it."""
    shared: tuple[PlannedTensor, ...] | None = None

    @property
    def blocks(self) -> tuple[PlannedTensor, ...]:
        """Every run of bytes that is written, once each."""
        return self.entries if self.shared is None else self.shared

    @property
    def padding(self) -> int:
        """Zero bytes that stand between and after header, frames and tensors."""
        used = sum(len(f.content) for f in self.frames) + sum(b.nbytes for b in self.blocks)
        return self.file_size - len(self.header) - used


class Encoder(Protocol):
    """The writing half of a format."""

    @property
    def name(self) -> str:
        """Name of the format, as an index has it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of file names, lower case, with the dot."""

    def lay_out(self, index: TensorIndex, metadata: Mapping[str, str]) -> Layout:
        """Header, order and offsets for these tensors; reads no tensor byte."""


def size_problem(snapshot: TensorSnapshot) -> PlanProblem | None:
    """Problem if the byte count of a snapshot is not that of its shape and dtype."""
    if snapshot.dtype.kind is Kind.QUANTIZED:
        return None
    try:
        expected = snapshot.dtype.nbytes(snapshot.numel)
    except DTypeError as error:
        return PlanProblem(str(error), snapshot.key)
    if expected == snapshot.nbytes:
        return None
    return PlanProblem(
        f"{snapshot.dtype} {list(snapshot.shape)} needs {expected} bytes, "
        f"but the tensor has {snapshot.nbytes}",
        snapshot.key,
    )


def dtype_remedy(dtype: DType) -> str:
    """What can be done with a tensor of a dtype that a format does not have; all of it works."""
    held = [name for name, holds in _HOLDERS.items() if holds(dtype)]
    ways = [f"save as {' or '.join(held)}"] if held else []
    if dtype.kind is Kind.QUANTIZED:
        ways.insert(0, "cast it to f32, which dequantises it")
    elif dtype.is_float and dtype.bits >= 16:
        ways.insert(0, "cast it to f32")
    return ", or ".join(ways) or "leave the tensor out"


_HOLDERS: dict[str, Callable[[DType], bool]] = {
    "safetensors": lambda dtype: dtype.safetensors is not None,
    "Rudapack": lambda dtype: dtype.rudapack is not None or dtype is DType.BOOL_U32,
    "PyTorch": lambda dtype: dtype.torch is not None and dtype.kind is not Kind.QUANTIZED,
    "NumPy": lambda dtype: (
        dtype is not DType.BOOL_U32 and not dtype.is_raw and dtype.numpy.isbuiltin == 1
    ),
}


def text_problem(text: str) -> str | None:
    """Why a text cannot stand in a UTF-8 header, or None."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"{text!r} is not valid Unicode text: lone surrogate at character {error.start}"
    return None


def alias_problems(index: TensorIndex) -> tuple[PlanProblem, ...]:
    """One warning per tensor that shares memory with another and is written out in full."""
    return tuple(
        PlanProblem(
            f"shares memory with {s.shared_with!r}; both are written in full",
            s.key,
            blocking=False,
        )
        for s in index.values()
        if s.shared_with is not None
    )


def counts_pairs(snapshot: TensorSnapshot) -> bool:
    """True for f4 whose shape counts bytes, two elements in each, as PyTorch has it."""
    return (
        snapshot.dtype is DType.F4_E2M1
        and snapshot.shape != ()
        and snapshot.nbytes == snapshot.numel > 0
    )


def id_problems(index: TensorIndex, what: str) -> tuple[PlanProblem, ...]:
    """Warnings for parameter ids and scalars where ``what`` has no place for them."""
    counts = (
        ("parameter ids", sum(s.param_id is not None for s in index.values())),
        ("scalars", len(index.extra.get("scalars") or ())),
    )
    return tuple(
        PlanProblem(
            f"the {name} ({count}) are not carried over: {what} has no place for them",
            blocking=False,
        )
        for name, count in counts
        if count
    )


def metadata_problem(metadata: Mapping[str, str], what: str) -> tuple[PlanProblem, ...]:
    """A warning for metadata where ``what`` has no place for it."""
    if not metadata:
        return ()
    message = f"the metadata ({len(metadata)} entries) is not carried over: {what} has no place"
    return (PlanProblem(f"{message} for it", blocking=False),)
