"""collect: the parameters of a module as an index of snapshots, ready to be saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.nn import Module, Param
from ruda.store.index import TensorIndex
from ruda.store.select import PathFilter
from ruda.store.snapshot import ArraySource, TensorSnapshot


@dataclass(frozen=True, slots=True)
class ParamSource:
    """The values of a parameter; one that was never used gets its first values when read."""

    param: Param

    @property
    def peak_bytes(self) -> int:
        """Memory beyond the parameter itself: none."""
        return 0

    def read(self) -> np.ndarray[Any, Any]:
        """The parameter's values in the carrier dtype, contiguous; a view where they are."""
        return ArraySource(self.param.data().array).read()


def collect(
    module: Module,
    *,
    select: PathFilter | None = None,
    skip_enum_variants: bool = False,
) -> TensorIndex:
    """Every parameter of a module in declaration order, with its containers and its id.

    ``select`` sees the module's own keys and container paths. ``skip_enum_variants`` leaves the
    names of variants out of the keys, as PyTorch does. A parameter that is used twice is listed
    twice, the second time as sharing memory with the first. Reads no values.
    """
    return TensorIndex.of(
        _snapshots(module, select or PathFilter(), skip_enum_variants), format="module"
    )


def _snapshots(module: Module, select: PathFilter, skip: bool) -> Iterator[TensorSnapshot]:
    owners: dict[int, str] = {}
    for entry in module.walk():
        if not select.matches(entry.key, entry.containers):
            continue
        key, containers, param = entry.key, entry.containers, entry.param
        if skip:
            key, containers = without_variants(key, containers)
        owner = owners.setdefault(id(param), key)
        yield TensorSnapshot(
            key=key,
            dtype=param.dtype,
            shape=tuple(param.shape),
            nbytes=param.dtype.nbytes(param.numel),
            source=ParamSource(param),
            containers=containers,
            param_id=param.id,
            shared_with=None if owner == key else owner,
        )


def without_variants(key: str, containers: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Key and containers without the steps into an enum's active variant."""
    segments = key.split(".")
    if len(segments) != len(containers):
        return key, containers
    kept = [
        (segment, container)
        for segment, container in zip(segments, containers, strict=True)
        if not container.startswith("Enum:")
    ]
    return ".".join(s for s, _ in kept), tuple(c for _, c in kept)
