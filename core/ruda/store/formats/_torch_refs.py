"""Where the values of a PyTorch tensor lie, as its pickle says: storages, views of them, blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ruda.store.filerange import count_elements
from ruda.tensor import DType, Kind


@dataclass(frozen=True, slots=True, eq=False)
class StorageRef:
    """A run of memory that tensors view. ``dtype`` is None for an untyped one, counted in bytes.

    ``start`` is the element of the stored run at which this one begins: very old files have
    storages that are parts of others.
    """

    key: str
    dtype: DType | None
    numel: int
    location: str
    start: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes that the storage claims to have."""
        return self.numel if self.dtype is None else self.numel * element_bytes(self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Quantizer:
    """What a pickle says of how the numbers of a tensor are meant."""

    name: str
    scale: float | tuple[float, ...] | TensorRef
    zero_point: float | tuple[float, ...] | TensorRef
    axis: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TensorRef:
    """A view of a storage; ``offset`` and ``strides`` count elements."""

    storage: StorageRef
    dtype: DType
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    bits: frozenset[str] = frozenset()
    """``conj`` and ``neg``: what PyTorch left to be done when the values are used."""
    quantizer: Quantizer | None = None

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor's own values."""
        return self.numel * element_bytes(self.dtype)

    @property
    def span(self) -> int:
        """Elements from the first that the view touches to the last; 0 for an empty tensor."""
        if 0 in self.shape:
            return 0
        return 1 + sum(
            (size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)
        )

    @property
    def is_contiguous(self) -> bool:
        """True if the elements lie in row-major order without gaps."""
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return 0 in self.shape
            expected *= size
        return True


@cache
def element_bytes(dtype: DType) -> int:
    """Bytes of one element of a torch storage; a packed pair of fp4 is one element of one byte."""
    return 1 if dtype.kind is Kind.PACKED else dtype.bits // 8


@dataclass(frozen=True, slots=True, eq=False)
class SparseRef:
    """A tensor stored as its non-zero values: ``rows`` and ``columns`` say where they go.

    COO has one (axes, n) table of places in ``rows``; CSR and CSC have compressed ``rows``
    (columns for CSC) and plain ``columns`` (rows). BSR and BSC are the same of blocks.
    """

    layout: str
    rows: TensorRef
    columns: TensorRef | None
    values: TensorRef
    shape: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        """Element type of the values."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the dense form."""
        return count_elements(self.shape, "a sparse tensor") * element_bytes(self.dtype)
