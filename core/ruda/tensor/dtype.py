"""The dtype table: one place that knows every element type and its tag in every file format.

Sources of the tags: the safetensors format description (``dtype`` strings), PyTorch's storage
classes and ``torch.dtype`` names, and Burn's ``DType`` (CBOR spelling of Rudapack files).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from ruda.errors import DTypeError


class Kind(Enum):
    """The family an element type belongs to."""

    FLOAT = "float"
    INT = "int"
    UINT = "uint"
    BOOL = "bool"
    COMPLEX = "complex"
    PACKED = "packed"
    """Several elements in one byte; stored and compared as bytes, never computed with."""
    QUANTIZED = "quantized"
    """A block scheme: the bytes mean nothing without their scheme."""


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    bits: int
    kind: Kind
    numpy: np.dtype[Any] | None
    """NumPy type of the same values, or None where NumPy (with ml_dtypes) has none."""
    carrier: np.dtype[Any]
    """NumPy type that holds the raw bits, one item per element (bytes where packed)."""
    safetensors: str | None = None
    torch: str | None = None
    torch_storage: str | None = None
    rudapack: str | None = None


def _row(
    name: str,
    bits: int,
    kind: Kind,
    numpy: Any,
    *,
    carrier: Any = None,
    st: str | None = None,
    torch: str | None = None,
    storage: str | None = None,
    bpk: str | None = None,
) -> _Row:
    real = None if numpy is None else np.dtype(numpy)
    held = np.dtype(carrier) if carrier is not None else real
    if held is None:
        raise AssertionError(f"{name} has neither a NumPy type nor a carrier")
    return _Row(name, bits, kind, real, held, st, torch, storage, bpk)


_F, _I, _U, _B = Kind.FLOAT, Kind.INT, Kind.UINT, Kind.BOOL
_C, _P, _Q = Kind.COMPLEX, Kind.PACKED, Kind.QUANTIZED


class DType(Enum):
    """Element type of a tensor. ``str(dtype)`` is the name used in JSON, messages and recipes."""

    F64 = _row("f64", 64, _F, "<f8", st="F64", torch="float64", storage="DoubleStorage", bpk="F64")
    F32 = _row("f32", 32, _F, "<f4", st="F32", torch="float32", storage="FloatStorage", bpk="F32")
    FLEX32 = _row("flex32", 32, _F, "<f4", bpk="Flex32")
    """f32 on disk; its computations may be done at lower precision (Burn)."""
    F16 = _row("f16", 16, _F, "<f2", st="F16", torch="float16", storage="HalfStorage", bpk="F16")
    BF16 = _row(
        "bf16",
        16,
        _F,
        ml_dtypes.bfloat16,
        st="BF16",
        torch="bfloat16",
        storage="BFloat16Storage",
        bpk="BF16",
    )
    F8_E4M3FN = _row(
        "f8_e4m3fn", 8, _F, ml_dtypes.float8_e4m3fn, st="F8_E4M3", torch="float8_e4m3fn"
    )
    F8_E5M2 = _row("f8_e5m2", 8, _F, ml_dtypes.float8_e5m2, st="F8_E5M2", torch="float8_e5m2")
    F8_E4M3FNUZ = _row(
        "f8_e4m3fnuz", 8, _F, ml_dtypes.float8_e4m3fnuz, st="F8_E4M3FNUZ", torch="float8_e4m3fnuz"
    )
    F8_E5M2FNUZ = _row(
        "f8_e5m2fnuz", 8, _F, ml_dtypes.float8_e5m2fnuz, st="F8_E5M2FNUZ", torch="float8_e5m2fnuz"
    )
    F8_E8M0 = _row("f8_e8m0", 8, _F, ml_dtypes.float8_e8m0fnu, st="F8_E8M0", torch="float8_e8m0fnu")
    F4_E2M1 = _row("f4_e2m1", 4, _P, None, carrier="u1", st="F4", torch="float4_e2m1fn_x2")
    F6_E2M3 = _row("f6_e2m3", 6, _P, None, carrier="u1", st="F6_E2M3")
    F6_E3M2 = _row("f6_e3m2", 6, _P, None, carrier="u1", st="F6_E3M2")
    I64 = _row("i64", 64, _I, "<i8", st="I64", torch="int64", storage="LongStorage", bpk="I64")
    I32 = _row("i32", 32, _I, "<i4", st="I32", torch="int32", storage="IntStorage", bpk="I32")
    I16 = _row("i16", 16, _I, "<i2", st="I16", torch="int16", storage="ShortStorage", bpk="I16")
    I8 = _row("i8", 8, _I, "i1", st="I8", torch="int8", storage="CharStorage", bpk="I8")
    U64 = _row("u64", 64, _U, "<u8", st="U64", torch="uint64", bpk="U64")
    U32 = _row("u32", 32, _U, "<u4", st="U32", torch="uint32", bpk="U32")
    U16 = _row("u16", 16, _U, "<u2", st="U16", torch="uint16", bpk="U16")
    U8 = _row("u8", 8, _U, "u1", st="U8", torch="uint8", storage="ByteStorage", bpk="U8")
    BOOL = _row("bool", 8, _B, "?", st="BOOL", torch="bool", storage="BoolStorage", bpk="Bool")
    BOOL_U32 = _row("bool_u32", 32, _B, "<u4")
    """Burn's bool stored in 32 bits; Rudapack spells it {"Bool": "U32"}."""
    C32 = _row("c32", 32, _C, None, carrier="<u4", torch="complex32")
    C64 = _row("c64", 64, _C, "<c8", st="C64", torch="complex64", storage="ComplexFloatStorage")
    C128 = _row("c128", 128, _C, "<c16", torch="complex128", storage="ComplexDoubleStorage")
    QFLOAT = _row("qfloat", 8, _Q, None, carrier="u1", bpk="QFloat")
    """Burn's quantized float: ``bits`` is meaningless, the byte count comes from the file."""
    QINT8 = _row("qint8", 8, _Q, None, carrier="u1", torch="qint8", storage="QInt8Storage")
    QUINT8 = _row("quint8", 8, _Q, None, carrier="u1", torch="quint8", storage="QUInt8Storage")
    QINT32 = _row("qint32", 32, _Q, None, carrier="u1", torch="qint32", storage="QInt32Storage")
    """PyTorch's quantized numbers; the scheme has their scale and zero point."""
    GGML = _row("ggml", 8, _Q, None, carrier="u1")
    """Blocks of GGML; the scheme says which (``q4_0``), ``bits`` is meaningless as well."""

    __hash__ = object.__hash__  # Enum hashes names in Python, which every operation would pay for

    def __str__(self) -> str:
        return self.value.name

    def __repr__(self) -> str:
        return f"DType.{self._name_}"

    @property
    def label(self) -> str:
        """Short name as in JSON and recipes: ``f32``, ``bf16``, ``f8_e4m3fn``."""
        return self.value.name

    @property
    def bits(self) -> int:
        """Bits per element; sub-byte for packed types."""
        return self.value.bits

    @property
    def itemsize(self) -> int:
        """Bytes per element. Raises DTypeError for types that are not a whole number of bytes."""
        if self.kind in (Kind.PACKED, Kind.QUANTIZED):
            raise DTypeError(f"{self} has no whole number of bytes per element")
        return self.bits // 8

    @property
    def kind(self) -> Kind:
        """Family of the type."""
        return self.value.kind

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy type of the same values (ml_dtypes for bf16 and fp8), little-endian.

        Raises DTypeError where there is none; ``carrier`` holds the bits then.
        """
        if self.value.numpy is None:
            raise DTypeError(f"{self} has no NumPy type; read its raw bits instead")
        return self.value.numpy

    @property
    def carrier(self) -> np.dtype[Any]:
        """NumPy type that snapshots of this dtype are read as: ``numpy`` or, lacking one, bits."""
        return self.value.carrier

    @property
    def is_float(self) -> bool:
        """True for every floating type, f64 to fp8; ``is_computable``: which are computed with."""
        return self.kind is Kind.FLOAT

    @property
    def is_ordered(self) -> bool:
        """True for floats, integers and bools: of two values one is less, or they are equal."""
        return self.kind in (Kind.FLOAT, Kind.INT, Kind.UINT, Kind.BOOL)

    @property
    def is_raw(self) -> bool:
        """True where NumPy has no such type: arrays hold the bits, and nothing is computed."""
        return self.value.numpy is None

    @property
    def smallest_normal(self) -> float:
        """Smallest positive number with full precision. Raises DTypeError unless a float."""
        if not self.is_float:
            raise DTypeError(f"{self} is not a float and has no smallest normal number")
        return float(ml_dtypes.finfo(self.numpy).tiny)  # type: ignore[no-untyped-call]

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers."""
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def safetensors(self) -> str | None:
        """Tag in a safetensors header, or None."""
        return self.value.safetensors

    @property
    def torch(self) -> str | None:
        """Name of the ``torch.dtype``, or None."""
        return self.value.torch

    @property
    def torch_storage(self) -> str | None:
        """Class name of the typed PyTorch storage, or None where torch only has untyped ones."""
        return self.value.torch_storage

    @property
    def rudapack(self) -> str | None:
        """Unit-variant spelling in a Rudapack descriptor, or None."""
        return self.value.rudapack

    def nbytes(self, numel: int) -> int:
        """Bytes that ``numel`` elements take in a file.

        Raises DTypeError for quantized types (the scheme decides) and for packed elements that
        do not end on a byte.
        """
        if self.kind is Kind.QUANTIZED:
            raise DTypeError(f"the byte count of {self} depends on its scheme")
        total = numel * self.bits
        if total % 8:
            raise DTypeError(f"{numel} elements of {self} do not end on a byte boundary")
        return total // 8

    @classmethod
    def parse(cls, name: str) -> DType:
        """DType for a label such as ``bf16``. Raises DTypeError listing the known names."""
        found = _BY_LABEL.get(name.lower())
        if found is None:
            known = " ".join(sorted(_BY_LABEL))
            raise DTypeError(f"no dtype is called {name!r}; known: {known}")
        return found

    @classmethod
    def from_numpy(cls, dtype: Any) -> DType:
        """DType for a NumPy (or ml_dtypes) dtype, whatever its byte order. Raises DTypeError."""
        found = _BY_NUMPY.get(dtype) if isinstance(dtype, np.dtype) else None
        if found is None:
            given = np.dtype(dtype)
            if given.kind != "T":  # variable strings have no byte order to change
                found = _BY_NUMPY.get(given.newbyteorder("<"))
        if found is None:
            raise DTypeError(f"NumPy dtype {given} has no Ruda dtype")
        return found

    @classmethod
    def from_safetensors(cls, tag: str) -> DType | None:
        """DType for a safetensors tag, or None."""
        return _BY_SAFETENSORS.get(tag)

    @classmethod
    def from_torch(cls, name: str) -> DType | None:
        """DType for a ``torch.dtype`` name without the ``torch.`` prefix, or None."""
        return _BY_TORCH.get(name)

    @classmethod
    def from_torch_storage(cls, name: str) -> DType | None:
        """DType for a typed storage class name such as ``FloatStorage``, or None."""
        return _BY_STORAGE.get(name)

    @classmethod
    def from_rudapack(cls, name: str) -> DType | None:
        """DType for a unit-variant spelling in a Rudapack descriptor, or None."""
        return _BY_RUDAPACK.get(name)


_BY_LABEL = {d.label: d for d in DType}
_BY_SAFETENSORS = {d.safetensors: d for d in DType if d.safetensors}
_BY_TORCH = {d.torch: d for d in DType if d.torch}
_BY_STORAGE = {d.torch_storage: d for d in DType if d.torch_storage}
_BY_RUDAPACK = {d.rudapack: d for d in DType if d.rudapack}
# FLEX32 and BOOL_U32 share a NumPy type with F32 and U32: the plain type owns the way back.
_BY_NUMPY = {
    d.value.numpy: d
    for d in reversed(DType)
    if d.value.numpy is not None and d not in (DType.FLEX32, DType.BOOL_U32)
}
