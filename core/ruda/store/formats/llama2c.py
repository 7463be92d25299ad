"""Reading the first export format of llama2.c: seven numbers, then the weights of a Llama in f32.

The file has no magic and no names. It is recognised by numbers that make sense together, and read
only if its length is exactly what they say. Layout: the ``version 0`` export of llama2.c, in which
the arrays of all layers are stacked along the first axis, and a negative vocabulary size says that
the output has weights of its own.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from ruda.errors import HeaderError, OffsetError, TruncatedFileError
from ruda.progress import SILENT, Monitor
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import FileRange, count_elements
from ruda.store.format import opened_index
from ruda.store.index import TensorIndex
from ruda.tensor import DType

HEADER = struct.Struct("<7i")
LARGEST = 1 << 24
"""No size in a header is larger; a vocabulary of 16 million is none."""


@dataclass(frozen=True, slots=True)
class LlamaSizes:
    """The header: sizes of the network, whose weights follow from them."""

    dim: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    vocab: int
    positions: int
    has_output: bool
    """True if the output is not tied to the embeddings."""

    @classmethod
    def parse(cls, head: bytes) -> LlamaSizes | None:
        """The sizes in the first 28 bytes; None if they make no sense together."""
        if len(head) < HEADER.size:
            return None
        dim, hidden, layers, heads, kv_heads, vocab, positions = HEADER.unpack_from(head)
        found = cls(dim, hidden, layers, heads, kv_heads, abs(vocab), positions, vocab < 0)
        sizes = (dim, hidden, layers, heads, kv_heads, found.vocab, positions)
        if not all(0 < size <= LARGEST for size in sizes) or heads > dim:
            return None
        fits = dim % heads == 0 and (dim // heads) % 2 == 0 and heads % kv_heads == 0
        return found if fits else None

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Key and shape of every array, in the order of the file; Linear weights are [out, in]."""
        layers, dim, hidden = self.layers, self.dim, self.hidden
        kv = dim // self.heads * self.kv_heads
        half = dim // self.heads // 2
        shapes: dict[str, tuple[int, ...]] = {
            "tok_embeddings": (self.vocab, dim),
            "attention_norm": (layers, dim),
            "wq": (layers, dim, dim),
            "wk": (layers, kv, dim),
            "wv": (layers, kv, dim),
            "wo": (layers, dim, dim),
            "ffn_norm": (layers, dim),
            "w1": (layers, hidden, dim),
            "w2": (layers, dim, hidden),
            "w3": (layers, hidden, dim),
            "norm": (dim,),
            "freq_cis_real": (self.positions, half),
            "freq_cis_imag": (self.positions, half),
        }
        return shapes | ({"output": (self.vocab, dim)} if self.has_output else {})


class Llama2cFormat:
    """Reader of the ``.bin`` files that llama2.c runs."""

    name = "llama2c"
    title = "llama2.c model"
    suffixes: tuple[str, ...] = (".bin",)

    def matches(self, head: bytes, path: Path) -> bool:
        """True for seven sizes that make sense together, in a file named ``.bin``."""
        return path.suffix.lower() == ".bin" and LlamaSizes.parse(head) is not None

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the weights in the order of the file; reads its first 28 bytes.

        Raises TruncatedFileError or OffsetError if the length is not what the sizes say.
        """
        return self.open_bytes(ByteFile(path), monitor=monitor)

    def open_bytes(self, file: ByteFile, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of a file that is open already, and that the index closes; see ``open``."""
        return opened_index(file, self._index)

    def _index(self, file: ByteFile) -> TensorIndex:
        sizes = LlamaSizes.parse(file.read_at(0, min(HEADER.size, file.size)))
        if sizes is None:
            raise HeaderError("the first seven numbers are no sizes of a Llama", offset=0)
        snapshots = []
        offset = HEADER.size
        for key, shape in sizes.tensors().items():
            nbytes = count_elements(shape, repr(key)) * DType.F32.itemsize
            snapshots.append(FileRange(file, offset, nbytes, DType.F32, shape).snapshot(key))
            offset += nbytes
        if file.size < offset:
            raise TruncatedFileError(
                f"the sizes in the header need {offset} bytes, the file has {file.size}", offset=0
            )
        if file.size > offset:
            raise OffsetError(f"{file.size - offset} bytes follow the last tensor", offset=offset)
        return TensorIndex.of(
            snapshots,
            format=self.name,
            path=file.path,
            notes=("the file keeps no names: these are PyTorch's, layers stacked along axis 0",),
            closers=(file.close,),
        )
