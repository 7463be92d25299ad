"""Which architecture a file is made for, with which settings, and by which adapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ruda.errors import RudaError
from ruda.models.architecture import Architecture
from ruda.models.families import Sizes, sizes_of
from ruda.models.registry import get
from ruda.progress import SILENT, Monitor
from ruda.store import (
    CastPolicy,
    DiffReport,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    convert,
    diff,
    recognised,
)
from ruda.tensor import DType

_LARGEST_CONFIG = 1 << 20
_CONFIG = "config.json"


@dataclass(frozen=True, slots=True)
class Proposal:
    """An architecture with settings that takes every tensor it wants out of the file."""

    architecture: Architecture
    settings: Mapping[str, int]
    """Those that are not the defaults."""
    adapter: str | None
    cast: str | None
    """The element type that the file's have to be cast to; None where they are that already."""
    tensors: int
    """Number of tensors that the architecture wants, all of which the file has."""
    configured: tuple[str, ...]
    """Names of settings that the configuration says and no shape does."""
    left: tuple[str, ...]
    """Names of settings that nothing says: the defaults stand, and results depend on them."""
    doubts: tuple[str, ...]
    """What else may make results wrong, in sentences."""


def proposals(
    index: TensorIndex, config: Mapping[str, Any] | None = None, *, monitor: Monitor = SILENT
) -> tuple[Proposal, ...]:
    """The architectures that a file is complete for, the largest first. Reads headers only.

    ``config`` is what Hugging Face's config.json says, if there is one: heads and epsilons are in
    no shape. Nothing is guessed: what is not said is ``left``.
    """
    found: dict[tuple[str, str | None], Proposal] = {}
    for adapter in (*recognised(frozenset(index.snapshots)), None, "pytorch-to-ruda"):
        monitor.check()
        for sizes in sizes_of(_shapes(index, adapter), {} if config is None else config):
            proposal = _proposal(index, adapter, sizes)
            if proposal is not None:
                found.setdefault((proposal.architecture.name, adapter), proposal)
    return tuple(sorted(found.values(), key=lambda each: -each.tensors))


def config_beside(path: Path) -> dict[str, Any] | None:
    """What the config.json in the folder of a file says; None where there is none.

    Raises RudaError for one that is too large or no JSON object.
    """
    place = (path if path.is_dir() else path.parent) / _CONFIG
    try:
        with place.open("rb") as file:
            raw = file.read(_LARGEST_CONFIG + 1)
    except OSError:
        return None
    if len(raw) > _LARGEST_CONFIG:
        raise RudaError(f"{place}: larger than {_LARGEST_CONFIG} bytes, which no configuration is")
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RudaError(f"{place}: no JSON object: {error}") from error


def _shapes(index: TensorIndex, adapter: str | None) -> Mapping[str, tuple[int, ...]]:
    """Shapes under Ruda's keys as far as the adapter knows them; nothing where it cannot."""
    if adapter is None:
        return {fact.key: fact.shape for fact in index.facts()}
    # For shapes any number of heads will do that divides: one.
    recipe = Recipe(adapt=(f"{adapter}:1" if adapter.startswith("hf-llama") else adapter,))
    try:
        made = convert(index, recipe=recipe)
    except RudaError:
        return {}
    return {key: _native(each) for key, each in made.items()}


def _native(snapshot: TensorSnapshot) -> tuple[int, ...]:
    """The shape; of a matrix that may be a table or a Linear that of the latter, but by its name.

    The load diff that follows shows whether that was right.
    """
    is_open = snapshot.container is None and bool(snapshot.containers)
    if is_open and len(snapshot.shape) == 2 and "embed" not in snapshot.key:
        return snapshot.shape[::-1]
    return snapshot.shape


def _proposal(index: TensorIndex, adapter: str | None, sizes: Sizes) -> Proposal | None:
    plain = Recipe() if adapter is None else Recipe(adapt=(adapter,))
    widened = plain.with_cast(CastPolicy.every(DType.F32))
    for architecture, changed in sorted(_options(sizes), key=lambda each: len(each[1])):
        model = architecture.build(**changed)
        report = diff(index, model, recipe=plain)
        is_cast = not _is_filled(report)
        if is_cast:
            report = diff(index, model, recipe=widened)
        if _is_filled(report):
            return Proposal(
                architecture,
                changed,
                adapter,
                "f32" if is_cast else None,
                report.target_tensors,
                tuple(sizes.configured),
                tuple(sizes.left),
                tuple(sizes.doubts),
            )
    return None


def _is_filled(report: DiffReport) -> bool:
    return report.target_tensors == report.coverage.tensors


def _options(sizes: Sizes) -> Iterator[tuple[Architecture, dict[str, int]]]:
    """The architectures that can have these settings, each with those that it has to be told.

    Heads that nothing says are those of the architecture where they divide its sizes, or else as
    few as the sizes allow.
    """
    settings = {**sizes.shaped, **sizes.configured}
    ways = [settings]
    if "heads" in sizes.left:
        known = {key: value for key, value in settings.items() if key not in ("heads", "kv_heads")}
        ways = [known, {"heads": 1, **settings}]
    for name in sizes.names:
        architecture = get(name)
        defaults = {setting.name: setting.default for setting in architecture.settings}
        for way in ways:
            changed = {key: value for key, value in way.items() if defaults.get(key) != value}
            try:
                architecture.build(**changed)
            except RudaError:
                continue
            yield architecture, changed
