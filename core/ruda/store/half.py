"""Adapters that change the element type: half precision by kind of module, or every float."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from ruda.errors import AdapterError, DTypeError, MissingExtraError, SettingError
from ruda.store.adapt import KNOWN_KINDS, Chaining, IdentityAdapter, module_kinds
from ruda.store.adapted import cast_to
from ruda.store.castable import CAST_TARGETS, CASTABLE
from ruda.store.dequantizing import dequantize
from ruda.store.int8 import int8_per_channel
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType, Kind

HALF_MODULES = frozenset(
    {
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "DeformConv2d",
        "Embedding",
        "GroupNorm",
        "InstanceNorm",
        "LayerNorm",
        "Linear",
        "PRelu",
        "RmsNorm",
    }
)
"""RUDA's default set. BatchNorm is not in it: small running variances vanish in f16."""

HALVES = (DType.F16, DType.BF16)


def _checked_kind(name: str, modules: frozenset[str]) -> str:
    """The kind, if it is one that can be meant. Raises SettingError with the nearest name."""
    if name in modules or name in KNOWN_KINDS or ":" in name:
        return name
    near = difflib.get_close_matches(name, sorted(modules | KNOWN_KINDS), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise SettingError(f"no kind of module is called {name!r}{hint}")


@dataclass(frozen=True, slots=True)
class HalfPrecisionAdapter(Chaining):
    """f32 to f16 or bf16 for chosen kinds of module, or back with ``to=DType.F32``.

    The direction is said, never guessed from the file: with ``to`` f16 or bf16 only f32 is cast,
    with ``to`` f32 only f16 and bf16 are. Everything else stays as it is.
    """

    DEPTH: ClassVar[int] = 0

    to: DType = DType.F16
    modules: frozenset[str] = HALF_MODULES
    back_to: DType = DType.F16
    """What the reverse of a widening adapter casts to."""

    def __post_init__(self) -> None:
        if self.to not in (*HALVES, DType.F32):
            raise SettingError(f"half precision is f16 or bf16, or f32 for the way back: {self.to}")

    @property
    def name(self) -> str:
        """Name on rows."""
        return f"half {self.to}"

    def with_module(self, name: str) -> HalfPrecisionAdapter:
        """Also for this kind of module, which may be one of your own."""
        return replace(self, modules=self.modules | {name.removeprefix("Struct:")})

    def without_module(self, name: str) -> HalfPrecisionAdapter:
        """Not for this kind of module. Raises SettingError for a name that is none."""
        kind = _checked_kind(name.removeprefix("Struct:"), self.modules)
        return replace(self, modules=self.modules - {kind})

    def without_modules(self, names: Iterable[str]) -> HalfPrecisionAdapter:
        """Not for these kinds of module. Raises SettingError for a name that is none."""
        adapter = self
        for name in names:
            adapter = adapter.without_module(name)
        return adapter

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """Cast if the dtype is the one to cast and every kind that may own it is chosen."""
        wanted = HALVES if self.to is DType.F32 else (DType.F32,)
        if snapshot.dtype not in wanted:
            return snapshot
        kinds = module_kinds(snapshot)
        chosen = kinds and all(kind in self.modules for kind in kinds)
        if chosen or self._names_enum(snapshot):
            return cast_to(snapshot, self.to)
        return snapshot

    def _names_enum(self, snapshot: TensorSnapshot) -> bool:
        """True if the innermost module is an enum that the set names in full (``Enum:X``)."""
        inner = next(
            (c for c in reversed(snapshot.containers) if c.startswith(("Struct:", "Enum:"))), ""
        )
        return inner in self.modules

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """None: a cast renames nothing."""
        return None

    def reverse(self) -> HalfPrecisionAdapter:
        """The adapter that undoes the dtype (not the rounding)."""
        if self.to is DType.F32:
            return replace(self, to=self.back_to)
        return replace(self, to=DType.F32, back_to=self.to)


@dataclass(frozen=True, slots=True)
class FloatCastAdapter(Chaining):
    """Every f64, f32, f16 and bf16 tensor to one float dtype, whatever module owns it.

    Blocks of GGML and quantized tensors of PyTorch and Burn are dequantised on the way: they are
    floats in little room. To i8 go tensors of two and more axes, with one scale per channel, which
    ``convert`` puts beside them.
    """

    DEPTH: ClassVar[int] = 0

    to: DType = DType.F32
    keep: frozenset[str] = frozenset()
    """Kinds of module whose tensors stay as they are."""

    def __post_init__(self) -> None:
        if self.to not in CAST_TARGETS:
            names = ", ".join(str(dtype) for dtype in CAST_TARGETS)
            raise SettingError(f"floats can be cast to {names}, not to {self.to}")

    @property
    def name(self) -> str:
        """Name on rows."""
        return f"cast {self.to}"

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """Cast if it is a float with a scale of its own; integers and bools stay.

        Raises AdapterError for blocks that cannot be dequantised.
        """
        packed = snapshot.dtype.kind is Kind.QUANTIZED
        if not packed and snapshot.dtype not in CASTABLE:
            return snapshot
        if any(k in self.keep for k in module_kinds(snapshot)):
            return snapshot
        try:
            plain = dequantize(snapshot) if packed else snapshot
            return int8_per_channel(plain) if self.to is DType.I8 else cast_to(plain, self.to)
        except (DTypeError, MissingExtraError) as error:
            raise AdapterError(str(error), key=snapshot.key) from error

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """None: a cast renames nothing."""
        return None

    def reverse(self) -> IdentityAdapter:
        """The identity: what the dtypes were is not known any more."""
        return IdentityAdapter()
