"""ModuleSpec: what a model expects of a file, without any values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ruda.nn.module import Module
from ruda.nn.param_id import ParamId
from ruda.tensor import DType


class ParamSpec(NamedTuple):
    """Key, shape, dtype and owners of one expected tensor."""

    key: str
    shape: tuple[int, ...]
    dtype: DType
    containers: tuple[str, ...] = ()
    param_id: ParamId | None = None
    """The identity where the model has one already; a fresh model has none."""
    scheme: object = None
    """For quantized dtypes: how the values are packed; tensors of two schemes do not fit."""


@dataclass(frozen=True, slots=True)
class ModuleSpec:
    """Everything a model expects, in the order of declaration."""

    entries: tuple[ParamSpec, ...]
    name: str = ""
    """What a person calls the model, where it was said; a module has the name of its class."""
    tied: tuple[tuple[str, str], ...] = ()
    """Pairs of keys that stand for one parameter: a later key, and the first one."""

    def __iter__(self) -> Iterator[ParamSpec]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def by_key(self) -> dict[str, ParamSpec]:
        """The entries under their keys, in order."""
        return {entry.key: entry for entry in self.entries}

    @classmethod
    def of(cls, module: Module) -> ModuleSpec:
        """What this module expects. Makes no values."""
        entries: list[ParamSpec] = []
        owners: dict[int, str] = {}
        tied: list[tuple[str, str]] = []
        for entry in module.walk():
            owner = owners.setdefault(id(entry.param), entry.key)
            if owner != entry.key:
                tied.append((entry.key, owner))
            entries.append(
                ParamSpec(
                    key=entry.key,
                    shape=entry.param.shape,
                    dtype=entry.param.dtype,
                    containers=entry.containers,
                    param_id=entry.param.known_id,
                )
            )
        return cls(tuple(entries), tied=tuple(tied))
