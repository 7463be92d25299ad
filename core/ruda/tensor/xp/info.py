"""What the namespace is and can do, as the standard's inspection functions say it."""

from __future__ import annotations

from typing import Any

from ruda.errors import SettingError
from ruda.tensor.device import HostDevice
from ruda.tensor.dtype import DType
from ruda.tensor.xp._given import (
    DEFAULT_COMPLEX,
    DEFAULT_FLOAT,
    DEFAULT_INT,
    require_host,
)
from ruda.tensor.xp.dtypes import isdtype

DTYPES = {
    "bool": DType.BOOL,
    "int8": DType.I8,
    "int16": DType.I16,
    "int32": DType.I32,
    "int64": DType.I64,
    "uint8": DType.U8,
    "uint16": DType.U16,
    "uint32": DType.U32,
    "uint64": DType.U64,
    "float32": DType.F32,
    "float64": DType.F64,
    "complex64": DType.C64,
    "complex128": DType.C128,
}
"""The dtypes of the standard under its names."""

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


class NamespaceInfo:
    """Answers of ``__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, Any]:
        """What is supported, and the largest rank."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> HostDevice:
        """The host."""
        return HostDevice()

    def devices(self) -> list[HostDevice]:
        """The host, and no other."""
        return [HostDevice()]

    def default_dtypes(self, *, device: HostDevice | None = None) -> dict[str, DType]:
        """Dtypes of what is made from Python numbers, and of positions."""
        require_host("default_dtypes", device)
        return {
            "real floating": DEFAULT_FLOAT,
            "complex floating": DEFAULT_COMPLEX,
            "integral": DEFAULT_INT,
            "indexing": DType.I64,
        }

    def dtypes(
        self, *, device: HostDevice | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Dtypes of the standard, of one kind or several where asked."""
        require_host("dtypes", device)
        return {n: d for n, d in DTYPES.items() if kind is None or isdtype(d, kind)}


def require_version(version: str | None) -> None:
    """Raise SettingError for a version of the standard that the namespace does not follow."""
    if version is not None and version not in VERSIONS:
        raise SettingError(f"no array API version {version!r}; supported: {', '.join(VERSIONS)}")
